"""IP addresses and ranges in fields that have always been lax about how they are written."""

from __future__ import annotations

import ipaddress

from penstock.embedded.kinds.problems import Problems, go_quote, invalid

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


def ip_warnings(text: str, field: str) -> list[str]:
    """What to say about an address that is taken, but not in its usual form."""
    ip = parse_ip(text)
    return [] if ip is None else _not_canonical("address", text, field, str(ip))


def cidr_warnings(text: str, field: str) -> list[str]:
    """The same for a range."""
    network = parse_cidr(text)
    return [] if network is None else _not_canonical("CIDR value", text, field, str(network))


def _not_canonical(what: str, text: str, field: str, wanted: str) -> list[str]:
    if wanted == text or ":" not in text:
        return []
    return [f"{field}: IPv6 {what} {go_quote(text)} should be in RFC 5952 canonical format ({go_quote(wanted)})"]


def check_ip(problems: Problems, text: str, field: str, *, canonical: bool = False) -> bool:
    """Newer fields want the one `canonical` form of an address; older ones only what all programs read alike."""
    words = _ip_words(text)
    if not words and canonical and text != (form := str(parse_ip(text))):
        words = f"must be in canonical form ({go_quote(form)})"
    if words:
        problems.append(invalid(field, text, words))
    return not words


def _ip_words(text: str) -> str:
    ip = parse_ip(text)
    if ip is None:
        return IP_WORDS
    if isinstance(ip, ipaddress.IPv4Address):
        return "" if str(ip) == text else "must not have leading 0s"
    return "" if ip.ipv4_mapped is None else "must not be an IPv4-mapped IPv6 address"


def check_cidr(problems: Problems, text: str, field: str) -> bool:
    words = _cidr_words(text)
    if words:
        problems.append(invalid(field, text, words))
    return not words


def _cidr_words(text: str) -> str:
    network, (address, _, bits) = parse_cidr(text), text.partition("/")
    ip = parse_ip(address)
    if network is None or ip is None:
        return CIDR_WORDS
    if bits != str(int(bits)) or (network.version == 4 and str(ip) != address):
        return "must not have leading 0s in IP or prefix length"
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        return "must not have an IPv4-mapped IPv6 address"
    return "" if ip == network.network_address else "must not have bits set beyond the prefix length"


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
