"""Whether everything that a Kustomization depends on is ready now, and what wakes it when it is not yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock import cel, health
from penstock.api import InvalidObject, decode
from penstock.api.kustomization import Kustomization
from penstock.controllers.kustomization import dependencies
from penstock.controllers.kustomization.dependencies import NotReady
from penstock.controllers.kustomization.halt import blocked, misconfigured
from penstock.controllers.kustomization.tenant import acting
from penstock.errors import PenstockError
from penstock.kube.errors import KubeError, NotFound

if TYPE_CHECKING:
    from penstock.api.references import Dependency
    from penstock.controllers.kustomization.awaited import Awaited
    from penstock.controllers.kustomization.dependencies import Target
    from penstock.controllers.kustomization.parts import Parts
    from penstock.kube import Object, ObjectRef, Resource


class Readiness:
    """Looks at dependencies."""

    def __init__(self, parts: Parts, awaited: Awaited) -> None:
        self._parts = parts
        self._awaited = awaited
        self._waiting: set[ObjectRef] = set()

    async def check(self, kustomization: Kustomization, obj: Object, revision: str) -> None:
        """Raise a Halt that names the first dependency that is not ready."""
        key = dependencies.own_ref(kustomization)
        # Before the look, and long before the status says so: a dependency that gets ready meanwhile has to be heard.
        self._waiting.add(key)
        waits = False
        try:
            for dependency in kustomization.spec.depends_on:
                await self._check(kustomization, obj, dependency, revision)
            for target in dependencies.targets(kustomization):
                await self._check_any(kustomization, target)
        except (NotReady, dependencies.BadDependency) as error:
            waits = True
            raise dependencies.not_ready(error, self._parts.settings.requeue_dependency) from error
        finally:
            if not waits:
                self.forget(key)

    def waits(self, key: ObjectRef) -> bool:
        """Whether this one is looking at its dependencies right now, or found one that was not ready."""
        return key in self._waiting

    def forget(self, key: ObjectRef) -> None:
        """Wake this one no more: it has what it waited for, or it is gone."""
        self._waiting.discard(key)
        self._awaited.forget(key)

    async def _check(self, kustomization: Kustomization, obj: Object, dependency: Dependency, revision: str) -> None:
        namespace = dependency.namespace or kustomization.metadata.namespace
        name = f"{namespace}/{dependency.name}"
        if dependency.ready_expr:
            self._check_access(kustomization, namespace, name)
        found = await self._find(dependency.name, namespace)
        if dependency.ready_expr:
            if not _says_ready(dependency, obj, found):
                raise NotReady(f"dependency '{name}' is not ready according to readyExpr eval")
            if not self._parts.settings.gates.additive_cel_dependency_check:
                return
        try:
            other = decode(found, Kustomization)
        except InvalidObject as error:
            raise NotReady(f"dependency '{name}' is not ready: {error}") from error
        dependencies.check_builtin(kustomization, other, revision)

    def _check_access(self, kustomization: Kustomization, namespace: str, name: str) -> None:
        """An expression over another tenant's object would tell its content, one question at a time."""
        own = kustomization.metadata.namespace
        if namespace != own and not self._parts.settings.cross_namespace_references:
            told = f"can't evaluate the readyExpr of dependency '{name}', cross-namespace references have been blocked"
            raise blocked(told)

    async def _find(self, name: str, namespace: str) -> Object:
        """The dependency as this process knows it; one that another shard works on is asked for."""
        parts = self._parts
        known = parts.kustomizations.get(name, namespace)
        if known is not None:
            return parts.writes.newest(known)
        try:
            return await parts.client.get(parts.resource, name, namespace)
        except KubeError as error:
            raise NotReady(f"dependency '{namespace}/{name}' not found: {error}") from error

    async def _check_any(self, kustomization: Kustomization, target: Target) -> None:
        """An object of any kind, seen with the rights that the Kustomization has on this cluster."""
        key = dependencies.own_ref(kustomization)
        reader = acting(self._parts.client, kustomization, self._parts.settings)
        try:
            resource = await self._resource(target)
        except KubeError as error:
            raise NotReady(f"dependency '{target}' cannot be read: {error}") from error
        try:
            found = await reader.get(resource, target.name, target.namespace or None)
        except NotFound as error:
            self._awaited.watch(key, target, resource)
            raise NotReady(f"dependency '{target}' not found: {error}") from error
        except KubeError as error:
            raise NotReady(f"dependency '{target}' cannot be read: {error}") from error
        status = health.status_of(found)
        if status.status != health.HealthStatus.CURRENT:
            self._awaited.watch(key, target, resource)
            raise NotReady(f"dependency '{target}' is not ready: {status.status}")

    async def _resource(self, target: Target) -> Resource:
        discovery = self._parts.client.discovery
        if target.group is not None:
            return await discovery.find(target.group, target.kind)
        served = [one.resource for one in await discovery.kinds() if one.resource.kind == target.kind]
        if not served:
            raise NotReady(f"dependency '{target}' is not ready: the cluster does not serve the kind {target.kind}")
        return await discovery.find(served[0].group, target.kind)


def _says_ready(dependency: Dependency, own: Object, found: Object) -> bool:
    try:
        program = cel.compile(dependency.ready_expr, variables=("self", "dep"), result=bool)
    except cel.CelSyntaxError as error:
        message = f"terminal error: failed to evaluate dependency {dependency.name}: {error}"
        raise misconfigured(PenstockError(message), attempted=True) from error
    try:
        return bool(program.evaluate({"self": own, "dep": found}))
    except cel.CelRuntimeError as error:
        raise NotReady(f"dependency '{dependency.name}' is not ready: {error}") from error
