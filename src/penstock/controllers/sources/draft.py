"""The status of a source while a run works on it."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

import msgspec

from penstock.api import encode
from penstock.api.meta import Artifact, Condition
from penstock.controllers.sources import ready
from penstock.runtime import conditions as known
from penstock.runtime.conditions import READY, RECONCILING, STALLED

if TYPE_CHECKING:
    from datetime import datetime

    from penstock.kube.resources import Object
    from penstock.runtime.conditions import Conditions, Truth


class Draft:
    """Changes that a run makes; `status` is what is written.

    A condition that ends as it was before the run keeps its time, whatever it said in between: a run that finds
    nothing new writes nothing.
    """

    def __init__(self, obj: Object, *, now: datetime) -> None:
        status: Object = obj.get("status") or {}
        self.generation: int = obj["metadata"].get("generation") or 0
        self._now = now
        self._fields = {key: deepcopy(value) for key, value in status.items() if key != "conditions"}
        raw = [one for one in status.get("conditions") or () if one.get("type") in ready.OWNED]
        self._others = [one for one in status.get("conditions") or () if one.get("type") not in ready.OWNED]
        self.before: Conditions = tuple(msgspec.convert(one, Condition) for one in raw)
        """The conditions as they were before the run."""
        self.conditions: Conditions = self.before
        self.drifting = False
        """Something is to be done, and the world may see that."""

    def condition(self, name: str) -> Condition | None:
        return known.find(self.conditions, name)

    def is_true(self, name: str) -> bool:
        condition = self.condition(name)
        return condition is not None and condition.status == "True"

    def mark(self, name: str, truth: Truth, reason: str, message: str) -> None:
        self.conditions = known.mark(
            self.conditions, name, truth, reason=reason, message=message, generation=self.generation, now=self._now
        )

    def drop(self, *names: str) -> None:
        self.conditions = known.drop(self.conditions, *names)

    def progress(self, message: str, *, drifting: bool = False) -> None:
        """Say what is going on. Ready becomes unknown only when there is really something to do."""
        self.drifting = self.drifting or drifting
        self.mark(RECONCILING, "True", "Progressing", message)
        seen = self.condition(READY)
        if drifting or seen is None or seen.status == "Unknown":
            self.mark(READY, "Unknown", "Progressing", message)

    def set(self, fields: Object) -> None:
        """Set fields of the status; None removes one."""
        self._fields |= fields

    def get(self, field: str) -> object:
        return self._fields.get(field)

    def store(self, artifact: Artifact | None) -> None:
        self._fields["artifact"] = None if artifact is None else encode(artifact)

    def observe(self) -> None:
        """Say that this generation of the spec has been dealt with."""
        self._fields["observedGeneration"] = self.generation

    def settle(self) -> None:
        """Make Ready the sum of all others."""
        told = ready.summary(self.conditions)
        if told is not None:
            truth, reason, message = told
            self.mark(READY, truth, reason, message)

    def retry(self) -> None:
        """Say that the work goes on although it failed."""
        going_on = self.condition(RECONCILING)
        if going_on is not None:
            self.mark(RECONCILING, "True", "ProgressingWithRetry", going_on.message)

    def stall(self, reason: str, message: str) -> None:
        self.mark(STALLED, "True", reason, message)

    @property
    def recovered(self) -> bool:
        """A failure that was there before the run is gone."""
        had = any(known.find(self.before, name) is not None for name in ready.FAILURES)
        return had and not any(self.condition(name) is not None for name in ready.FAILURES)

    @property
    def status(self) -> Object:
        """The whole status, as it goes to the API server."""
        conditions = [encode(self._kept(one)) for one in self.conditions]
        fields = {key: value for key, value in self._fields.items() if value is not None}
        return {**fields, "conditions": [*conditions, *self._others]}

    def _kept(self, condition: Condition) -> Condition:
        old = known.find(self.before, condition.type)
        if old is None or (old.status, old.reason, old.message) != (
            condition.status,
            condition.reason,
            condition.message,
        ):
            return condition
        return msgspec.structs.replace(condition, last_transition_time=old.last_transition_time)
