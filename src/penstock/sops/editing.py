"""A decrypted file in an editor, and back. The plain text lies in memory-backed storage only, and not for long."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.sops.errors import SopsError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

_MEMORY = ("tmpfs", "ramfs")


class EditError(SopsError):
    """The editor could not be used, or ended with an error."""


def edit(data: bytes, name: str, environment: Mapping[str, str], *, on_disk: bool = False) -> bytes:
    """What a person makes of the text. The name is for the editor, which tells formats by it.

    With `on_disk`, a machine without memory-backed storage may use its temporary folder.
    """
    with _private_folder(environment, on_disk=on_disk) as folder:
        file = folder / Path(name).name
        file.touch(mode=0o600)
        file.write_bytes(data)
        command = [*shlex.split(_editor(environment)), str(file)]
        try:
            status = subprocess.run(command, check=False).returncode
        except OSError:
            raise EditError(f"the editor {command[0]!r} cannot be started; set EDITOR") from None
        if status:
            raise EditError(f"the editor ended with {status}; nothing was changed")
        return file.read_bytes()


def replace_file(path: Path, data: bytes) -> None:
    """Write a file in one step, with the rights it had; a crash leaves the old one or the new one."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def _private_folder(environment: Mapping[str, str], *, on_disk: bool) -> Generator[Path]:
    """A private folder, never written to a disk unless allowed; gone at the end, with all that the editor put there."""
    candidates = [Path(place) for place in (environment.get("XDG_RUNTIME_DIR"), "/dev/shm") if place]  # noqa: S108
    place = next((place for place in candidates if _in_memory(place) and os.access(place, os.W_OK)), None)
    if place is None and not on_disk:
        raise EditError(
            "there is no memory-backed folder (such as /dev/shm) for the plain text; --on-disk does without"
        )
    folder = Path(tempfile.mkdtemp(prefix="penstock-", dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _in_memory(place: Path) -> bool:
    """True when the file system of a folder is one that lives in memory."""
    table = Path("/proc/self/mounts")
    if not place.is_dir() or not table.exists():
        return False
    mounts = [line.split()[1:3] for line in table.read_text().splitlines()]
    best = max((m for m in mounts if place.resolve().is_relative_to(m[0])), key=lambda m: len(m[0]), default=None)
    return best is not None and best[1] in _MEMORY


def _editor(environment: Mapping[str, str]) -> str:
    return environment.get("SOPS_EDITOR") or environment.get("EDITOR") or "vi"
