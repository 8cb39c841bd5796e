"""The rules of Flux itself: a small Go program around its libraries, built once and kept outside the checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from tests.peers import built

if TYPE_CHECKING:
    from penstock.kube import Object


def program() -> Path:
    """The path of the program, built first where needed; NoGo when there is no Go."""
    return built("kstatus", Path(__file__).parent / "kstatus")


def statuses(objects: list[Object]) -> list[str]:
    """What the real rules say of each object."""
    lines = b"".join(orjson.dumps(obj) + b"\n" for obj in objects)
    answered = subprocess.run([program()], input=lines, stdout=subprocess.PIPE, check=True)
    return answered.stdout.decode().splitlines()
