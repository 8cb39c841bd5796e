"""Whether a string stood in quotes where it was written.

A strategic merge changes the text of a scalar and keeps its style: `value: 2` laid over `value: "1"` gives `"2"`. The
parsed value does not tell, so the source is read again in the rare case that a patch lays something else over a string.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from penstock.kustomize.ids import Id
from penstock.yaml.scalars import resolve

Path = tuple[str, ...]  # of names; list elements have none
_DEPTH = 200


class _Document(NamedTuple):
    kind: str
    name: str
    quoted: frozenset[tuple[Path, str]]
    styles: dict[Path, set[bool]]  # whether scalars in this field are quoted


def is_quoted(text: str, path: Path, sources: Iterable[bytes], identity: Id) -> bool:
    """Whether a string stood in quotes, or as a block, in the first of the sources that has this field.

    What later ones laid over it has changed its text and not its style. A list may have the field several times: then
    the one with this text counts, or else all of them.
    """
    for source in sources:
        for document in _of(source, identity):
            if path in document.styles:
                return (path, text) in document.quoted or document.styles[path] == {True}
    return "\n" in text or not isinstance(resolve(text, "resource"), str)


def _of(source: bytes, identity: Id) -> Iterable[_Document]:
    documents = _documents(source)
    if len(documents) == 1:
        return documents
    return [one for one in documents if (one.kind, one.name) == (identity.kind, identity.name)]


@lru_cache(maxsize=64)
def _documents(source: bytes) -> tuple[_Document, ...]:
    import yaml  # takes a while to import, and few builds get here

    try:
        roots = [root for root in yaml.compose_all(source, Loader=yaml.CSafeLoader) if root is not None]
    except (yaml.YAMLError, RecursionError):
        return ()
    return tuple(_document(root) for root in roots)


def _document(root: Any) -> _Document:
    found: set[tuple[Path, str]] = set()
    texts: dict[Path, str] = {}
    styles: dict[Path, set[bool]] = {}
    seen: set[int] = set()  # an anchored node is looked at once, however often it is referred to
    stack: list[tuple[Any, Path]] = [(root, ())]
    while stack:
        node, path = stack.pop()
        if node.id == "scalar":
            texts[path] = node.value
            styles.setdefault(path, set()).add(bool(node.style))
            if node.style:
                found.add((path, node.value))
        elif id(node) not in seen and len(path) < _DEPTH:
            seen.add(id(node))
            if node.id == "sequence":
                stack.extend((item, path) for item in node.value)
            else:
                stack.extend((item, (*path, str(key.value))) for key, item in node.value)
    return _Document(texts.get(("kind",), ""), texts.get(("metadata", "name"), ""), frozenset(found), styles)
