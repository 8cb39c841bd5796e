"""IP addresses and ranges in fields that have always been lax about how they are written."""

from __future__ import annotations

import ipaddress

from penstock.embedded.kinds.problems import Problems, invalid

IP_WORDS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
CIDR_WORDS = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def parse_ip(text: str) -> Address | None:
    """Leading zeros in the parts of an IPv4 address are ignored."""
    try:
        if ":" in text:
            return None if "%" in text else ipaddress.IPv6Address(text)
        parts = text.split(".")
        if not all(part.isascii() and part.isdigit() for part in parts):
            return None
        return ipaddress.IPv4Address(".".join(str(int(part)) for part in parts))
    except ValueError:
        return None


def parse_cidr(text: str) -> Network | None:
    address, slash, bits = text.partition("/")
    ip = parse_ip(address)
    if ip is None or not slash or not (bits.isascii() and bits.isdigit()) or int(bits) > ip.max_prefixlen:
        return None
    return ipaddress.ip_network((ip, int(bits)), strict=False)


def check_ip(problems: Problems, text: str, field: str) -> bool:
    if parse_ip(text) is not None:
        return True
    problems.append(invalid(field, text, IP_WORDS))
    return False


def check_cidr(problems: Problems, text: str, field: str) -> bool:
    if parse_cidr(text) is not None:
        return True
    problems.append(invalid(field, text, CIDR_WORDS))
    return False


def check_endpoint_ip(problems: Problems, text: str, field: str) -> None:
    """An address that can be somewhere else: not unspecified, loopback or link-local."""
    ip = parse_ip(text)
    if ip is None:
        problems.append(invalid(field, text, "must be a valid IP address"))
        return
    if ip.is_unspecified:
        problems.append(invalid(field, text, f"may not be unspecified ({text})"))
    if ip.is_loopback:
        problems.append(invalid(field, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if ip.is_link_local:
        problems.append(invalid(field, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if ip.is_multicast and (ip.packed[:3] == b"\xe0\x00\x00" or ip.packed[:2] == b"\xff\x02"):
        problems.append(invalid(field, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"))
