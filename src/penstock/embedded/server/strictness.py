"""Field validation: what to say about fields that the kind does not have, or that were given twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.fields import apply_problems, object_problems, patch_problems
from penstock.embedded.kinds.decode import DecodeError, Mismatch, decode, decode_as
from penstock.embedded.server.negotiation import YAML
from penstock.embedded.status import StatusError, bad_request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.embedded.fields import FieldProblems
    from penstock.embedded.server.options import WriteOptions
    from penstock.embedded.server.patching import PatchKind
    from penstock.embedded.server.ports import ServedResource
    from penstock.kube.resources import Object


def check_object(
    body: bytes,
    media_type: str,
    obj: Object,
    resource: ServedResource,
    options: WriteOptions,
    warnings: list[str],
) -> None:
    """Warn of the fields of a whole object, or refuse it, as the request asks for."""
    schema = resource.schema()
    if options.validation == "Ignore" or schema is None:
        return
    problems = object_problems(
        _looked_at(obj, resource), schema, body=body, yaml=media_type == YAML, custom=resource.custom
    )
    if problems and not _readable(obj, resource):
        return  # whoever reads it next tells what is wrong, and nothing else is told then

    def refusal() -> StatusError:
        version, kind = resource.version, resource.kind
        return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {problems.sentence}')

    _judge(problems, options, warnings, refusal)


def _looked_at(obj: Object, resource: ServedResource) -> Object:
    """Of a custom object that calls itself something else nobody knows the fields, but for its metadata."""
    group = str(obj.get("apiVersion")).rpartition("/")[0]
    if not resource.custom or (obj.get("kind"), group) == (resource.kind, resource.group):
        return obj
    return {"metadata": obj.get("metadata")}


def _readable(obj: Object, resource: ServedResource) -> bool:
    try:
        if resource.custom:
            decode_as("apis/meta/v1.ObjectMeta", obj.get("metadata") or {})
        else:
            decode(obj)
    except (DecodeError, Mismatch):
        return False
    return True


def check_patch(
    body: bytes,
    made: Object,
    resource: ServedResource,
    options: WriteOptions,
    warnings: list[str],
    *,
    kind: PatchKind,
    unread: Sequence[str] = (),
) -> str:
    """The same for a patch and what it made of the object; why it is refused, if it is.

    `unread` are top-level fields that nobody reads, whatever the kind has.
    """
    schema = resource.schema()
    if options.validation == "Ignore" or schema is None:
        return ""
    # A strategic patch works on values, whose mistakes are collected and sorted; the others on a document.
    values = kind == "strategic" and not resource.custom
    looked_at = _looked_at(made, resource)
    problems = patch_problems(looked_at, schema, body=body, operations=kind == "json", values=values, unread=unread)
    if problems and options.validation == "Strict":
        return problems.sentence
    warnings += problems.warnings
    return ""


def check_apply(body: bytes, wanted: Object, options: WriteOptions, warnings: list[str]) -> None:
    """The same for an apply, which finds unknown fields by itself."""
    if options.validation == "Ignore":
        return
    problems = apply_problems(wanted, body=body)
    _judge(problems, options, warnings, lambda: bad_request(problems.apply_sentence))


def _judge(
    problems: FieldProblems, options: WriteOptions, warnings: list[str], refusal: Callable[[], StatusError]
) -> None:
    if not problems:
        return
    if options.validation == "Strict":
        raise refusal()
    warnings += problems.warnings
