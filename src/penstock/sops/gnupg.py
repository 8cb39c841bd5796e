"""The user's own GnuPG keyring, for the command line only: a controller never runs a program to decrypt.

Data keys go through pipes, never through arguments or files.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from dataclasses import dataclass

from penstock.sops.errors import DataKeyError
from penstock.sops.keys import MasterKey, PgpKey

_FINGERPRINT = re.compile(r"[0-9A-Fa-f]{8,64}!?\Z")
_SECONDS = 120  # a person may have to type a PIN


@dataclass(frozen=True, slots=True)
class GnuPgService:
    """Opens and seals data keys with the `gpg` program and whatever keyring and agent its user has."""

    program: str = "gpg"

    async def open(self, key: MasterKey) -> bytes:
        if not isinstance(key, PgpKey):
            raise DataKeyError("must provide a key of the kind pgp")
        return await self._run("--decrypt", stdin=key.enc.encode())

    async def seal(self, key: MasterKey, data_key: bytes) -> str:
        if not isinstance(key, PgpKey) or not _FINGERPRINT.match(key.fp):
            raise DataKeyError("a PGP key is named by its fingerprint, in hexadecimal digits")
        sealed = await self._run(
            "--no-encrypt-to", "--trust-model", "always", "--armor", "--recipient", key.fp, "--encrypt", stdin=data_key
        )
        return sealed.decode()

    async def holds(self, fingerprint: str) -> bool:
        """True when the keyring has the secret key."""
        if not _FINGERPRINT.match(fingerprint):
            return False  # it comes from a file, and could be an option
        try:
            await self._run("--list-secret-keys", fingerprint, stdin=b"")
        except DataKeyError:
            return False
        return True

    async def _run(self, *arguments: str, stdin: bytes) -> bytes:
        program = await asyncio.to_thread(shutil.which, self.program)
        if program is None:
            raise DataKeyError("the program gpg is not installed")
        process = await asyncio.create_subprocess_exec(
            program, "--batch", "--quiet", "--no-tty", *arguments,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            async with asyncio.timeout(_SECONDS):
                answer, _ = await process.communicate(stdin)
        except TimeoutError:
            raise DataKeyError(f"gpg gave no answer in {_SECONDS} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise DataKeyError(f"gpg ended with {process.returncode}; it does not hold the key, or the key is locked")
        return answer
