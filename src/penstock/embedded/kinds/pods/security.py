"""Security contexts of pods and containers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from penstock.embedded.kinds.internal import internal_form
from penstock.embedded.kinds.names import between
from penstock.embedded.kinds.pods.references import check_descending
from penstock.embedded.kinds.problems import Problems, duplicate, invalid, required, too_long, unsupported

if TYPE_CHECKING:
    from penstock.kube.resources import Object

_ID_LIMIT = 2**31 - 1
_SYSCTL = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")
_SYSCTL_WORDS = f"must have at most 253 characters and match regex ^{_SYSCTL.pattern}$"
_SECCOMP = ("Localhost", "RuntimeDefault", "Unconfined")


def check_pod_security(problems: Problems, context: Object, spec: Object, field: str) -> None:
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        _check_id(problems, context.get(name), f"{field}.{name}")
    for index, group in enumerate(context.get("supplementalGroups", ())):
        _check_id(problems, group, f"{field}.supplementalGroups[{index}]")
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        problems.append(invalid(f"{field}.shareProcessNamespace", True, detail))
    if "sysctls" in context:
        _check_sysctls(problems, context, spec, f"{field}.sysctls")
    _check_choice(problems, context, "fsGroupChangePolicy", ("Always", "OnRootMismatch"), field)
    _check_profiles(problems, context, field)
    _check_choice(problems, context, "supplementalGroupsPolicy", ("Merge", "Strict"), field)
    _check_choice(problems, context, "seLinuxChangePolicy", ("Recursive",), field)


def check_container_security(problems: Problems, context: Object, field: str, host_users: bool) -> None:
    for name in ("runAsUser", "runAsGroup"):
        _check_id(problems, context.get(name), f"{field}.{name}")
    if "procMount" in context:
        mount = context["procMount"]
        if mount not in ("Default", "Unmasked"):
            problems.append(unsupported(f"{field}.procMount", mount, ("Default", "Unmasked")))
        if host_users and mount == "Unmasked":
            detail = "`hostUsers` must be false to use `Unmasked`"
            problems.append(invalid(f"{field}.procMount", mount, detail))
    _check_seccomp(problems, context.get("seccompProfile"), f"{field}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        _check_escalation(problems, context, field)
    _check_apparmor(problems, context.get("appArmorProfile"), f"{field}.appArmorProfile")


def _check_escalation(problems: Problems, context: Object, field: str) -> None:
    words = "cannot set `allowPrivilegeEscalation` to false and "
    if context.get("privileged"):
        value = internal_form("core.SecurityContext", context)
        problems.append(invalid(field, value, f"{words}`privileged` to true"))
    if "CAP_SYS_ADMIN" in context.get("capabilities", {}).get("add", ()):
        value = internal_form("core.SecurityContext", context)
        problems.append(invalid(field, value, f"{words}`capabilities.Add` CAP_SYS_ADMIN"))


def _check_id(problems: Problems, number: int | None, field: str) -> None:
    if number is not None and not 0 <= number <= _ID_LIMIT:
        problems.append(invalid(field, number, between(0, _ID_LIMIT)))


def _check_choice(problems: Problems, context: Object, name: str, allowed: tuple[str, ...], field: str) -> None:
    value = context.get(name)
    if value is not None and value not in allowed:
        problems.append(unsupported(f"{field}.{name}", value, allowed))


def _check_profiles(problems: Problems, context: Object, field: str) -> None:
    _check_seccomp(problems, context.get("seccompProfile"), f"{field}.seccompProfile")
    _check_apparmor(problems, context.get("appArmorProfile"), f"{field}.appArmorProfile")


def _check_seccomp(problems: Problems, profile: Object | None, field: str) -> None:
    if profile is None:
        return
    kind, path = profile["type"], profile.get("localhostProfile")
    if not kind:
        problems.append(required(f"{field}.type", "type is required when seccompProfile is set"))
    elif kind not in _SECCOMP:
        problems.append(unsupported(f"{field}.type", kind, _SECCOMP))
    if kind == "Localhost":
        if path is None:
            detail = "must be set when seccomp type is Localhost"
            problems.append(required(f"{field}.localhostProfile", detail))
        else:
            check_descending(problems, path, f"{field}.localhostProfile")
    elif path is not None:
        value = internal_form("core.SeccompProfile", profile)
        problems.append(invalid(f"{field}.localhostProfile", value, "can only be set when seccomp type is Localhost"))


def _check_apparmor(problems: Problems, profile: Object | None, field: str) -> None:
    if profile is None:
        return
    kind, path = profile["type"], profile.get("localhostProfile")
    where = f"{field}.localhostProfile"
    if kind == "Localhost":
        if path is None or (not path.strip() and path == path.strip()):
            problems.append(required(where, "must be set when AppArmor type is Localhost"))
        elif path != path.strip():
            problems.append(invalid(where, path, "must not be padded with whitespace"))
        if path is not None and len(path) > 4095:
            problems.append(too_long(where, 4095))
    elif kind in ("RuntimeDefault", "Unconfined"):
        if path is not None:
            problems.append(invalid(where, path, "can only be set when AppArmor type is Localhost"))
    elif not kind:
        problems.append(required(f"{field}.type", "type is required when appArmorProfile is set"))
    else:
        problems.append(unsupported(f"{field}.type", kind, ("Localhost", "RuntimeDefault", "Unconfined")))


def _check_sysctls(problems: Problems, context: Object, spec: Object, field: str) -> None:
    seen: set[str] = set()
    for index, sysctl in enumerate(context["sysctls"]):
        at, name = f"{field}[{index}].name", sysctl["name"]
        if not name:
            problems.append(required(at))
        elif len(name) > 253 or not _SYSCTL.fullmatch(name):
            problems.append(invalid(at, name, _SYSCTL_WORDS))
        elif name in seen:
            problems.append(duplicate(at, name))
        dotted = name.replace("/", ".")
        if spec.get("hostNetwork") and dotted.startswith("net."):
            problems.append(invalid(at, name, "may not be specified when 'hostNetwork' is true"))
        elif spec.get("hostIPC") and dotted.startswith(("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")):
            problems.append(invalid(at, name, "may not be specified when 'hostIPC' is true"))
        seen.add(name)
