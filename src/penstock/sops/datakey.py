"""The data key of a file: opened with whatever keys are at hand, sealed for everybody a file names."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from penstock.errors import PenstockError
from penstock.sops import shamir
from penstock.sops.errors import DataKeyError, SopsError
from penstock.sops.keys import AgeKey, MasterKey, PgpKey, sealed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.sops.keys import KeyGroup
    from penstock.sops.metadata import Metadata

_FIRST = (AgeKey.kind, PgpKey.kind)  # local keys; the others cost a request each


class KeyService(Protocol):
    """Opens and seals data keys for one kind of master key."""

    async def open(self, key: MasterKey) -> bytes:
        """The data key that was sealed for this master key; SopsError when it cannot be had."""
        ...

    async def seal(self, key: MasterKey, data_key: bytes) -> str:
        """The data key, sealed for this master key."""
        ...


@dataclass(frozen=True, slots=True)
class Keyring:
    """The key services at hand, by the kind of key each of them serves. A kind that is missing opens nothing."""

    services: Mapping[str, KeyService] = field(default_factory=dict[str, KeyService])

    async def open(self, metadata: Metadata) -> bytes:
        """The data key of a file; with several key groups, from the parts of as many as are needed."""
        parts: list[bytes] = []
        problems: list[str] = []
        for number, group in enumerate(metadata.groups, start=1):
            part = await self._open_group(group, f"group {number}: " if len(metadata.groups) > 1 else "", problems)
            if part is not None:
                parts.append(part)
        if len(parts) < metadata.needed or not parts:
            raise DataKeyError(_unopened(metadata, len(parts), problems))
        return shamir.combine(parts) if len(metadata.groups) > 1 else parts[0]

    async def _open_group(self, group: KeyGroup, where: str, problems: list[str]) -> bytes | None:
        for key in sorted(group, key=_turn):
            try:
                return await self._service(key).open(key)
            except PenstockError as error:  # a cluster that refuses a token is a reason, too, to try the next key
                problems.append(f"{where}{key.kind} {key.name}: {error}")
        return None

    async def seal(self, metadata: Metadata, data_key: bytes) -> Metadata:
        """The metadata with the data key sealed for all its master keys."""
        if not metadata.groups or not all(metadata.groups):
            raise DataKeyError("there is a key group without keys; name at least one key in each")
        groups = zip(metadata.groups, _parts(metadata, data_key), strict=True)
        made = [tuple([await self._seal_one(key, part) for key in group]) for group, part in groups]
        threshold = metadata.needed if len(made) > 1 else metadata.threshold
        return replace(metadata, groups=tuple(made), threshold=threshold)

    async def _seal_one(self, key: MasterKey, part: bytes) -> MasterKey:
        try:
            return sealed(key, await self._service(key).seal(key, part))
        except SopsError as error:
            raise DataKeyError(f"cannot encrypt for {key.kind} {key.name}: {error}") from error

    def _service(self, key: MasterKey) -> KeyService:
        service = self.services.get(key.kind)
        if service is None:
            raise DataKeyError(f"no {key.kind} keys or credentials are at hand")
        return service


def new_data_key() -> bytes:
    """A fresh key of 256 bits."""
    return secrets.token_bytes(32)


def _turn(key: MasterKey) -> int:
    return _FIRST.index(key.kind) if key.kind in _FIRST else len(_FIRST)


def _parts(metadata: Metadata, data_key: bytes) -> list[bytes]:
    if len(metadata.groups) == 1:
        return [data_key]
    return shamir.split(data_key, parts=len(metadata.groups), threshold=metadata.needed)


def _unopened(metadata: Metadata, opened: int, problems: list[str]) -> str:
    needed = f"{opened} of the {metadata.needed} needed key groups could be opened; " if metadata.needed > 1 else ""
    return f"{needed}{'; '.join(problems) or 'the file names no keys'}"
