"""From a directory to its objects."""

from collections.abc import Mapping
from os import PathLike, fspath
from os.path import abspath
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.kustomize import annotations, labels, names, order, references
from penstock.kustomize.accumulate import Accumulated, accumulate, choose_schema, read
from penstock.kustomize.cache import SHARED, Cache
from penstock.kustomize.collection import Collection
from penstock.kustomize.context import Context, Options
from penstock.kustomize.errors import BuildError, LoadError, ResourceError
from penstock.kustomize.kustomization import Kustomization
from penstock.kustomize.loader import Loader
from penstock.kustomize.origin import Origin
from penstock.kustomize.resource import Resource
from penstock.paths import DiskTree, FileError, MemoryTree, Tree
from penstock.yaml import YAMLError, dump_all, plain

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kustomize.remote import Clones
    from penstock.kustomize.repospec import RepoSpec

Object = dict[str, Any]
DEFAULT = Options()
_MANAGED_BY = {"app.kubernetes.io/managed-by": "kustomize-v5.8.1"}


class Built(NamedTuple):
    """One object, and where it comes from."""

    object: Object
    origin: Origin | None
    touched: tuple[Origin, ...] = ()


class Result(NamedTuple):
    """What a build comes to."""

    items: list[Built]
    warnings: list[str]
    remote: bool = False  # whether something was read from elsewhere, so that the next build may differ

    @property
    def objects(self) -> list[Object]:
        return [item.object for item in self.items]

    def as_yaml(self) -> str:
        """The objects as `kustomize build` prints them."""
        return dump_all(self.objects)


def build(
    root: str | PathLike[str],
    *,
    files: Mapping[str, bytes] | None = None,
    options: Options = DEFAULT,
    cache: Cache | None = SHARED,
) -> list[Object]:
    """The objects of the kustomization in the directory `root`; they are the caller's own.

    With `files`, names and contents stand for the disk, and `root` is a directory among them. What `cache` remembers
    of earlier builds is not done again; with None, nothing is remembered.
    """
    return build_result(root, files=files, options=options, cache=cache).objects


def build_result(
    root: str | PathLike[str],
    *,
    files: Mapping[str, bytes] | None = None,
    tree: Tree | None = None,
    options: Options = DEFAULT,
    cache: Cache | None = SHARED,
) -> Result:
    """The same, with the origin of every object and the warnings of the build; `tree` reads in place of the disk."""
    if tree is None:
        tree = DiskTree() if files is None else MemoryTree(files)
    context = Context(options, cache)
    remotes = _Remotes() if options.remote and files is None else None
    try:
        loader = _start(fspath(root), Loader("/", tree, options.restrict, remotes), on_disk=files is None)
        items = _run(loader, context)
    except FileError as error:
        raise LoadError(f"a build starts at a directory: {error}") from error
    except YAMLError as error:  # a value that JSON has no place for, met on the way
        raise ResourceError(f"'{root}' cannot be built: {error}") from error
    except RecursionError as error:
        raise BuildError(f"'{root}' is nested too deeply to be built") from error
    finally:
        tree.close()
        if remotes is not None:
            remotes.close()
    return Result(items, context.warnings, remotes is not None and remotes.used)


def _start(root: str, everywhere: Loader, *, on_disk: bool) -> Loader:
    """The loader of the directory to build; it may lie in a repository elsewhere."""
    if on_disk and everywhere.repository(root) is not None:
        return everywhere.enter(root)
    path = abspath(root) if on_disk else root  # noqa: PTH100  -- pathlib takes a while to import
    return everywhere._replace(root=everywhere.tree.directory(path))


class _Remotes:
    """Clones, made when the first remote base is met, and files from elsewhere."""

    def __init__(self) -> None:
        self.used = False
        self._clones: Clones | None = None

    def fetch(self, url: str) -> bytes:
        from penstock.kustomize import remote  # most trees are local

        self.used = True
        return remote.fetch(url)

    def clone(self, spec: "RepoSpec") -> "Path":
        from penstock.kustomize import remote

        self.used = True
        self._clones = self._clones or remote.Clones()
        return self._clones.clone(spec)

    def close(self) -> None:
        if self._clones is not None:
            self._clones.close()


def _run(loader: Loader, context: Context) -> list[Built]:
    kustomization, place = read(loader, Origin(), context)
    context.tracked = bool(kustomization.build_metadata)
    choose_schema(kustomization, place, root=True)
    result = accumulate(kustomization, place, Accumulated(context.steps))
    collection = result.collection
    # What follows looks at all objects together, so it happens once, at the end.
    names.add_hashes(collection)
    references.update(collection, result.config)
    if result.variables:
        from penstock.kustomize import variables  # few builds have any, and all of them should start fast

        variables.resolve(collection, result.variables, result.config.variables, context)
    _drop_local(collection)
    _sort(kustomization, collection, context)
    return _finished(kustomization, collection, context)


def _drop_local(collection: Collection) -> None:
    is_local = collection.question("local", annotations.is_local)
    kept = [resource for resource in collection if not resource.is_empty and not is_local(resource)]
    for resource in kept:
        if not resource.kind or not resource.name:
            raise ResourceError(f"the object {resource.id} was left without a kind or a name")
    if len(kept) != len(collection):
        collection.resources = kept
        collection.changed()
    collection.check()


def _sort(kustomization: Kustomization, collection: Collection, context: Context) -> None:
    chosen = kustomization.sort_options
    if chosen is None:
        if context.options.reorder != "none":
            order.sort(collection)
        return
    if context.options.reorder != "unspecified":
        context.warn("Warning: 'sortOptions' of the kustomization wins over the flag '--reorder'.")
    order.check(chosen.order, has_legacy_options=chosen.legacy_sort_options is not None)
    if chosen.order == "legacy":
        custom = chosen.legacy_sort_options
        if custom is None:
            order.sort(collection)
        else:
            order.sort(collection, first=custom.order_first, last=custom.order_last)


def _finished(kustomization: Kustomization, collection: Collection, context: Context) -> list[Built]:
    wanted = kustomization.build_metadata
    if context.options.managed_by or "managedByLabel" in wanted:
        labels.put(collection, _MANAGED_BY, (labels.METADATA_LABELS,))
    origins, transformations = "originAnnotations" in wanted, "transformerAnnotations" in wanted
    if origins or transformations:
        from penstock.kustomize import tracking

        tracking.annotate(collection, origins=origins, transformations=transformations)

    def value(resource: Resource) -> Object:
        annotations.finish(resource, origin=origins, transformations=transformations)
        return _plain(resource)

    last = collection.last(value)
    return [Built(last(resource), resource.origin, resource.touched) for resource in collection]


def _plain(resource: Resource) -> Object:
    if not resource.written:
        return resource.object
    try:
        value: Object = plain(resource.object)
    except YAMLError as error:
        raise ResourceError(f"{resource.id}: {error}") from error
    return value
