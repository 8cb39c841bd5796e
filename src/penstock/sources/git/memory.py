"""Files that lie in memory alone, for programs that want a path to a secret."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def in_memory(content: bytes) -> Generator[int]:
    """The descriptor of a file with this content; `/proc/self/fd/<descriptor>` is its path, here and in children.

    It is gone with the last process that has it open, however that process ends.
    """
    descriptor = os.memfd_create("penstock")
    try:
        os.write(descriptor, content)
        yield descriptor
    finally:
        os.close(descriptor)
