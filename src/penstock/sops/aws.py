"""AWS KMS, through boto3 (extra `aws`)."""

from __future__ import annotations

import asyncio
import binascii
import re
from contextlib import closing
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import yaml

from penstock.errors import PenstockError
from penstock.sops.errors import DataKeyError, KeyFileError
from penstock.sops.identity import quiet
from penstock.sops.keys import AwsKey

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from penstock.sops.identity import ServiceAccount
    from penstock.sops.keys import MasterKey

_ARN = re.compile(r"arn:aws[\w-]*:kms:(.+):[0-9]+:(key|alias)/.+", re.ASCII)
_SECONDS = 60

T = TypeVar("T")


def region(arn: str) -> str:
    """The region in the name of a KMS key or alias; empty for any other name."""
    match = _ARN.fullmatch(arn)
    return match[1] if match else ""


class AwsIdentity(Protocol):
    """Who asks KMS."""

    async def session(self, region: str) -> Any:
        """A boto3 session of its own for a region."""
        ...


@dataclass(frozen=True, slots=True)
class AwsCredentials:
    """Static credentials from a Secret."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)

    async def session(self, region: str) -> Any:
        return await asyncio.to_thread(self._session, region)

    def _session(self, region: str) -> Any:
        return _boto3().Session(
            aws_access_key_id=self.access_key_id,
            aws_secret_access_key=self.secret_access_key,
            aws_session_token=self.session_token or None,
            region_name=region,
        )


@dataclass(frozen=True, slots=True)
class AwsOwnIdentity:
    """The identity of the process: what the SDK finds in its surroundings."""

    async def session(self, region: str) -> Any:
        return await asyncio.to_thread(lambda: _boto3().Session(region_name=region))


@dataclass(frozen=True, slots=True)
class AwsServiceAccount:
    """The role that a Kubernetes service account may take, as its annotation says."""

    account: ServiceAccount
    endpoint: str = ""

    async def session(self, region: str) -> Any:
        role = await self.account.annotation("eks.amazonaws.com/role-arn")
        jwt = await self.account.token("sts.amazonaws.com")
        return await asyncio.to_thread(self._assumed, region, role, jwt)

    def _assumed(self, region: str, role: str, jwt: str) -> Any:
        where = {"region_name": region, "endpoint_url": self.endpoint or None, "config": _unsigned()}
        with closing(_boto3().client("sts", **where)) as sts:
            answer = sts.assume_role_with_web_identity(
                RoleArn=role, RoleSessionName=self.account.session_name, WebIdentityToken=jwt
            )
        return _with(answer["Credentials"], region)


@dataclass(frozen=True, slots=True)
class AwsService:
    """Opens and seals data keys with KMS keys. The profile that a file may name is of another machine: ignored."""

    identity: AwsIdentity
    endpoint: str = ""

    async def open(self, key: MasterKey) -> bytes:
        try:
            return await self._within(key, self._decrypt)
        except DataKeyError as error:
            raise DataKeyError(f"failed to decrypt sops data key with AWS KMS: {error}") from error

    async def seal(self, key: MasterKey, data_key: bytes) -> str:
        def encrypt(client: Any, key: AwsKey) -> str:
            answer = client.encrypt(KeyId=key.arn, Plaintext=data_key, EncryptionContext=dict(key.context))
            return binascii.b2a_base64(answer["CiphertextBlob"], newline=False).decode()

        try:
            return await self._within(key, encrypt)
        except DataKeyError as error:
            raise DataKeyError(f"failed to encrypt sops data key with AWS KMS: {error}") from error

    @staticmethod
    def _decrypt(client: Any, key: AwsKey) -> bytes:
        blob = binascii.a2b_base64(key.enc)
        answer = client.decrypt(KeyId=key.arn, CiphertextBlob=blob, EncryptionContext=dict(key.context))
        return bytes(answer["Plaintext"])

    async def _within(self, key: MasterKey, ask: Callable[[Any, AwsKey], T]) -> T:
        if not isinstance(key, AwsKey):
            raise DataKeyError("must provide a key of the kind kms")
        place = region(key.arn)
        if not place:
            raise DataKeyError(f"{key.arn!r} is not the ARN of a KMS key")
        return await _calling(self._ask(key, place, ask))

    async def _ask(self, key: AwsKey, place: str, ask: Callable[[Any, AwsKey], T]) -> T:
        session = await self.identity.session(place)
        return await asyncio.to_thread(self._asked, session, key, place, ask)

    def _asked(self, session: Any, key: AwsKey, place: str, ask: Callable[[Any, AwsKey], T]) -> T:
        where = {"region_name": place, "endpoint_url": self.endpoint or None, "config": _config()}
        if key.role:
            with closing(session.client("sts", **where)) as sts:
                answer = sts.assume_role(RoleArn=key.role, RoleSessionName="penstock-sops")
            session = _with(answer["Credentials"], place)
        with closing(session.client("kms", **where)) as kms:
            return ask(kms, key)


def credentials(text: bytes) -> AwsCredentials:
    """Static credentials from the YAML of a Secret's entry."""
    try:
        data: Any = yaml.safe_load(text)
        return AwsCredentials(
            str(data["aws_access_key_id"]), str(data["aws_secret_access_key"]), str(data.get("aws_session_token") or "")
        )
    except (yaml.YAMLError, TypeError, KeyError, AttributeError, UnicodeError):
        raise KeyFileError("it needs aws_access_key_id and aws_secret_access_key, as YAML") from None


async def _calling(work: Awaitable[T]) -> T:
    """Translate what the SDK raises; its texts may quote the request, so only the error's name goes on."""
    try:
        async with asyncio.timeout(_SECONDS):
            return await work
    except TimeoutError:
        raise DataKeyError(f"no answer in {_SECONDS} s") from None
    except (PenstockError, asyncio.CancelledError):
        raise
    except Exception as error:  # noqa: BLE001 - botocore makes its classes at run time
        code = getattr(error, "response", {}).get("Error", {}).get("Code")
        raise DataKeyError(str(code or type(error).__name__)) from None


def _with(answer: Any, region: str) -> Any:
    return _boto3().Session(
        aws_access_key_id=answer["AccessKeyId"],
        aws_secret_access_key=answer["SecretAccessKey"],
        aws_session_token=answer["SessionToken"],
        region_name=region,
    )


def _config() -> Any:
    from botocore.config import Config

    return Config(connect_timeout=10, read_timeout=20, retries={"max_attempts": 2})


def _unsigned() -> Any:
    from botocore import UNSIGNED

    return _config().merge(type(_config())(signature_version=UNSIGNED))


def _boto3() -> Any:
    if find_spec("boto3") is None:
        raise DataKeyError("AWS KMS needs the extra 'aws': pip install 'penstock[aws]'")
    import boto3

    quiet("botocore", "boto3", "urllib3")  # at DEBUG they write down requests, data keys and all
    return boto3
