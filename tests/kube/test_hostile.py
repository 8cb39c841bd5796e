from __future__ import annotations

from typing import Any

import pytest
import yaml

from penstock.kube import Settings, load_hostile
from penstock.kube.credentials import Plugin
from penstock.kube.errors import ConfigError
from tests.kube.kubeconfigs import SECRET, config

ORIGIN = "Secret apps/remote"
FILE = "it names a file of the controller; give the content inline"


def hostile(content: dict[str, Any], **allowed: bool) -> Settings:
    return load_hostile(yaml.safe_dump(content), ORIGIN, **allowed)


def cluster(**fields: Any) -> dict[str, Any]:
    return config(cluster={"server": "https://it"} | {name.replace("_", "-"): value for name, value in fields.items()})


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "exec": (
        config(user={"exec": {"command": "sh", "args": ["-c", SECRET]}}),
        "it would run a program in the controller",
    ),
    "auth-provider": (
        config(user={"auth-provider": {"name": "oidc", "config": {"refresh-token": SECRET}}}),
        "it would run code in the controller",
    ),
    "tokenFile": (config(user={"tokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token"}), FILE),
    "client-certificate": (config(user={"client-certificate": "/etc/shadow"}), FILE),
    "client-key": (config(user={"client-key": "../../key"}), FILE),
    "certificate-authority": (cluster(certificate_authority="/etc/passwd"), FILE),
    "proxy-url": (
        cluster(proxy_url=f"http://me:{SECRET}@evil:3128"),
        "it would redirect the controller's traffic",
    ),
    "insecure-skip-tls-verify": (cluster(insecure_skip_tls_verify=True), "anybody could answer for the cluster"),
    "server": (config(cluster={"server": "http://it"}), "it is a plain http address"),
}


@pytest.mark.parametrize(("field", "content", "why"), [(field, *case) for field, case in REFUSED.items()], ids=REFUSED)
def test_what_could_harm_the_controller_is_refused_by_name(field: str, content: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        hostile(content)
    assert str(caught.value) == f"{ORIGIN}: {field} is not allowed in a kubeconfig from a Secret: {why}"


def test_inline_credentials_are_fine() -> None:
    settings = hostile(config(cluster={"server": "https://it", "certificate-authority-data": "Y2VydA=="}))
    assert settings.server == "https://it"
    assert settings.authority == b"cert"
    assert settings.origin == ORIGIN


@pytest.mark.parametrize("field", ["exec", "insecure-skip-tls-verify", "server"])
def test_a_flag_allows_one_thing_and_nothing_else(field: str) -> None:
    flag = "allow_exec" if field == "exec" else "allow_insecure_tls"
    settings = hostile(REFUSED[field][0], **{flag: True})
    assert isinstance(settings.credentials, Plugin) == (field == "exec")
    assert settings.verify == (field != "insecure-skip-tls-verify")
    for other, (content, _) in REFUSED.items():
        allowed = {"exec"} if flag == "allow_exec" else {"insecure-skip-tls-verify", "server"}
        if other not in allowed:
            with pytest.raises(ConfigError, match=f"{other} is not allowed"):
                hostile(content, **{flag: True})


@pytest.mark.parametrize("server", ["", None])
def test_an_empty_server_never_means_the_cluster_we_run_in(server: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    content = config(cluster={} if server is None else {"server": server})
    with pytest.raises(ConfigError, match="cluster 'it' has no server"):
        hostile(content, allow_exec=True, allow_insecure_tls=True)


@pytest.mark.parametrize("server", ["HTTP://it", " http://it", "hTTp:it", "http:\\\\it"])
def test_a_plain_address_is_refused_however_it_is_written(server: str) -> None:
    with pytest.raises(ConfigError, match="server is not allowed in a kubeconfig from a Secret"):
        hostile(config(cluster={"server": server}))


@pytest.mark.parametrize(
    "server", ["HTTPS://it", "https:it", "//it", "file:///etc/passwd", "unix:///run/x", "https://me:pw@it", "x"]
)
def test_an_odd_address_is_refused(server: str) -> None:
    with pytest.raises(ConfigError, match=r"^Secret apps/remote: server "):
        hostile(config(cluster={"server": server}), allow_insecure_tls=True)


def test_what_another_context_says_does_not_matter() -> None:
    content = config()
    content["users"].append({"name": "other", "user": {"exec": {"command": "sh"}}})
    assert hostile(content).server == "https://it:6443"


def test_no_file_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    def touched(*_arguments: object, **_options: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr("pathlib.Path.open", touched)
    monkeypatch.setattr("pathlib.Path.read_bytes", touched)
    assert hostile(config()).server == "https://it:6443"
    with pytest.raises(ConfigError, match="certificate-authority is not allowed"):
        hostile(REFUSED["certificate-authority"][0], allow_exec=True, allow_insecure_tls=True)
