"""Ties a program to the life of the process that starts it, even when that one is killed.

`command(...)` wraps a command line: a small interpreter asks the kernel to kill it when its parent ends, and
then becomes the program, so the process id stays the same. Linux only; elsewhere the program is started as it
is and ends with the orderly end of its parent.

The kernel counts the *thread* that started the program as its parent: it must live as long as the program.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# In the time between fork and prctl the parent may have died already: then nobody will send the signal.
_BECOME = """
import ctypes, os, signal, sys
PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit("the parent is gone")
os.execv(sys.argv[2], sys.argv[2:])
"""


def command(program: Sequence[str]) -> list[str]:
    """The command line that runs `program`, tied to this process; its first word must be a path."""
    if sys.platform != "linux":
        return list(program)
    return [sys.executable, "-I", "-S", "-c", _BECOME, str(os.getpid()), *program]
