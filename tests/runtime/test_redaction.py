from __future__ import annotations

from typing import Any

import pytest

from penstock.kube.resources import ObjectRef
from penstock.runtime.redaction import LONGEST, redact, redact_text

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("https://bob:hunter2@git.example/x", "https://***@git.example/x", id="user and password"),
        pytest.param("https://ghp_0123@git.example/x", "https://***@git.example/x", id="a token as user"),
        pytest.param("https://bob:p@ss@git.example/x", "https://***@git.example/x", id="an @ in the password"),
        pytest.param("ssh://git@git.example/x", "ssh://git@git.example/x", id="the git user is no secret"),
        pytest.param("ssh://git:pw@git.example/x", "ssh://***@git.example/x", id="but its password is"),
        pytest.param("git@git.example:org/x", "git@git.example:org/x", id="scp form stays"),
        pytest.param("https://git.example/a@b", "https://git.example/a@b", id="an @ in the path stays"),
        pytest.param(
            "https://s3.example/k?X-Amz-Date=1&X-Amz-Signature=abc&X-Amz-Credential=def%2Fx&v=2",
            "https://s3.example/k?X-Amz-Date=1&X-Amz-Signature=***&X-Amz-Credential=***&v=2",
            id="signed URLs",
        ),
        pytest.param("https://x.example/?sv=1&sig=a%2Bb", "https://x.example/?sv=1&sig=***", id="shared access"),
        pytest.param("https://x.example/?access_token=a b", "https://x.example/?access_token=*** b", id="a token"),
        pytest.param("login with password=hunter2 failed", "login with password=*** failed", id="an assignment"),
        pytest.param("Authorization: Bearer abcdefgh1234", "Authorization: Bearer ***", id="a bearer token"),
        pytest.param("Basic dXNlcjpodW50ZXIyeHh4", "Basic ***", id="basic credentials"),
        pytest.param("Basic authentication failed", "Basic authentication failed", id="words stay words"),
        pytest.param(f"token {JWT} expired", "token *** expired", id="a JSON web token"),
        pytest.param("ghp_0123456789abcdefghij0123", "***", id="a forge token"),
        pytest.param("AGE-SECRET-KEY-1QQQQQQQQQQQQQQ", "***", id="an age key"),
        pytest.param(f"key {PEM} end", "key *** end", id="a private key"),
        pytest.param("-----BEGIN PRIVATE KEY-----\nMIIE", "***", id="a private key that is cut off"),
        pytest.param("Deployment/x is not ready: 1/2", "Deployment/x is not ready: 1/2", id="plain words"),
    ],
)
def test_texts(text: str, expected: str) -> None:
    assert redact_text(text) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"password": "x"}, {"password": "***"}, id="a password"),
        pytest.param(
            {"clientSecret": "x", "api_key": "x"}, {"clientSecret": "***", "api_key": "***"}, id="camel, snake"
        ),
        pytest.param({"X-Auth-Token": "x"}, {"X-Auth-Token": "***"}, id="a header"),
        pytest.param({"headers": {"Authorization": "x"}}, {"headers": {"Authorization": "***"}}, id="inside"),
        pytest.param({"tls": [{"key-data": "x"}]}, {"tls": [{"key-data": "***"}]}, id="inside a list"),
        pytest.param({"token": {"value": "x"}}, {"token": "***"}, id="whatever its shape"),
        pytest.param({"token": b"x", "raw": b"x"}, {"token": "***", "raw": "***"}, id="bytes are never shown"),
        pytest.param(
            {"Secret": {"name": "a", "namespace": "b"}},
            {"Secret": {"name": "a", "namespace": "b"}},
            id="a reference to a Secret stays",
        ),
        pytest.param({"secretName": "a"}, {"secretName": "a"}, id="a name stays"),
        pytest.param({"token": 3, "secret": None}, {"token": 3, "secret": None}, id="counts stay"),
        pytest.param({"ref": ObjectRef("", "Secret", "a", "b")}, {"ref": "Secret/a/b"}, id="references as text"),
        pytest.param({"when": {1, 2}}, {"when": [1, 2]}, id="sets"),
        pytest.param({"error": ValueError("https://a:b@c/")}, {"error": "https://***@c/"}, id="exceptions"),
    ],
)
def test_fields(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    assert redact(fields) == expected


def test_a_field_that_contains_itself_ends_somewhere() -> None:
    loop: dict[str, Any] = {}
    loop["again"] = loop
    assert "..." in str(redact(loop))


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "piece",
    [
        pytest.param("://", id="an address without end"),
        pytest.param("?token", id="parameters without value"),
        pytest.param("a=", id="assignments"),
        pytest.param("eyJ.", id="half a token"),
        pytest.param("-----BEGIN PRIVATE KEY-----", id="keys without end"),
        pytest.param("-----BEGIN ", id="beginnings"),
        pytest.param("password", id="words"),
        pytest.param("https://user:", id="many addresses"),
    ],
)
def test_a_hostile_text_costs_no_more_than_its_length(piece: str) -> None:
    text = piece * (LONGEST // len(piece))
    assert len(redact_text(text)) <= len(text)


def test_a_long_text_is_cut() -> None:
    assert redact_text("x" * 1_000_000) == "x" * LONGEST + "..."
