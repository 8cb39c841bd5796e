"""What one build shares among its kustomizations: options, schema, limits, warnings."""

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from penstock.kustomize.cache import Cache
from penstock.kustomize.errors import KustomizationError, LoadError
from penstock.schema import OpenAPIError, builtin, from_openapi

if TYPE_CHECKING:
    from collections.abc import Hashable

Reorder = Literal["unspecified", "legacy", "none"]


class Options(NamedTuple):
    """How to build. The defaults are those of the `kustomize build` command."""

    reorder: Reorder = "unspecified"  # `sortOptions` of the kustomization wins; unspecified means legacy
    restrict: bool = True  # whether files must lie below the kustomization that names them
    managed_by: bool = False
    remote: bool = True  # whether bases may come from Git and files from HTTP
    largest_depth: int = 100  # kustomizations below each other
    most_kustomizations: int = 20_000
    extend_schema: bool = False  # whether `openapi.path` adds to the built-in types instead of replacing them


class Context:
    """The state of one build."""

    def __init__(self, options: Options, cache: Cache | None) -> None:
        self.options = options
        self.cache = cache
        self.schema = builtin()
        self.schema_key: Hashable = None  # what the schema was made from; None: it is the built-in one
        self.warnings: list[str] = []
        self.tracked = False  # whether the result shows origins or transformations
        self.replaces = False  # whether replacements may follow, which look at how a value was set
        self._schema_chosen = False
        self._kustomizations = 0

    @property
    def steps(self) -> Cache | None:
        """The cache for what becomes of objects; none where every object has to be told what touched it."""
        return None if self.tracked else self.cache

    def enter(self, root: str, depth: int) -> None:
        """Count a kustomization; LoadError when there are more, or deeper ones, than any real tree has."""
        self._kustomizations += 1
        if depth > self.options.largest_depth:
            raise LoadError(f"'{root}' lies more than {self.options.largest_depth} kustomizations deep")
        if self._kustomizations > self.options.most_kustomizations:
            raise LoadError(f"the build needs more than {self.options.most_kustomizations} kustomizations")

    def warn(self, sentence: str) -> None:
        self.warnings.append(sentence)

    def choose_schema(self, version: str | None, content: bytes | None, document: Any, *, root: bool) -> None:
        """Take over the `openapi` field of a kustomization; the first one that says something wins."""
        if self._schema_chosen and not root:
            return
        if document is not None and version is not None:
            raise KustomizationError("`openapi` takes either `version` or `path`, not both")
        if document is not None:
            try:
                self.schema = from_openapi(document, builtin(), keep=self.options.extend_schema or not root)
            except OpenAPIError as error:
                raise KustomizationError(f"`openapi.path`: {error}") from error
            self._schema_chosen = True
            self.schema_key = (content, root, self.options.extend_schema)
        elif version:
            if version not in ("v1.21.2", "v1212"):
                raise KustomizationError(f"the OpenAPI version '{version}' is not built in; use v1.21.2")
            self._schema_chosen = True
