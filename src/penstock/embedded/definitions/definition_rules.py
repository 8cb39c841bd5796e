"""The rules of CustomResourceDefinition itself: defaults, what a client may set, and what makes sense."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.embedded.definitions.structure import check_schema
from penstock.embedded.kinds.metadata import check_metadata, check_metadata_update
from penstock.embedded.kinds.names import dns_1035_label, dns_subdomain
from penstock.embedded.kinds.problems import each_invalid, forbidden, invalid, required, same, unsupported
from penstock.embedded.kinds.rules import ClusterRules

if TYPE_CHECKING:
    from penstock.embedded.kinds.names import Words
    from penstock.embedded.kinds.problems import FieldProblem, Problems
    from penstock.kube.resources import Object

PROTECTED = ("k8s.io", "kubernetes.io")
APPROVAL = "api-approved.kubernetes.io"
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")


class DefinitionRules(ClusterRules):
    """What is done to a CustomResourceDefinition besides storing it."""

    unconditional_update: ClassVar[bool] = False

    def default(self, obj: Object) -> None:
        super().default(obj)
        spec: Object = obj["spec"]
        spec.setdefault("conversion", {"strategy": "None"})
        names: Object = spec["names"]
        kind = names.get("kind", "")
        if kind and not names.get("singular"):
            names["singular"] = kind.lower()
        if kind and not names.get("listKind"):
            names["listKind"] = f"{kind}List"

    def prepare_create(self, obj: Object) -> None:
        obj["metadata"]["generation"] = 1
        obj["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None}
        _remember_storage(obj)

    def prepare_change(self, new: Object, old: Object) -> None:
        new["status"] = copy.deepcopy(old.get("status") or {})
        if new["spec"] != old["spec"]:
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        _remember_storage(new)

    def validate_create(self, obj: Object) -> list[FieldProblem]:
        problems: Problems = []
        wanted = f"{obj['spec']['names'].get('plural', '')}.{obj['spec'].get('group', '')}"

        def name_words(name: str) -> Words:
            own = () if name == wanted else ('must be spec.names.plural+"."+spec.group',)
            return (*dns_subdomain(name), *own)

        check_metadata(problems, obj["metadata"], namespaced=False, name_rule=name_words)
        _check_all(problems, obj)
        return problems

    def validate_update(self, new: Object, old: Object, subresource: str = "") -> list[FieldProblem]:
        problems: Problems = []
        check_metadata_update(problems, new["metadata"], old["metadata"])
        if subresource == "status":
            return problems
        # The real server orders the immutable fields after the rest of the spec.
        spec, before = new["spec"], old["spec"]
        _check_spec(problems, spec)
        if _is_true(old, "Established"):
            same(problems, spec.get("scope"), before.get("scope"), "spec.scope")
            same(problems, spec["names"].get("kind"), before["names"].get("kind"), "spec.names.kind")
        same(problems, spec.get("group"), before.get("group"), "spec.group")
        same(problems, spec["names"].get("plural"), before["names"].get("plural"), "spec.names.plural")
        _check_stored(problems, new)
        _check_approval(problems, new)
        return problems


def _remember_storage(obj: Object) -> None:
    """The version in which objects are stored now joins those in which some may be stored."""
    status: Object = obj["status"]
    for version in obj["spec"].get("versions") or ():
        if version.get("storage"):
            stored: list[str] = status.get("storedVersions") or []
            if version["name"] not in stored:
                status["storedVersions"] = [*stored, version["name"]]
            return


def _is_true(obj: Object, condition: str) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(each["type"] == condition and each["status"] == "True" for each in conditions)


def _check_all(problems: Problems, obj: Object) -> None:
    _check_spec(problems, obj["spec"])
    _check_stored(problems, obj)
    _check_approval(problems, obj)
    if obj["spec"].get("preserveUnknownFields") is True:
        why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        problems.append(invalid("spec.preserveUnknownFields", True, why))


def _check_spec(problems: Problems, spec: Object) -> None:
    _check_group(problems, spec.get("group", ""))
    scope = spec.get("scope", "")
    if not scope:
        problems.append(required("spec.scope"))
    elif scope not in ("Cluster", "Namespaced"):
        problems.append(unsupported("spec.scope", scope, ("Cluster", "Namespaced")))
    versions: list[Object] = spec.get("versions") or []
    problems += [
        required(f"spec.versions[{index}].schema.openAPIV3Schema")
        for index, version in enumerate(versions)
        if not (version.get("schema") or {}).get("openAPIV3Schema")
    ]
    if spec.get("preserveUnknownFields") is True and any(_has_default(version.get("schema")) for version in versions):
        why = "must be false in order to use defaults in the schema"
        problems.append(invalid("spec.preserveUnknownFields", True, why))
    _check_versions(problems, versions)
    _check_names(problems, spec["names"])
    _check_shared_parts(problems, versions)
    _check_conversion(problems, spec.get("conversion") or {})


def _has_default(schema: Any) -> bool:
    if isinstance(schema, dict):
        return "default" in schema or any(_has_default(inner) for inner in schema.values())
    return isinstance(schema, list) and any(_has_default(inner) for inner in schema)


def _check_group(problems: Problems, group: str) -> None:
    if not group:
        problems.append(required("spec.group"))
    elif words := dns_subdomain(group):
        problems.append(invalid("spec.group", group, ",".join(words)))
    elif "." not in group:
        problems.append(invalid("spec.group", group, "should be a domain with at least one dot"))


def _check_versions(problems: Problems, versions: list[Object]) -> None:
    for index, version in enumerate(versions):
        field = f"spec.versions[{index}]"
        if words := dns_1035_label(version.get("name", "")):
            problems.append(invalid(f"{field}.name", version.get("name", ""), ",".join(words)))
        if "deprecationWarning" in version and not version.get("deprecated"):
            why = "can only be set for deprecated versions"
            problems.append(invalid(f"{field}.deprecationWarning", version["deprecationWarning"], why))
        if not _shared(versions, "schema"):
            _check_version_schema(problems, version, f"{field}.schema")
        if not _shared(versions, "subresources"):
            _check_scale(problems, version, f"{field}.subresources")
        if not _shared(versions, "additionalPrinterColumns"):
            _check_columns(problems, version, f"{field}.additionalPrinterColumns")
    names = [version.get("name", "") for version in versions]
    if len(set(names)) != len(names):
        problems.append(invalid("spec.versions", _internal(versions), "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        problems.append(invalid("spec.versions", _internal(versions), why))


def _shared(versions: list[Object], part: str) -> bool:
    """True when all versions agree: the real server then calls it `spec.validation` and so on."""
    first = versions[0].get(part)
    return all(version.get(part) == first for version in versions[1:])


def _check_shared_parts(problems: Problems, versions: list[Object]) -> None:
    if not versions:
        return
    first = versions[0]
    if _shared(versions, "schema"):
        _check_version_schema(problems, first, "spec.validation")
    if _shared(versions, "subresources"):
        _check_scale(problems, first, "spec.subresources")
    if _shared(versions, "additionalPrinterColumns"):
        _check_columns(problems, first, "spec.additionalPrinterColumns")


def _check_version_schema(problems: Problems, version: Object, field: str) -> None:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema:
        check_schema(problems, schema, f"{field}.openAPIV3Schema")


def _check_scale(problems: Problems, version: Object, field: str) -> None:
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return
    for name, place in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        path = scale.get(name, "")
        if not path:
            problems.append(required(f"{field}.scale.{name}"))
        elif words := _path_words(path):
            problems.append(invalid(f"{field}.scale.{name}", path, words))
        elif not path.startswith(f"{place}."):
            problems.append(invalid(f"{field}.scale.{name}", path, f"should be a json path under {place}"))


def _path_words(path: str) -> str:
    if not path.startswith("."):
        return "must be a simple json path starting with ."
    return "" if path != "." else "must be a json path in the dot notation"


def _check_columns(problems: Problems, version: Object, field: str) -> None:
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        where = f"{field}[{index}]"
        allowed = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not column.get("name"):
            problems.append(required(f"{where}.name"))
        kind, path = column.get("type", ""), column.get("jsonPath", "")
        if not kind:
            problems.append(required(f"{where}.type", allowed))
        elif kind not in _COLUMN_TYPES:
            problems.append(invalid(f"{where}.type", kind, allowed))
        if not path:
            problems.append(required(f"{where}.JSONPath"))
        elif words := _path_words(path):
            problems.append(invalid(f"{where}.JSONPath", path, words))


def _check_names(problems: Problems, names: Object) -> None:
    problems += [
        required(f"spec.names.{name}") for name in ("plural", "singular", "kind", "listKind") if not names.get(name)
    ]
    for name in ("plural", "singular"):
        value = names.get(name, "")
        if value and (words := dns_1035_label(value)):
            problems.append(invalid(f"spec.names.{name}", value, ",".join(words)))
    for name in ("kind", "listKind"):
        value = names.get(name, "")
        if value and (words := dns_1035_label(value.lower())):
            detail = f"may have mixed case, but should otherwise match: {','.join(words)}"
            problems.append(invalid(f"spec.names.{name}", value, detail))
    for index, short in enumerate(names.get("shortNames") or ()):
        if words := dns_1035_label(short):
            problems.append(invalid(f"spec.names.shortNames[{index}]", short, ",".join(words)))
    if names.get("kind") and names["kind"] == names.get("listKind"):
        why = "kind and listKind may not be the same"
        problems.append(invalid("spec.names.listKind", names["listKind"], why))
    for index, category in enumerate(names.get("categories") or ()):
        problems += each_invalid(f"spec.names.categories[{index}]", category, dns_1035_label(category))


def _check_conversion(problems: Problems, conversion: Object) -> None:
    strategy = conversion.get("strategy", "")
    field = "spec.conversion"
    if not strategy:
        problems.append(required(f"{field}.strategy"))
        return
    if strategy not in ("None", "Webhook"):
        problems.append(unsupported(f"{field}.strategy", strategy, ("None", "Webhook")))
    webhook: Object | None = conversion.get("webhook")
    if strategy == "Webhook":
        if not (webhook or {}).get("clientConfig"):
            problems.append(required(f"{field}.webhookClientConfig", "required when strategy is set to Webhook"))
        if not (webhook or {}).get("conversionReviewVersions"):
            problems.append(required(f"{field}.conversionReviewVersions"))
        return
    why = "should not be set when strategy is not set to Webhook"
    for name, said in (("webhookClientConfig", "clientConfig"), ("conversionReviewVersions",) * 2):
        if (webhook or {}).get(said):
            problems.append(forbidden(f"{field}.{name}", why))


def _check_stored(problems: Problems, obj: Object) -> None:
    stored: list[str] = (obj.get("status") or {}).get("storedVersions") or []
    field = "status.storedVersions"
    if not stored:
        problems.append(invalid(field, None, "must have at least one stored version"))
        return
    known = {version.get("name") for version in obj["spec"].get("versions") or ()}
    for index, name in enumerate(stored):
        if name not in known:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            problems.append(invalid(f"{field}[{index}]", name, why))


def _check_approval(problems: Problems, obj: Object) -> None:
    """Groups of Kubernetes itself need a word of approval."""
    group = obj["spec"].get("group", "")
    if not any(group == each or group.endswith(f".{each}") for each in PROTECTED):
        return
    field = f"metadata.annotations[{APPROVAL}]"
    annotations = obj["metadata"].get("annotations") or {}
    if APPROVAL not in annotations:
        why = (
            f'protected groups must have approval annotation "{APPROVAL}", see '
            "https://github.com/kubernetes/enhancements/pull/1111"
        )
        problems.append(required(field, why))
    elif not annotations[APPROVAL].startswith(("unapproved", "https://", "http://")):
        why = (
            "protected groups must have approval annotation "
            f'"{APPROVAL}" with either a URL or a reason starting with "unapproved", see '
            "https://github.com/kubernetes/enhancements/pull/1111"
        )
        problems.append(invalid(field, annotations[APPROVAL], why))


def _internal(versions: list[Object]) -> list[dict[str, Any]]:
    """The server prints its internal type here; parts on which all versions agree lie elsewhere in it."""
    shared = {part: bool(versions) and _shared(versions, part) for part in ("schema", "subresources")}
    return [
        {
            "Name": version.get("name", ""),
            "Served": bool(version.get("served")),
            "Storage": bool(version.get("storage")),
            "Deprecated": bool(version.get("deprecated")),
            "DeprecationWarning": version.get("deprecationWarning"),
            "Schema": None if shared["schema"] else version.get("schema"),
            "Subresources": None if shared["subresources"] else version.get("subresources"),
            "AdditionalPrinterColumns": None,
            "SelectableFields": None,
        }
        for version in versions
    ]
