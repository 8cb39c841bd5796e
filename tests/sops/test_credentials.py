"""What a Secret's entries are taken for. Ids name the scenarios of the decryptor's specification."""

from __future__ import annotations

import base64
import codecs
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from penstock import sops
from penstock.sops import aws, azure, pgp
from penstock.sops.credentials import Credentials, import_keys
from penstock.sops.keys import AgeKey, PgpKey
from tests.sops.certificates import certificate_and_key
from tests.sops.openpgp_keys import armored_public, armored_secret, new_key
from tests.sops.rings import new_hybrid_ring, new_ring

if TYPE_CHECKING:
    from collections.abc import Mapping

RING = new_ring()
KEY = new_key()
USER = {"type": "authorized_user", "client_id": "id", "client_secret": "secret", "refresh_token": "refresh"}
AWS = b"aws_access_key_id: id\naws_secret_access_key: secret\naws_session_token: token\n"


def imported(data: Mapping[str, bytes], **more: Any) -> Credentials:
    return import_keys(data, secret="apps/sops-keys", **more)


def test_pgp_key() -> None:
    """ImportKeys/PGP"""
    found = imported({"pgp.asc": armored_secret(KEY).encode()})
    assert [key.fingerprints[0] for key in found.pgp] == [KEY.fingerprint.upper()]


def test_age_key() -> None:
    """ImportKeys/age"""
    assert [identity.recipient for identity in imported({"age.agekey": RING.text.encode()}).age] == [RING.recipient]


def test_a_key_file_may_hold_several_kinds_of_age_keys() -> None:
    hybrid = new_hybrid_ring()
    text = f"# created: today\n{RING.text}\n\n{hybrid.text}\n"
    found = imported({"keys.agekey": text.encode(), "more.agekey": new_ring().text.encode()})
    assert [identity.recipient for identity in found.age][:2] == [RING.recipient, hybrid.recipient]
    assert len(found.age) == 3


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        pytest.param("pgp.asc", b"not-a-valid-armored-key", "no armored PGP key", id="ImportKeys/PGP bad"),
        pytest.param(
            "pgp.asc", armored_secret(KEY)[:300].encode() + b"\n-----END PGP PRIVATE KEY BLOCK-----", "malformed",
            id="ImportKeys/PGP cut off",
        ),
        pytest.param("age.agekey", b"not-a-valid-key", "no age key", id="ImportKeys/age bad"),
        pytest.param("age.agekey", b"AGE-SECRET-KEY-1XXX", "malformed", id="ImportKeys/age mistyped"),
        pytest.param("age.agekey", b"AGE-SECRET-KEY-PQ-1XXX", "malformed", id="ImportKeys/age post-quantum mistyped"),
        pytest.param("age.agekey", b"# nothing\n", "no age key in it", id="ImportKeys/age empty"),
        pytest.param("age.agekey", b"\xff\xfe", "not text", id="ImportKeys/age not text"),
        pytest.param(
            "age.agekey", b"AGE-PLUGIN-YUBIKEY-1QQQQ", "the age plug-in 'yubikey' is not supported",
            id="A19 an age plug-in is refused by name",
        ),
        pytest.param("sops.azure-kv", b"{malformed", "neither YAML nor JSON", id="ImportKeys/Azure malformed JSON"),
        pytest.param("sops.azure-kv", b"tenantId: some", "it needs tenantId", id="ImportKeys/Azure only tenantId"),
        pytest.param("sops.azure-kv", b"some string", "not a mapping", id="Azure parse: some string"),
        pytest.param("sops.aws-kms", b"aws_access_key_id: id", "aws_secret_access_key", id="ImportKeys/AWS incomplete"),
        pytest.param("sops.gcp-kms", b"{", "not JSON", id="ImportKeys/GCP malformed"),
        pytest.param(
            "sops.gcp-kms", b'{"type": "external_account", "credential_source": {"file": "/etc/passwd"}}',
            "'external_account' are not accepted", id="A19 GCP credentials that read files are refused",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_imported_names_the_entry_and_the_secret(name: str, value: bytes, said: str) -> None:
    with pytest.raises(sops.KeyFileError) as caught:
        imported({name: value})
    sentence = str(caught.value)
    assert sentence.startswith(f"failed to import '{name}' data from sops decryption Secret 'apps/sops-keys': ")
    assert said in sentence


def test_vault_token() -> None:
    """ImportKeys/Vault"""
    assert imported({"sops.vault-token": b"some-hcvault-token"}).vault_token == "some-hcvault-token"
    assert imported({"sops.vault-token": b" some-hcvault-token\n"}).vault_token == "some-hcvault-token"


async def test_aws_credentials() -> None:
    """ImportKeys/AWS; AWS credentials YAML with three keys"""
    found = imported({"sops.aws-kms": AWS}).aws
    assert found is not None
    assert found == aws.AwsCredentials("id", "secret", "token")
    session = await found.session("us-west-2")
    frozen = session.get_credentials().get_frozen_credentials()
    assert (frozen.access_key, frozen.secret_key, frozen.token) == ("id", "secret", "token")


async def test_gcp_credentials() -> None:
    """ImportKeys/GCP"""
    found = imported({"sops.gcp-kms": orjson.dumps(USER) + b"\n"}).gcp
    assert found is not None
    assert (await found.credentials()).refresh_token == "refresh"


def test_several() -> None:
    """ImportKeys/several"""
    found = imported({"age.agekey": RING.text.encode(), "sops.vault-token": b"token", "README": b"\xff"})
    assert len(found.age) == 1
    assert found.vault_token == "token"


def test_from_the_operators_secret_only_age_keys_are_taken() -> None:
    data = {"age.agekey": RING.text.encode(), "sops.vault-token": b"token", "sops.aws-kms": AWS, "x.asc": b"broken"}
    found = imported(data, only_age=True)
    assert len(found.age) == 1
    assert (found.vault_token, found.aws, found.pgp) == ("", None, [])


CERTIFICATE = certificate_and_key()


@pytest.mark.parametrize(
    ("text", "expected", "kind"),
    [
        pytest.param(
            b"tenantId: t\nclientId: c\nclientSecret: s\n",
            {"tenant_id": "t", "client_id": "c", "client_secret": "s"},
            "ClientSecretCredential",
            id="Azure parse: secret; Azure credential type: client secret; ImportKeys/Azure",
        ),
        pytest.param(
            orjson.dumps({"tenantId": "t", "clientId": "c", "clientCertificate": CERTIFICATE}),
            {"tenant_id": "t", "client_id": "c", "client_certificate": CERTIFICATE},
            "CertificateCredential",
            id="Azure parse: certificate; Azure credential type: client certificate",
        ),
        pytest.param(
            b"clientId: c\n",
            {"client_id": "c"},
            "ManagedIdentityCredential",
            id="Azure parse: managed identity; Azure credential type: clientId only",
        ),
        pytest.param(
            b'{"tenant": "t", "appId": "c", "password": "s", "displayName": "x"}',
            {"tenant_id": "t", "client_id": "c", "client_secret": "s"},
            "ClientSecretCredential",
            id="Azure parse: az output; Azure credential type: az output",
        ),
        pytest.param(
            codecs.BOM_UTF16_LE + '{"clientId": "c"}'.encode("utf-16-le"),
            {"client_id": "c"},
            "ManagedIdentityCredential",
            id="Azure parse: UTF-16 with a byte order mark",
        ),
        pytest.param(
            b"tenantId: t\nclientId: c\nclientSecret: s\nauthorityHost: https://login.example.com/\n",
            {"tenant_id": "t", "client_id": "c", "client_secret": "s", "authority_host": "https://login.example.com/"},
            "ClientSecretCredential",
            id="Azure parse: authorityHost; Azure cloud: custom authority",
        ),
    ],
)  # fmt: skip
async def test_azure_credentials(text: bytes, expected: dict[str, str], kind: str) -> None:
    found = azure.credentials(text)
    assert found == azure.AzureCredentials(**expected)  # type: ignore[arg-type]  # all of them texts
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:1")
        credential = await found.credential()
    assert type(credential).__name__ == kind
    credential.close()


async def test_azure_asks_the_public_cloud_unless_told_otherwise() -> None:
    """Azure cloud: default public; authorityHost → custom authority"""
    public = await azure.credentials(b"tenantId: t\nclientId: c\nclientSecret: s\n").credential()
    other = await azure.credentials(
        b"tenantId: t\nclientId: c\nclientSecret: s\nauthorityHost: https://login.example.com/\n"
    ).credential()
    assert public._authority == "https://login.microsoftonline.com"
    assert other._authority == "https://login.example.com"
    public.close()
    other.close()


@pytest.mark.parametrize(
    ("arn", "region"),
    [
        ("arn:aws:kms:us-west-2:107501996527:key/612d5f0p-p1l3-45e6-aca6-a5b005693a48", "us-west-2"),
        ("arn:aws-cn:kms:cn-north-1:123456789012:key/abc", "cn-north-1"),
        ("arn:aws-us-gov:kms:us-gov-west-1:123456789012:key/abc", "us-gov-west-1"),
        ("arn:aws:kms:us-west-2:107501996527:alias/abc", "us-west-2"),
        ("arn:aws:kms:us-west-2:107501996527:key/", ""),
        ("arn:aws:kms:us-west-2:107501996527:alias/", ""),
        ("not an arn", ""),
        ("arn:aws:s3:::bucket/file", ""),
        ("arn:aws:ec2:us-west-2:107501996527:instance/i-1", ""),
        ("arn:aws:iam::107501996527:user/x", ""),
        ("arn:aws:lambda:us-west-2:107501996527:function:x", ""),
        ("arn:aws:dynamodb:us-west-2:107501996527:table/x", ""),
        ("arn:aws:rds:us-west-2:107501996527:db:x", ""),
        ("arn:aws:sns:us-west-2:107501996527:x", ""),
    ],
    ids=lambda value: f"AWS region: {value}" if ":" in value or " " in value else value or "none",
)
def test_aws_region(arn: str, region: str) -> None:
    assert aws.region(arn) == region


async def test_pgp_encrypts_with_the_public_key_and_decrypts_with_the_secret_one() -> None:
    """Key service/PGP"""
    public = pgp.PgpService(tuple(pgp.read_keys(armored_public(KEY))))
    secret = pgp.PgpService(tuple(pgp.read_keys(armored_secret(KEY))))
    key = PgpKey(KEY.fingerprint.upper())
    sealed = PgpKey(key.fp, enc=await public.seal(key, b"d" * 32))
    with pytest.raises(sops.DataKeyError, match="none of the 0 PGP secret keys"):
        await public.open(sealed)
    assert await secret.open(sealed) == b"d" * 32
    with pytest.raises(sops.DataKeyError, match="none of the 1 PGP secret keys"):
        await pgp.PgpService(tuple(pgp.read_keys(armored_secret(new_key())))).open(sealed)
    with pytest.raises(sops.DataKeyError, match="public key is not at hand"):
        await public.seal(PgpKey("0" * 40), b"d" * 32)


async def test_age_encrypts_to_the_recipient_and_decrypts_with_the_identity() -> None:
    """Key service/age"""
    service = RING.keyring.services["age"]
    sealed = AgeKey(RING.recipient, enc=await service.seal(AgeKey(RING.recipient), b"d" * 32))
    assert await service.open(sealed) == b"d" * 32


def test_nothing_imported_shows_itself() -> None:
    secrets = {
        "age.agekey": RING.text.encode(),
        "pgp.asc": armored_secret(KEY).encode(),
        "sops.vault-token": b"planted-token",
        "sops.aws-kms": AWS.replace(b"secret\n", b"planted-secret\n"),
        "sops.azure-kv": b"tenantId: t\nclientId: c\nclientSecret: planted-secret\n",
        "sops.gcp-kms": orjson.dumps(USER | {"refresh_token": "planted-refresh"}),
    }
    found = imported(secrets)
    shown = f"{found!r} {found} {found.keyring()!r} {found.services()!r}"
    body = base64.b64encode(bytes(KEY.to_bytes())).decode()
    for planted in ("planted", RING.text, armored_secret(KEY)[200:240], body[100:140]):
        assert planted not in shown
