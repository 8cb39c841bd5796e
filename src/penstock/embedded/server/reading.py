"""Reads: single objects and lists, with selectors, pages and revisions."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from penstock.embedded.server.fieldlabels import check_fields, matches_fields
from penstock.embedded.server.objects import query_version
from penstock.embedded.server.selectors import field_selector, label_selector
from penstock.embedded.status import StatusCause, StatusError, bad_request, expired, not_found, timeout
from penstock.embedded.storage import Compacted
from penstock.labels import matches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.embedded.server.options import ListOptions
    from penstock.embedded.server.ports import ServedResource
    from penstock.embedded.server.selectors import FieldTerm
    from penstock.embedded.storage import Record, Storage
    from penstock.labels import Requirements

CONTINUE_VERSION = "meta.k8s.io/v1"
_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list "
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
    "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
    "modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a resource a list or watch is about."""

    resource: ServedResource
    namespace: str
    labels: Requirements = ()
    fields: Sequence[FieldTerm] = ()

    @property
    def empty(self) -> bool:
        return not self.labels and not self.fields

    def matches(self, record: Record) -> bool:
        if self.namespace and record.namespace != self.namespace:
            return False
        if self.labels and not matches(self.labels, record.labels):
            return False
        return not self.fields or matches_fields(record, self.fields)


@dataclass(frozen=True, slots=True)
class Page:
    """What a list answers."""

    records: list[Record]
    revision: int
    continue_token: str = ""
    remaining: int | None = None


def select(resource: ServedResource, namespace: str, name: str, options: ListOptions) -> Selection:
    """The selection of a list or watch; 400 when a selector makes no sense."""
    labels = label_selector(options.labels)
    terms = field_selector(options.fields)
    check_fields(resource, terms)
    if name:
        terms = (*terms, *field_selector(f"metadata.name={name}"))
    return Selection(resource, namespace, labels, terms)


def get_record(store: Storage, resource: ServedResource, namespace: str, name: str, version: str = "") -> Record:
    """One object; 404 when it is not there. `version` is the oldest revision that will do."""
    if version:
        if not (version.isascii() and version.isdigit()):
            raise query_version(version)
        check_future(store, int(version))
    record = store.get(resource.stored_in, namespace, name)
    if record is None:
        raise not_found(resource.plural, name, group=resource.group)
    return record


def list_page(store: Storage, selection: Selection, options: ListOptions) -> Page:
    """One page of a list, or all of it."""
    if options.continue_token:
        return _continued(store, selection, options)
    asked = _asked(options.resource_version)
    if asked:
        check_future(store, asked)
    exact = options.match == "Exact" or (options.limit > 0 and asked > 0 and options.match != "NotOlderThan")
    if exact and asked:
        try:
            records = store.list_at(selection.resource.stored_in, selection.namespace, asked)
        except Compacted:
            raise expired("The resourceVersion for the provided list is too old.") from None
        return _cut(selection, records, asked, options.limit)
    records = store.list(selection.resource.stored_in, selection.namespace)
    # What is asked for from the server's memory (revision 0) comes in one piece.
    limit = 0 if options.resource_version == "0" else options.limit
    return _cut(selection, records, store.revision, limit)


def check_future(store: Storage, asked: int) -> None:
    """504 for a revision that has not been yet."""
    if asked <= store.revision:
        return
    message = f"Timeout: Too large resource version: {asked}, current: {store.revision}"
    cause = StatusCause("ResourceVersionTooLarge", "Too large resource version")
    error = timeout(message, causes=(cause,))
    error.retry_after = 1
    raise error


def _asked(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        error = query_version(text)
        raise bad_request(f"invalid resource version: {error.message}")
    return int(text)


def _cut(selection: Selection, records: list[Record], revision: int, limit: int) -> Page:
    matches = selection.matches
    if limit <= 0:
        return Page(records if selection.empty else [record for record in records if matches(record)], revision)
    found: list[Record] = []
    for position, record in enumerate(records):
        if not selection.empty and not matches(record):
            continue
        found.append(record)
        if len(found) == limit and position + 1 < len(records):
            return _page(selection, found, revision, records[position + 1 :])
    return Page(found, revision)


def _page(selection: Selection, found: list[Record], revision: int, rest: Sequence[Record]) -> Page:
    if selection.empty:
        return Page(found, revision, _token(revision, found[-1], selection), len(rest))
    if not any(selection.matches(record) for record in rest):
        return Page(found, revision)
    # With a selector the real server does not count what is left either.
    return Page(found, revision, _token(revision, found[-1], selection))


def _token(revision: int, last: Record, selection: Selection) -> str:
    start = last.name if selection.namespace or not last.namespace else f"{last.namespace}/{last.name}"
    text = orjson.dumps({"v": CONTINUE_VERSION, "rv": revision, "start": f"{start}\0"})
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def _continued(store: Storage, selection: Selection, options: ListOptions) -> Page:
    revision, start = _read_token(options.continue_token)
    if options.resource_version not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    prefix = f"{selection.namespace}/" if selection.namespace else ""
    place = f"{prefix}{start}"
    try:
        records = store.list_at(
            selection.resource.stored_in, selection.namespace, revision if revision > 0 else store.revision
        )
    except Compacted:
        raise _expired_token(start) from None
    rest = [record for record in records if record.key >= place]
    return _cut(selection, rest, revision if revision > 0 else store.revision, options.limit)


def _expired_token(start: str) -> StatusError:
    """410 with a token that goes on from the same place in the world of today."""
    error = expired(_TOO_OLD)
    text = orjson.dumps({"v": CONTINUE_VERSION, "rv": -1, "start": start})
    error.continue_token = base64.urlsafe_b64encode(text).decode().rstrip("=")
    return error


def _read_token(token: str) -> tuple[int, str]:
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except ValueError:
        raise _bad_token("continue key is not valid: illegal base64 data at input byte 0") from None
    try:
        value: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        shown = chr(text[0]) if text else ""
        what = (
            f"invalid character '{shown}' looking for beginning of value" if shown else "unexpected end of JSON input"
        )
        raise _bad_token(f"continue key is not valid: {what}") from None
    if not isinstance(value, dict) or value.get("v") != CONTINUE_VERSION:
        version = value.get("v", "") if isinstance(value, dict) else ""
        raise _bad_token(f"continue key is not valid: server does not recognize this encoded version {version}")
    revision, start = value.get("rv"), value.get("start")
    if not isinstance(revision, int) or not revision:
        raise _bad_token("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not isinstance(start, str) or not start:
        raise _bad_token("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
    if any(part in (".", "..") for part in start.split("/")):
        raise _bad_token(f"continue key is not valid: {start}")
    return revision, start.removeprefix("/")


def _bad_token(why: str) -> StatusError:
    return bad_request(f"invalid continue token: {why}")
