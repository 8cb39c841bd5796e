from __future__ import annotations

from typing import Any

import pytest

from penstock.kube import connect
from penstock.kube.errors import (
    AlreadyExists,
    ApiError,
    BadAnswer,
    BadRequest,
    Cause,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    KubeError,
    Malformed,
    NamespaceTerminating,
    NotFound,
    NotServed,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from penstock.kube.resources import CONFIG_MAPS
from tests.kube.loopback import Asked, Wire, serve, status

TYPED = "failed to create typed patch object (default/x; /v1, Kind=ConfigMap): .spec.foo: field not declared in schema"


def causes(*entries: dict[str, str]) -> list[dict[str, str]]:
    return list(entries)


ANSWERS: dict[str, tuple[int, Any, type[ApiError]]] = {
    "namespace missing": (404, status(404, "NotFound", kind="namespaces", name="apps"), NotFound),
    "object missing": (404, status(404, "NotFound", kind="configmaps", name="x"), NotFound),
    "role of a role binding missing": (404, status(404, "NotFound", kind="rolebindings", name="viewer"), NotFound),
    "group not served: plain text": (404, "404 page not found\n", NotServed),
    "resource not served: no details": (
        404,
        status(404, "NotFound", "the server could not find the requested resource"),
        NotServed,
    ),
    "no right": (403, status(403, "Forbidden", kind="configmaps", name="x"), Forbidden),
    "namespace terminating": (
        403,
        status(403, "Forbidden", causes=causes({"reason": "NamespaceTerminating", "field": "metadata.namespace"})),
        NamespaceTerminating,
    ),
    "quota": (403, status(403, "Forbidden", "exceeded quota: small"), Forbidden),
    "manifest wrong, told as 500": (500, status(500, "", TYPED), Malformed),
    "webhook unreachable": (
        500,
        status(500, "InternalError", 'failed calling webhook "x": no endpoints', causes=causes({"message": "x"})),
        ServerError,
    ),
    "webhook whose text quotes the manifest's mistake": (500, status(500, "InternalError", TYPED), ServerError),
    "service range full": (500, status(500, "InternalError", "range is full"), ServerError),
    "invalid": (422, status(422, "Invalid", causes=causes({"field": "spec.x", "message": "Required value"})), Invalid),
    "stale resourceVersion": (409, status(409, "Conflict"), Conflict),
    "other manager owns it": (
        409,
        status(409, "Conflict", causes=causes({"reason": "FieldManagerConflict"})),
        Conflict,
    ),
    "already there": (409, status(409, "AlreadyExists"), AlreadyExists),
    "bad request": (400, status(400, "BadRequest"), BadRequest),
    "who are you": (401, status(401, "Unauthorized"), Unauthorized),
    "version expired": (410, status(410, "Expired"), Expired),
    "version gone, by its older name": (410, status(410, "Gone"), Expired),
    "version from the future": (
        504,
        status(504, "Timeout", causes=causes({"reason": "ResourceVersionTooLarge"})),
        Expired,
    ),
    "too many requests": (429, status(429, "TooManyRequests", retryAfterSeconds=60), TooManyRequests),
    "too many requests, as plain text": (429, "Too many requests, please try again later.", TooManyRequests),
    "unavailable": (503, status(503, "ServiceUnavailable"), Unavailable),
    "unavailable, as a proxy's page": (503, "<html>no healthy upstream</html>", Unavailable),
    "timed out on the way": (504, status(504, "Timeout"), Unavailable),
    "bad gateway": (502, "<html>bad gateway</html>", ServerError),
    "500 that asks to come again": (500, status(500, "ServerTimeout", retryAfterSeconds=60), Unavailable),
    "a code that nobody knows": (418, "short and stout", ApiError),
    "method not allowed": (405, status(405, "MethodNotAllowed"), ApiError),
    "redirect": (302, "", ApiError),
}


async def refusal(code: int, body: Any, **headers: str) -> KubeError:
    """What a client raises for this answer to an apply, which no 503 lets it repeat."""

    async def script(asked: Asked, wire: Wire) -> None:
        await wire.answer(body, status=code, **headers)

    async with serve(script) as server, connect(server.settings) as client:
        with pytest.raises(KubeError) as caught:
            await client.patch(CONFIG_MAPS, "x", "default", {})
        assert len(server.asked) == 1
    return caught.value


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.kube.transport.TRIES", 1)


@pytest.mark.parametrize(("code", "body", "expected"), ANSWERS.values(), ids=ANSWERS.keys())
async def test_every_answer_has_its_class(code: int, body: Any, expected: type[ApiError]) -> None:
    error = await refusal(code, body)
    assert type(error) is expected
    assert error.code == code
    assert str(error)


async def test_the_servers_account_is_kept() -> None:
    body = status(422, "Invalid", 'ConfigMap "x" is invalid', kind="ConfigMap", name="x")
    body["details"]["causes"] = [{"reason": "FieldValueRequired", "message": "Required value", "field": "data"}]
    error = await refusal(422, body)
    assert isinstance(error, Invalid)
    assert str(error) == 'ConfigMap "x" is invalid'
    assert error.reason == "Invalid"
    assert error.causes == (Cause("FieldValueRequired", "Required value", "data"),)
    assert (error.status.kind, error.status.name) == ("ConfigMap", "x")
    assert error.request == "PATCH /api/v1/namespaces/default/configmaps/x"


async def test_a_refusal_without_words_still_says_what_was_asked() -> None:
    error = await refusal(500, b"")
    assert str(error) == "the API server answered 500 to PATCH /api/v1/namespaces/default/configmaps/x"


@pytest.mark.parametrize(
    ("header", "body", "expected"),
    [
        pytest.param("7", status(429, retryAfterSeconds=3), 7.0, id="the header wins"),
        pytest.param(None, status(429, retryAfterSeconds=3), 3.0, id="else the body"),
        pytest.param(None, status(429), None, id="neither"),
        pytest.param("Wed, 21 Oct 2026 07:28:00 GMT", status(429), None, id="a date is not understood"),
        pytest.param("²", status(429), None, id="a digit that is no number"),
        pytest.param("-1", status(429), None, id="negative"),
        pytest.param("9" * 400, status(429), float("inf"), id="for ever"),
    ],
)
async def test_the_wish_for_a_pause(header: str | None, body: Any, expected: float | None) -> None:
    error = await refusal(429, body, **({"Retry_After": header} if header else {}))
    assert isinstance(error, TooManyRequests)
    assert error.status.retry_after == expected


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"kind": "Status", "details": "text"}, id="details of text"),
        pytest.param({"kind": "Status", "details": {"causes": {"a": 1}}}, id="causes that are no list"),
        pytest.param({"kind": "Status", "details": {"causes": [1]}}, id="a cause that is a number"),
        pytest.param({"kind": "Status", "code": "many"}, id="a code of text"),
        pytest.param({"kind": "Status", "message": ["a"]}, id="a message that is a list"),
        pytest.param({"kind": "Pod"}, id="another kind"),
        pytest.param([1, 2], id="a list"),
        pytest.param(b"\xff\xfe", id="bytes"),
        pytest.param(b'{"kind": "Sta', id="cut off"),
    ],
)
async def test_garbage_with_a_bad_code_is_what_the_code_says(body: Any) -> None:
    error = await refusal(500, body)
    assert type(error) is ServerError
    assert error.status.plain


@pytest.mark.parametrize(
    ("field", "expected"), [("spec.clusterIP", True), ("metadata.uid", False)], ids=["a field", "the uid precondition"]
)
async def test_what_refused_to_change(field: str, expected: bool) -> None:
    cause = {"reason": "FieldValueInvalid", "message": "Invalid value: x: field is immutable", "field": field}
    error = await refusal(422, status(422, "Invalid", causes=[cause]))
    assert isinstance(error, Invalid)
    assert error.immutable == expected


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"<html>login</html>", id="a login page"),
        pytest.param(b'{"kind": "ConfigM', id="half an object"),
        pytest.param(b"[1]", id="a list"),
        pytest.param(b"null", id="null"),
        pytest.param(b'{"metadata": "x"}', id="metadata of text"),
        pytest.param(b'{"metadata": {"resourceVersion": 7}}', id="a version that is a number"),
        pytest.param(b"\xff", id="bytes"),
    ],
)
async def test_garbage_with_a_good_code_is_a_bad_answer(body: bytes) -> None:
    assert type(await refusal(200, body)) is BadAnswer


async def test_a_redirect_is_not_followed() -> None:
    """What we send, the token above all, is for this server and not for whomever it names."""

    async def elsewhere(asked: Asked, wire: Wire) -> None:
        await wire.answer({"metadata": {}})

    async with serve(elsewhere) as other:
        error = await refusal(307, "", Location=f"{other.settings.server}/api/v1/namespaces/default/configmaps/x")
        assert isinstance(error, ApiError)
        assert other.asked == []
