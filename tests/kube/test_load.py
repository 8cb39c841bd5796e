from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from penstock.kube import Settings, load
from penstock.kube.credentials import Plugin, Static, TokenFile
from penstock.kube.errors import ConfigError
from tests.kube.kubeconfigs import SECRET, config, write

if TYPE_CHECKING:
    from pathlib import Path

POD = {"KUBECONFIG": "/nowhere/at/all", "KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_the_settings_say_all_that_the_file_says(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(b"authority")
    cluster = {
        "server": "https://it:6443/",
        "certificate-authority": "ca.crt",
        "tls-server-name": "api.it",
        "proxy-url": "http://proxy:3128",
    }
    user = {"token": SECRET, "as": "jane", "as-groups": ["viewers", "testers"]}
    context = {"cluster": "it", "user": "it", "namespace": "apps"}
    settings = load(write(tmp_path / "config", config(cluster=cluster, user=user, context=context)), environ={})
    assert settings.server == "https://it:6443"
    assert settings.authority == b"authority"
    assert settings.server_name == "api.it"
    assert settings.proxy_address() == "http://proxy:3128"
    assert settings.namespace == "apps"
    assert settings.verify
    assert settings.identity is not None
    assert settings.identity.headers() == [
        ("Impersonate-User", "jane"),
        ("Impersonate-Group", "viewers"),
        ("Impersonate-Group", "testers"),
    ]


def test_settings_never_show_their_secrets(tmp_path: Path) -> None:
    cluster = {"server": "https://it", "proxy-url": f"http://me:{SECRET}@proxy:3128"}
    settings = load(write(tmp_path / "config", config(cluster=cluster)), environ={})
    assert SECRET not in repr(settings)
    assert SECRET not in repr(settings.credentials)


@pytest.mark.parametrize(
    ("data", "decoded"),
    [
        pytest.param("Y2VydA==", b"cert", id="plain"),
        pytest.param("Y2Vy\ndA==\n", b"cert", id="broken into lines"),
    ],
)
def test_inline_data_is_decoded(data: str, decoded: bytes, tmp_path: Path) -> None:
    cluster = {"server": "https://it", "certificate-authority-data": data}
    assert load(write(tmp_path / "config", config(cluster=cluster)), environ={}).authority == decoded


def test_a_context_is_chosen_by_name(tmp_path: Path) -> None:
    contexts = [
        {"name": name, "context": {"cluster": "it", "user": "it", "namespace": name}} for name in ("one", "two")
    ]
    path = write(tmp_path / "config", config(contexts=contexts, **{"current-context": "one"}))
    assert load(path, environ={}).namespace == "one"
    assert load(path, context="two", environ={}).namespace == "two"
    with pytest.raises(ConfigError, match="there is no context 'three'; there is one, two"):
        load(path, context="three", environ={})


def test_a_context_without_a_user_is_anonymous(tmp_path: Path) -> None:
    settings = load(write(tmp_path / "config", config(context={"cluster": "it"})), environ={})
    assert settings.credentials == Static()


@pytest.mark.parametrize(
    ("user", "kind"),
    [
        pytest.param({"token": "a", "tokenFile": "token"}, TokenFile, id="a token file before a token"),
        pytest.param({"token": "a", "exec": {"command": "x"}}, Static, id="a token before a plugin"),
        pytest.param({"exec": {"command": "x"}, "username": "u"}, Plugin, id="a plugin before a password"),
    ],
)
def test_of_several_credentials_the_order_of_kubectl_decides(
    user: dict[str, Any], kind: type[Any], tmp_path: Path
) -> None:
    settings = load(write(tmp_path / "config", config(user=user)), environ={})
    assert isinstance(settings.credentials, kind)


class TestRelativePaths:
    def test_they_count_from_the_folder_of_the_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = tmp_path / "deep"
        folder.mkdir()
        (folder / "ca.crt").write_bytes(b"mine")
        write(
            folder / "config",
            config(cluster={"server": "https://it", "certificate-authority": "ca.crt"}, user={"tokenFile": "../token"}),
        )
        monkeypatch.chdir(tmp_path)
        settings = load("deep/config", environ={})
        assert settings.authority == b"mine"
        assert settings.credentials == TokenFile(folder / "../token")

    def test_they_count_from_the_link_not_from_what_it_points_to(self, tmp_path: Path) -> None:
        store, home = tmp_path / "store", tmp_path / "home"
        store.mkdir()
        home.mkdir()
        cluster = {"server": "https://it", "certificate-authority": "ca.crt"}
        (home / "config").symlink_to(write(store / "config", config(cluster=cluster)))
        (home / "ca.crt").write_bytes(b"beside the link")
        assert load(home / "config", environ={}).authority == b"beside the link"

    @pytest.mark.parametrize(
        ("command", "expected"),
        [
            pytest.param("login", "login", id="a program on the PATH stays"),
            pytest.param("./bin/login", "{folder}/bin/login", id="a relative path counts from the file"),
            pytest.param("/bin/login", "/bin/login", id="an absolute path stays"),
        ],
    )
    def test_of_a_plugin(self, command: str, expected: str, tmp_path: Path) -> None:
        settings = load(write(tmp_path / "config", config(user={"exec": {"command": command}})), environ={})
        assert isinstance(settings.credentials, Plugin)
        assert settings.credentials.command == expected.format(folder=tmp_path)


class TestSeveralFiles:
    def load(self, *paths: Path | str, **options: Any) -> Settings:
        return load(environ={"KUBECONFIG": os.pathsep.join(str(path) for path in paths)}, **options)

    def test_whoever_names_something_first_wins(self, tmp_path: Path) -> None:
        first = write(tmp_path / "1", config(cluster={"server": "https://first"}, users=None, contexts=None))
        second = write(
            tmp_path / "2",
            config(
                cluster={"server": "https://second"},
                context={"cluster": "it", "user": "it", "namespace": "second"},
                **{"current-context": "other"},
            ),
        )
        settings = self.load(first, second)
        assert (settings.server, settings.namespace) == ("https://first", "second")
        assert settings.origin == f"{first}:{second}"

    def test_missing_files_and_empty_parts_are_passed_over(self, tmp_path: Path) -> None:
        there = write(tmp_path / "there", config())
        assert self.load("", tmp_path / "gone", there, "").server == "https://it:6443"

    def test_a_broken_one_is_told_by_its_name(self, tmp_path: Path) -> None:
        broken = write(tmp_path / "broken", "[")
        with pytest.raises(ConfigError, match=f"^{broken}: not YAML"):
            self.load(write(tmp_path / "there", config()), broken)

    @pytest.mark.parametrize(
        ("name", "reason"), [("x" * 300, "File name too long"), ("loop", "Too many levels of symbolic links")]
    )
    def test_one_that_cannot_be_looked_at_is_told(self, name: str, reason: str, tmp_path: Path) -> None:
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        with pytest.raises(ConfigError, match=reason):
            self.load(tmp_path / name)

    def test_none_of_them_there(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError) as caught:
            self.load(tmp_path / "a", tmp_path / "b")
        assert str(caught.value) == (
            f"no cluster is configured: {tmp_path}/a, {tmp_path}/b is not there, and this is not a pod; "
            "give --kubeconfig, or set KUBECONFIG"
        )

    def test_a_file_given_by_hand_wins_over_the_environment(self, tmp_path: Path) -> None:
        listed = write(tmp_path / "listed", config(cluster={"server": "https://listed"}))
        given = write(tmp_path / "given", config(cluster={"server": "https://given"}))
        assert load(given, environ={"KUBECONFIG": str(listed)}).server == "https://given"


class TestInAPod:
    @pytest.fixture
    def mounted(self, tmp_path: Path) -> Path:
        for name, content in {"ca.crt": "authority", "namespace": "flux-system\n", "token": SECRET}.items():
            (tmp_path / name).write_text(content)
        return tmp_path

    def test_the_service_account_is_used(self, mounted: Path) -> None:
        settings = load(environ=POD, service_account=mounted)
        assert settings.server == "https://10.0.0.1:443"
        assert settings.namespace == "flux-system"
        assert settings.authority == b"authority"
        assert settings.credentials == TokenFile(mounted / "token")

    def test_an_address_of_version_6_is_bracketed(self, mounted: Path) -> None:
        environ = POD | {"KUBERNETES_SERVICE_HOST": "fd00::1"}
        assert load(environ=environ, service_account=mounted).server == "https://[fd00::1]:443"

    def test_without_a_service_account_it_says_what_to_look_for(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="is automountServiceAccountToken off"):
            load(environ=POD, service_account=tmp_path / "gone")
