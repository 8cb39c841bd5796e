"""Hosts that nobody is sent to: link-local addresses, where clouds hand out credentials.

A name is looked up once, and the connection goes to the address that was looked at, so that the name cannot change
its mind in between.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import TYPE_CHECKING

from aiohttp.resolver import ThreadedResolver

from penstock.sources.git.errors import RemoteTrouble

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult

_FORBIDDEN = "its host has a link-local address; nothing is read from there"


class GuardedResolver(ThreadedResolver):
    """Looks names up and refuses what must not be called."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await super().resolve(host, port, family)
        if any(is_forbidden(result["host"]) for result in found):
            raise OSError(None, _FORBIDDEN)
        return found


def check_literal(host: str) -> None:
    """Refuse a host that is a forbidden address itself."""
    if is_forbidden(host):
        raise RemoteTrouble(_FORBIDDEN)


async def looked_up(host: str, port: int) -> str:
    """One address of a host; RemoteTrouble when there is none, or a forbidden one."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise RemoteTrouble(f"its host cannot be looked up: {error.strerror}") from error
    addresses = [str(entry[4][0]) for entry in found]
    for address in addresses:
        check_literal(address)
    return addresses[0]


def is_forbidden(address: str) -> bool:
    """True for a link-local or multicast address, also when it hides in an IPv6 one."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return any(one.is_link_local or one.is_multicast for one in (found, mapped) if one is not None)
