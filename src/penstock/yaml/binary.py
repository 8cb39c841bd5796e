"""Bytes as text, the way the peers write them."""

import binascii

_LINE = 70  # characters


def base64_lines(content: bytes) -> str:
    """Base64; from 70 characters on in lines, each with its newline."""
    text = binascii.b2a_base64(content, newline=False).decode()
    if len(text) < _LINE:
        return text
    return "".join(f"{text[at : at + _LINE]}\n" for at in range(0, len(text), _LINE))
