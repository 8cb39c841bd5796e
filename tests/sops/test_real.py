"""Side by side with the real `sops`: what either encrypts, both decrypt to the same bytes.

The seeds count up from PENSTOCK_SEED, and a failure names the one that failed.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from penstock import sops
from penstock.sops import Format, age, creation, pgp
from penstock.sops.keys import AgeKey, PgpKey
from tests.controlplane.build import NoGo
from tests.sops.generate import Generator
from tests.sops.real_sops import RealSops, program
from tests.sops.rings import Ring, new_hybrid_ring, new_ring

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Generator as Generated
    from pathlib import Path

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

SEED = int(os.environ.get("PENSTOCK_SEED", "20260801"))
FILES = 100  # of each format
SUFFIX = {
    Format.YAML: ".yaml", Format.JSON: ".json", Format.DOTENV: ".env", Format.INI: ".ini", Format.BINARY: ".bin"
}  # fmt: skip


@pytest.fixture(scope="session")
def path() -> Path:
    try:
        return program()
    except NoGo as error:
        pytest.skip(f"not here: {error}")


def compare(real: RealSops, keyring: sops.Keyring, metadata: sops.Metadata, form: Format, seed: int, *to: str) -> bool:
    """Both ways for one file; False when the real one cannot read what it wrote itself."""
    plain = Generator(seed).file(form)
    file = real.folder / f"plain{SUFFIX[form]}"
    file.write_bytes(plain)
    theirs = real.encrypt(file, *to)
    assert theirs is not None, f"seed {seed}: the real one refuses the file"
    ours = asyncio.run(sops.encrypt(plain, keyring, metadata, form=form))
    own = asyncio.run(sops.decrypt(ours, keyring, form=form))
    expected = real.decrypt(theirs, SUFFIX[form])
    if expected is None:
        return False
    assert asyncio.run(sops.decrypt(theirs, keyring, form=form)) == expected, f"seed {seed}: theirs, decrypted by us"
    assert real.decrypt(ours, SUFFIX[form]) == expected, f"seed {seed}: ours, decrypted by them"
    assert own == expected, f"seed {seed}: ours, decrypted by us"
    return True


@pytest.mark.parametrize("form", list(Format), ids=lambda form: form.value)
def test_a_hundred_files_of_each_format_come_out_equal(
    path: Path, tmp_path: Path, form: Format, record_property: Callable[[str, object], None]
) -> None:
    ring = new_ring()
    real = RealSops(path, tmp_path, {"SOPS_AGE_KEY": ring.text})
    record_property("seeds", f"{SEED} to {SEED + FILES - 1}")
    print(f"seeds {SEED} to {SEED + FILES - 1}")  # noqa: T201 - shown with -rA, and when the test fails
    compared = [
        compare(real, ring.keyring, ring.metadata(), form, SEED + at, "--age", ring.recipient) for at in range(FILES)
    ]
    assert compared.count(True) == FILES


@pytest.mark.parametrize(
    "rule",
    [
        "encrypted_regex: ^(data|stringData)",
        "unencrypted_regex: ^(user|nested)",
        "encrypted_suffix: _secret",
        "unencrypted_suffix: data",
        "encrypted_comment_regex: sops:enc",
        "unencrypted_comment_regex: ^ (about|note)",
        "mac_only_encrypted: true",
    ],
    ids=lambda rule: rule.partition(":")[0],
)
def test_rules_of_a_sops_yaml_mean_the_same(path: Path, tmp_path: Path, rule: str) -> None:
    ring = new_ring()
    name, _, value = rule.partition(": ")
    written = value if value == "true" else f"'{value}'"
    config = tmp_path / ".sops.yaml"
    config.write_text(f"creation_rules:\n- path_regex: plain\n  age: {ring.recipient}\n  {name}: {written}\n")
    found = creation.read(config).rule_for(tmp_path / "plain.yaml")
    assert found is not None
    real = RealSops(path, tmp_path, {"SOPS_AGE_KEY": ring.text})
    forms = (Format.YAML, Format.JSON, Format.DOTENV)
    compared = [compare(real, ring.keyring, found.metadata, form, SEED + at) for at in range(12) for form in forms]
    assert compared.count(True) > 30


def test_shamir_groups_come_out_equal(path: Path, tmp_path: Path) -> None:
    rings = [new_ring() for _ in range(3)]
    groups = tuple((AgeKey(ring.recipient),) for ring in rings)
    (tmp_path / ".sops.yaml").write_text(
        "creation_rules:\n- shamir_threshold: 2\n  key_groups:\n"
        + "".join(f"  - age: [{ring.recipient}]\n" for ring in rings)
    )
    two = f"{rings[0].text}\n{rings[2].text}"
    keyring = sops.Keyring({"age": age.AgeService(tuple(age.identities(two)))})
    real = RealSops(path, tmp_path, {"SOPS_AGE_KEY": two})
    for seed in range(SEED, SEED + 10):
        for form in Format:
            assert compare(real, keyring, sops.Metadata(groups=groups, threshold=2), form, seed)


def ssh_ring(folder: Path, kind: str) -> Ring:
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(folder / kind)], check=True)
    return Ring((folder / kind).read_text())


@pytest.mark.parametrize("kind", ["hybrid", "ed25519", "rsa"])
def test_other_age_keys_come_out_equal(path: Path, tmp_path: Path, kind: str) -> None:
    if kind != "hybrid" and shutil.which("ssh-keygen") is None:
        pytest.skip("not here: no ssh-keygen")
    ring = new_hybrid_ring() if kind == "hybrid" else ssh_ring(tmp_path, kind)
    name = {"SOPS_AGE_KEY": ring.text} if kind == "hybrid" else {"SOPS_AGE_SSH_PRIVATE_KEY_FILE": str(tmp_path / kind)}
    real = RealSops(path, tmp_path, name)
    for seed in range(SEED, SEED + 5):
        assert compare(real, ring.keyring, ring.metadata(), Format.JSON, seed, "--age", ring.recipient)


@pytest.fixture
def gnupg(tmp_path: Path) -> Generated[dict[str, str]]:
    if shutil.which("gpg") is None:
        pytest.skip("not here: no gpg")
    home = tmp_path / "g"
    home.mkdir(mode=0o700)
    environment = {"PATH": os.environ["PATH"], "GNUPGHOME": str(home)}
    yield environment
    subprocess.run(["gpgconf", "--kill", "gpg-agent"], env=environment, check=False)


@pytest.mark.parametrize(
    "recipe",
    [
        pytest.param("Key-Type: 1\nKey-Length: 2048\nSubkey-Type: 1\nSubkey-Length: 2048", id="as in Flux's guide"),
        pytest.param(
            "Key-Type: eddsa\nKey-Curve: ed25519\nSubkey-Type: ecdh\nSubkey-Curve: cv25519", id="elliptic curves"
        ),
    ],
)
def test_pgp_keys_come_out_equal(path: Path, tmp_path: Path, gnupg: dict[str, str], recipe: str) -> None:
    batch = f"%no-protection\n{recipe}\nName-Real: tests\nExpire-Date: 0\n"

    def gpg(*arguments: str, text: str = "") -> str:
        command = ["gpg", "--batch", "--quiet", *arguments]
        return subprocess.run(command, env=gnupg, input=text, capture_output=True, text=True, check=True).stdout

    gpg("--gen-key", text=batch)
    key = pgp.read_keys(gpg("--armor", "--export-secret-keys"))[0]
    keyring = sops.Keyring({"pgp": pgp.PgpService((key,))})
    metadata = sops.Metadata(groups=((PgpKey(key.fingerprints[0]),),))
    real = RealSops(path, tmp_path, gnupg)
    for seed in range(SEED, SEED + 4):
        for form in Format:
            assert compare(real, keyring, metadata, form, seed, "--pgp", key.fingerprints[0])
