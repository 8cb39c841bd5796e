"""The trust policy of Notary: which checks count for which repositories, and who may have signed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec
from cryptography import x509

from penstock.sources.oci.verification.errors import VerificationFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

PROVIDER = "notation"
FILE = "trustpolicy.json"

Check = Literal["authenticity", "authenticTimestamp", "expiry", "revocation"]
Action = Literal["enforce", "log", "skip"]

_STRICT: Mapping[Check, Action] = {
    "authenticity": "enforce",
    "authenticTimestamp": "enforce",
    "expiry": "enforce",
    "revocation": "enforce",
}
_LEVELS: Mapping[str, Mapping[Check, Action]] = {
    "strict": _STRICT,
    "permissive": {**_STRICT, "authenticTimestamp": "log", "expiry": "log", "revocation": "log"},
    "audit": dict.fromkeys(_STRICT, "log"),
    "skip": dict.fromkeys(_STRICT, "skip"),
}
_SUBJECT = "x509.subject:"
_REQUIRED = ("C", "ST", "O")


class _Signature(msgspec.Struct, frozen=True):
    level: str
    override: dict[Check, Action] = msgspec.field(default_factory=dict)


class _Statement(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    registry_scopes: tuple[str, ...]
    signature_verification: _Signature
    trust_stores: tuple[str, ...] = ()
    trusted_identities: tuple[str, ...] = ()


class _Document(msgspec.Struct, frozen=True, rename="camel"):
    version: str
    trust_policies: tuple[_Statement, ...]


@dataclass(frozen=True, slots=True)
class Policy:
    """What counts for one repository."""

    name: str
    level: str
    actions: Mapping[Check, Action]
    identities: tuple[frozenset[tuple[str, str]], ...]
    """Parts of the subject's name that must all be there; no identity at all stands for everybody."""

    def trusts(self, certificate: x509.Certificate) -> bool:
        if not self.identities:
            return True
        subject = _attributes(certificate.subject)
        return any(wanted <= subject for wanted in self.identities)


def policy_for(content: bytes, repository: str) -> Policy:
    """The statement that names the repository, or else the one for all."""
    try:
        document = msgspec.json.decode(content, type=_Document)
    except msgspec.MsgspecError as error:
        raise VerificationFailed(PROVIDER, f"error occurred while parsing {FILE}: {error}") from error
    policies = _checked(document)
    for scope in (repository, "*"):
        if scope in policies:
            return _policy(policies[scope])
    raise VerificationFailed(PROVIDER, f"{FILE} has no statement for the repository '{repository}'")


def _checked(document: _Document) -> dict[str, _Statement]:
    """The statements by scope; a document that Notary would refuse is refused."""
    if document.version != "1.0":
        raise _wrong(f"its version is '{document.version}', and only 1.0 is known")
    scopes: dict[str, _Statement] = {}
    for statement in document.trust_policies:
        if not statement.registry_scopes:
            raise _wrong(f"the statement '{statement.name}' has no registryScopes")
        if "*" in statement.registry_scopes and len(statement.registry_scopes) > 1:
            raise _wrong(f"the statement '{statement.name}' has the scope '*' beside others")
        for scope in statement.registry_scopes:
            if scope in scopes:
                raise _wrong(f"the scope '{scope}' stands in two statements")
            scopes[scope] = statement
    if len({statement.name for statement in document.trust_policies}) != len(document.trust_policies):
        raise _wrong("two statements have the same name")
    return scopes


def _policy(statement: _Statement) -> Policy:
    wanted = statement.signature_verification
    if wanted.level not in _LEVELS:
        raise _wrong(f"the statement '{statement.name}' has the unknown level '{wanted.level}'")
    if wanted.level == "skip":
        return Policy(statement.name, wanted.level, _LEVELS["skip"], ())
    if not statement.trust_stores or not statement.trusted_identities:
        raise _wrong(f"the statement '{statement.name}' needs trustStores and trustedIdentities")
    if "*" in statement.trusted_identities and len(statement.trusted_identities) > 1:
        raise _wrong(f"the statement '{statement.name}' trusts '*' beside others")
    identities = tuple(_identity(text, statement.name) for text in statement.trusted_identities if text != "*")
    return Policy(statement.name, wanted.level, {**_LEVELS[wanted.level], **wanted.override}, identities)


def _identity(text: str, statement: str) -> frozenset[tuple[str, str]]:
    if not text.startswith(_SUBJECT):
        raise _wrong(f"the statement '{statement}' trusts '{text}', which does not begin with '{_SUBJECT}'")
    try:
        name = re.sub(r"\s*,\s*", ",", text.removeprefix(_SUBJECT).strip())  # people write them with spaces
        attributes = _attributes(x509.Name.from_rfc4514_string(name))
    except ValueError as error:
        raise _wrong(f"the statement '{statement}' trusts '{text}', which is no distinguished name") from error
    if not {name for name, _ in attributes} >= set(_REQUIRED):
        raise _wrong(f"the statement '{statement}' trusts '{text}', which must have at least C, ST and O")
    return attributes


def _attributes(name: x509.Name) -> frozenset[tuple[str, str]]:
    return frozenset((part.rfc4514_attribute_name, str(part.value)) for part in name)


def _wrong(told: str) -> VerificationFailed:
    return VerificationFailed(PROVIDER, f"{FILE} cannot be used: {told}")
