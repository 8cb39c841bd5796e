"""The image transformer: new names, tags and digests."""

from typing import Any

from penstock.kustomize import fieldspecs, fieldtrie
from penstock.kustomize.collection import Collection
from penstock.kustomize.errors import FieldError
from penstock.kustomize.fieldspecs import FieldSpecs
from penstock.kustomize.fieldtrie import Trie
from penstock.kustomize.ids import Gvk
from penstock.kustomize.kustomization import Image
from penstock.kustomize.resource import Resource
from penstock.kustomize.selectors import pattern
from penstock.yaml import text_of
from penstock.yaml.scalars import Untagged

_CONTAINERS = frozenset({"containers", "initContainers"})
_TAIL = r"(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$"


def put(collection: Collection, image: Image, specs: FieldSpecs, *, untagged: bool = False) -> None:
    """Change the image in every list of containers at any depth, and where the specs say.

    With `untagged`, a later replacement may give the field another type.
    """
    changed: dict[str, str | None] = {}  # what became of an image name; None: another image

    def setter(container: Any, key: Any) -> None:
        value = container[key]
        if type(value) is not str:
            if isinstance(value, (dict, list)):
                raise FieldError(f"expected an image name, found {value!r}")
            value = text_of(value)
        if value not in changed:
            changed[value] = _changed(value, image)
        new = changed[value]
        if new is not None:
            container[key] = Untagged(new) if untagged else new

    tries = dict[Gvk, Trie]()

    def work(resource: Resource) -> None:
        gvk = resource.gvk
        if gvk.kind == "CustomResourceDefinition":
            return
        try:
            _walk(resource.object, setter)
            if gvk not in tries:
                tries[gvk] = fieldtrie.build((spec.path, None) for spec in specs if spec.matches(gvk))
            for _, container, key in fieldtrie.hits(resource.object, tries[gvk]):
                if container[key] is not None:
                    setter(container, key)
        except FieldError as error:
            raise FieldError(f"{resource.id}: {error}") from error
        resource.written = resource.written or untagged

    wanted = (image.name, image.new_name, image.new_tag, image.digest, image.tag_suffix)
    collection.each(("image", wanted, untagged, specs), work, renames=fieldspecs.may_rename(specs))


def _walk(value: Any, setter: fieldspecs.Setter) -> None:
    if type(value) is dict:
        for key, item in value.items():
            kind = type(item)
            if kind is dict:
                _walk(item, setter)
            elif kind is list:
                _walk(item, setter)
                if key in _CONTAINERS:
                    _containers(item, setter)
    else:
        for item in value:
            if type(item) is dict or type(item) is list:
                _walk(item, setter)


def _containers(items: list[Any], setter: fieldspecs.Setter) -> None:
    for item in items:
        if isinstance(item, dict):
            if item.get("image") is not None:
                setter(item, "image")
        elif item is not None:
            raise FieldError(f"expected a container, found {item!r}")


def _changed(value: str, image: Image) -> str | None:
    if not matches(value, image.name):
        return None
    name, tag, digest = split(value)
    name = image.new_name or name
    if image.new_tag and image.digest:
        tag, digest = image.new_tag, image.digest
    elif image.new_tag:
        tag, digest = image.new_tag, ""
    elif image.digest:
        tag, digest = "", image.digest
    elif image.tag_suffix:
        tag, digest = tag + image.tag_suffix, ""
    return name + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")


def matches(value: str, name: str) -> bool:
    """Whether an image has the name, whatever its tag or digest; the name is a regular expression."""
    if not value.startswith(name[:1]) and name[:1].isalnum():
        return False
    return pattern(f"^{name}{_TAIL}").search(value) is not None


def split(value: str) -> tuple[str, str, str]:
    """Name, tag and digest of an image; a port of the registry belongs to the name."""
    slash = max(value.find("/"), 0)
    at = value.find("@", slash)
    colon = value.find(":", slash)
    if at >= 0 and (colon < 0 or at < colon):
        return value[:at], "", value[at + 1 :]
    if colon < 0:
        return value, "", ""
    if at >= 0:
        return value[:colon], value[colon + 1 : at], value[at + 1 :]
    return value[:colon], value[colon + 1 :], ""
