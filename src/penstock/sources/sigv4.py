"""AWS's signature, version 4: what requests to Amazon, and to storages that speak like it, are signed with."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Keys:
    """An access key; without one, requests are not signed."""

    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a signature is good for: a service of a region, on one day."""

    stamp: str
    """The time as the service wants it to be written; it begins with the day."""
    region: str
    service: str

    def __str__(self) -> str:
        return "/".join(self.parts)

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.stamp[:8], self.region, self.service, "aws4_request")


def signature(canonical: str, scope: Scope, keys: Keys) -> str:
    """The signature of a request in its canonical form."""
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{keys.secret_key}".encode()
    for part in scope.parts:
        key = hmac.digest(key, part.encode(), "sha256")
    message = f"AWS4-HMAC-SHA256\n{scope.stamp}\n{scope}\n{digest}"
    return hmac.digest(key, message.encode(), "sha256").hex()
