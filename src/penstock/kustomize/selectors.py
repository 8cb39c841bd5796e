"""Which objects a patch or replacement is meant for.

Patterns are RE2: they take time in proportion to the text, whatever the pattern.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from penstock.kustomize.collection import Collection
from penstock.kustomize.errors import KustomizationError
from penstock.kustomize.ids import Gvk
from penstock.kustomize.kustomization import Selector
from penstock.kustomize.resource import Resource

if TYPE_CHECKING:
    from penstock.labels import Requirements

Matcher = Callable[[str], bool]
_LITERAL = re.compile(r"[A-Za-z0-9_-]*\Z")


@lru_cache(maxsize=1024)
def pattern(text: str) -> Any:
    """A compiled expression that may match anywhere."""
    import re2

    try:
        options = re2.Options()
        options.log_errors = False
        return re2.compile(text, options)
    except re2.error as error:
        raise KustomizationError(f"'{text}' is not a regular expression: {error}") from error


@lru_cache(maxsize=1024)
def anchored(text: str) -> Matcher:
    """Whether a whole text matches; an empty expression matches everything."""
    if not text:
        return lambda _: True
    if _LITERAL.match(text):
        return text.__eq__
    compiled = pattern(f"^(?:{text})$")
    return lambda candidate: compiled.search(candidate) is not None


class SelectorMatcher:
    """A selector made ready for many objects."""

    def __init__(self, selector: Selector) -> None:
        self.selector = selector
        self.group = anchored(selector.group)
        self.version = anchored(selector.version)
        self.kind = anchored(selector.kind)
        self.name = anchored(selector.name)
        self.namespace = anchored(selector.namespace)
        self._labels = requirements(selector.label_selector)
        self._annotations = requirements(selector.annotation_selector)

    def type_matches(self, gvk: Gvk) -> bool:
        return self.kind(gvk.kind) and self.group(gvk.group) and self.version(gvk.version)

    def metadata_matches(self, resource: Resource) -> bool:
        """Labels and annotations."""
        if self._labels and not all(one.matches(resource.labels) for one in self._labels):
            return False
        return not self._annotations or all(one.matches(resource.annotations) for one in self._annotations)

    def asked(self, collection: Collection) -> Callable[[Resource], bool]:
        """The same for the objects of a collection, which remembers the answers."""
        if not self._labels and not self._annotations:
            return self.metadata_matches
        question = ("metadata", self.selector.label_selector, self.selector.annotation_selector)
        return collection.question(question, self.metadata_matches)


def select(collection: Collection, selector: Selector) -> list[Resource]:
    """The objects that a patch's target means; original and current name and namespace both count."""
    matcher = SelectorMatcher(selector)
    metadata_matches = matcher.asked(collection)
    types: dict[Gvk, bool] = {}

    def type_matches(gvk: Gvk) -> bool:
        known = types.get(gvk)
        if known is None:
            known = types[gvk] = matcher.type_matches(gvk)
        return known

    return [
        resource
        for resource in collection
        if type_matches(resource.gvk) and _name_matches(resource, matcher) and metadata_matches(resource)
    ]


def _name_matches(resource: Resource, matcher: SelectorMatcher) -> bool:
    if matcher.selector.name or matcher.selector.namespace:
        current = resource.id
        original = resource.original
        if not (matcher.namespace(original.namespace) or matcher.namespace(current.namespace)):
            return False
        if not (matcher.name(original.name) or matcher.name(current.name)):
            return False
    return True


def requirements(text: str) -> "Requirements":
    """The clauses of a label selector such as `app=web,tier in (a, b),!old`."""
    if not text.strip():
        return ()
    from penstock.labels import BadBound, BadSelector, parse_selector  # most builds have no such selector

    try:
        return parse_selector(text)
    except BadBound as error:
        raise KustomizationError(str(error)) from None
    except BadSelector as error:
        raise KustomizationError(f"'{text}' is not a label selector: {error}") from None
