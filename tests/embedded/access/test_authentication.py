from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.embedded.server.ports import DeleteOptions, User
from penstock.embedded.status import StatusError
from tests.embedded.access.asking import answer, headers, token, who
from tests.embedded.lifecycle.running import ADMIN_TOKEN, ISSUER, create, resource

if TYPE_CHECKING:
    from penstock.embedded.server.api import Engine
    from tests.embedded.access.conftest import Clock


async def test_the_admin_is_a_master(engine: Engine) -> None:
    assert who(engine, headers()).groups == ("system:masters", "system:authenticated")


async def test_without_a_token_one_is_anonymous(engine: Engine) -> None:
    assert who(engine, headers(None)) == User("system:anonymous", ("system:unauthenticated",))


@pytest.mark.parametrize("sent", ["junk", "a.b.c", "admin-toke"])
async def test_a_bad_token_is_not_anonymous(engine: Engine, sent: str) -> None:
    with pytest.raises(StatusError) as refused:
        who(engine, headers(sent))

    assert (refused.value.code, refused.value.message) == (401, "Unauthorized")


async def test_a_service_account_has_its_groups(engine: Engine) -> None:
    user = who(engine, headers(await token(engine, "robot")))

    assert user.name == "system:serviceaccount:default:robot"
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated")
    assert list(user.extra) == ["authentication.kubernetes.io/credential-id"]


async def test_a_token_expires(engine: Engine, clock: Clock) -> None:
    sent = headers(await token(engine, "robot", expirationSeconds=600))
    clock.time += 600 + 30  # clocks may differ by a minute
    assert who(engine, sent).name == "system:serviceaccount:default:robot"

    clock.time += 60
    with pytest.raises(StatusError, match="Unauthorized"):
        who(engine, sent)


async def test_a_token_for_somebody_else_is_no_good_here(engine: Engine) -> None:
    with pytest.raises(StatusError, match="Unauthorized"):
        who(engine, headers(await token(engine, "robot", audiences=["vault"])))


async def test_a_token_dies_with_its_account(engine: Engine) -> None:
    sent = headers(await token(engine, "robot"))
    await engine.delete(resource(engine, "ServiceAccount"), "robot", "default")
    await create(engine, "ServiceAccount", "robot")  # a namesake has another uid

    with pytest.raises(StatusError, match="Unauthorized"):
        who(engine, sent)


async def test_a_token_dies_with_the_object_it_is_bound_to(engine: Engine) -> None:
    await create(engine, "Secret", "tie")
    bound = {"kind": "Secret", "apiVersion": "v1", "name": "tie"}
    sent = headers(await token(engine, "robot", boundObjectRef=bound))
    assert who(engine, sent).name == "system:serviceaccount:default:robot"

    await engine.delete(resource(engine, "Secret"), "tie", "default", DeleteOptions())
    with pytest.raises(StatusError, match="Unauthorized"):
        who(engine, sent)


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        pytest.param(
            {"expirationSeconds": 10},
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 10: '
            "may not specify a duration less than 10 minutes",
            id="too short",
        ),
        pytest.param(
            {"expirationSeconds": 2**32 + 1},
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: '
            "may not specify a duration larger than 2^32 seconds",
            id="too long",
        ),
        pytest.param(
            {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}},
            400,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
            id="bound to the wrong kind",
        ),
        pytest.param(
            {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "x"}},
            404,
            'secrets "x" not found',
            id="bound to nothing",
        ),
    ],
)
async def test_token_requests_that_are_refused(engine: Engine, spec: Any, code: int, message: str) -> None:
    with pytest.raises(StatusError) as refused:
        await token(engine, "robot", **spec)

    assert (refused.value.code, refused.value.message) == (code, message)


async def test_an_account_that_is_not_there_gets_no_token(engine: Engine) -> None:
    with pytest.raises(StatusError, match='serviceaccounts "nobody" not found'):
        answer(engine, "ServiceAccount", User("admin"), subresource="token", name="nobody", spec={})


async def test_a_token_request_says_what_was_filled_in(engine: Engine) -> None:
    await create(engine, "ServiceAccount", "robot")

    made = answer(engine, "ServiceAccount", User("admin"), subresource="token", name="robot")

    assert made["spec"] == {"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": None}
    assert made["metadata"]["creationTimestamp"] == "2027-01-15T08:00:00Z"
    assert made["status"]["expirationTimestamp"] == "2027-01-15T09:00:00Z"


async def test_token_reviews(engine: Engine) -> None:
    def review(**spec: Any) -> Any:
        return answer(engine, "TokenReview", User("admin"), spec=spec)["status"]

    own = await token(engine, "robot")
    assert review(token=own)["user"]["username"] == "system:serviceaccount:default:robot"
    assert review(token=await token(engine, "robot", audiences=["a", "b"]), audiences=["b"])["audiences"] == ["b"]
    assert review(token="junk") == {"user": {}, "error": "invalid bearer token"}
    assert review(token=ADMIN_TOKEN, audiences=["vault"]) == {"user": {}, "error": "invalid bearer token"}
    assert review(token=own, audiences=["vault"])["error"] == (
        f'[invalid bearer token, token audiences ["{ISSUER}"] is invalid for the target audiences ["vault"]]'
    )
    with pytest.raises(StatusError, match="token is required for TokenReview in authentication"):
        review()
