"""Keys for tests, made on the spot, and files encrypted for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from penstock import sops
from penstock.sops import age, age_hybrid
from penstock.sops.age import AgeService
from penstock.sops.keys import AgeKey

pyrage: Any = import_module("pyrage")

NOW = datetime(2026, 8, 1, 12, 0, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Ring:
    """An age identity: its text, its recipient, and a keyring that holds it."""

    text: str

    @property
    def identity(self) -> age.Identity:
        return age.identities(self.text)[0]

    @property
    def recipient(self) -> str:
        return self.identity.recipient

    @property
    def keyring(self) -> sops.Keyring:
        return sops.Keyring({"age": AgeService((self.identity,))})

    def metadata(self, **rules: str) -> sops.Metadata:
        return sops.Metadata(groups=((AgeKey(self.recipient),),), rules=sops.Rules(**rules))

    async def encrypt(self, plain: bytes, form: sops.Format, **rules: str) -> bytes:
        return await sops.encrypt(plain, self.keyring, self.metadata(**rules), form=form, now=NOW)

    async def decrypt(self, data: bytes, form: sops.Format, **more: Any) -> bytes:
        return await sops.decrypt(data, self.keyring, form=form, **more)


def new_ring() -> Ring:
    return Ring(str(pyrage.x25519.Identity.generate()))


def new_hybrid_ring() -> Ring:
    return Ring(age_hybrid.HybridIdentity.generate())
