from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from penstock.errors import UsageError
from penstock.runtime.health import LARGEST_REQUEST, Address, AddressInUse, Endpoints

if TYPE_CHECKING:
    from penstock.runtime.metrics import Metrics

LOOPBACK = Address("127.0.0.1", 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(":8080", Address("", 8080), id="every interface"),
        pytest.param("127.0.0.1:9440", Address("127.0.0.1", 9440), id="one address"),
        pytest.param("localhost:0", Address("localhost", 0), id="a free port"),
        pytest.param("[::1]:9440", Address("::1", 9440), id="IPv6"),
        pytest.param("0", None, id="off"),
        pytest.param("", None, id="not given"),
    ],
)
def test_addresses(text: str, expected: Address | None) -> None:
    assert Address.parse(text, flag="--health-addr") == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("8080", id="a port without colon"),
        pytest.param("localhost", id="a host alone"),
        pytest.param(":http", id="a name for a port"),
        pytest.param(":65536", id="a port that is none"),
        pytest.param(":-1", id="a negative port"),
        pytest.param(":٣", id="foreign digits"),
        pytest.param("::1:8080", id="IPv6 without brackets"),
        pytest.param("http://localhost:80", id="a URL"),
    ],
)
def test_bad_addresses(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--health-addr: .* is not an address"):
        Address.parse(text, flag="--health-addr")


@pytest.mark.parametrize(("text", "shown"), [(":8080", ":8080"), ("[::1]:80", "[::1]:80")])
def test_an_address_is_shown_as_it_is_given(text: str, shown: str) -> None:
    assert str(Address.parse(text, flag="-")) == shown


async def ask(address: Address, request: str) -> tuple[str, str, str]:
    """Status line, headers and body of the answer to a raw request."""
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(request.encode())
        raw = (await reader.read()).decode()
        writer.close()
        await writer.wait_closed()
    head, _, body = raw.partition("\r\n\r\n")
    status, _, headers = head.partition("\r\n")
    return status, headers, body


def endpoints(problem: str = "") -> Endpoints:
    some = Endpoints()
    some.check("/healthz", lambda: problem)
    return some


@pytest.mark.parametrize(
    ("request_line", "status", "body"),
    [
        pytest.param("GET /healthz HTTP/1.1", "200 OK", "ok", id="a check"),
        pytest.param("GET /healthz?verbose=1 HTTP/1.1", "200 OK", "ok", id="with a query"),
        pytest.param("HEAD /healthz HTTP/1.1", "200 OK", "", id="HEAD has no body"),
        pytest.param("GET /other HTTP/1.1", "404 Not Found", "Not Found", id="unknown"),
        pytest.param("POST /healthz HTTP/1.1", "405 Method Not Allowed", "Method Not Allowed", id="a write"),
        pytest.param("nonsense", "400 Bad Request", "Bad Request", id="nonsense"),
        pytest.param("GET /healthz HTTP/2", "400 Bad Request", "Bad Request", id="another version"),
    ],
)
async def test_requests(request_line: str, status: str, body: str) -> None:
    async with endpoints().serving(LOOPBACK) as address:
        assert address.port
        answer = await ask(address, f"{request_line}\r\nHost: x\r\n\r\n")
    assert (answer[0], answer[2]) == (f"HTTP/1.1 {status}", body)


async def test_a_problem_is_told() -> None:
    async with endpoints("the caches are not complete").serving(LOOPBACK) as address:
        status, _, body = await ask(address, "GET /healthz HTTP/1.1\r\n\r\n")
    assert (status, body) == ("HTTP/1.1 503 Service Unavailable", "the caches are not complete")


async def test_metrics_come_in_the_format_that_is_asked_for(metrics: Metrics) -> None:
    some = Endpoints()
    some.metrics(metrics)
    async with some.serving(LOOPBACK) as address:
        _, plain, body = await ask(address, "GET /metrics HTTP/1.1\r\n\r\n")
        accept = "Accept: application/openmetrics-text; version=1.0.0"
        _, modern, _ = await ask(address, f"GET /metrics HTTP/1.1\r\n{accept}\r\n\r\n")
    assert "Content-Type: text/plain" in plain
    assert "# TYPE gotk_reconcile_duration_seconds histogram" in body
    assert "Content-Type: application/openmetrics-text" in modern


@pytest.mark.usefixtures("lines")
async def test_an_endpoint_that_fails_answers_all_the_same() -> None:
    some = Endpoints()
    some.check("/readyz", lambda: str(1 // 0))
    async with some.serving(LOOPBACK) as address:
        status, _, body = await ask(address, "GET /readyz HTTP/1.1\r\n\r\n")
    assert (status, body) == ("HTTP/1.1 500 Internal Server Error", "internal error")


async def test_a_request_without_end_is_refused() -> None:
    async with endpoints().serving(LOOPBACK) as address:
        status, _, _ = await ask(address, "GET /healthz HTTP/1.1\r\n" + "X: y\r\n" * LARGEST_REQUEST)
    assert status.startswith("HTTP/1.1 431")


async def test_a_client_that_says_nothing_does_not_hold_up_the_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.runtime.health.TIMEOUT", 0.05)
    async with asyncio.timeout(10), endpoints().serving(LOOPBACK) as address:
        reader, writer = await asyncio.open_connection(address.host, address.port)
        assert await reader.read() == b""
        writer.close()


async def test_an_address_in_use_is_one_sentence() -> None:
    async with endpoints().serving(LOOPBACK) as address:
        with pytest.raises(AddressInUse, match=rf"^cannot listen on 127\.0\.0\.1:{address.port}: "):
            async with endpoints().serving(address):
                pytest.fail("two servers on one port")
