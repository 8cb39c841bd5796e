"""Service accounts asked beforehand: what is granted, and what of it is told when it is needed."""

from __future__ import annotations

import pytest

from penstock.errors import PenstockError
from penstock.sops import DataKeyError
from penstock.sops.granted import AWS, AZURE, GCP, Granted, audiences, grant
from penstock.sops.identity import ServiceAccount


class Cluster:
    """Service accounts of a test."""

    def __init__(self, annotations: dict[str, str] | None, *, refuses: str = "") -> None:
        self._annotations, self._refuses = annotations, refuses

    async def token(self, namespace: str, name: str, audience: str) -> str:
        if audience == self._refuses:
            raise PenstockError(f"no token for {audience}")
        return f"{namespace}/{name} for {audience}"

    async def annotations(self, namespace: str, name: str) -> dict[str, str]:
        if self._annotations is None:
            raise PenstockError(f"there is no account {namespace}/{name}")
        return self._annotations


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        pytest.param({}, [], id="no cloud"),
        pytest.param({AWS: "arn"}, ["sts.amazonaws.com"], id="AWS"),
        pytest.param({AZURE: "id"}, ["api://AzureADTokenExchange"], id="Azure"),
        pytest.param({GCP: "projects/1/p"}, ["//iam.googleapis.com/projects/1/p"], id="Google"),
        pytest.param({AWS: ""}, [], id="an empty annotation"),
    ],
)
async def test_a_token_for_each_cloud(annotations: dict[str, str], expected: list[str]) -> None:
    assert audiences(annotations) == expected
    granted = await grant(ServiceAccount(Cluster(annotations), "team", "reader"))
    assert await granted.annotations("team", "reader") == annotations
    for audience in expected:
        assert await granted.token("team", "reader", audience) == f"team/reader for {audience}"
    with pytest.raises(DataKeyError, match="no token for elsewhere"):
        await granted.token("team", "reader", "elsewhere")


async def test_an_account_that_is_not_there_fails_only_who_needs_it() -> None:
    granted = await grant(ServiceAccount(Cluster(None), "team", "reader"))
    with pytest.raises(DataKeyError, match="there is no account team/reader"):
        await granted.annotations("team", "reader")


async def test_a_token_that_is_refused_fails_only_who_needs_it() -> None:
    cluster = Cluster({AWS: "arn", GCP: "p"}, refuses="//iam.googleapis.com/p")
    granted = await grant(ServiceAccount(cluster, "team", "reader"))
    assert await granted.token("team", "reader", "sts.amazonaws.com")
    with pytest.raises(DataKeyError, match="no token for //iam"):
        await granted.token("team", "reader", "//iam.googleapis.com/p")


async def test_it_answers_for_nobody_else() -> None:
    granted = Granted("team", "reader", {AWS: "arn"}, {"sts.amazonaws.com": "token"})
    for place in (("other", "reader"), ("team", "other")):
        with pytest.raises(DataKeyError, match="nothing was asked"):
            await granted.token(*place, "sts.amazonaws.com")
        with pytest.raises(DataKeyError, match="nothing was asked"):
            await granted.annotations(*place)
    assert "token" not in repr(granted).replace("tokens", "")
