"""Arguments of the verbs that must start fast: argparse, in the manners of the other verbs."""

from __future__ import annotations

import argparse
from typing import NoReturn

from penstock.errors import UsageError


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one sentence, like everybody's."""

    def __init__(self, verb: str, summary: str) -> None:
        super().__init__(prog=f"penstock {verb}", description=summary, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see '{self.prog} --help'")
