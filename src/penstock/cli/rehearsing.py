"""What `build kustomization` and `diff kustomization` share: their options, and the way from these to objects."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from penstock.cli.flags import Argument, Option
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from penstock.api.kustomization import Kustomization
    from penstock.controllers.kustomization.rehearsal import Act, Files, Inputs
    from penstock.kube import Client, ObjectRef
    from penstock.sops import Keyring

Name = Annotated[str, Argument(metavar="NAME", help="The Kustomization.", show_default=False)]
PathOption = Annotated[
    Path | None,
    Option("--path", help="The directory that spec.path means; by default the artifact of the source."),
]
FileOption = Annotated[
    Path | None, Option("-f", "--kustomization-file", help="A file with the Kustomization, not the cluster's.")
]
StrictOption = Annotated[
    bool | None,
    Option(
        "--strict-substitute/--no-strict-substitute",
        help="Fail for a variable without value or default; as the controller does, unless with --dry-run.",
        show_default=False,
    ),
]
AgeKeyOption = Annotated[
    list[Path] | None,
    Option("--age-key-file", help="Decrypt with these age keys; by default with the Secret of the cluster."),
]
SecretsOption = Annotated[bool, Option("--show-secrets", help="Show decrypted values.")]
RecursiveOption = Annotated[bool, Option("-r", "--recursive", help="Go on with the Kustomizations among the objects.")]
LocalSourceOption = Annotated[
    list[str] | None,
    Option(
        "--local-source",
        "--local-sources",
        metavar="KIND/NAMESPACE/NAME=DIR",
        help="Files that stand in for a source, for --recursive; may be repeated.",
    ),
]
IgnoreOption = Annotated[
    list[str] | None,
    Option("--ignore-paths", metavar="PATTERN", help="Leave these out, in the syntax of .gitignore."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked for."""

    name: str
    namespace: str
    path: Path | None = None
    file: Path | None = None
    dry_run: bool = False
    strict: bool | None = None
    age_keys: tuple[Path, ...] = ()
    recursive: bool = False
    local_sources: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def check(self) -> None:
        """UsageError for what makes no sense together."""
        if self.dry_run and self.file is None:
            raise UsageError("--dry-run asks no cluster: name a file with the Kustomization, with -f")
        if self.dry_run and self.path is None:
            raise UsageError("--dry-run asks no cluster: name the directory with the files, with --path")
        if self.local_sources and not self.recursive:
            raise UsageError("--local-source is for --recursive")
        for ref, folder in self.sources().items():
            if not folder.is_dir():
                raise UsageError(f"--local-source: '{folder}' for {ref} is not a directory")

    def sources(self) -> dict[ObjectRef, Path]:
        """The directories that stand in for sources."""
        return dict(map(_local_source, self.local_sources))


async def acts(request: Request, client: Client | None) -> AsyncGenerator[Act]:
    """The Kustomization, and with --recursive those below it, built; without a client nothing is asked of a cluster."""
    from penstock.controllers.kustomization.rehearsal import descend, inputs_of, offline_inputs

    keyring = await asyncio.to_thread(_keyring, request.age_keys)
    strict = client is not None if request.strict is None else request.strict

    async def inputs(kustomization: Kustomization) -> Inputs:
        if client is None:
            return offline_inputs(kustomization, keyring=keyring, strict=strict)
        return await inputs_of(client, kustomization, keyring=keyring, strict=strict)

    async with AsyncExitStack() as stack:
        first, files = await _first(request, client, stack)
        below = await stack.enter_async_context(aclosing(descend(first, files, inputs)))
        async for act in below:
            yield act


async def _first(request: Request, client: Client | None, stack: AsyncExitStack) -> tuple[Kustomization, Files]:
    import msgspec

    from penstock.controllers.kustomization import source
    from penstock.controllers.kustomization.rehearsal import Files, artifact_of, copied, locate

    first = await _kustomization(request, client)
    if request.path is None:
        if client is None:
            raise UsageError("--path is required")
        root = await stack.enter_async_context(artifact_of(client, first))
    else:
        root, path = await asyncio.to_thread(locate, request.path, first.spec.path)
        first = msgspec.structs.replace(first, spec=msgspec.structs.replace(first.spec, path=path))
    if request.ignore:
        root = await stack.enter_async_context(copied(root, request.ignore))
    if not request.recursive:
        return first, Files(root, {})
    return first, Files(root, {source.reference(first): root, **request.sources()})


async def _kustomization(request: Request, client: Client | None) -> Kustomization:
    from penstock.api import decode
    from penstock.api.kustomization import Kustomization
    from penstock.cli.catalogue import KUSTOMIZATION
    from penstock.cli.finding import read

    if request.file is not None:
        return decode(await asyncio.to_thread(_from_file, request.file, request), Kustomization)
    if client is None:
        raise UsageError("without a cluster, name a file with the Kustomization, with -f")
    return decode(await read(client, KUSTOMIZATION, request.name, request.namespace), Kustomization)


def _from_file(file: Path, request: Request) -> dict[str, Any]:
    """The Kustomization of that name; the namespace of one that has none is the one asked for."""
    from penstock.yaml import YAMLError, documents, through_json

    try:
        found = [through_json(one.value) for one in documents(file.read_bytes())]
    except (OSError, YAMLError) as error:
        told = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{file} cannot be read: {told}") from error
    for obj in found:
        if not isinstance(obj, dict) or obj.get("kind") != "Kustomization":
            continue
        metadata = obj.get("metadata") or {}
        if metadata.get("name") == request.name and metadata.get("namespace", request.namespace) == request.namespace:
            return obj | {"metadata": metadata | {"namespace": request.namespace}}
    raise UsageError(f"{file} has no Kustomization '{request.namespace}/{request.name}'; -n names its namespace")


def _local_source(text: str) -> tuple[ObjectRef, Path]:
    from penstock.controllers.kustomization.source import GROUP, KINDS
    from penstock.kube import ObjectRef

    named, _, folder = text.partition("=")
    parts = named.split("/")
    kinds = {kind.lower(): kind for kind in KINDS}
    if len(parts) != 3 or not all((*parts, folder)) or parts[0].lower() not in kinds:
        raise UsageError(f"--local-source: {text!r} is not KIND/NAMESPACE/NAME=DIR with KIND of {', '.join(KINDS)}")
    return ObjectRef(GROUP, kinds[parts[0].lower()], parts[1], parts[2]), Path(folder)


def _keyring(files: tuple[Path, ...]) -> Keyring | None:
    if not files:
        return None
    from penstock.sops import local_keys

    return local_keys.find(os.environ, home=Path.home(), age_files=files).keyring()
