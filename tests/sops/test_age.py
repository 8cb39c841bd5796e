"""age keys of all kinds, Bech32, and Shamir's shares."""

from __future__ import annotations

import itertools
import re

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st

from penstock import sops
from penstock.sops import age, bech32, shamir
from penstock.sops.keys import AgeKey
from tests.sops.rings import Ring, new_hybrid_ring, new_ring

DATA_KEY = bytes(range(32))


def ssh_text(key: ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()


def old_ssh_text(key: rsa.RSAPrivateKey, *, passphrase: bytes = b"") -> str:
    """As ssh-keygen wrote RSA keys for many years."""
    protection = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, protection).decode()


RINGS = {
    "X25519": new_ring(),
    "post-quantum": new_hybrid_ring(),
    "SSH Ed25519": Ring(ssh_text(ed25519.Ed25519PrivateKey.generate())),
    "SSH RSA": Ring(ssh_text(rsa.generate_private_key(65537, 2048))),
    "SSH RSA, old style": Ring(old_ssh_text(rsa.generate_private_key(65537, 2048))),
}


@pytest.mark.parametrize("kind", RINGS)
async def test_each_kind_opens_what_was_sealed_for_it_and_nothing_else(kind: str) -> None:
    ring = RINGS[kind]
    service = ring.keyring.services["age"]
    key = AgeKey(ring.recipient)
    sealed = AgeKey(key.recipient, enc=await service.seal(key, DATA_KEY))
    assert sealed.enc.startswith("-----BEGIN AGE ENCRYPTED FILE-----\n")
    assert await service.open(sealed) == DATA_KEY
    for other in RINGS.values():
        if other is not ring:
            with pytest.raises(sops.DataKeyError, match="none of the 1 age identities opens it"):
                await other.keyring.services["age"].open(sealed)


@pytest.mark.parametrize("kind", RINGS)
async def test_a_sealed_key_that_was_changed_is_refused(kind: str) -> None:
    ring = RINGS[kind]
    service = ring.keyring.services["age"]
    enc = await service.seal(AgeKey(ring.recipient), DATA_KEY)
    body = enc.splitlines()
    middle = "".join("A" if char != "A" else "B" for char in body[2][:4]) + body[2][4:]
    for changed in ("\n".join([*body[:2], middle, *body[3:]]), enc[:100], "", "garbage", enc.replace("AGE", "EGA")):
        with pytest.raises(sops.SopsError):
            await service.open(AgeKey(ring.recipient, enc=changed))


def test_ssh_keys_and_age_keys_share_a_file() -> None:
    text = f"# mine\n{RINGS['X25519'].text}\n{RINGS['SSH Ed25519'].text}\n{RINGS['post-quantum'].text}\n"
    assert {identity.recipient for identity in age.identities(text)} == {
        RINGS[kind].recipient for kind in ("X25519", "SSH Ed25519", "post-quantum")
    }


def test_the_comment_of_an_ssh_recipient_does_not_count() -> None:
    ring = RINGS["SSH Ed25519"]
    assert age.holds(ring.identity, f"{ring.recipient} me@laptop")
    assert not age.holds(ring.identity, RINGS["SSH RSA"].recipient)


def test_an_ssh_key_with_a_passphrase_is_refused() -> None:
    locked = old_ssh_text(rsa.generate_private_key(65537, 2048), passphrase=b"planted")
    with pytest.raises(sops.KeyFileError, match="malformed, has a passphrase"):
        age.identities(locked)


@pytest.mark.parametrize(
    ("recipient", "said"),
    [
        pytest.param("age1yubikey1qqqqqqq", "plug-in 'yubikey' is not supported", id="A19 a plug-in"),
        pytest.param("age1se1qqqqqqqqqqqq", "plug-in 'se' is not supported", id="A19 another plug-in"),
        pytest.param("age1qqq", "malformed", id="mistyped"),
        pytest.param("ssh-dss AAAA", "malformed", id="an SSH key of a kind that age does not know"),
        pytest.param("nonsense", "malformed", id="nonsense"),
    ],
)
def test_recipients_that_cannot_be_served(recipient: str, said: str) -> None:
    with pytest.raises(sops.KeyFileError, match=re.escape(said)):
        age.check_recipient(recipient)


async def test_a_post_quantum_recipient_that_is_cut_off() -> None:
    with pytest.raises(sops.KeyFileError, match="not a post-quantum age key"):
        await age.AgeService().seal(AgeKey(RINGS["post-quantum"].recipient[:-3]), DATA_KEY)


@given(st.binary(max_size=80), st.sampled_from(["age", "age1pq", "x"]))
def test_bech32_there_and_back(data: bytes, prefix: str) -> None:
    text = bech32.encode(prefix, data)
    assert bech32.decode(text) == (prefix, data)
    assert bech32.decode(text.upper()) == (prefix.upper(), data)


@pytest.mark.parametrize(
    "text",
    ["", "1", "age1", "Age1qq", "age1bbbbbbb", RINGS["X25519"].recipient[:-1] + "b"],
    ids=["nothing", "no prefix", "no data", "mixed case", "letters that are not used", "a wrong letter"],
)
def test_bech32_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r"Bech32|checksum|case"):
        bech32.decode(text)


@given(st.binary(min_size=1, max_size=40), st.integers(2, 6), st.integers(0, 4))
def test_any_parts_that_are_enough_give_the_secret_back(secret: bytes, threshold: int, more: int) -> None:
    parts = shamir.split(secret, parts=threshold + more, threshold=threshold)
    for chosen in itertools.islice(itertools.combinations(parts, threshold), 10):
        assert shamir.combine(list(chosen)) == secret
    assert shamir.combine(parts) == secret


def test_too_few_parts_give_something_else() -> None:
    parts = shamir.split(DATA_KEY, parts=3, threshold=3)
    assert shamir.combine(parts[:2]) != DATA_KEY


@pytest.mark.parametrize(
    "parts",
    [[], [b"ab"], [b"ab", b"abc"], [b"a\x01", b"b\x01"], [b"\x01", b"\x02"], [b"a\x00", b"b\x01"]],
    ids=["none", "one", "of different lengths", "the same twice", "empty", "at zero"],
)
def test_parts_that_do_not_belong_together(parts: list[bytes]) -> None:
    with pytest.raises(sops.DataKeyError):
        shamir.combine(parts)


@pytest.mark.parametrize(("parts", "threshold"), [(1, 1), (2, 1), (2, 3), (300, 2)])
def test_shares_that_cannot_be_made(parts: int, threshold: int) -> None:
    with pytest.raises(sops.DataKeyError, match="is not possible"):
        shamir.split(DATA_KEY, parts=parts, threshold=threshold)


async def test_key_groups_need_their_threshold() -> None:
    rings = [new_ring() for _ in range(3)]
    metadata = sops.Metadata(groups=tuple((AgeKey(ring.recipient),) for ring in rings), threshold=2)
    everybody = age.AgeService(tuple(ring.identity for ring in rings))
    text = await sops.encrypt(b"a: 1\n", sops.Keyring({"age": everybody}), metadata, form=sops.Format.YAML)
    for pair in itertools.combinations(rings, 2):
        keyring = sops.Keyring({"age": age.AgeService(tuple(ring.identity for ring in pair))})
        assert await sops.decrypt(text, keyring, form=sops.Format.YAML) == b"a: 1\n"
    sentence = f"1 of the 2 needed key groups could be opened; group 2: age {rings[1].recipient}: none of the 1"
    with pytest.raises(sops.DataKeyError, match=re.escape(sentence)):
        await sops.decrypt(text, rings[0].keyring, form=sops.Format.YAML)


async def test_an_empty_key_group_seals_nothing() -> None:
    with pytest.raises(sops.DataKeyError, match="a key group without keys"):
        await sops.Keyring().seal(sops.Metadata(groups=((),)), DATA_KEY)
