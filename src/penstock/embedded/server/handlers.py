"""The verbs of the API on resources: from a request to its answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from penstock.embedded.kinds.decode import DecodeError, decode
from penstock.embedded.server import objects
from penstock.embedded.server.answers import Answer, json_answer
from penstock.embedded.server.bodies import aside, read_object, read_options
from penstock.embedded.server.catalog import subresources_of
from penstock.embedded.server.negotiation import accepted, body_type
from penstock.embedded.server.options import delete_options, first, list_options, write_options
from penstock.embedded.server.patching import Patching, patch_type, read_apply
from penstock.embedded.server.ports import VirtualCall
from penstock.embedded.server.reading import get_record, list_page, select
from penstock.embedded.server.rendering import Renderer
from penstock.embedded.server.scaling import SCALE, Scaling
from penstock.embedded.server.strictness import check_apply, check_object, check_patch
from penstock.embedded.server.targets import Outcome, Target
from penstock.embedded.server.watching import Watch
from penstock.embedded.status import method_not_allowed, not_served

if TYPE_CHECKING:
    from penstock.embedded.schema import Subresource
    from penstock.embedded.server.api import Engine
    from penstock.embedded.server.app import Call
    from penstock.embedded.server.options import ListOptions, WriteOptions
    from penstock.embedded.server.ports import ServedResource
    from penstock.embedded.server.reading import Page
    from penstock.kube.resources import Object

_RETURNS_OBJECT = frozenset(
    (
        "/namespaces",
        "/persistentvolumes",
        "/persistentvolumeclaims",
        "/pods",
        "/podtemplates",
        "/resourcequotas",
        "/services",
        "/serviceaccounts",
        "resource.k8s.io/deviceclasses",
        "resource.k8s.io/resourceclaims",
        "resource.k8s.io/resourceclaimtemplates",
        "resource.k8s.io/resourceslices",
        "storage.k8s.io/csidrivers",
        "storage.k8s.io/csinodes",
        "storage.k8s.io/storageclasses",
        "storage.k8s.io/volumeattachments",
        "storage.k8s.io/volumeattributesclasses",
    )
)
"""Kinds whose deletion is answered with the object instead of a Status."""
_PODS_STAY = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them "
    "or set propagationPolicy=Orphan to suppress this warning"
)
_DEPRECATED = {
    "/componentstatuses": "v1 ComponentStatus is deprecated in v1.19+",
    "/endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}
"""What every request for these is told."""
_ITEM_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Handlers:
    """Answers requests for resources that are served."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.storage
        self._writer = engine.writer

    async def answer(self, call: Call, resource: ServedResource) -> Answer:
        """The answer to a request; StatusError when it is refused."""
        deprecation = _DEPRECATED.get(resource.stored_in)
        if deprecation is None or call.info.subresource:  # neither of them has any
            return await self._answer(call, resource)
        call.warnings.append(deprecation)
        answer = await self._answer(call, resource)
        # Answers to writes of single objects carry all warnings already.
        single = call.method != "GET" and (call.info.name or call.method == "POST")
        return answer if single else answer.warn([deprecation])

    async def _answer(self, call: Call, resource: ServedResource) -> Answer:
        info = call.info
        namespace = self._namespace(call, resource)
        if info.subresource:
            return await self._below(call, resource, namespace)
        if not info.name:
            return await self._collection(call, resource, namespace)
        if resource.namespaced and not namespace:
            raise not_served()
        if info.verb == "watch":
            return self._watch(call, resource, namespace)
        verb = _ITEM_VERBS.get(call.method, "")
        if not resource.verbs or set(resource.verbs) <= {"create"}:
            raise not_served()  # nothing is kept of it, so there is nothing to name
        if verb not in resource.verbs:
            raise method_not_allowed()
        match verb:
            case "get":
                return await self._get(call, resource, namespace)
            case "update":
                return await self._update(call, resource, namespace)
            case "patch":
                return await self._patch(call, resource, namespace)
            case _:
                return await self._delete(call, resource, namespace)

    def _namespace(self, call: Call, resource: ServedResource) -> str:
        """The namespace of the request; 404 when the resource has another scope than the path."""
        info = call.info
        if resource.namespaced:
            return info.namespace
        if info.namespace and not (resource.plural == "namespaces" and not resource.group):
            raise not_served()
        if info.namespace and info.namespace != info.name:
            raise not_served()
        return ""

    async def _collection(self, call: Call, resource: ServedResource, namespace: str) -> Answer:
        method = call.method
        if method == "GET" and "list" in resource.verbs:
            if call.info.verb == "watch":
                return self._watch(call, resource, namespace)
            return await self._list(call, resource, namespace)
        if resource.namespaced and not namespace:
            raise method_not_allowed()
        if method == "POST" and "create" in resource.verbs:
            return await self._create(call, resource, namespace)
        if method == "DELETE" and "deletecollection" in resource.verbs:
            return await self._delete_collection(call, resource, namespace)
        raise method_not_allowed()

    # Reading

    def _renderer(self, call: Call, resource: ServedResource) -> Renderer:
        form = accepted(call.header(b"accept"), stream=call.info.verb in ("list", "watch"))
        return Renderer(resource, form, self._engine.plugins.tables, first(call.query, "includeObject"))

    async def _get(self, call: Call, resource: ServedResource, namespace: str) -> Answer:
        renderer = self._renderer(call, resource)
        record = get_record(self._store, resource, namespace, call.info.name, first(call.query, "resourceVersion"))
        await self._store.settle(record.revision)
        return Answer(body=renderer.single(renderer.full(record)), media_type=renderer.accepted.media_type)

    async def _list(self, call: Call, resource: ServedResource, namespace: str) -> Answer:
        renderer = self._renderer(call, resource)
        options = list_options(call.query, watch=False)
        page = list_page(self._store, select(resource, namespace, "", options), options)
        await self._store.settle(page.revision)
        return self._listed(renderer, page)

    def _listed(self, renderer: Renderer, page: Page) -> Answer:
        metadata: Object = {"resourceVersion": str(page.revision)}
        if page.continue_token:
            metadata["continue"] = page.continue_token
        if page.remaining is not None:
            metadata["remainingItemCount"] = page.remaining
        return Answer(body=renderer.listed(page.records, metadata), media_type=renderer.accepted.media_type)

    def _watch(self, call: Call, resource: ServedResource, namespace: str) -> Answer:
        renderer = self._renderer(call, resource)
        options = list_options(call.query, watch=True)
        selection = select(resource, namespace, call.info.name, options)
        watch = Watch(self._store, selection, renderer, options)
        watch.check()
        return Answer(stream=watch.lines())

    # Writing

    def _target(self, call: Call, resource: ServedResource, namespace: str, options: WriteOptions) -> Target:
        info = call.info
        access = self._engine.plugins.access

        def may_create() -> None:
            if access is not None:
                access.authorize(call.user, replace(info, verb="create"))

        return Target(resource, namespace, info.name, info.subresource, call.user, options, may_create)

    def _sent(
        self, call: Call, resource: ServedResource, options: WriteOptions, warnings: list[str], kind: str = ""
    ) -> Object:
        """The object in the body, of the right kind, with what field validation has to say about it."""
        media_type = body_type(call.headers.get(b"content-type", b"").decode("latin-1"), custom=resource.custom)
        obj = read_object(call.body, media_type, resource, kind)
        if not kind:
            group, _, version = str(obj.get("apiVersion") or resource.api_version).rpartition("/")
            known = self._engine.catalog.find_kind(group, str(obj.get("kind") or resource.kind), version) is not None
            objects.check_kind(obj, resource, known=known)
            check_object(call.body, media_type, obj, resource, options, warnings)
        return obj

    async def _create(self, call: Call, resource: ServedResource, namespace: str) -> Answer:
        renderer = self._renderer(call, resource)
        body_type(call.headers.get(b"content-type", b"").decode("latin-1"), custom=resource.custom)
        options = write_options(call.query, "CreateOptions", call.header(b"user-agent"))
        warnings = call.warnings
        obj = await aside(call.body, self._sent, call, resource, options, warnings)
        virtual = self._engine.plugins.virtual.get((resource.group, resource.plural, ""))
        if virtual is not None:
            sent = self._writer.managed(self._target(call, resource, namespace, options), obj)
            made = virtual.create(VirtualCall(call.user, resource, "", namespace, "", sent, options.dry_run))
            return json_answer(made, 201)
        target = self._target(call, resource, namespace, options)
        outcome = self._writer.create(target, obj, warnings=warnings)
        return await self._written(renderer, outcome)

    async def _update(self, call: Call, resource: ServedResource, namespace: str) -> Answer:
        renderer = self._renderer(call, resource)
        body_type(call.headers.get(b"content-type", b"").decode("latin-1"), custom=resource.custom)
        options = write_options(call.query, "UpdateOptions", call.header(b"user-agent"))
        warnings = call.warnings
        target = self._target(call, resource, namespace, options)
        obj = await aside(call.body, self._sent, call, resource, options, warnings)
        return await self._written(renderer, self._writer.update(target, obj, warnings=warnings))

    async def _patch(self, call: Call, resource: ServedResource, namespace: str) -> Answer:
        kind = patch_type(call.header(b"content-type"), custom=resource.custom)
        renderer = self._renderer(call, resource)
        options = write_options(call.query, "PatchOptions", call.header(b"user-agent"), applies=kind == "apply")
        warnings = call.warnings
        target = self._target(call, resource, namespace, options)
        if kind == "apply":
            wanted = await aside(call.body, read_apply, call.body)

            def check_keys() -> None:
                check_apply(call.body, wanted, options, warnings)

            outcome = self._writer.apply(target, wanted, warnings=warnings, check=check_keys)
            return await self._written(renderer, outcome)
        patching = await aside(call.body, Patching, resource, kind, call.body)

        def check(old: Object, made: Object) -> None:
            problems = check_patch(call.body, made, resource, options, warnings, kind=kind, unread=patching.unread)
            if problems:
                raise patching.refused(old, problems)

        make, refusal = patching.make, patching.unreadable
        outcome = self._writer.change(target, make, warnings=warnings, check=check, refusal=refusal)
        return await self._written(renderer, outcome)

    async def _written(self, renderer: Renderer, outcome: Outcome) -> Answer:
        """The answer to a write, once it cannot be lost any more."""
        await self._store.settle()
        answer = Answer(201 if outcome.created else 200, renderer.single(outcome.encoded()))
        answer.media_type = renderer.accepted.media_type
        return answer.warn(outcome.warnings)

    async def _delete(self, call: Call, resource: ServedResource, namespace: str) -> Answer:
        renderer = self._renderer(call, resource)
        options = delete_options(call.query, self._options_body(call))
        target = Target(resource, namespace, call.info.name, user=call.user)
        if (resource.group, resource.kind) == ("batch", "Job") and options.propagation is None:
            call.warnings.append(_PODS_STAY)
        outcome = self._writer.delete(target, options, warnings=call.warnings)
        await self._store.settle()
        if not outcome.deleted or f"{resource.group}/{resource.plural}" in _RETURNS_OBJECT:
            code = 202 if options.cascading and not outcome.deleted else 200
            answer = Answer(code, renderer.single(outcome.encoded()))
            answer.media_type = renderer.accepted.media_type
            return answer.warn(outcome.warnings)
        details = {
            "name": call.info.name,
            "group": resource.group,
            "kind": resource.plural,
            "uid": outcome.obj["metadata"].get("uid", ""),
        }
        return json_answer(
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "details": {key: value for key, value in details.items() if value},
            }
        ).warn(outcome.warnings)

    def _options_body(self, call: Call) -> Object | None:
        if not call.body:
            return None
        media_type = body_type(call.headers.get(b"content-type", b"").decode("latin-1"), custom=False)
        return read_options(call.body, media_type)

    async def _delete_collection(self, call: Call, resource: ServedResource, namespace: str) -> Answer:
        renderer = self._renderer(call, resource)
        listing: ListOptions = list_options(call.query, watch=False)
        selection = select(resource, namespace, "", listing)
        options = delete_options(call.query, self._options_body(call))
        page = list_page(self._store, selection, listing)
        for record in page.records:
            if self._store.get(record.collection, record.namespace, record.name) is record:
                self._writer.delete(Target(resource, namespace, record.name, user=call.user), options)
        await self._store.settle()
        return self._listed(renderer, page)

    # Subresources

    async def _below(self, call: Call, resource: ServedResource, namespace: str) -> Answer:
        subresource = self._subresource(call, resource)
        if resource.namespaced and not namespace:
            raise not_served()
        verb = "create" if call.method == "POST" else _ITEM_VERBS.get(call.method, "")
        if verb not in subresource.verbs:
            raise method_not_allowed()
        virtual = self._engine.plugins.virtual.get((resource.group, resource.plural, subresource.name))
        if verb == "create" and virtual is not None:
            return await self._virtual(call, resource, namespace, subresource)
        if verb == "create" or (subresource.kind not in (resource.kind, "Scale")):
            get_record(self._store, resource, namespace, call.info.name)
            raise method_not_allowed()
        if subresource.name == "scale":
            return await self._scale(call, resource, namespace, verb)
        match verb:
            case "get":
                return await self._get(call, resource, namespace)
            case "update":
                return await self._update(call, resource, namespace)
            case "patch":
                return await self._patch(call, resource, namespace)
            case _:
                raise method_not_allowed()

    def _subresource(self, call: Call, resource: ServedResource) -> Subresource:
        for subresource in subresources_of(resource):
            if subresource.name == call.info.subresource:
                return subresource
        raise not_served()

    async def _virtual(self, call: Call, resource: ServedResource, namespace: str, subresource: Subresource) -> Answer:
        options = write_options(call.query, "CreateOptions", call.header(b"user-agent"))
        obj = self._sent(call, resource, options, [], kind=subresource.kind)
        group, version = subresource.group or resource.group, subresource.version or resource.version
        obj.setdefault("apiVersion", f"{group}/{version}" if group else version)
        obj.setdefault("kind", subresource.kind)
        virtual = self._engine.plugins.virtual[resource.group, resource.plural, subresource.name]
        made = virtual.create(
            VirtualCall(call.user, resource, subresource.name, namespace, call.info.name, obj, options.dry_run)
        )
        await self._store.settle()
        return json_answer(made, 201)

    async def _scale(self, call: Call, resource: ServedResource, namespace: str, verb: str) -> Answer:
        scaling = Scaling(self._writer, resource)
        if verb == "get":
            record = get_record(self._store, resource, namespace, call.info.name)
            await self._store.settle(record.revision)
            return json_answer(scaling.seen(self._writer.stored_object(resource, record)))
        kind = patch_type(call.header(b"content-type"), custom=resource.custom) if verb == "patch" else None
        names: Literal["PatchOptions", "UpdateOptions"] = "PatchOptions" if kind else "UpdateOptions"
        options = write_options(call.query, names, call.header(b"user-agent"), applies=kind == "apply")
        target = self._target(call, resource, namespace, options)
        if kind == "apply":
            wanted = read_apply(call.body)
            outcome = scaling.apply(target, wanted, call.warnings)
        elif kind is not None:
            patching = Patching(SCALE, kind, call.body, internal=not resource.custom)

            def make(scale: Object) -> Object:
                made = patching.make(scale)
                try:
                    read = decode(made)
                except DecodeError as error:
                    raise patching.unreadable(scale, error) from error
                problems = check_patch(
                    call.body, made, SCALE, options, call.warnings, kind=kind, unread=patching.unread
                )
                if problems:
                    raise patching.refused(scale, problems)
                return read

            outcome = scaling.write(target, make, call.warnings)
        else:
            sent = self._sent(call, resource, options, [], kind="Scale")
            outcome = scaling.write(target, lambda _: sent, call.warnings, whole=True)
        await self._store.settle()
        return json_answer(scaling.seen(outcome.obj)).warn(outcome.warnings)
