"""What the server asks of its neighbours, and what it offers them.

The neighbours (access, lifecycle, definitions, tables, workloads) are handed to the server as `Plugins`; each part
of it can be left out. They get an `Api` (see `inside.py`): the same verbs that HTTP clients reach, without HTTP.

All hooks are synchronous and run in the event loop between reading and storing an object: nothing else happens in
between, so what they read from the store is what the write will meet. They must be quick and must not block.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from penstock.embedded.kinds.empties import Empties
    from penstock.embedded.schema import Schema, Subresource
    from penstock.embedded.server.inside import Api as Api
    from penstock.embedded.server.inside import Catalog as Catalog
    from penstock.embedded.storage import Change
    from penstock.kube.resources import Object

RawHeaders = Sequence[tuple[bytes, bytes]]
"""Headers as ASGI has them: lower-case names, repeated ones repeated."""

Operation = Literal["CREATE", "UPDATE", "DELETE"]
Propagation = Literal["Background", "Foreground", "Orphan"]


@dataclass(frozen=True, slots=True)
class User:
    """Who asks."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])


SYSTEM = User("system:apiserver", ("system:masters",))
"""The server itself: its background tasks act with this identity unless they say otherwise."""


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """What a request is about, read from its path, method and query alone."""

    verb: str
    """get, list, watch, create, update, patch, delete, deletecollection; for other paths the method in lower case."""
    path: str
    is_resource: bool
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class Rules(Protocol):
    """What is done to objects of one kind besides storing them; see `penstock.embedded.kinds`."""

    @property
    def empties(self) -> Empties:
        """What the request spelt out as empty, which is not quite the same as missing."""
        ...

    def default(self, obj: Object) -> None: ...
    def prepare_create(self, obj: Object) -> None: ...
    def prepare_update(self, new: Object, old: Object, subresource: str) -> None: ...
    def validate_create(self, obj: Object) -> Sequence[Any]: ...
    def validate_update(self, new: Object, old: Object, subresource: str) -> Sequence[Any]: ...


@dataclass(frozen=True, slots=True)
class ServedResource:
    """One resource in one version, as the server serves it."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    subresource_types: tuple[Subresource, ...] = ()
    """What discovery says about them; for custom resources `status` and `scale` need no entry."""
    schema: Callable[[], Schema | None] = lambda: None
    """Lazy: most types are never asked for."""
    rules: Callable[[], Rules] | None = None
    """None: those of `penstock.embedded.kinds` for this group and kind."""
    custom: bool = False
    """True for what a CustomResourceDefinition brought: no strategic merge patch, other error texts."""
    collection: str = ""
    """Where the objects lie in the store; all versions of a resource share one."""
    columns: tuple[Object, ...] = ()
    """additionalPrinterColumns of a custom resource."""
    list_kind: str = ""
    storage_hash: str = ""
    since: int = 0
    """Custom objects from before this revision were written under another definition, and are shaped when read."""
    scale: Object | None = None
    """The scale subresource's paths of a custom resource (specReplicasPath ...)."""
    schemas: Mapping[str, Callable[[], Schema]] = field(default_factory=dict[str, "Callable[[], Schema]"])
    """Of a custom resource: every version of its definition, served or not, by apiVersion."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def stored_in(self) -> str:
        return self.collection or f"{self.group}/{self.plural}"

    @property
    def home(self) -> str:
        """The group that a refusal of an object names: Events are of the core group wherever they are served."""
        return self.stored_in.partition("/")[0]


@dataclass(slots=True)
class DeleteOptions:
    """How to delete; `propagation` None means the resource's default."""

    propagation: Propagation | None = None
    grace_seconds: int | None = None
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False
    cascading: bool = False
    """Whether the old `orphanDependents: false` asked for it; then an object that stays for now is answered by 202."""


@dataclass(slots=True)
class Attempt:
    """One write, as admission sees it, after defaulting and before validation."""

    operation: Operation
    user: User
    resource: ServedResource
    subresource: str
    namespace: str
    name: str
    """Empty for a create with generateName on the real server too; ours is generated already."""
    obj: Object | None
    """The new object, which may be changed in place; None for DELETE."""
    old: Object | None
    """The stored object, not to be changed; None for CREATE."""
    dry_run: bool
    warnings: list[str] = field(default_factory=list[str])
    """Sent to the client as `Warning` headers."""


class Access(Protocol):
    """Who may do what."""

    def authenticate(self, headers: RawHeaders) -> User:
        """Who asks, impersonation included; StatusError 401 or 403."""
        ...

    def authorize(self, user: User, info: RequestInfo) -> None:
        """Raise StatusError 403, worded as the real server words it, when `user` may not."""
        ...


class Admission(Protocol):
    """Says no to a write, or changes it: namespace life cycle, RBAC escalation, and so on."""

    def admit(self, attempt: Attempt) -> None:
        """Change `attempt.obj` in place or raise StatusError."""
        ...


class Validation(Protocol):
    """Rules that need more than the object itself; runs after the kind's own validation."""

    def validate(self, attempt: Attempt) -> None: ...


class Deletion(Protocol):
    """What deleting one object means."""

    def delete(self, resource: ServedResource, obj: Object, options: DeleteOptions, now: str) -> Object | None:
        """The object as it must be stored (deletionTimestamp, finalizers), or None when it goes at once.

        `obj` may be changed and returned. Returning an equal object stores nothing. Preconditions are checked
        before. The server itself deletes an object whose last finalizer an update removed.
        """
        ...


class Observer(Protocol):
    """Sees every change right after it was made, before its answer leaves."""

    def changed(self, change: Change) -> None: ...


class Virtual(Protocol):
    """A resource or subresource that answers a POST without storing it: reviews, tokens, evictions, bindings."""

    def create(self, call: VirtualCall) -> Object:
        """The answer; StatusError when refused. `call.obj` may be changed and returned."""
        ...


@dataclass(frozen=True, slots=True)
class VirtualCall:
    user: User
    resource: ServedResource
    subresource: str
    namespace: str
    name: str
    obj: Object
    dry_run: bool


class Tables(Protocol):
    """Server-side tables; the server itself builds the Table object around these."""

    def columns(self, resource: ServedResource) -> Sequence[Object]:
        """The columnDefinitions: name, type, format, description, priority."""
        ...

    def cells(self, resource: ServedResource, obj: Object) -> Sequence[Any]: ...

    def conditions(self, resource: ServedResource, obj: Object) -> Sequence[Object]:
        """The `conditions` of a row (a completed pod has one); mostly none."""
        ...


class Background(Protocol):
    """Something that runs as long as the server does."""

    def __call__(self, api: Api) -> Coroutine[Any, Any, None]: ...


@dataclass(slots=True)
class Plugins:
    """Everything that plugs into the server. Lists are asked in order."""

    access: Access | None = None
    """None: everybody is `system:admin` of `system:masters`."""
    admission: list[Admission] = field(default_factory=list[Admission])
    validation: list[Validation] = field(default_factory=list[Validation])
    deletion: Deletion | None = None
    observers: list[Observer] = field(default_factory=list[Observer])
    virtual: dict[tuple[str, str, str], Virtual] = field(default_factory=dict[tuple[str, str, str], Virtual])
    """By (group, plural, subresource)."""
    tables: Tables | None = None
    pages: dict[str, Callable[[], Object]] = field(default_factory=dict[str, Callable[[], "Object"]])
    """Documents at fixed paths, such as `/openid/v1/jwks`."""
    startup: list[Background] = field(default_factory=list[Background])
    """Awaited one after the other before the first request is answered: bootstrap objects and the like."""
    background: list[Background] = field(default_factory=list[Background])
    """The server's own tasks: run as long as it does, from the end of startup. One that ends is not started again."""
    controllers: list[Background] = field(default_factory=list[Background])
    """The same for what a controller-manager does on a real cluster; a cluster can do without."""


class Plugin(Protocol):
    """How a neighbour joins: the package's `plugin(context)` adds its parts to `plugins`.

    `penstock.embedded.access.install`, `.lifecycle.install`, `.definitions.install`, `.tables.install` and
    `.workloads.install` have this signature. It is called once, before the first request and after the store was
    loaded; background tasks begin right after it.
    """

    def __call__(self, plugins: Plugins, context: Context) -> None: ...


@dataclass(frozen=True, slots=True)
class Context:
    """What a neighbour may know when it joins."""

    api: Api
    admin_token: str
    authority: bytes
    """PEM of the certificate that signs the server's own."""
    signing_key: bytes
    """PEM of the private key (EC P-256) that signs service account tokens."""
    issuer: str
    """The `iss` of service account tokens."""
    now: Callable[[], float]
    """Seconds since the epoch; tests may turn it."""
