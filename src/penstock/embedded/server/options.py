"""The options of a request: its query (or body, for a deletion), read and checked as the API server does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from penstock.embedded.kinds.problems import go_quote
from penstock.embedded.server.bodies import json_type
from penstock.embedded.server.paths import truth
from penstock.embedded.server.ports import DeleteOptions, Propagation
from penstock.embedded.status import StatusCause, StatusError, bad_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.kube.resources import Object

FieldValidation = Literal["Ignore", "Warn", "Strict"]

MANAGER_LIMIT = 128
_VALIDATIONS = ("Ignore", "Strict", "Warn")
_PROPAGATIONS = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How to write: for create, update and the patches."""

    manager: str = ""
    dry_run: bool = False
    validation: FieldValidation = "Warn"
    force: bool = False


@dataclass(frozen=True, slots=True)
class ListOptions:
    """What to list or watch."""

    labels: str = ""
    fields: str = ""
    resource_version: str = ""
    match: str = ""
    limit: int = 0
    continue_token: str = ""
    timeout: int | None = None
    bookmarks: bool = False
    initial_events: bool | None = None


def first(query: Mapping[str, Sequence[str]], name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def write_options(
    query: Mapping[str, Sequence[str]],
    kind: Literal["CreateOptions", "UpdateOptions", "PatchOptions"],
    user_agent: str,
    *,
    applies: bool = False,
) -> WriteOptions:
    """The options of a write; `applies` when it is a server-side apply, which needs a manager."""
    problems: list[StatusCause] = []
    force = query.get("force") if kind == "PatchOptions" else None
    if force is not None and not applies:
        problems.append(
            StatusCause("FieldValueForbidden", "Forbidden: may not be specified for non-apply patch", "force")
        )
    manager = first(query, "fieldManager")
    if applies and not manager:
        problems.append(
            StatusCause("FieldValueRequired", "Required value: is required for apply patch", "fieldManager")
        )
    problems += _manager_problems(manager)
    problems += _dry_run_problems(query.get("dryRun") or ())
    validation = first(query, "fieldValidation")
    if validation and validation not in _VALIDATIONS:
        problems.append(_unsupported("fieldValidation", validation, ("", *_VALIDATIONS)))
    if problems:
        raise invalid_options(kind, problems)
    return WriteOptions(
        manager=manager or manager_of(user_agent),
        dry_run=bool(query.get("dryRun")),
        validation=cast(FieldValidation, validation or "Warn"),
        force=truth(force),
    )


def manager_of(user_agent: str) -> str:
    """The manager of a client that names none: the first word of its user agent."""
    name = user_agent.partition("/")[0]
    printable = "".join(char for char in name if char.isprintable())
    return printable.encode()[:MANAGER_LIMIT].decode(errors="ignore")


def list_options(query: Mapping[str, Sequence[str]], *, watch: bool) -> ListOptions:
    """The options of a list or a watch."""
    initial = query.get("sendInitialEvents")
    options = ListOptions(
        labels=first(query, "labelSelector"),
        fields=first(query, "fieldSelector"),
        resource_version=first(query, "resourceVersion"),
        match=first(query, "resourceVersionMatch"),
        limit=_integer(query, "limit") or 0,
        continue_token=first(query, "continue"),
        timeout=_integer(query, "timeoutSeconds"),
        bookmarks=truth(query.get("allowWatchBookmarks")),
        initial_events=truth(initial) if initial is not None else None,
    )
    problems = _watch_problems(options) if watch else _list_problems(options)
    if problems:
        raise invalid_options("ListOptions", problems)
    return options


def delete_options(query: Mapping[str, Sequence[str]], body: Object | None) -> DeleteOptions:
    """How to delete: what the body says, or the query when there is none."""
    if body is None:
        policy: Any = first(query, "propagationPolicy") or None
        orphan: Any = truth(query["orphanDependents"]) if "orphanDependents" in query else None
        grace: Any = _integer(query, "gracePeriodSeconds")
        dry_run: Any = query.get("dryRun") or ()
        preconditions: Any = {}
    else:
        policy, orphan = body.get("propagationPolicy"), body.get("orphanDependents")
        grace, dry_run = body.get("gracePeriodSeconds"), body.get("dryRun") or ()
        preconditions = body.get("preconditions") or {}
        _check_types(policy, orphan, grace, dry_run, preconditions)
    problems: list[StatusCause] = []
    if policy is not None and orphan is not None:
        message = f'Invalid value: "{policy}": orphanDependents and deletionPropagation cannot be both set'
        problems.append(StatusCause("FieldValueInvalid", message, "propagationPolicy"))
    if policy is not None and policy not in _PROPAGATIONS:
        problems.append(_unsupported("propagationPolicy", policy, (*_PROPAGATIONS, "nil")))
    problems += _dry_run_problems(dry_run)
    if problems:
        raise invalid_options("DeleteOptions", problems)
    if policy is None and orphan is not None:
        policy = "Orphan" if orphan else "Background"
    return DeleteOptions(
        propagation=cast("Propagation | None", policy),
        grace_seconds=grace,
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        dry_run=bool(dry_run),
        cascading=orphan is False,
    )


def invalid_options(kind: str, problems: Sequence[StatusCause]) -> StatusError:
    told = [f"{cause.field}: {cause.message}" for cause in problems]
    text = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    message = f'{kind}.meta.k8s.io "" is invalid: {text}'
    return StatusError(422, "Invalid", message, group="meta.k8s.io", kind=kind, causes=problems)


def _check_types(policy: Any, orphan: Any, grace: Any, dry_run: Any, preconditions: Any) -> None:
    wanted: list[tuple[str, Any, type | tuple[type, ...], str]] = [
        ("propagationPolicy", policy, str, "v1.DeletionPropagation"),
        ("orphanDependents", orphan, bool, "bool"),
        ("gracePeriodSeconds", grace, int, "int64"),
        ("dryRun", dry_run, (list, tuple), "[]string"),
        ("preconditions", preconditions, dict, "v1.Preconditions"),
    ]
    for name, value, kind, go_type in wanted:
        if value is None or (isinstance(value, kind) and not (kind is int and isinstance(value, bool))):
            continue
        raise bad_request(
            f"json: cannot unmarshal {json_type(value)} into Go struct field DeleteOptions.{name} of type {go_type}"
        )
    for name in ("uid", "resourceVersion"):
        if not isinstance(preconditions.get(name) or "", str):
            found = json_type(preconditions[name])
            raise bad_request(
                f"json: cannot unmarshal {found} into Go struct field DeleteOptions.preconditions.{name} of type string"
            )
    for value in dry_run:
        if not isinstance(value, str):
            raise bad_request(
                f"json: cannot unmarshal {json_type(value)} into Go struct field DeleteOptions.dryRun of type string"
            )


def _integer(query: Mapping[str, Sequence[str]], name: str) -> int | None:
    values = query.get(name)
    if not values:
        return None
    text = values[0]
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    number = int(text) if len(digits) < 30 else 2**80
    if not -(2**63) <= number < 2**63:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return number


def _manager_problems(manager: str) -> list[StatusCause]:
    problems: list[StatusCause] = []
    if len(manager.encode()) > MANAGER_LIMIT:
        message = f"Too long: may not be more than {MANAGER_LIMIT} bytes"
        problems.append(StatusCause("FieldValueTooLong", message, "fieldManager"))
    position = 0
    for char in manager:
        if not char.isprintable():
            message = (
                f"Invalid value: {go_quote(manager)}: invalid character U+{ord(char):04X} (at position {position})"
            )
            problems.append(StatusCause("FieldValueInvalid", message, "fieldManager"))
        position += len(char.encode())
    return problems


def _dry_run_problems(values: Sequence[str]) -> list[StatusCause]:
    if all(value == "All" for value in values):
        return []
    listed = "[" + ",".join(go_quote(value) for value in values) + "]"
    message = f'Unsupported value: {listed}: supported values: "All"'
    return [StatusCause("FieldValueNotSupported", message, "dryRun")]


def _list_problems(options: ListOptions) -> list[StatusCause]:
    problems: list[StatusCause] = []
    match = options.match
    if match:
        if not options.resource_version:
            problems.append(_match_forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            problems.append(_match_forbidden("resourceVersionMatch is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            problems.append(_unsupported("resourceVersionMatch", match, ("Exact", "NotOlderThan", "")))
        if match == "Exact" and options.resource_version == "0":
            problems.append(_match_forbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if options.initial_events is not None:
        message = "Forbidden: sendInitialEvents is forbidden for list"
        problems.append(StatusCause("FieldValueForbidden", message, "sendInitialEvents"))
    return problems


def _watch_problems(options: ListOptions) -> list[StatusCause]:
    problems: list[StatusCause] = []
    match = options.match
    if options.initial_events is None and not match and options.resource_version in ("", "0"):
        # The server then sends the present state first, as if it had been asked to.
        if options.continue_token:
            problems.append(_match_forbidden("resourceVersionMatch is forbidden when continue is provided"))
        return problems
    if options.initial_events is not None and match != "NotOlderThan":
        problems.append(_match_forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if match:
        if options.initial_events is None:
            problems.append(
                _match_forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
            )
        if match != "NotOlderThan":
            problems.append(_unsupported("resourceVersionMatch", match, ("NotOlderThan",)))
        if options.continue_token:
            problems.append(_match_forbidden("resourceVersionMatch is forbidden when continue is provided"))
    return problems


def _match_forbidden(detail: str) -> StatusCause:
    return StatusCause("FieldValueForbidden", f"Forbidden: {detail}", "resourceVersionMatch")


def _unsupported(field: str, value: str, supported: Sequence[str]) -> StatusCause:
    listed = ", ".join(f'"{one}"' for one in supported)
    return StatusCause(
        "FieldValueNotSupported", f"Unsupported value: {go_quote(value)}: supported values: {listed}", field
    )
