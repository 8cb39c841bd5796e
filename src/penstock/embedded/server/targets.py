"""What a write is about, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson

from penstock.embedded.server.options import WriteOptions
from penstock.embedded.server.ports import SYSTEM, ServedResource, User

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.kube.resources import Object

DEFAULTS = WriteOptions()


@dataclass(frozen=True, slots=True)
class Target:
    """Which object a write is about, and who writes it."""

    resource: ServedResource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    user: User = SYSTEM
    options: WriteOptions = DEFAULTS
    may_create: Callable[[], None] | None = None
    """Raises when this user may not create; asked when an apply or update turns out to create."""


@dataclass(slots=True)
class Outcome:
    """What came of a write."""

    obj: Object
    created: bool = False
    deleted: bool = False
    warnings: list[str] = field(default_factory=list[str])
    data: bytes | None = None
    """The object as it is stored, when it is: no need to encode it again."""

    def encoded(self) -> bytes:
        return self.data if self.data is not None else orjson.dumps(self.obj)
