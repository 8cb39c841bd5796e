"""Events, as the core group and as events.k8s.io see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from penstock.embedded.kinds.internal import internal_form
from penstock.embedded.kinds.names import qualified_name
from penstock.embedded.kinds.problems import (
    IMMUTABLE,
    Problems,
    each_invalid,
    invalid,
    required,
)
from penstock.embedded.kinds.rules import Rules

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_ELSEWHERE = "does not match event.namespace"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class EventRules(Rules):
    """The core group's Event; names are not looked at beyond what a path can hold."""

    create_on_update: ClassVar[bool] = True
    _ABOUT: ClassVar[str] = "involvedObject"
    _REPORTER: ClassVar[str] = "reportingComponent"

    def check_create(self, problems: Problems, obj: Object) -> None:
        self.check(problems, obj)

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:  # noqa: ARG002 - as it was does not matter
        self.check(problems, new)

    def check(self, problems: Problems, obj: Object) -> None:
        namespace = obj["metadata"].get("namespace", "")
        about = obj.get(self._ABOUT, {}).get("namespace", "")
        if obj.get("eventTime") is None:
            fits = about == namespace if about else namespace in ("", "default")
            if not fits:
                problems.append(invalid("involvedObject.namespace", about, _ELSEWHERE))
            return
        if not about and namespace not in ("default", "kube-system"):
            problems.append(invalid("involvedObject.namespace", about, _ELSEWHERE))
        reporter = obj.get(self._REPORTER, "")
        if not reporter:
            problems.append(required(self._REPORTER))
        problems += each_invalid(self._REPORTER, reporter, qualified_name(reporter))
        for name, limit in (("reportingInstance", 128), ("action", 128), ("reason", 128)):
            value = obj.get(name, "")
            if not value:
                problems.append(required(name))
            if len(value) > limit:
                problems.append(invalid(name, "", f"can have at most {limit} characters"))
        text: str = obj.get("message") or obj.get("note") or ""
        if len(text) > 1024:
            problems.append(invalid("message", "", "can have at most 1024 characters"))


class NewEventRules(EventRules):
    """events.k8s.io: an event says when, who and what, and only its series changes."""

    _ABOUT: ClassVar[str] = "regarding"
    _REPORTER: ClassVar[str] = "reportingController"

    def check_create(self, problems: Problems, obj: Object) -> None:
        self.check(problems, obj)
        self.check_metadata(problems, obj)
        self._check_series(problems, obj)
        if obj.get("eventTime") is None:
            problems.append(required("eventTime"))
        kind = obj.get("type", "")
        if kind not in ("Normal", "Warning"):
            problems.append(invalid("type", "", f"has invalid value: {kind}"))
        for field, name in (
            ("deprecatedFirstTimestamp", "firstTimestamp"),
            ("deprecatedLastTimestamp", "lastTimestamp"),
            ("deprecatedCount", "count"),
        ):
            if obj.get(field):
                problems.append(invalid(name, "", "needs to be unset"))
        if obj.get("deprecatedSource"):
            problems.append(invalid("source", "", "needs to be unset"))

    def _check_series(self, problems: Problems, obj: Object) -> None:
        series = obj.get("series")
        if series is None:
            return
        if series["count"] < 2:
            problems.append(invalid("series.count", "", "should be at least 2"))
        if series.get("lastObservedTime") is None:
            problems.append(required("series.lastObservedTime"))

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check(problems, new)
        self.check_metadata_update(problems, new, old)
        if new.get("series") != old.get("series"):
            self._check_series(problems, new)
        for field, name in _FIXED:
            now, before = new.get(field), old.get(field)
            if now != before:
                problems.append(invalid(name, self._quoted(field, now), IMMUTABLE))

    def _quoted(self, field: str, value: Any) -> Any:
        if field in ("regarding", "related"):
            return None if value is None else internal_form("core.ObjectReference", value)
        if field == "deprecatedSource":
            return internal_form("core.EventSource", value or {})
        if field == "deprecatedCount":
            return value or 0
        return "" if value is None and field not in _TIMES else value


_TIMES = ("eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp")
_FIXED = (
    ("regarding", "involvedObject"),
    ("reason", "reason"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("reason", "reason"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingController", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)
