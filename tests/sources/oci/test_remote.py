from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING, Any

import pytest

from penstock.api.ocirepository import LayerSelector, OCIReference
from penstock.sources.oci.manifest import CHART, REVISION, SOURCE, sha256
from penstock.sources.oci.reference import InvalidReference
from penstock.sources.oci.remote import OCIRemote, newest
from penstock.sources.oci.transport import Connection
from penstock.sources.remote import SourceError, Stalled
from tests.sources.oci.stand_in import StandIn, archive, running

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PLAIN = Connection(insecure=True)


def remote(
    server: StandIn, reference: Mapping[str, str] | None = None, *, layer: LayerSelector | None = None
) -> OCIRemote:
    return OCIRemote(server.url(), PLAIN, reference=OCIReference(**reference) if reference else None, layer=layer)


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("reference", "tag"),
    [
        pytest.param({}, "latest", id="nothing is the tag latest"),
        pytest.param({"tag": "6.1.0"}, "6.1.0", id="a tag"),
        pytest.param({"semver": ">= 6.1 < 6.2"}, "6.1.7", id="a range"),
        pytest.param({"semver": ">= 6.1.0-0", "semver_filter": ".*-rc.*"}, "6.2.0-rc.2", id="a range with a filter"),
        pytest.param({"semver": "6.1.x", "tag": "latest"}, "6.1.7", id="a range beats a tag"),
    ],
)
async def test_what_a_reference_names(reference: dict[str, str], tag: str) -> None:
    async with running() as server:
        digests = {
            name: server.image({"name": name}, name)
            for name in ("latest", "6.1.0", "6.1.7", "6.2.0", "6.2.0-rc.1", "6.2.0-rc.2", "nightly")
        }
        assert await remote(server, reference).resolve() == f"{tag}@{digests[tag]}"


async def test_a_digest_beats_all_and_needs_no_request() -> None:
    async with running() as server:
        digest = server.image({"a": "1"})
        assert await remote(server, {"digest": digest, "semver": "*", "tag": "x"}).resolve() == digest
        assert server.requests == []


@pytest.mark.parametrize(
    ("reference", "reason", "told"),
    [
        pytest.param({"tag": "gone"}, "OCIArtifactPullFailed", "failed to determine artifact digest: GET", id="no tag"),
        pytest.param({"semver": "> 9"}, "ReadOperationFailed", "no match found for semver: > 9", id="no version"),
        pytest.param({"semver": "<="}, "ReadOperationFailed", "semver '<=' parse error", id="no range"),
        pytest.param(
            {"semver": "*", "semver_filter": "("}, "ReadOperationFailed", "not a regular expression", id="no filter"
        ),
        pytest.param({"digest": "sha256:1"}, "ReadOperationFailed", "is not a digest", id="no digest"),
        pytest.param({"tag": "../x"}, "ReadOperationFailed", "is not a tag", id="a way out as a tag"),
    ],
)
async def test_a_reference_that_names_nothing(reference: dict[str, str], reason: str, told: str) -> None:
    async with running() as server:
        server.image({"a": "1"}, "1.0.0")
        with pytest.raises(SourceError) as caught:
            await remote(server, reference).resolve()
        assert caught.value.reason == reason
        assert told in str(caught.value)
        if reason == "ReadOperationFailed":
            assert f"failed to determine the artifact tag for '{server.url()}'" in str(caught.value)


@pytest.mark.parametrize("url", ["oci://ghcr.io/app:v1", "oci://ghcr.io/app@sha256:1", "oci://ghcr.io/APP"])
async def test_a_wrong_url_waits_for_another_spec(url: str) -> None:
    with pytest.raises(Stalled) as caught:
        await OCIRemote(url, PLAIN).resolve()
    assert caught.value.reason == "URLInvalid"
    assert f"URL validation failed for '{url}'" in str(caught.value)


def test_a_hostile_filter_is_linear() -> None:
    """A9: Python's own expressions would not come back from this."""
    assert newest(["1.0.0", "a" * 128], "*", only="^(a+)+$|^1") == "1.0.0"


@pytest.mark.parametrize(
    ("tags", "wanted", "chart", "found"),
    [
        pytest.param(["1.0.0", "v1.1.0"], "*", False, "v1.1.0", id="a v does not matter"),
        pytest.param(["1.0.0", "1.1"], "*", False, "1.0.0", id="two numbers are no version"),
        pytest.param(["1.0.0", "1.1.0-rc.1"], "*", False, "1.0.0", id="a pre-release does not count"),
        pytest.param(["1.0.0_a", "1.0.0"], "*", False, "1.0.0", id="an underscore is no version"),
        pytest.param(["1.0.0_a", "0.9.0"], "*", True, "1.0.0_a", id="but in a chart it is a plus"),
        pytest.param(["1.0.0_a", "1.0.0_b"], "*", True, "1.0.0_b", id="equal versions are chosen by name"),
        pytest.param(["1.0.0_b", "1.0.0_a"], "*", True, "1.0.0_b", id="whatever their order"),
    ],
)
def test_the_newest_tag(tags: list[str], wanted: str, chart: bool, found: str) -> None:
    assert newest(tags, wanted, chart=chart) == found


def test_there_may_be_none() -> None:
    with pytest.raises(InvalidReference):
        newest([], "*")


async def test_a_layer_is_unpacked(tmp_path: Path) -> None:
    annotations = {SOURCE: "https://example.com/repo", REVISION: "main@sha1:abc", "more": "x"}
    async with running() as server:
        digest = server.image({"a.yaml": "1", "dir/b.yaml": "2"}, "latest", annotations=annotations)
        fetched = await remote(server).fetch(tmp_path)
        assert tree(tmp_path) == {"a.yaml": "1", "dir/b.yaml": "2"}
        assert fetched.revision == f"latest@{digest}"
        assert fetched.metadata == annotations
        assert fetched.blob is None
        assert fetched.summary == (
            f"with revision 'latest@{digest}' from '{server.url()}', origin source 'https://example.com/repo', "
            "origin revision 'main@sha1:abc'"
        )


async def test_a_layer_is_kept_as_it_is(tmp_path: Path) -> None:
    async with running() as server:
        content = b"anything at all"
        server.image({}, "latest", layers=[server.layer(b"other", "x"), server.layer(content, "wanted/type")])
        selector = LayerSelector(media_type="wanted/type", operation="copy")
        fetched = await remote(server, layer=selector).fetch(tmp_path)
        assert fetched.blob is not None
        assert fetched.blob.read_bytes() == content


async def test_the_first_layer_counts_unless_a_media_type_is_given(tmp_path: Path) -> None:
    async with running() as server:
        chart = server.layer(archive({"Chart.yaml": "2"}), CHART)
        server.image({}, "latest", layers=[server.layer(archive({"a": "1"})), chart])
        await remote(server).fetch(tmp_path)
        await remote(server, layer=LayerSelector(media_type=CHART)).fetch(tmp_path)
        assert tree(tmp_path) == {"a": "1", "Chart.yaml": "2"}


@pytest.mark.parametrize(
    ("layers", "selector", "told"),
    [
        pytest.param([], LayerSelector(), "no layers found in artifact", id="no layers"),
        pytest.param(
            ["x"],
            LayerSelector(media_type="y"),
            "failed to find layer with media type 'y' in artifact",
            id="no such type",
        ),
        pytest.param(["x"], LayerSelector(), "failed to extract layer contents from artifact", id="no archive"),
    ],
)
async def test_layers_that_cannot_be_used(
    layers: list[str], selector: LayerSelector, told: str, tmp_path: Path
) -> None:
    async with running() as server:
        server.image({}, "latest", layers=[server.layer(b"no archive", kind) for kind in layers])
        with pytest.raises(SourceError, match=told) as caught:
            await remote(server, layer=selector).fetch(tmp_path)
        assert caught.value.reason == "OCIArtifactLayerOperationFailed"


def hostile(name: str, kind: bytes = tarfile.REGTYPE, **more: Any) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        entry = tarfile.TarInfo(name)
        entry.type = kind
        for key, value in more.items():
            setattr(entry, key, value)
        tar.addfile(entry)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(hostile("../out"), id="a way up"),
        pytest.param(hostile("/etc/x"), id="an absolute name"),
        pytest.param(hostile("dev", tarfile.CHRTYPE), id="a device"),
        pytest.param(hostile("hard", tarfile.LNKTYPE, linkname="/etc/passwd"), id="a hard link"),
    ],
)
async def test_a_hostile_layer_is_refused(content: bytes, tmp_path: Path) -> None:
    """A3"""
    async with running() as server:
        server.image({}, "latest", layers=[server.layer(content)])
        with pytest.raises(SourceError) as caught:
            await remote(server).fetch(tmp_path)
        assert caught.value.reason == "OCIArtifactLayerOperationFailed"


async def test_links_are_left_out(tmp_path: Path) -> None:
    async with running() as server:
        content = hostile("link", tarfile.SYMTYPE, linkname="/etc/passwd")
        server.image({}, "latest", layers=[server.layer(content)])
        await remote(server).fetch(tmp_path)
        assert tree(tmp_path) == {}


async def test_a_tag_that_moves_meanwhile_does_not_matter(tmp_path: Path) -> None:
    """A41: what was resolved is what is fetched."""
    async with running() as server:
        first = server.image({"a": "good"}, "1.0.0")
        place = remote(server, {"semver": "1.x"})
        assert await place.resolve() == f"1.0.0@{first}"
        server.image({"a": "evil"}, "1.0.0")
        assert (await place.fetch(tmp_path)).revision == f"1.0.0@{first}"
        assert tree(tmp_path) == {"a": "good"}


async def test_a_registry_that_lies_about_a_tag_is_found_out(tmp_path: Path) -> None:
    async with running() as server:
        first = server.image({"a": "good"}, "latest")
        place = remote(server)
        await place.resolve()
        evil = server.image({"a": "evil"})
        server.manifests["app"][first] = server.manifests["app"][evil]
        with pytest.raises(SourceError, match=f"has digest {evil}") as caught:
            await place.fetch(tmp_path)
        assert caught.value.reason == "OCIArtifactPullFailed"
        assert f"failed to pull artifact from '{server.url()}'" in str(caught.value)


async def test_an_unreachable_registry_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        await OCIRemote("oci://127.0.0.1:1/app", Connection(proxy="socks5://p:1")).resolve()
    assert caught.value.reason == "AuthenticationFailed"
    assert "failed to generate transport for 'oci://127.0.0.1:1/app'" in str(caught.value)


async def test_the_copied_layer_has_the_digest_of_the_layer(tmp_path: Path) -> None:
    async with running() as server:
        content = archive({"a": "1"})
        server.image({}, "latest", layers=[server.layer(content)])
        fetched = await remote(server, layer=LayerSelector(operation="copy")).fetch(tmp_path)
        assert fetched.blob is not None
        assert sha256(fetched.blob.read_bytes()) == sha256(content)
