from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.kube import load, load_hostile
from penstock.kube.errors import ConfigError
from penstock.kube.kubeconfig import MAX_SIZE
from tests.kube.kubeconfigs import SECRET, config, write


def refused(path: Path, **options: Any) -> str:
    """The sentence with which a file is refused, its path shortened to FILE."""
    with pytest.raises(ConfigError) as caught:
        load(path, environ={}, **options)
    return str(caught.value).replace(str(path), "FILE")


CIRCLE: dict[str, Any] = {"name": "it"}
CIRCLE["config"] = CIRCLE
BLOB = base64.b64encode(b"x").decode()

GARBAGE: dict[str, tuple[dict[str, Any] | bytes | str, str]] = {
    "empty": (b"", "FILE: the file is empty"),
    "only a comment": (b"# nothing\n", "FILE: the file is empty"),
    "not YAML": (f"token: {SECRET}: x: [", "FILE: not YAML: mapping values are not allowed in this context (line 1)"),
    "an open quote": (
        f'users: "{SECRET}',
        "FILE: not YAML: found unexpected end of stream (line 1)",
    ),
    "binary": (b"\x7fELF\x02\x01\x01\x00" + SECRET.encode(), "FILE: not YAML: unreadable"),
    "not UTF-8": (b"token: " + SECRET.encode() + b"\xff\xfe\xfa", "FILE: not YAML: unreadable"),
    "a plain word": (SECRET, "FILE: not a kubeconfig: Expected `object`, got `str`"),
    "a list": (f"[{SECRET}]", "FILE: not a kubeconfig: Expected `object`, got `array`"),
    "a number": ("42", "FILE: not a kubeconfig: Expected `object`, got `int`"),
    "two documents": (
        f"a: {SECRET}\n---\nb: 1\n",
        "FILE: not YAML: but found another document (line 2)",
    ),
    "an alias of nothing": (f"token: *{SECRET}", "FILE: not YAML: found undefined alias (line 1)"),
    "a password that is a tag": (
        f"a: b\npassword: !{SECRET} x\n",
        "FILE: not a kubeconfig: YAML tags are not supported (line 2)",
    ),
    "a tag that runs code": (
        "a: !!python/object/apply:os.system [id]",
        "FILE: not a kubeconfig: YAML tags are not supported (line 1)",
    ),
    "a tag that no constructor expects": (
        "a: !!timestamp x",
        "FILE: not a kubeconfig: YAML tags are not supported (line 1)",
    ),
    "a date that is none": ("a: 2001-99-99", "FILE: not YAML: unreadable"),
    "a number of 5,000 digits": (f"a: {'9' * 5000}", "FILE: not YAML: unreadable"),
    "a list as key": ("? [a]\n: b\n", "FILE: not YAML: found unhashable key (line 1)"),
    "merge keys that explode": (
        "a0: &a0 {k: v}\n" + "".join(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 12)),
        "FILE: not a kubeconfig: YAML merge keys are not supported (line 2)",
    ),
    "aliases that explode": (
        "a0: &a0 [x]\n"
        + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))
        + "users: *a11",
        "FILE: not a kubeconfig: Expected `object`, got `array` - at `$.users[0]`",
    ),
    "aliases that go in circles": (
        yaml.safe_dump(config(user={"auth-provider": CIRCLE})),
        "FILE: auth-provider 'it' is no longer supported by Kubernetes; use an exec plugin",
    ),
    "deep lists": (b"[" * 2_000_000, "FILE: not a kubeconfig: nested more than 32 levels deep"),
    "deep maps": (b"{a: " * 500_000, "FILE: not a kubeconfig: nested more than 32 levels deep"),
    "deep blocks": (b"- " * 1_000_000, "FILE: not a kubeconfig: nested more than 32 levels deep"),
    "huge": (b"#" * (MAX_SIZE + 1), "FILE: larger than 4 MiB, which is no kubeconfig"),
    "clusters that are no list": (
        config(clusters={"it": SECRET}),
        "FILE: not a kubeconfig: Expected `array | null`, got `object` - at `$.clusters`",
    ),
    "a token that is a number": (
        config(user={"token": 12345}),
        "FILE: not a kubeconfig: Expected `str | null`, got `int` - at `$.users[0].user.token`",
    ),
    "a cluster without a name": (
        config(clusters=[{"cluster": {}}]),
        "FILE: not a kubeconfig: Object missing required field `name` - at `$.clusters[0]`",
    ),
    "an exec without a command": (
        config(user={"exec": {"args": [SECRET]}}),
        "FILE: not a kubeconfig: Object missing required field `command` - at `$.users[0].user.exec`",
    ),
    "no current context": (
        config(**{"current-context": ""}),
        "FILE: no current-context is set; name one of it",
    ),
    "no contexts at all": ({"kind": "Config"}, "FILE: no current-context is set; it names no contexts, either"),
    "a context that is not there": (
        config(**{"current-context": "other"}),
        "FILE: there is no context 'other'; there is it",
    ),
    "a cluster that is not there": (
        config(context={"cluster": "gone", "user": "it"}),
        "FILE: there is no cluster 'gone'; there is it",
    ),
    "a user that is not there": (
        config(context={"cluster": "it", "user": "gone"}),
        "FILE: there is no user 'gone'; there is it",
    ),
    "a context of null": (config(contexts=[{"name": "it"}]), "FILE: there is no cluster ''; there is it"),
    "a cluster of null": (config(clusters=[{"name": "it"}]), "FILE: cluster 'it' has no server"),
    "no server": (config(cluster={"server": ""}), "FILE: cluster 'it' has no server"),
    "a server without a scheme": (
        config(cluster={"server": "it:6443"}),
        "FILE: server 'it:6443' is not an http or https address",
    ),
    "a server of another scheme": (
        config(cluster={"server": "ftp://it"}),
        "FILE: server 'ftp://it' is not an http or https address",
    ),
    "a server without a host": (
        config(cluster={"server": "https://"}),
        "FILE: server 'https:' is not an http or https address",
    ),
    "a server with half an address": (
        config(cluster={"server": "https://[::1"}),
        "FILE: server 'https://[::1' is not an http or https address",
    ),
    "a server with a port that is none": (
        config(cluster={"server": "https://it:port"}),
        "FILE: server 'https://it:port' is not an http or https address",
    ),
    "a server with a password": (
        config(cluster={"server": f"https://me:{SECRET}@it"}),
        "FILE: server must not hold a user or password; give them as user",
    ),
    "a proxy that is no address": (
        config(cluster={"server": "https://it", "proxy-url": f"socks5://me:{SECRET}@proxy"}),
        "FILE: proxy-url is not an http or https address",
    ),
    "an authority that is not base64": (
        config(cluster={"server": "https://it", "certificate-authority-data": "%%%"}),
        "FILE: certificate-authority-data is not base64",
    ),
    "a certificate without its key": (
        config(user={"client-certificate-data": BLOB}),
        "FILE: there is a client-certificate but no client-key",
    ),
    "a key without its certificate": (
        config(user={"client-key-data": BLOB}),
        "FILE: there is a client-key but no client-certificate",
    ),
    "a key that is not base64": (
        config(user={"client-certificate-data": BLOB, "client-key-data": f"{SECRET}!"}),
        "FILE: client-key-data is not base64",
    ),
    "an auth provider": (
        config(user={"auth-provider": {"name": "gcp", "config": {"id-token": SECRET}}}),
        "FILE: auth-provider 'gcp' is no longer supported by Kubernetes; use an exec plugin",
    ),
    "a token with a line break in it": (
        config(user={"token": f"{SECRET}\nX-Evil: yes"}),
        "the token has line breaks or other characters that cannot be sent",
    ),
    "an empty user to impersonate": (
        config(user={"token": SECRET, "as": ""}),
        "cannot impersonate the user '': it is empty or has odd characters",
    ),
    "groups to impersonate without a user": (
        config(user={"token": SECRET, "as-groups": ["viewers"]}),
        "FILE: there is as-groups but no as; name the user to impersonate",
    ),
    "a uid to impersonate": (
        config(user={"token": SECRET, "as-uid": "17"}),
        "FILE: as-uid and as-user-extra are not supported; use as and as-groups",
    ),
}


@pytest.mark.parametrize(("content", "sentence"), GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_is_refused_with_one_sentence(
    content: dict[str, Any] | bytes | str, sentence: str, tmp_path: Path
) -> None:
    told = refused(write(tmp_path / "config", content))
    assert told == sentence
    assert SECRET not in told


@pytest.mark.parametrize(("content", "_sentence"), GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_in_a_secret_is_refused_without_its_text(content: dict[str, Any] | bytes | str, _sentence: str) -> None:
    text = yaml.safe_dump(content) if isinstance(content, dict) else content
    with pytest.raises(ConfigError) as caught:
        load_hostile(text, "Secret flux-system/remote")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "entry"),
    [
        ("certificate-authority", {"cluster": {"server": "https://it", "certificate-authority": "gone.crt"}}),
        ("client-certificate", {"user": {"client-certificate": "gone.crt", "client-key-data": BLOB}}),
        ("client-key", {"user": {"client-certificate-data": BLOB, "client-key": "gone.crt"}}),
    ],
)
def test_a_file_that_is_named_and_missing_is_told_with_its_field(
    field: str, entry: dict[str, Any], tmp_path: Path
) -> None:
    told = refused(write(tmp_path / "config", config(**entry)))
    assert told == f"FILE: cannot read {field} {tmp_path / 'gone.crt'}: No such file or directory"


def test_a_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    assert refused(tmp_path / "gone") == "cannot read the kubeconfig FILE: No such file or directory"


def test_a_kubeconfig_that_is_a_folder(tmp_path: Path) -> None:
    assert refused(tmp_path) == "cannot read the kubeconfig FILE: Is a directory"


def test_an_endless_file_is_not_read_to_its_end() -> None:
    assert refused(Path("/dev/zero")) == "FILE: larger than 4 MiB, which is no kubeconfig"
