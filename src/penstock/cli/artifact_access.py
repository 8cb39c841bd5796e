"""How the commands for artifacts reach registries and files."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.api.durations import Duration, InvalidDuration
from penstock.cli.output import say
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator

    from penstock.sources.oci import Registry
    from penstock.sources.oci.credentials import Credential
    from penstock.sources.oci.reference import Image


@dataclass(frozen=True, slots=True)
class Access:
    """How the commands reach a registry."""

    creds: str
    insecure: bool
    provider: str

    def to(self, image: Image) -> Registry:
        """The registry of an image, not yet open."""
        from penstock.sources.access import Trust
        from penstock.sources.oci import Connection, Registry
        from penstock.sources.oci.credentials import Credential, from_flag

        if self.provider not in ("", "generic"):
            raise UsageError(f"--provider {self.provider} is not supported; log in with --creds or `docker login`")
        if self.creds:
            say("► logging in to registry with credentials")
        credential = from_flag(self.creds) if self.creds else _docker(image) or Credential()
        local = image.repository.host.partition(":")[0] in ("localhost", "127.0.0.1")
        plain = self.insecure or local  # as every tool for registries takes it
        connection = Connection(credential=credential, trust=Trust(verify=not self.insecure), insecure=plain)
        return Registry(image.repository, connection)


def pull_into(place: Registry, image: Image, into: Path, timeout: str) -> tuple[str, dict[str, str]]:
    """Unpack the first layer of an artifact; its digest and annotations. What is there already is overwritten."""
    from penstock.paths import unpack
    from penstock.sources.oci.manifest import select

    async def download(file: Path) -> tuple[str, dict[str, str]]:
        async with place as registry:
            found = await registry.image(image.reference)
            manifest = found.manifest()
            await registry.save_blob(select(manifest, ""), file)
            return found.digest, manifest.annotations

    # In the same file system, so that files can be moved, and nothing changes before all of them are there.
    with tempfile.TemporaryDirectory(dir=into, prefix=".penstock-") as folder:
        file, tree = Path(folder, "layer"), Path(folder, "tree")
        told = run_within(download(file), timeout)
        tree.mkdir()
        with file.open("rb") as layer:
            unpack(layer, tree, links="skip")
        _move(tree, into)
    return told[0], told[1]


def _move(tree: Path, into: Path) -> None:
    """Move files to where they belong; a link in place of a directory is not followed."""
    for folder, _, names in os.walk(tree):
        target = into / Path(folder).relative_to(tree)
        if target != into and target.is_symlink():
            raise UsageError(f"'{target}' is a link, and the artifact has a directory there")
        target.mkdir(exist_ok=True)
        for name in names:
            Path(folder, name).replace(target / name)


@contextmanager
def staged(path: str, *, resolve: bool) -> Generator[Path]:
    """The directory to pack: the given one, or a temporary one that holds the given file."""
    from penstock.sources.oci.staging import stage

    with tempfile.TemporaryDirectory() as folder:
        if path == "-":
            target = Path(folder, "manifest.yaml")
            target.write_bytes(sys.stdin.buffer.read().rstrip(b"\r\n"))
            yield Path(folder)
            return
        given = Path(path)
        if not given.exists():
            raise UsageError(f"invalid path '{path}', must point to an existing directory or file")
        if given.is_dir() and not resolve:
            yield given
            return
        stage(given, Path(folder))
        yield Path(folder)


def _docker(image: Image) -> Credential | None:
    """The login that `docker login` left for a registry."""
    from penstock.sources.oci.credentials import parse

    folder = os.environ.get("DOCKER_CONFIG") or str(Path.home() / ".docker")
    file = Path(folder, "config.json")
    if not file.is_file():
        return None
    return parse(file.read_bytes(), origin=str(file)).find(image.repository)


def annotation(text: str) -> tuple[str, str]:
    parts = text.split("=")
    if len(parts) != 2 or not parts[0]:
        raise UsageError(f"invalid annotation {text}, must be in the format key=value")
    return parts[0], parts[1]


def patterns(given: list[str] | None) -> list[str]:
    return [pattern for text in given or () for pattern in text.split(",") if pattern]


def run_within(work: Coroutine[Any, Any, Any], timeout: str) -> Any:
    try:
        limit = Duration.parse(timeout)
    except InvalidDuration as error:
        work.close()
        raise UsageError(f"--timeout: {error}") from error

    async def bounded() -> Any:
        async with asyncio.timeout(limit.seconds):
            return await work

    try:
        return asyncio.run(bounded())
    except TimeoutError:
        raise TimeoutError(f"no answer from the registry within {timeout}") from None
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
