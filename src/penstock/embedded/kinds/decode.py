"""An object as it looks after the API server has read it into its Go types, filled in defaults and written it out.

Defaults belong to types, not to kinds: a container gets the same ones in a Pod and in a Deployment. They are filled in
as soon as a struct has been read (see `defaults.py`). How a struct is read stands in `penstock.schema.typed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.schema.scalars import DecodeError, Mismatch
from penstock.schema.typed import Reader

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.kube.resources import Object
    from penstock.schema.typed import Default

__all__ = ["DecodeError", "Mismatch", "decode", "decode_as", "defaults"]

_server = Reader(stores=True)


def defaults(*type_names: str) -> Callable[[Default], Default]:
    """Register a function that fills in, in place, what is missing in structs of these types."""

    def register(fill: Default) -> Default:
        for type_name in type_names:
            _server.fill(type_name, fill)
        return fill

    return register


def decode(obj: Object) -> Object:
    """A new object of the same kind; kinds that are not built in come back as they are."""
    read = _server.read(obj)
    return obj if read is None else read


def decode_as(type_name: str, value: Any) -> Any:
    """The same for a part of an object, by the name of its Go type, such as `core/v1.PodTemplateSpec`."""
    return _server.struct(type_name)(value)
