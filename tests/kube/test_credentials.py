from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from penstock.kube import Settings, connect
from penstock.kube.credentials import Credential, TokenFile, basic, bearer
from penstock.kube.errors import ConfigError, Unauthorized
from penstock.kube.resources import CONFIG_MAPS
from tests.kube.kubeconfigs import SECRET
from tests.kube.loopback import Asked, Wire, serve

if TYPE_CHECKING:
    from pathlib import Path


class Guarded:
    """An API server that accepts one token at a time."""

    def __init__(self, token: str) -> None:
        self.token = token

    async def __call__(self, asked: Asked, wire: Wire) -> None:
        if asked.headers.get("authorization") != f"Bearer {self.token}":
            await wire.refuse(401, "Unauthorized", "Unauthorized")
        elif asked.query.get("watch"):
            await wire.begin()
            await wire.end()
        else:
            await wire.answer({"metadata": {"name": "x"}})


def tokens(asked: list[Asked]) -> list[str]:
    return [one.headers["authorization"].removeprefix("Bearer ") for one in asked]


async def test_a_token_file_is_read_again_when_it_is_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 1000.0
    monkeypatch.setattr("penstock.kube.credentials.time.monotonic", lambda: clock)
    file = tmp_path / "token"
    file.write_text("first\n")
    script = Guarded("first")
    async with serve(script) as server:
        async with connect(replace(server.settings, credentials=TokenFile(file))) as client:
            await client.get(CONFIG_MAPS, "x", "default")
            file.write_text("second\n")
            await client.get(CONFIG_MAPS, "x", "default")
            clock += 61
            script.token = "second"
            await client.get(CONFIG_MAPS, "x", "default")
        assert tokens(server.asked) == ["first", "first", "second"]


async def test_a_401_leads_to_a_new_token_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    script = Guarded("first")
    async with serve(script) as server:
        async with connect(replace(server.settings, credentials=TokenFile(file))) as client:
            await client.get(CONFIG_MAPS, "x", "default")
            file.write_text("second")
            script.token = "second"
            await client.get(CONFIG_MAPS, "x", "default")
        assert tokens(server.asked) == ["first", "first", "second"]


async def test_a_rotation_is_no_trouble_for_many_at_once(tmp_path: Path) -> None:
    """The first 401 renews the token for all of them; the others must not take the renewed one for the refused."""
    file = tmp_path / "token"
    file.write_text("first")
    script = Guarded("first")
    async with serve(script) as server:
        async with connect(replace(server.settings, credentials=TokenFile(file))) as client:
            await client.get(CONFIG_MAPS, "x", "default")
            file.write_text("second")
            script.token = "second"
            await asyncio.gather(*(client.get(CONFIG_MAPS, "x", "default") for _ in range(8)))
        assert tokens(server.asked).count("second") == 8


async def test_a_watch_that_is_refused_makes_the_next_one_use_the_new_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    async with serve(Guarded("second")) as server:
        async with connect(replace(server.settings, credentials=TokenFile(file))) as client:
            with pytest.raises(Unauthorized):
                await anext(client.watch(CONFIG_MAPS))
            file.write_text("second")
            with pytest.raises(Unauthorized):
                await anext(client.watch(CONFIG_MAPS))
            with pytest.raises(StopAsyncIteration):
                await anext(client.watch(CONFIG_MAPS))
        assert tokens(server.asked) == ["first", "first", "second"]


async def test_a_token_that_stays_refused_is_told_and_not_tried_again() -> None:
    async with serve(Guarded("other")) as server:
        async with connect(replace(server.settings, credentials=bearer(SECRET))) as client:
            with pytest.raises(Unauthorized) as caught:
                await client.get(CONFIG_MAPS, "x", "default")
        assert str(caught.value) == (
            f"{server.settings.server} (the test) does not accept our credentials: Unauthorized"
        )
        assert len(server.asked) == 1


async def test_without_credentials_a_refusal_says_so() -> None:
    async with serve(Guarded("other")) as server, connect(server.settings) as client:
        with pytest.raises(Unauthorized, match="there are no credentials"):
            await client.get(CONFIG_MAPS, "x", "default")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        pytest.param(None, "cannot read the token file FILE: .*No such file", id="missing"),
        pytest.param(b"", "the token file FILE is empty", id="empty"),
        pytest.param(b" \n", "the token file FILE is empty", id="blank"),
        pytest.param(b"\xff\xfe", "cannot read the token file FILE: .*utf-8", id="not UTF-8"),
        pytest.param(f"{SECRET}\nmore".encode(), "the token has line breaks", id="two lines"),
    ],
)
async def test_a_token_file_that_cannot_be_used(content: bytes | None, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=sentence.replace("FILE", str(file))) as caught:
        await TokenFile(file).fetch()
    assert SECRET not in str(caught.value)


async def test_a_token_file_that_vanishes_is_a_typed_error_of_the_request(tmp_path: Path) -> None:
    settings = Settings(server="http://127.0.0.1:1", origin="the test", credentials=TokenFile(tmp_path / "gone"))
    async with connect(settings) as client:
        with pytest.raises(ConfigError, match="cannot read the token file"):
            await client.get(CONFIG_MAPS, "x", "default")


async def test_a_line_break_after_a_token_does_not_matter() -> None:
    assert (await bearer("abc\n").fetch()).authorization == "Bearer abc"


async def test_a_password_is_sent_as_basic_authentication() -> None:
    assert (await basic("jane", "p:w").fetch()).authorization == "Basic amFuZTpwOnc="


def test_a_credential_does_not_show_itself() -> None:
    assert SECRET not in repr(Credential(authorization=SECRET, certificate=b"c", key=SECRET.encode()))
