"""YAML texts as values that remember their style, to be written again much as they were."""

from typing import Any

import yaml

from penstock.kustomize.errors import FieldError
from penstock.yaml.emit import dump
from penstock.yaml.scalars import resolve

_DEPTH = 200
_NODES = 100_000


class Scalar(str):
    """A scalar's text, with its style (`None`, a quote, `|` or `>`) and its place in the source."""

    style: str | None
    start: int
    end: int

    def replaced(self, text: str) -> "Scalar":
        """Another text in the same style; a plain string stays a string."""
        return scalar(text, self.style if self.style or not _changes_type(self, text) else '"')


class Flow:
    """Marks collections that were written with brackets."""


class FlowMapping(dict[str, Any], Flow):
    pass


class FlowList(list[Any], Flow):
    pass


def scalar(text: str, style: str | None, start: int = 0, end: int = 0) -> Scalar:
    result = Scalar(text)
    result.style, result.start, result.end = style, start, end
    return result


def _changes_type(old: str, new: str) -> bool:
    return isinstance(resolve(old, "resource"), str) and not isinstance(resolve(new, "resource"), str)


def compose(text: str) -> Any:
    """The document of a text; FieldError if it is empty or too large."""
    if len(text) > _NODES * 100:
        raise FieldError("the text is too large to be read as YAML")
    node = yaml.compose(text, Loader=yaml.CSafeLoader)
    if node is None:
        raise FieldError("the text is empty")
    return _value(node, _DEPTH, [_NODES])


def _value(node: Any, depth: int, budget: list[int]) -> Any:
    budget[0] -= 1
    if not depth or budget[0] < 0:
        raise FieldError("the text is too deep or too large")
    if isinstance(node, yaml.ScalarNode):
        return scalar(node.value, node.style or None, node.start_mark.index, node.end_mark.index)
    if isinstance(node, yaml.SequenceNode):
        items = (_value(item, depth - 1, budget) for item in node.value)
        return FlowList(items) if node.flow_style else list(items)
    pairs = ((_value(key, depth - 1, budget), _value(item, depth - 1, budget)) for key, item in node.value)
    return FlowMapping(pairs) if node.flow_style else dict(pairs)


def unwrap(value: Any) -> Any:
    """The plain data."""
    if isinstance(value, dict):
        return {str(key): unwrap(item) for key, item in value.items()}
    if isinstance(value, list):
        return [unwrap(item) for item in value]
    if isinstance(value, Scalar):
        return resolve(value, "resource") if value.style is None else str(value)
    return value


def splice(text: str, old: list[Any], new: str) -> str | None:
    """The text with the characters of some scalars exchanged; None if one of them has no place in it."""
    spots = [one for one in old if isinstance(one, Scalar) and one.style in (None, '"', "'") and one.end > one.start]
    if len(spots) != len(old):
        return None
    for one in sorted(spots, key=lambda spot: spot.start, reverse=True):
        text = text[: one.start] + _inline(one.replaced(new)) + text[one.end :]
    return text.strip()


def render(value: Any) -> str:
    """The document as text: blocks indented by two, bracketed collections on one line."""
    lines: list[str] = []
    _block(value, "", "", lines)
    return "\n".join(lines)


def _block(value: Any, lead: str, pad: str, lines: list[str]) -> None:
    if isinstance(value, dict) and value and not isinstance(value, Flow):
        for key, item in value.items():
            _entry(f"{lead}{_inline(key)}:", item, pad, lines, is_field=True)
            lead = pad
    elif isinstance(value, list) and value and not isinstance(value, Flow):
        for item in value:
            if isinstance(item, (dict, list)) and item and not isinstance(item, Flow):
                _block(item, f"{lead}- ", pad + "  ", lines)
            else:
                _entry(f"{lead}-", item, pad, lines, is_field=False)
            lead = pad
    else:
        lines.append(lead + _inline(value))


def _entry(head: str, item: Any, pad: str, lines: list[str], *, is_field: bool) -> None:
    if isinstance(item, (dict, list)) and item and not isinstance(item, Flow):
        lines.append(head)
        inner = pad if isinstance(item, list) and is_field else pad + "  "
        _block(item, inner, inner, lines)
    elif isinstance(item, Scalar) and item.style in ("|", ">"):
        block = dump({"x": str(item)})[3:].rstrip("\n").replace("\n  ", f"\n{pad}  ")
        lines.append(f"{head} {block}")
    else:
        lines.append(f"{head} {_inline(item)}".rstrip())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_inline(key)}: {_inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_inline(item) for item in value) + "]"
    if not isinstance(value, Scalar):
        return dump(value).rstrip("\n")
    if value.style == "'":
        return "'" + value.replace("'", "''") + "'"
    if value.style == '"':
        text = dump(f" {value}").rstrip("\n")
        return f'"{text[2:]}' if text.startswith('"') else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)
