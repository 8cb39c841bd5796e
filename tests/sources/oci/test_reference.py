from __future__ import annotations

import pytest

from penstock.sources.oci.reference import (
    Image,
    InvalidReference,
    Repository,
    parse_image,
    parse_repository,
)

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("url", "registry", "name"),
    [
        pytest.param("oci://ghcr.io/org/app", "ghcr.io", "org/app", id="a registry and a repository"),
        pytest.param("oci://localhost:5000/app", "localhost:5000", "app", id="with a port"),
        pytest.param("oci://[::1]:5000/app", "[::1]:5000", "app", id="an IPv6 address"),
        pytest.param("oci://docker.io/org/app", "index.docker.io", "org/app", id="Docker Hub by its short name"),
        pytest.param("oci://org/app", "index.docker.io", "org/app", id="Docker Hub without a name"),
        pytest.param("oci://app", "index.docker.io", "library/app", id="an official image of Docker Hub"),
    ],
)
def test_a_repository_is_read_from_an_address(url: str, registry: str, name: str) -> None:
    assert parse_repository(url) == Repository(registry, name)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        pytest.param("https://ghcr.io/org/app", "'oci://<domain>/<org>/<repo>'", id="another scheme"),
        pytest.param("oci://ghcr.io/org/app:v1", "must not contain a tag; remove ':v1'", id="a tag"),
        pytest.param(f"oci://ghcr.io/org/app@{DIGEST}", "must not contain a digest", id="a digest"),
        pytest.param("oci://user:pass@ghcr.io/org/app", "must not contain a digest or cred", id="credentials"),
        pytest.param("oci://ghcr.io/Org/app", "lower-case", id="upper case"),
        pytest.param("oci://ghcr.io/org/../app", "lower-case", id="a way up"),
        pytest.param("oci://ghcr.io/org//app", "lower-case", id="an empty part"),
        pytest.param("oci://ghcr.io/", "name of a repository", id="no repository"),
        pytest.param("oci://ghcr.io/app?x=1", "name of a repository", id="a query"),
        pytest.param("oci://gh cr.io/app", "name of a registry", id="a space in the host"),
        pytest.param("oci://ghcr.io/" + "a" * 300, "name of a repository", id="too long"),
        pytest.param("oci://", "name of a repository", id="nothing"),
    ],
)
def test_what_is_no_repository_is_refused(url: str, told: str) -> None:
    with pytest.raises(InvalidReference) as caught:
        parse_repository(url)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("url", "reference"),
    [
        pytest.param("oci://localhost:5000/app:v1", "v1", id="a tag"),
        pytest.param("oci://localhost:5000/app", "latest", id="nothing is latest"),
        pytest.param(f"oci://localhost:5000/app@{DIGEST}", DIGEST, id="a digest"),
        pytest.param(f"oci://localhost:5000/app:v1@{DIGEST}", DIGEST, id="a digest beats a tag"),
    ],
)
def test_an_image_is_read_from_an_address(url: str, reference: str) -> None:
    assert parse_image(url) == Image(Repository("localhost:5000", "app"), reference)


@pytest.mark.parametrize(
    "url", ["oci://h.io/a:", "oci://h.io/a:-x", "oci://h.io/a@sha256:1", "oci://h.io/a@md5:" + "a" * 32]
)
def test_a_wrong_tag_or_digest_is_refused(url: str) -> None:
    with pytest.raises(InvalidReference):
        parse_image(url)


def test_names_read_as_people_write_them() -> None:
    assert str(parse_image("oci://docker.io/app:v1")) == "index.docker.io/library/app:v1"
    assert str(parse_image(f"oci://h.io/app@{DIGEST}")) == f"h.io/app@{DIGEST}"
    assert parse_repository("oci://docker.io/app").host == "registry-1.docker.io"
