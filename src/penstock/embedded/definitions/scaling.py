"""The scale subresource of a custom resource: replicas that lie wherever its definition says."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from penstock.embedded.definitions.nodes import MISSING
from penstock.embedded.fields.gotext import go_type, go_value
from penstock.embedded.kinds.problems import invalid
from penstock.embedded.status import internal_error

if TYPE_CHECKING:
    from penstock.embedded.kinds.problems import Problems
    from penstock.kube.resources import Object

_MOST = 2**31 - 1
_SHARED = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class Scaling:
    """Reads and writes replicas by the paths of a definition."""

    def __init__(self, paths: Object) -> None:
        self._spec: str = paths["specReplicasPath"]
        self._status: str = paths["statusReplicasPath"]
        self._selector: str = paths.get("labelSelectorPath") or ""

    def show(self, obj: Object, unset: int | None = None) -> Object:
        """The object as a Scale; `unset` stands for replicas that are not there."""
        replicas, problem = _number(obj, self._spec)
        if problem:
            raise internal_error(problem)
        if replicas is None and unset is not None:
            replicas = unset
        if replicas is None:
            raise internal_error(f'the spec replicas field "{self._spec}" does not exist')
        status: Object = {"replicas": _number(obj, self._status)[0] or 0}
        selector = _find(obj, self._selector)[0] if self._selector else None
        if isinstance(selector, str) and selector:
            status["selector"] = selector
        metadata = obj["metadata"]
        return {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {field: metadata[field] for field in _SHARED if field in metadata},
            "spec": {"replicas": replicas} if replicas else {},
            "status": status,
        }

    def change(self, obj: Object, scale: Object) -> Object:
        """A copy of the object with the replicas of a Scale."""
        made: Object = copy.deepcopy(obj)
        *folders, last = _steps(self._spec)
        place: Any = made
        for step in folders:
            place = place.setdefault(step, {})
        place[last] = (scale.get("spec") or {}).get("replicas", 0)
        return made

    def check_spec(self, problems: Problems, obj: Object) -> None:
        _check_number(problems, obj, self._spec)

    def check_status(self, problems: Problems, obj: Object) -> None:
        _check_number(problems, obj, self._status)
        if not self._selector:
            return
        value, problem = _find(obj, self._selector)
        if not problem and value is not MISSING and not isinstance(value, str):
            problem = _wrong(self._selector, value, "string")
        if problem:
            problems.append(invalid(self._selector, "", problem))


def _steps(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _find(obj: Object, path: str) -> tuple[Any, str]:
    """The value at a path, or that it is missing, and what is wrong with the way to it."""
    place: Any = obj
    for step in _steps(path):
        if place is None:
            return MISSING, ""
        if not isinstance(place, dict):
            shown, kind = go_value(place), go_type(place)
            return MISSING, f"{path} accessor error: {shown} is of the type {kind}, expected map[string]interface{{}}"
        if step not in place:
            return MISSING, ""
        place = place[step]
    return place, ""


def _wrong(path: str, value: Any, wanted: str) -> str:
    shown = go_value(int(value)) if isinstance(value, float) and value.is_integer() else go_value(value)
    return f"{path} accessor error: {shown} is of the type {go_type(value)}, expected {wanted}"


def _number(obj: Object, path: str) -> tuple[int | None, str]:
    value, problem = _find(obj, path)
    if problem or value is MISSING:
        return None, problem
    if isinstance(value, bool) or not isinstance(value, int):
        return None, _wrong(path, value, "int64")
    return value, ""


def _check_number(problems: Problems, obj: Object, path: str) -> None:
    value, problem = _number(obj, path)
    if problem:
        problems.append(invalid(path, 0, problem))
    elif value is not None and value < 0:
        problems.append(invalid(path, value, "should be a non-negative integer"))
    elif value is not None and value > _MOST:
        problems.append(invalid(path, value, f"should be less than or equal to {_MOST}"))
