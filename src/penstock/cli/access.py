"""How verbs reach a cluster: the options that they share, and the way from these to a connection."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from penstock.cli.flags import Argument, Option
from penstock.cli.output import Output
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from penstock.api.durations import Duration
    from penstock.kube import Client

T = TypeVar("T")

HOME = "flux-system"
"""The namespace of those who name none."""

KubeconfigOption = Annotated[Path | None, Option(help="The cluster; by default as kubectl finds it.")]
ContextOption = Annotated[str | None, Option(help="The context of the kubeconfig.")]
NamespaceOption = Annotated[
    str, Option("-n", "--namespace", envvar="FLUX_SYSTEM_NAMESPACE", help="The namespace of the objects.")
]
EverywhereOption = Annotated[bool, Option("-A", "--all-namespaces", help="Objects of every namespace.")]
TimeoutOption = Annotated[str, Option(help="How long to wait in all, such as 5m or 30s.")]
KindArgument = Annotated[list[str], Argument(metavar="KIND [NAME]", show_default=False)]
"""A kind of one or two words (`ks`, `source git`), and names behind it; `penstock.cli.catalogue` reads it."""
OutputOption = Annotated[Output | None, Option("-o", "--output", help="Another format than a table.")]


def duration(text: str, flag: str = "--timeout") -> Duration:
    """A time as Flux writes it, such as 1m30s."""
    from penstock.api.durations import Duration, InvalidDuration

    try:
        return Duration.parse(text)
    except InvalidDuration as error:
        raise UsageError(f"{flag}: {error}") from error


def ask(
    work: Callable[[Client], Awaitable[T]],
    *,
    kubeconfig: Path | None = None,
    context: str | None = None,
    timeout: float | None = None,
) -> T:
    """Do the work with a client of the cluster; out of time, it ends with TimeoutError."""
    from penstock.kube import connect, load

    async def connected() -> T:
        settings = await asyncio.to_thread(load, kubeconfig, context=context)
        limit = asyncio.timeout(timeout)
        try:
            async with limit, connect(settings) as client:
                return await work(client)
        except TimeoutError as error:
            if str(error) or not limit.expired():
                raise
            raise TimeoutError(f"{timeout:g} s were not enough; --timeout allows more") from error

    return asyncio.run(connected())


def colour() -> bool:
    """Whether a person reads, and wants colour."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
