from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from penstock.sources.oci.credentials import (
    Credential,
    CredentialsError,
    combine,
    from_flag,
    from_secret,
    parse,
)
from penstock.sources.oci.reference import parse_repository

AUTH = base64.b64encode(b"me:secret:word").decode()
ME = Credential("me", "secret:word")


def config(auths: dict[str, Any], **more: Any) -> bytes:
    return orjson.dumps({"auths": auths, **more})


@pytest.mark.parametrize(
    ("entry", "url", "found"),
    [
        pytest.param("ghcr.io", "oci://ghcr.io/org/app", True, id="by host"),
        pytest.param("https://ghcr.io", "oci://ghcr.io/org/app", True, id="by address"),
        pytest.param("https://ghcr.io/v2/", "oci://ghcr.io/org/app", True, id="by address with version"),
        pytest.param("ghcr.io/org", "oci://ghcr.io/org/app", True, id="by host and path"),
        pytest.param("ghcr.io/or", "oci://ghcr.io/org/app", False, id="a path counts in whole parts"),
        pytest.param("localhost:5000", "oci://localhost:5001/app", False, id="the port counts"),
        pytest.param(
            "https://index.docker.io/v1/", "oci://docker.io/org/app", True, id="Docker Hub as Docker writes it"
        ),
        pytest.param("docker.io", "oci://org/app", True, id="Docker Hub by its short name"),
        pytest.param("*.example.com", "oci://a.example.com/app", True, id="a star is one label"),
        pytest.param("*.example.com", "oci://a.b.example.com/app", False, id="a star is not two labels"),
        pytest.param("*.example.com:5000", "oci://a.example.com/app", False, id="a star does not hide the port"),
        pytest.param("example.com", "oci://example.com.evil.io/app", False, id="a host is not a prefix"),
    ],
)
def test_a_login_is_found_by_registry(entry: str, url: str, found: bool) -> None:
    logins = parse(config({entry: {"auth": AUTH}}), origin="test")
    assert logins.find(parse_repository(url)) == (ME if found else None)


def test_the_longest_path_wins() -> None:
    logins = parse(
        config({"h.io": {"username": "all", "password": "a"}, "h.io/org": {"username": "org", "password": "b"}}),
        origin="",
    )
    assert (logins.find(parse_repository("oci://h.io/org/app")) or Credential()).username == "org"
    assert (logins.find(parse_repository("oci://h.io/other")) or Credential()).username == "all"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param({"username": "u", "password": "p"}, Credential("u", "p"), id="user and password"),
        pytest.param({"identitytoken": "t"}, Credential(identity_token="t"), id="an identity token"),
        pytest.param({"registrytoken": "t"}, Credential(registry_token="t"), id="a registry token"),
        pytest.param({"auth": AUTH, "username": "x"}, ME, id="auth beats user"),
        pytest.param({}, None, id="an empty entry is no login"),
    ],
)
def test_kinds_of_logins(entry: dict[str, str], expected: Credential | None) -> None:
    assert parse(config({"h.io": entry}), origin="").find(parse_repository("oci://h.io/app")) == expected


@pytest.mark.parametrize(
    ("more", "program"),
    [
        pytest.param({"credsStore": "desktop"}, "docker-credential-desktop", id="for all"),
        pytest.param({"credHelpers": {"h.io": "ecr-login"}}, "docker-credential-ecr-login", id="for one registry"),
    ],
)
def test_programs_that_keep_logins_are_refused_by_name(more: dict[str, Any], program: str) -> None:
    logins = parse(config({}, **more), origin="")
    with pytest.raises(CredentialsError, match=program):
        logins.find(parse_repository("oci://h.io/app"))


def test_a_program_for_another_registry_does_not_matter() -> None:
    logins = parse(config({"h.io": {"auth": AUTH}}, credsStore="desktop", credHelpers={"i.io": "x"}), origin="")
    assert logins.find(parse_repository("oci://h.io/app")) == ME


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param({"password": b"hunter2"}, "no key '.dockerconfigjson'", id="without the key"),
        pytest.param({".dockerconfigjson": b"hunter2"}, "not a Docker config", id="no JSON"),
        pytest.param({".dockercfg": b"hunter2"}, "not a Docker config", id="no JSON in the old format"),
        pytest.param(
            {".dockerconfigjson": config({"h.io": {"auth": "hunter2!"}})},
            "'auth' of 'h.io' is not base64",
            id="no base64",
        ),
    ],
)
def test_a_wrong_pull_secret_is_refused_without_telling_it(data: dict[str, bytes], told: str) -> None:
    with pytest.raises(CredentialsError) as caught:
        from_secret(data, origin="secret 'apps/pull'")
    assert told in str(caught.value)
    assert "apps/pull" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_both_formats_of_pull_secrets_are_read() -> None:
    new = from_secret({".dockerconfigjson": config({"h.io": {"auth": AUTH}})}, origin="")
    old = from_secret({".dockercfg": orjson.dumps({"i.io": {"auth": AUTH}})}, origin="")
    both = combine([new, old])
    assert both.find(parse_repository("oci://h.io/app")) == both.find(parse_repository("oci://i.io/app")) == ME


def test_the_flag_of_the_command() -> None:
    assert from_flag("u:p:q") == Credential("u", "p:q")
    assert from_flag("token") == Credential(registry_token="token")
    with pytest.raises(CredentialsError):
        from_flag(":p")


def test_a_login_does_not_show_its_password() -> None:
    assert "secret" not in repr(ME) + repr(parse(config({"h.io": {"auth": AUTH}}), origin=""))
