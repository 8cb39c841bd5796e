"""SOPS files: formats, keys, integrity, and what must never leak."""
