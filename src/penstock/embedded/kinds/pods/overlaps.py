"""Volumes that put two files into one place: a warning for every pair of paths that get into each other's way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.embedded.kinds.problems import go_quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.kube.resources import Object

    Place = tuple[str, str]
    """A path, and where it comes from."""


def overlap_warnings(volumes: Iterable[Object]) -> Iterator[str]:
    """All volumes that project files."""
    for volume in volumes:
        name = go_quote(volume["name"])
        if "configMap" in volume:
            source = volume["configMap"]
            yield from _pairs(name, f"ConfigMap {go_quote(source.get('name', ''))}", _items(source))
        if "secret" in volume:
            source = volume["secret"]
            yield from _pairs(name, f"Secret {go_quote(source.get('secretName', ''))}", _items(source))
        if "downwardAPI" in volume:
            yield from _pairs(name, "DownwardAPI", _items(volume["downwardAPI"]))
        if "projected" in volume:
            yield from _projected(name, volume["projected"])


def _projected(name: str, projected: Object) -> Iterator[str]:
    places: list[Place] = []
    for source in projected.get("sources") or ():
        if not source:
            yield f"volume {name} (Projected) has no sources provided"
            continue
        for place in _places(source):
            yield from _against(name, "Projected", places, place)
            places.append(_trimmed(place))


def _pairs(name: str, what: str, places: Iterable[Place]) -> Iterator[str]:
    known: list[Place] = []
    for place in places:
        yield from _against(name, what, known, place)
        known.append(_trimmed(place))


def _against(name: str, what: str, known: Iterable[Place], place: Place) -> Iterator[str]:
    one = _trimmed(place)
    for other in known:
        if _overlap(one[0], other[0]):
            yield f"volume {name} ({what}): overlapping paths: {_told(one)} with {_told(other)}"


def _trimmed(place: Place) -> Place:
    return place[0].rstrip("/"), place[1]


def _overlap(one: str, other: str) -> bool:
    if not one or not other:
        return False
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _told(place: Place) -> str:
    path, source = place
    return f"{go_quote(path)} ({source})" if source else go_quote(path)


def _items(source: Object, told: str = "") -> list[Place]:
    return [(item["path"], told) for item in source.get("items") or ()]


def _places(source: Object) -> list[Place]:
    """The places of one source of a projected volume; of several in one, the first counts that has some."""
    for key, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if source.get(key, {}).get("items"):
            return _items(source[key], f"{kind} {go_quote(source[key].get('name', ''))}")
    if source.get("downwardAPI", {}).get("items"):
        return _items(source["downwardAPI"], "DownwardAPI")
    if "serviceAccountToken" in source:
        return [(source["serviceAccountToken"]["path"], "ServiceAccountToken")]
    if "clusterTrustBundle" in source:
        bundle = source["clusterTrustBundle"]
        name = bundle["name"] if "name" in bundle else bundle.get("signerName", "")
        return [(bundle["path"], f"ClusterTrustBundle {go_quote(name)}")]
    certificate = source.get("podCertificate", {})
    names = (
        ("certificateChainPath", "PodCertificate chain"),
        ("keyPath", "PodCertificate key"),
        ("credentialBundlePath", "PodCertificate credential bundle"),
    )
    return [(certificate[key], told) for key, told in names if certificate.get(key)]
