"""`penstock version`: what is installed here and, with --server, what answers there. Dispatched before Typer."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock import __version__
from penstock.cli.fast import Parser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kube import Settings


@dataclass(frozen=True, slots=True)
class _Request:
    """What was asked on the command line."""

    output: str | None
    server: bool
    kubeconfig: str | None
    context: str | None
    timeout: float


def main(arguments: Sequence[str]) -> int:
    asked = _parse(arguments)
    versions: dict[str, str] = {"penstock": __version__, "python": platform.python_version()}
    if asked.server:
        versions["kubernetes"] = _server_version(asked)
    match asked.output:
        case "json":
            from penstock.cli.output import to_json

            sys.stdout.write(to_json(versions))
        case "yaml":
            from penstock.cli.output import to_yaml

            sys.stdout.write(to_yaml(versions))
        case "name":
            print(f"penstock/{__version__}")
        case _:
            for name, version in versions.items():
                print(f"{name}: {version}")
    return 0


def _parse(arguments: Sequence[str]) -> _Request:
    parser = Parser("version", "Print the version of penstock and, on request, of the cluster.")
    parser.add_argument("-o", "--output", choices=["json", "yaml", "name", "wide"], help="another format than text")
    parser.add_argument("--server", action="store_true", help="ask the cluster for its version too")
    parser.add_argument("--kubeconfig", metavar="FILE", help="the kubeconfig to use instead of $KUBECONFIG")
    parser.add_argument("--context", metavar="NAME", help="the context to use instead of the current one")
    parser.add_argument(
        "--timeout", type=float, default=10.0, metavar="SECONDS", help="how long to wait for the cluster (10)"
    )
    found = parser.parse_args(arguments)
    return _Request(found.output, found.server, found.kubeconfig, found.context, found.timeout)


def _server_version(asked: _Request) -> str:
    import asyncio

    from penstock.kube import load

    settings = load(asked.kubeconfig, context=asked.context)
    answer = asyncio.run(_ask(settings, asked.timeout))
    return str(answer.get("gitVersion") or "unknown")


async def _ask(settings: Settings, within: float) -> dict[str, Any]:
    from penstock.kube import Request, connect

    async with connect(settings) as client:
        answer: dict[str, Any] = await client.call(Request("GET", "/version", repeatable=True, timeout=within))
        return answer
