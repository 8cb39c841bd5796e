"""What the log of signatures (Rekor) knows of a signature of cosign 2, put together with it into a bundle.

Whether any of it is true is for the verifier to find out: here nothing is trusted.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from penstock.sources.access import AccessError
from penstock.sources.oci.verification.attached import CERTIFICATE, LARGEST, LOGGED, SIGNATURE
from penstock.sources.oci.verification.errors import NotSigned
from penstock.sources.web import TooLarge, Unreachable, Web, read

if TYPE_CHECKING:
    from penstock.sources.oci.manifest import Descriptor
    from penstock.sources.oci.transport import Connection

PUBLIC_LOG = "https://rekor.sigstore.dev"
_BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"


class _Log(msgspec.Struct, frozen=True, rename="camel"):
    base_url: str = ""


class _Root(msgspec.Struct, frozen=True):
    tlogs: tuple[_Log, ...] = ()


class _Noted(msgspec.Struct, frozen=True, rename={"log_index": "logIndex"}):
    log_index: int


class _Promise(msgspec.Struct, frozen=True, rename={"payload": "Payload"}):
    """What cosign 2 keeps of the log's answer."""

    payload: _Noted


class _Proof(msgspec.Struct, frozen=True, rename="camel"):
    checkpoint: str
    hashes: tuple[str, ...]
    log_index: int
    root_hash: str
    tree_size: int


class _Verification(msgspec.Struct, frozen=True, rename="camel"):
    inclusion_proof: _Proof
    signed_entry_timestamp: str


class _Entry(msgspec.Struct, frozen=True):
    body: str
    integrated_time: int = msgspec.field(name="integratedTime")
    log_id: str = msgspec.field(name="logID")
    log_index: int = msgspec.field(name="logIndex")
    verification: _Verification


class _Kind(msgspec.Struct, frozen=True, rename="camel"):
    kind: str
    api_version: str


def log_address(trusted_root: bytes) -> str:
    """Where the first log of a root of trust is; empty when it does not say."""
    try:
        logs = msgspec.json.decode(trusted_root, type=_Root).tlogs
    except msgspec.MsgspecError:
        return ""
    return next((log.base_url for log in logs if log.base_url), "")


async def completed(layer: Descriptor, payload: bytes, log: str, connection: Connection) -> bytes:
    """The signature of a layer as a bundle, with the proof of the log."""
    notes = layer.annotations
    try:
        index = msgspec.json.decode(notes.get(LOGGED, ""), type=_Promise).payload.log_index
        certificate = ssl.PEM_cert_to_DER_cert(notes[CERTIFICATE].strip())
    except (msgspec.MsgspecError, ValueError) as error:
        raise NotSigned("the signature lacks a certificate, or its entry in the log") from error
    entry = await _ask(log, index, connection)
    try:
        return msgspec.json.encode(_bundle(entry, certificate, notes[SIGNATURE], payload))
    except (msgspec.MsgspecError, binascii.Error, ValueError) as error:
        raise NotSigned("the answer of the log is damaged") from error


async def _ask(log: str, index: int, connection: Connection) -> _Entry:
    if urlsplit(log).scheme not in ("http", "https"):
        raise NotSigned("the trusted root does not say where its log is")
    url = f"{log.rstrip('/')}/api/v1/log/entries?logIndex={index}"
    try:
        async with Web(connection.trust, connection.proxy) as web:
            answer = await web.send("GET", url, headers={"Accept": "application/json"})
            try:
                if answer.status != 200:
                    raise NotSigned(f"the log {log} answered with status {answer.status}")
                entries = msgspec.json.decode(await read(answer, LARGEST), type=dict[str, _Entry])
            finally:
                answer.release()
    except (Unreachable, TooLarge, AccessError) as error:
        raise NotSigned(f"the log cannot be asked: {error}") from error
    except msgspec.MsgspecError as error:
        raise NotSigned("the answer of the log is damaged") from error
    if len(entries) != 1:
        raise NotSigned("the log does not know the signature")
    return next(iter(entries.values()))


def _bundle(entry: _Entry, certificate: bytes, signature: str, payload: bytes) -> dict[str, Any]:
    kind = msgspec.json.decode(base64.b64decode(entry.body, validate=True), type=_Kind)
    proof = entry.verification.inclusion_proof
    return {
        "mediaType": _BUNDLE,
        "verificationMaterial": {
            "certificate": {"rawBytes": _b64(certificate)},
            "tlogEntries": [
                {
                    "logIndex": str(entry.log_index),
                    "logId": {"keyId": _b64(bytes.fromhex(entry.log_id))},
                    "kindVersion": {"kind": kind.kind, "version": kind.api_version},
                    "integratedTime": str(entry.integrated_time),
                    "inclusionPromise": {"signedEntryTimestamp": entry.verification.signed_entry_timestamp},
                    "inclusionProof": {
                        "logIndex": str(proof.log_index),
                        "rootHash": _b64(bytes.fromhex(proof.root_hash)),
                        "treeSize": str(proof.tree_size),
                        "hashes": [_b64(bytes.fromhex(one)) for one in proof.hashes],
                        "checkpoint": {"envelope": proof.checkpoint},
                    },
                    "canonicalizedBody": entry.body,
                }
            ],
        },
        "messageSignature": {
            "messageDigest": {"algorithm": "SHA2_256", "digest": _b64(hashlib.sha256(payload).digest())},
            "signature": signature,
        },
    }


def _b64(content: bytes) -> str:
    return base64.b64encode(content).decode()
