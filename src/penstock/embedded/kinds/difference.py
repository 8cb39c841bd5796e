"""What changed between two structs, line by line, as messages of the API server show it.

They are compared in the form of the internal types, so that every field has a line.
"""

from __future__ import annotations

import json
from difflib import unified_diff
from typing import TYPE_CHECKING

from penstock.embedded.kinds.internal import internal_form

if TYPE_CHECKING:
    from penstock.kube.resources import Object


def difference(type_name: str, before: Object, after: Object, *, upto: tuple[str, str] | None = None) -> str:
    """The changed lines with three around them; `type_name` is that of the internal type.

    `upto` names the first and the last field of a struct that is embedded in the type, when only that is compared.
    """

    def lines(value: Object) -> list[str]:
        form = internal_form(type_name, value)
        return _lines(form if upto is None else _part(form, *upto))

    return "".join(list(unified_diff(lines(before), lines(after)))[2:])


def _part(form: Object, first: str, last: str) -> Object:
    names = list(form)
    return {name: form[name] for name in names[names.index(first) : names.index(last) + 1]}


def _lines(form: Object) -> list[str]:
    text = json.dumps(form, indent=1, ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return [f"{line}\n" for line in text.split("\n")]
