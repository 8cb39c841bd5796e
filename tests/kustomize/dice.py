"""Choices by chance, the same for the same seed."""

from random import Random
from typing import TypeVar

T = TypeVar("T")
_SCALARS: tuple[str, ...] = (
    "yes", "on", '"yes"', "'on'", "true", "True", '"true"', "null", "~", "", "0", "7", "-3", "0777", "0x1F", "0o17",
    "1_000", "1.0", "1.10", "1e3", "3.14", ".5", "2001-01-01", "2001-01-01T10:00:00Z", "12:30:45", "100m", "64Mi",
    "10.0.0.1",
    "12345678901234567890", "plain text", "'it''s'", '"a\\tb"', '"line\\nline\\n"', '"line\\n\\n"', "'# not a comment'",
    "x#y", "a:b", "=", '"<<"', "'- x'", "'{a}'", '" lead"', '"trail "', "'é ü'", '"\\U0001F600"', "'!x'", '"*x"',
    '"&x"', "'@x'",     "'%x'", '"?"', "'? x'", "'-'", "--", "'---'", "...x", "a,b", "'[x]'", '"\\0"', "word " * 20,
    '"' + "quoted: word " * 12 + '"', "https://example.com/" + "a" * 90, '" \\n x"', '"x \\n y"', '"\\n"',
    '"\\\\"', "'\"'", "y", "N",
)  # fmt: skip


class Dice:
    """Throws them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, *choices: T) -> T:
        return self.random.choice(choices)

    def scalar(self) -> str:
        return self.random.choice(_SCALARS)

    def ports(self, *, service: bool) -> str:
        field = "port" if service else "containerPort"
        lines = ""
        for _ in range(self.random.randint(1, 3)):
            parts = [f"{field}: {self.pick(80, 81, 443, 8080)}"]
            if self.chance(0.5):
                parts.append(f"name: {self.pick('http', 'alt', 'x')}")
            if self.chance(0.4):
                parts.append(f"protocol: {self.pick('TCP', 'UDP')}")
            lines += "  - {" + ", ".join(parts) + "}\n"
        return lines


def indented(text: str, by: int) -> list[str]:
    return [" " * by + line if line else "" for line in text.splitlines()]
