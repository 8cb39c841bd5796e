"""CronJobs."""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING, ClassVar

from penstock.embedded.kinds.batch import check_job_spec
from penstock.embedded.kinds.cron import schedule_problem
from penstock.embedded.kinds.decode import defaults
from penstock.embedded.kinds.internal import internal_form
from penstock.embedded.kinds.problems import Problems, invalid, one_of, required, unsupported
from penstock.embedded.kinds.rules import Rules
from penstock.embedded.kinds.workloads import check_number

if TYPE_CHECKING:
    from penstock.kube.resources import Object


_ZONES = frozenset(resources.files("penstock.embedded.kinds").joinpath("table/zones.txt").read_text().split())
"""The time zones of the database that the API server carries; a machine may have none of its own."""


@defaults("batch/v1.CronJob")
def _cron_job_defaults(obj: Object) -> None:
    spec = obj["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)


class CronJobRules(Rules):
    generation: ClassVar[tuple[str, ...]] = ("spec",)
    status: ClassVar[bool] = True

    def check_create(self, problems: Problems, obj: Object) -> None:
        super().check_create(problems, obj)
        name = obj["metadata"].get("name", "")
        if len(name) > 52:
            problems.append(invalid("metadata.name", name, "must be no more than 52 characters"))

    def check(self, problems: Problems, obj: Object) -> None:
        self._check_spec(problems, obj["spec"], {})

    def check_update(self, problems: Problems, new: Object, old: Object) -> None:
        self.check_metadata_update(problems, new, old)
        self._check_spec(problems, new["spec"], old["spec"])

    def check_status(self, problems: Problems, new: Object, old: Object) -> None:
        """Nothing of its own."""

    def _check_spec(self, problems: Problems, spec: Object, before: Object) -> None:
        schedule = spec["schedule"]
        if not schedule:
            problems.append(required("spec.schedule"))
        else:
            self._check_schedule(problems, spec, before)
        check_number(problems, spec, "startingDeadlineSeconds")
        if "timeZone" in spec and spec["timeZone"] != before.get("timeZone"):
            _check_zone(problems, spec["timeZone"], "spec.timeZone")
        one_of(problems, spec["concurrencyPolicy"], ("Allow", "Forbid", "Replace"), "spec.concurrencyPolicy")
        job = spec["jobTemplate"]["spec"]
        sent = self.sent({"spec": spec})["spec"]["jobTemplate"]["spec"]
        check_job_spec(problems, job, "spec.jobTemplate.spec", sent=sent)
        if "selector" in job:
            value = internal_form("apis/meta/v1.LabelSelector", job["selector"])
            problems.append(invalid("spec.jobTemplate.spec.selector", value, "`selector` will be auto-generated"))
        if job.get("manualSelector"):
            problems.append(unsupported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false")))
        check_number(problems, spec, "successfulJobsHistoryLimit")
        check_number(problems, spec, "failedJobsHistoryLimit")

    def _check_schedule(self, problems: Problems, spec: Object, before: Object) -> None:
        schedule = spec["schedule"]
        if words := schedule_problem(schedule):
            problems.append(invalid("spec.schedule", schedule, words))
        if "TZ" not in schedule:
            return
        if "TZ" not in before.get("schedule", ""):
            detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            problems.append(invalid("spec.schedule", schedule, detail))
        elif "timeZone" in spec:
            detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
            problems.append(invalid("spec.schedule", schedule, detail))


def _check_zone(problems: Problems, zone: str, field: str) -> None:
    if not zone:
        problems.append(invalid(field, zone, "timeZone must be nil or non-empty string"))
        return
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not re.fullmatch(r"[A-Za-z\.\-_0-9+]{1,}", part):
            problems.append(invalid(field, zone, f"unknown time zone {zone}"))
            return
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        problems.append(invalid(field, zone, detail))
    if zone not in _ZONES and zone not in ("UTC", "Local"):
        problems.append(invalid(field, zone, f"unknown time zone {zone}"))
