"""What the references of a Bucket lead to, and what every kind of login does with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from penstock.sources.access import Trust
from penstock.sources.bucket.client import BucketError
from penstock.sources.remote import SourceError
from penstock.sources.web import Web, read

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class BucketSecrets:
    """What the references of a Bucket lead to."""

    name: str = ""
    """Of the Secret with the credentials, for messages."""
    data: Mapping[str, bytes] | None = field(default=None, repr=False)
    trust: Trust = field(default_factory=Trust, repr=False)
    proxy: str | None = field(default=None, repr=False)
    sts_name: str = ""
    sts: Mapping[str, bytes] | None = field(default=None, repr=False)
    sts_trust: Trust = field(default_factory=Trust, repr=False)


async def post(web: Web, url: str, form: Mapping[str, str]) -> bytes:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    response = await web.send("POST", url, headers=headers, data=urlencode(form))
    try:
        if response.status != 200:
            raise BucketError(f"unexpected status code {response.status}", status=response.status)
        return await read(response, _LARGEST)
    finally:
        response.release()


def text_of(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeError:
        raise refused("a Secret holds bytes that are no text") from None


def refused(told: str) -> SourceError:
    return SourceError(told, reason="AuthenticationFailed")
