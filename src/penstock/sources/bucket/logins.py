"""Who we are to a storage: what the Secrets of a Bucket say, checked before anything is sent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from penstock.sources.bucket.client import BucketError, parse_xml, text
from penstock.sources.bucket.cloud_logins import service_account
from penstock.sources.bucket.secrets import BucketSecrets, post, refused, text_of
from penstock.sources.identity import NoIdentity, amazon_keys
from penstock.sources.remote import AccountUnusable, Stalled
from penstock.sources.sigv4 import Keys
from penstock.sources.web import TooLarge, Unreachable, Web

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.api.bucket import BucketSpec, SecurityTokenService


def check(spec: BucketSpec, secrets: BucketSecrets) -> None:
    """Refuse a combination that cannot work, before anything is sent."""
    if spec.service_account_name and spec.provider != "generic":
        raise AccountUnusable
    if spec.sts is not None:
        _check_sts(spec, spec.sts)
        if spec.sts.provider == "ldap" and secrets.sts is not None:
            missing = [key for key in ("username", "password") if not secrets.sts.get(key)]
            if missing:
                raise refused(
                    f"invalid '{secrets.sts_name}' secret data for 'ldap' STS provider: required fields "
                    "username, password"
                )
    if secrets.data is not None:
        _REQUIRED[spec.provider](secrets.name, secrets.data)


def _check_sts(spec: BucketSpec, sts: SecurityTokenService) -> None:
    wanted = {"aws": "aws", "generic": "ldap"}.get(spec.provider)
    told = ""
    if wanted is None:
        told = f"STS configuration is not supported for '{spec.provider}' bucket provider"
    elif sts.provider != wanted:
        told = f"STS provider '{sts.provider}' is not supported for '{spec.provider}' bucket provider"
    elif wanted == "aws" and sts.secret_ref is not None:
        told = "spec.sts.secretRef is not required for the 'aws' STS provider"
    elif wanted == "aws" and sts.cert_secret_ref is not None:
        told = "spec.sts.certSecretRef is not required for the 'aws' STS provider"
    if told:
        raise Stalled(told, reason="InvalidSTSConfiguration")


async def s3_keys(spec: BucketSpec, secrets: BucketSecrets) -> Keys:
    """The access key: of the Secret, of the token service, or of our own surroundings for the provider aws."""
    if secrets.data is not None:
        return Keys(text_of(secrets.data["accesskey"]), text_of(secrets.data["secretkey"]))
    if spec.provider == "aws":
        return await asyncio.to_thread(_own_keys)
    if spec.sts is not None:
        return await _ldap_keys(spec.sts, secrets)
    return Keys()


def _check_s3(name: str, data: Mapping[str, bytes]) -> None:
    if "accesskey" not in data or "secretkey" not in data:
        raise refused(f"invalid '{name}' secret data: required fields 'accesskey' and 'secretkey'")


def _check_gcs(name: str, data: Mapping[str, bytes]) -> None:
    service_account(name, data)


def _check_azure(name: str, data: Mapping[str, bytes]) -> None:
    if not {"clientId", "accountKey", "sasKey", "authorityHost"} & set(data):
        raise refused(
            f"invalid '{name}' secret data: requires a 'clientId' or 'accountKey' field, a combination of 'tenantId', "
            "'clientId' and 'clientSecret', or 'tenantId', 'clientId' and 'clientCertificate'"
        )


_REQUIRED: Mapping[str, Callable[[str, Mapping[str, bytes]], None]] = {
    "generic": _check_s3,
    "aws": _check_s3,
    "gcp": _check_gcs,
    "azure": _check_azure,
}


def _own_keys() -> Keys:
    try:
        return amazon_keys()
    except NoIdentity as error:
        raise refused(f"AWS authentication failed: {error}") from error


async def _ldap_keys(sts: SecurityTokenService, secrets: BucketSecrets) -> Keys:
    """Temporary keys for a user of a directory, as MinIO hands them out."""
    data = secrets.sts or {}
    form = {
        "Action": "AssumeRoleWithLDAPIdentity",
        "Version": "2011-06-15",
        "LDAPUsername": text_of(data.get("username", b"")),
        "LDAPPassword": text_of(data.get("password", b"")),
    }
    try:
        async with Web(secrets.sts_trust, secrets.proxy) as web:
            page = parse_xml(await post(web, sts.endpoint, form))
    except (BucketError, Unreachable, TooLarge) as error:
        raise refused(f"failed to get credentials from the STS endpoint: {error}") from error
    where = ("AssumeRoleWithLDAPIdentityResult", "Credentials")
    keys = Keys(*(text(page, *where, name) for name in ("AccessKeyId", "SecretAccessKey", "SessionToken")))
    if not keys.access_key or not keys.secret_key:
        raise refused("failed to get credentials from the STS endpoint: the answer holds none")
    return keys
