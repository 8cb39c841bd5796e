"""Why an expression is refused, or fails."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import PenstockError


class CelError(PenstockError):
    """Something is wrong with an expression or with what it works on."""


class CelSyntaxError(CelError):
    """The expression itself is wrong; no object can make it right."""


class CelRuntimeError(CelError):
    """The expression has no value for these variables."""


class Problem(Exception):
    """What goes wrong inside an evaluation; `||` and `&&` may yet forgive it."""


class CostExceeded(Problem):
    """The evaluation took all that it was allowed; nothing forgives that."""


@dataclass(frozen=True, slots=True)
class Issue:
    """What is wrong at one place of an expression, and how it is shown."""

    offset: int
    message: str

    def shown(self, text: str) -> str:
        """The message with the line and a mark below the place."""
        before = text[: self.offset]
        line = before.count("\n")
        column = self.offset - (before.rfind("\n") + 1)
        source = text.split("\n")[line] if text else ""
        # Below a wide character stands a wide mark.
        mark = "".join("\uff0e" if _is_wide(char) else "." for char in source[:column])
        caret = "\uff3e" if _is_wide(source[column : column + 1]) else "^"
        return f"ERROR: <input>:{line + 1}:{column + 1}: {self.message}\n | {source}\n | {mark}{caret}"


def _is_wide(char: str) -> bool:
    return len(char.encode()) > 1


def refused(text: str, issues: list[Issue]) -> CelSyntaxError:
    """The error for an expression with these issues, in the order of their places."""
    shown = "\n".join(issue.shown(text) for issue in sorted(issues, key=lambda issue: issue.offset))
    return CelSyntaxError(f"failed to parse the CEL expression '{text}': {shown}")
