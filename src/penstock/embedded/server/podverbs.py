"""What can be posted below a pod: an eviction, which deletes it, and a binding, which gives it a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.server import objects
from penstock.embedded.server.options import WriteOptions, delete_options
from penstock.embedded.server.targets import Target
from penstock.embedded.status import conflict, invalid_value

if TYPE_CHECKING:
    from penstock.embedded.server.ports import Plugins, VirtualCall
    from penstock.embedded.server.writing import Writer
    from penstock.kube.resources import Object

_DONE: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


class Evictions:
    """POST to `pods/eviction`. Disruption budgets are not asked: nothing here keeps count of them."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def create(self, call: VirtualCall) -> Object:
        options = delete_options({}, call.obj.get("deleteOptions") or {})
        options.dry_run = options.dry_run or call.dry_run
        self._writer.delete(Target(call.resource, call.namespace, call.name, user=call.user), options)
        return dict(_DONE)


class Bindings:
    """POST to `pods/binding`: what a scheduler does."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def create(self, call: VirtualCall) -> Object:
        node = (call.obj.get("target") or {}).get("name")
        if not node:
            raise invalid_value("Binding", call.name, "target.name", "Required value", "FieldValueRequired")
        options = WriteOptions(manager="scheduler", dry_run=call.dry_run)
        target = Target(call.resource, call.namespace, call.name, "binding", call.user, options)
        now = objects.timestamp(self._writer.clock())

        def bind(pod: Object) -> Object:
            held = pod["spec"].get("nodeName")
            if held:
                why = f"pod {call.name} is already assigned to node {held!r}".replace("'", '"')
                raise conflict("pods/binding", call.name, why)
            pod["spec"]["nodeName"] = node
            status = pod.setdefault("status", {})
            kept = [each for each in status.get("conditions") or () if each["type"] != "PodScheduled"]
            scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
            status["conditions"] = [*kept, scheduled]
            return pod

        self._writer.change(target, bind, managed=False)
        return dict(_DONE)


def install(plugins: Plugins, writer: Writer) -> None:
    plugins.virtual["", "pods", "eviction"] = Evictions(writer)
    plugins.virtual["", "pods", "binding"] = Bindings(writer)
