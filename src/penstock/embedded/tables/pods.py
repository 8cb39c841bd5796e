"""The row of a pod: what its containers are up to, in one word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.embedded.tables.durations import since

if TYPE_CHECKING:
    from penstock.kube.resources import Object

NONE = "<none>"
_ENDED = ("Succeeded", "Failed")


def cells(pod: Object, now: float) -> list[Any]:
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    view = _View(pod)
    restarts: Any = str(view.restarts)
    if view.restarts and view.last_restart:
        restarts = f"{view.restarts} ({since(view.last_restart, now)} ago)"
    return [
        metadata["name"],
        f"{view.ready}/{view.total}",
        view.reason,
        restarts,
        since(metadata.get("creationTimestamp"), now),
        ((status.get("podIPs") or [{}])[0].get("ip") or status.get("podIP")) or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    ]


def conditions(pod: Object) -> list[Object]:
    """A completed pod says so beside its cells."""
    phase = (pod.get("status") or {}).get("phase")
    if phase not in _ENDED:
        return []
    words = "The pod has completed successfully." if phase == "Succeeded" else "The pod failed."
    return [{"type": "Completed", "status": "True", "reason": phase, "message": words}]


class _View:
    """A pod as `kubectl get pods` sums it up."""

    def __init__(self, pod: Object) -> None:
        self._pod = pod
        self._status: Object = pod.get("status") or {}
        spec = pod["spec"]
        init = spec.get("initContainers") or ()
        self._sidecars = {each["name"] for each in init if each.get("restartPolicy") == "Always"}
        self._init_total = len(init)
        self.total = len(spec.get("containers") or ()) + len(self._sidecars)
        self.ready = 0
        self.restarts = 0
        self.last_restart = ""
        self.reason: str = self._status.get("reason") or self._status.get("phase") or ""
        self._read()

    def _read(self) -> None:
        if any(
            each["type"] == "PodScheduled" and each.get("reason") == "SchedulingGated"
            for each in self._status.get("conditions") or ()
        ):
            self.reason = "SchedulingGated"
        initializing = self._read_init()
        if not initializing or self._holds("Initialized"):
            self._read_containers()
        if self._pod["metadata"].get("deletionTimestamp"):
            if self._status.get("reason") == "NodeLost":
                self.reason = "Unknown"
            elif self._status.get("phase") not in _ENDED:
                self.reason = "Terminating"

    def _read_init(self) -> bool:
        """Whether an init container is still at work; it then gives the reason."""
        for index, container in enumerate(self._status.get("initContainerStatuses") or ()):
            self._count(container)
            state = container.get("state") or {}
            ended, waiting = state.get("terminated"), state.get("waiting") or {}
            if ended is not None and ended.get("exitCode", 0) == 0:
                continue
            if container["name"] in self._sidecars and container.get("started"):
                self.ready += bool(container.get("ready"))
                continue
            if ended is not None:
                self.reason = f"Init:{_how_ended(ended)}"
            elif waiting.get("reason") and waiting["reason"] != "PodInitializing":
                self.reason = f"Init:{waiting['reason']}"
            else:
                self.reason = f"Init:{index}/{self._init_total}"
            return True
        return False

    def _read_containers(self) -> None:
        self.restarts, self.last_restart = 0, ""
        for container in self._status.get("initContainerStatuses") or ():
            if container["name"] in self._sidecars:
                self._count(container)
        running = False
        for container in reversed(self._status.get("containerStatuses") or ()):
            self._count(container)
            state = container.get("state") or {}
            if (state.get("waiting") or {}).get("reason"):
                self.reason = state["waiting"]["reason"]
            elif state.get("terminated") is not None:
                self.reason = _how_ended(state["terminated"])
            elif container.get("ready") and state.get("running") is not None:
                running = True
                self.ready += 1
        if self.reason == "Completed" and running:
            self.reason = "Running" if self._holds("Ready") else "NotReady"

    def _count(self, container: Object) -> None:
        self.restarts += container.get("restartCount", 0)
        ended = ((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt")
        if ended and ended > self.last_restart:
            self.last_restart = ended

    def _holds(self, condition: str) -> bool:
        return any(
            each["type"] == condition and each["status"] == "True" for each in self._status.get("conditions") or ()
        )


def _how_ended(ended: Object) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _gates(spec: Object, status: Object) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return NONE
    true = {each["type"] for each in status.get("conditions") or () if each["status"] == "True"}
    return f"{sum(gate['conditionType'] in true for gate in gates)}/{len(gates)}"
