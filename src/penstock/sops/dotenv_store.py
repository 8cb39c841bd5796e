"""Lines of NAME=value; a line break inside a value is written as a backslash and an n."""

from __future__ import annotations

from penstock.sops.errors import EmitError, LoadError
from penstock.sops.values import Branch, Comment, Timestamp, Value, decoded, encoded, general


def load(data: bytes) -> list[Branch]:
    """All lines as one document; values are text."""
    branch = Branch()
    for number, line in enumerate(decoded(data).split("\n"), start=1):
        if not line:
            continue
        if line[0] == "#":
            branch.append((Comment(line[1:]), None))
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise LoadError(f"line {number} is not of the form NAME=value")
        branch.append((name, value.replace("\\n", "\n")))
    return [branch]


def emit(documents: list[Branch]) -> bytes:
    """The first document, if it has one level only."""
    if not documents:
        raise EmitError("there is no document to write")
    lines: list[str] = []
    for key, value in documents[0]:
        if isinstance(key, Comment):
            lines.append(f"#{key.text}\n")
        elif isinstance(value, list | Branch):
            raise EmitError(f"{key} is a list or a mapping, and dotenv files have neither")
        else:
            lines.append(f"{key}={_one_line(value)}\n")
    return encoded("".join(lines))


def _one_line(value: Value) -> str:
    return value.replace("\n", "\\n") if isinstance(value, str) else text_of(value)


def text_of(value: Value) -> str:
    """A scalar as text, for formats that know nothing else."""
    match value:
        case str():
            return value
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            written = general(value, "E")
            return written if "." in written or "E" in written or "N" in written or "I" in written else f"{value:.1f}"
        case Timestamp():
            seconds, _, rest = value.text.partition(".")
            return seconds + rest.lstrip("0123456789") if rest else seconds
        case int():
            return str(value)
        case _:
            raise EmitError("a list or a mapping cannot be written as one value")
