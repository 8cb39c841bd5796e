"""Prefixes, suffixes and content hashes of names."""

from typing import Any

from penstock.kustomize import fieldspecs
from penstock.kustomize.collection import Collection
from penstock.kustomize.errors import FieldError
from penstock.kustomize.fieldspecs import FieldSpecs
from penstock.kustomize.ids import Gvk
from penstock.kustomize.resource import Object, Resource
from penstock.yaml import plain, text_of
from penstock.yaml.scalars import Untagged

_NAME = "metadata/name"
_UNTOUCHED = (
    Gvk(kind="CustomResourceDefinition"),
    Gvk("apiregistration.k8s.io", "", "APIService"),
    Gvk(kind="Namespace"),
)


def prefix(collection: Collection, text: str, specs: FieldSpecs, *, untagged: bool = False) -> None:
    """Put the text before the names. With `untagged`, a later replacement may give them another type."""
    _rename(collection, text, specs, before=True, untagged=untagged)


def suffix(collection: Collection, text: str, specs: FieldSpecs, *, untagged: bool = False) -> None:
    """Put the text behind the names."""
    _rename(collection, text, specs, before=False, untagged=untagged)


def _rename(collection: Collection, text: str, specs: FieldSpecs, *, before: bool, untagged: bool) -> None:
    if not text:
        return

    def setter(container: Any, key: Any) -> None:
        value = container[key]
        if isinstance(value, (dict, list)):
            raise FieldError(f"expected a name, found {value!r}")
        new = text + text_of(value) if before else text_of(value) + text
        container[key] = Untagged(new) if untagged else new

    find = fieldspecs.by_type(specs)

    def work(resource: Resource) -> None:
        original = resource.original
        gvk = Gvk(original.group, original.version, original.kind)
        if any(gvk.selected_by(kind) for kind in _UNTOUCHED):
            return
        for spec in find(gvk):
            if spec.path == _NAME:
                if before:
                    resource.prefixes = (*resource.prefixes, text)
                else:
                    resource.suffixes = (*resource.suffixes, text)
                resource.remember()
            fieldspecs.visit(resource.object, spec, setter, str)
        resource.written = resource.written or untagged
        resource.forget()

    collection.each(("rename", text, before, untagged, specs), work, renames=True)


def add_hashes(collection: Collection) -> None:
    """Append the content hash to the names that asked for one."""
    step = collection.step("hash", _add_hash)
    for resource in collection:
        if resource.hashed:
            step(resource)
            collection.changed()


def _add_hash(resource: Resource) -> None:
    digest = content_hash(resource)
    resource.remember()
    resource.set_name(f"{resource.name}-{digest}")


def content_hash(resource: Resource) -> str:
    """Ten letters and digits from the content of a ConfigMap or Secret."""
    value = resource.object
    if resource.kind == "ConfigMap":
        content = _hashed_fields(value, ("data",), ("binaryData",))
    elif resource.kind == "Secret":
        content = _hashed_fields(value, ("type", "data"), ("stringData",))
    else:
        content = value
    import hashlib
    import json

    encoded = json.dumps(plain(content), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        encoded = encoded.replace(char, f"\\u{ord(char):04x}")
    digest = hashlib.sha256(encoded.encode()).hexdigest()[:10]
    return digest.translate(str.maketrans("013ae", "ghkmt"))


def _hashed_fields(value: Object, always: tuple[str, ...], mappings: tuple[str, ...]) -> Object:
    content: Object = {"kind": text_of(value["kind"]), "name": ""}
    for field in always:
        found = value.get(field, "")
        content[field] = found if isinstance(found, dict) else text_of(found)
    content.update({field: value[field] for field in mappings if isinstance(value.get(field), dict)})
    return content
