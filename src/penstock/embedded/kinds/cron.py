"""Cron schedules, as far as one must read them to say what is wrong."""

from __future__ import annotations

import re

_DESCRIPTORS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: index + 1 for index, name in enumerate(_MONTHS)}),
    (0, 6, {name: index for index, name in enumerate(_DAYS)}),
)
_EVERY = re.compile(r"(?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+")


def schedule_problem(schedule: str) -> str:
    """What is wrong with a schedule, in the words of the parser that Kubernetes uses; empty when nothing is."""
    spec = schedule
    if spec.startswith(("TZ=", "CRON_TZ=")):
        zone, space, rest = spec.partition(" ")
        if not space:
            return f"panic parsing schedule {schedule}: runtime error"
        del zone
        spec = rest.strip()
    if spec.startswith("@"):
        return _descriptor_problem(spec)
    fields = spec.split()
    if len(fields) != 5:
        listed = "[" + " ".join(fields) + "]"
        return f"expected exactly 5 fields, found {len(fields)}: {listed}"
    for text, (low, high, names) in zip(fields, _FIELDS, strict=True):
        for part in text.split(","):
            if not part:
                continue
            if words := _part_problem(part, low, high, names):
                return words
    return ""


def _descriptor_problem(spec: str) -> str:
    if spec in _DESCRIPTORS:
        return ""
    if spec.startswith("@every "):
        text = spec.removeprefix("@every ")
        if _EVERY.fullmatch(text.lstrip("+-")):
            return ""
        return f'failed to parse duration {spec}: time: invalid duration "{text}"'
    return f"unrecognized descriptor: {spec}"


def _part_problem(part: str, low: int, high: int, names: dict[str, int]) -> str:
    pieces = part.split("/")
    ends = pieces[0].split("-")
    single = len(ends) == 1
    start, end = low, high
    if ends[0] not in ("*", "?"):
        number = _number(ends[0], names)
        if isinstance(number, str):
            return number
        start = end = number
        if len(ends) == 2:
            number = _number(ends[1], names)
            if isinstance(number, str):
                return number
            end = number
        elif len(ends) > 2:
            return f"too many hyphens: {part}"
    step = 1
    if len(pieces) == 2:
        number = _number(pieces[1], {})
        if isinstance(number, str):
            return number
        step = number
        if single:
            end = high
    elif len(pieces) > 2:
        return f"too many slashes: {part}"
    return _range_problem(part, start, end, step, low, high)


def _range_problem(part: str, start: int, end: int, step: int, low: int, high: int) -> str:
    if start < low:
        return f"beginning of range ({start}) below minimum ({low}): {part}"
    if end > high:
        return f"end of range ({end}) above maximum ({high}): {part}"
    if start > end:
        return f"beginning of range ({start}) beyond end of range ({end}): {part}"
    if step == 0:
        return f"step of range should be a positive number: {part}"
    return ""


def _number(text: str, names: dict[str, int]) -> int | str:
    if text.lower() in names:
        return names[text.lower()]
    if re.fullmatch(r"[+-]?[0-9]+", text) is None:
        return f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax'
    number = int(text)
    return number if number >= 0 else f"negative number ({number}) not allowed: {text}"
