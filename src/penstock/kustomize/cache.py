"""What builds remember for each other: facts about content, never about files or times.

A fact is the answer to a question that has one answer for ever: what a file of this content holds, what becomes of an
object in this state when this transformer goes over it. States have numbers, given when one is first met and never
again, so a fact about a state stays true however long it is kept, and may be forgotten at any time.
"""

from collections.abc import Hashable
from itertools import count
from typing import Any

_FACT = 300  # bytes that a small fact takes, its question included
_STEP = 2000  # bytes that a step may depend on


class Cache:
    """Facts in two generations: those asked for lately, and older ones, which are dropped when memory is short.

    One cache may serve several builds and threads at the same time.
    """

    def __init__(self, size: int = 128 << 20) -> None:
        self._half = size // 2  # bytes of one generation, roughly
        self._used = 0
        self._young: dict[Hashable, Any] = {}
        self._old: dict[Hashable, Any] = {}
        self._states = count()

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def new_state(self) -> int:
        """A number that no state had before."""
        return next(self._states)

    def number(self, step: Hashable) -> int:
        """A number for a step of the build and all that it depends on, short enough to be part of many questions."""
        known: int | None = self.get(step)
        if known is None:
            known = self.new_state()
            self.put(step, known, weight=_STEP)
        return known

    def get(self, question: Hashable) -> Any:
        """The answer, or None."""
        answer = self._young.get(question)
        if answer is None and self._old:
            answer = self._old.pop(question, None)
            if answer is not None:
                self.put(question, answer, weight=_weight(answer))
        return answer

    def put(self, question: Hashable, answer: object, *, weight: int = 0) -> None:
        """Remember an answer; `weight` are its bytes beyond those of any small fact."""
        self._young[question] = answer
        self._used += weight + _FACT
        if self._used > self._half:
            self._old, self._young, self._used = self._young, {}, 0

    def clear(self) -> None:
        """Forget everything."""
        self._young, self._old, self._used = {}, {}, 0


def _weight(answer: Any) -> int:
    """What an answer weighs, guessed, when it is put among the young again."""
    if isinstance(answer, bytes):
        return len(answer)
    return sum(getattr(one, "weight", 0) for one in answer) if isinstance(answer, tuple) else 0


SHARED = Cache()  # what builds of one process share unless they are told otherwise
