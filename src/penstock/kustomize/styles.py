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


def is_quoted(text: str, path: Path, sources: Iterable[bytes], identity: Id) -> bool:
    """Whether a string stands in quotes, or as a block, in the latest of the sources that has it in this field."""
    if "\n" in text or not isinstance(resolve(text, "resource"), str):
        return True
    return any((path, text) in document.quoted for source in sources for document in _of(source, identity))


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
    seen: set[int] = set()  # an anchored node is looked at once, however often it is referred to
    stack: list[tuple[Any, Path]] = [(root, ())]
    while stack:
        node, path = stack.pop()
        if node.id == "scalar":
            texts[path] = node.value
            if node.style:
                found.add((path, node.value))
        elif id(node) not in seen and len(path) < _DEPTH:
            seen.add(id(node))
            if node.id == "sequence":
                stack.extend((item, path) for item in node.value)
            else:
                stack.extend((item, (*path, str(key.value))) for key, item in node.value)
    return _Document(texts.get(("kind",), ""), texts.get(("metadata", "name"), ""), frozenset(found))
