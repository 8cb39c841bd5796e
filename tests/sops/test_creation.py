"""`.sops.yaml`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.sops import RuleError, creation
from penstock.sops.keys import AgeKey, AwsKey, AzureKey, GcpKey, HuaweiKey, MasterKey, PgpKey, VaultKey
from tests.sops.rings import new_ring

if TYPE_CHECKING:
    from pathlib import Path

ONE, TWO = new_ring().recipient, new_ring().recipient


def rules(folder: Path, text: str) -> creation.CreationRules:
    (folder / ".sops.yaml").write_text(text)
    return creation.read(folder / ".sops.yaml")


def groups(folder: Path, text: str) -> list[list[MasterKey]]:
    rule = rules(folder, f"creation_rules:\n- {text}").rule_for(folder / "x")
    assert rule is not None
    return [list(group) for group in rule.metadata.groups]


def test_the_first_rule_that_matches_counts(tmp_path: Path) -> None:
    found = rules(
        tmp_path,
        f"""\
creation_rules:
- path_regex: ^prod/
  age: {ONE}
- path_regex: \\.enc\\.yaml$
  age: {TWO}
  encrypted_regex: ^data$
- age: {ONE}
""",
    )
    for name, expected in (("prod/x.enc.yaml", "^prod/"), ("dev/x.enc.yaml", "\\.enc\\.yaml$"), ("dev/x", "")):
        rule = found.rule_for(tmp_path / name)
        assert rule is not None
        assert rule.path_regex == expected


def test_no_rule_matches(tmp_path: Path) -> None:
    assert rules(tmp_path, f"creation_rules: [{{path_regex: ^a, age: {ONE}}}]").rule_for(tmp_path / "b") is None


@pytest.mark.parametrize("text", ["", "{}", "destination_rules: []", "creation_rules:"])
def test_a_file_without_rules(tmp_path: Path, text: str) -> None:
    assert rules(tmp_path, text).rules == ()


def test_the_nearest_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/.sops.yaml").write_text("")
    assert creation.find(tmp_path / "a/b/c.yaml") == tmp_path / "a/.sops.yaml"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"age: {ONE}", [AgeKey(ONE)], id="one"),
        pytest.param(f"age: '{ONE}, {TWO},'", [AgeKey(ONE), AgeKey(TWO)], id="with commas"),
        pytest.param(f"age: [{ONE}, {TWO}, {ONE}]", [AgeKey(ONE), AgeKey(TWO)], id="a list, each once"),
        pytest.param("pgp: 'AA BB, CC'", [PgpKey("AABB"), PgpKey("CC")], id="pgp"),
        pytest.param("kms: arn:x+arn:role", [AwsKey("arn:x", role="arn:role")], id="kms with a role"),
        pytest.param("gcp_kms: projects/p", [GcpKey("projects/p")], id="gcp"),
        pytest.param("hckms: ['r:id']", [HuaweiKey("r:id")], id="hckms"),
        pytest.param(
            "azure_keyvault: https://v.vault.azure.net/keys/k/1", [AzureKey("https://v.vault.azure.net", "k", "1")],
            id="azure",
        ),
        pytest.param(
            "hc_vault_transit_uri: https://v:8200/v1/a/transit/keys/k", [VaultKey("https://v:8200", "a/transit", "k")],
            id="vault",
        ),
    ],
)  # fmt: skip
def test_short_forms(tmp_path: Path, text: str, expected: list[MasterKey]) -> None:
    assert groups(tmp_path, text) == [expected]


def test_key_groups(tmp_path: Path) -> None:
    text = f"""\
shamir_threshold: 2
  key_groups:
  - merge:
    - age: [{ONE}]
    - pgp: [AA]
    age: [{ONE}]
  - kms: [{{arn: x, role: r, context: {{a: b}}}}]
    gcp_kms: [{{resource_id: p}}]
    azure_keyvault: [{{vaultUrl: u, key: k, version: v}}]
    hc_vault: [https://v/v1/t/keys/k]
    hckms: [{{key_id: i}}]
"""
    assert groups(tmp_path, text) == [
        [AgeKey(ONE), PgpKey("AA")],
        [
            AwsKey("x", role="r", context={"a": "b"}),
            GcpKey("p"),
            HuaweiKey("i"),
            AzureKey("u", "k", "v"),
            VaultKey("https://v", "t", "k"),
        ],
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("creation_rules: [x]", "rule 1 is not a mapping"),
        ("creation_rules: [{path_regex: '('}]", "is not a regular expression"),
        ("creation_rules: [{age: nonsense}]", "the age recipient is malformed"),
        ("creation_rules: [{age: age1yubikey1qqqq}]", "plug-in 'yubikey'"),
        ("creation_rules: [{age: 5}]", "age is neither text nor a list"),
        ("creation_rules: [{encrypted_regex: a, encrypted_suffix: b}]", "cannot be used in the same file"),
        ("creation_rules: [{azure_keyvault: x}]", "not the address of an Azure Key Vault key"),
        ("creation_rules: [{hc_vault_transit_uri: x}]", "is not of the form"),
        ("creation_rules: [{key_groups: [x]}]", "a key group is not a mapping"),
        ("creation_rules: [", "cannot be read"),
    ],
)
def test_rules_that_make_no_sense(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(RuleError, match=said):
        rules(tmp_path, text)
