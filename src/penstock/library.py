"""The library in four words: `from penstock import build, diff, decrypt, cluster`.

Each is one call for what the commands of the same name do. Everything below them can be used by itself, too:
`penstock.kustomize`, `penstock.render`, `penstock.apply`, `penstock.sops`, `penstock.kube`, `penstock.embedded`.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from penstock import sops
from penstock.api import decode
from penstock.api.kustomization import Kustomization
from penstock.controllers.kustomization.rehearsal import (
    Inputs,
    artifact_of,
    compare,
    inputs_of,
    locate,
    rehearse,
    rehearse_now,
    with_status,
)
from penstock.errors import UsageError
from penstock.kustomize import build as kustomize_build
from penstock.render import merge_variables
from penstock.sops import age
from penstock.sops.age import AgeService

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.apply import Preview
    from penstock.kube import Client, Object


def build(
    path: str | PathLike[str],
    *,
    kustomization: Object | None = None,
    variables: Mapping[str, str] | None = None,
    age_keys: Sequence[str | Path] = (),
    strict: bool = False,
) -> list[Object]:
    """The objects of a directory: what `kustomize build` makes of it.

    With `kustomization`, an object of Flux's kind, they are what a controller would apply for it, and `path` is the
    directory that its `spec.path` means. `variables` stand in for those of `substituteFrom`; with `strict`, one that
    has no value is an error. Encrypted values are masked unless `age_keys` open them: a text is a key, a Path a file
    with keys. Nothing is asked of a cluster, and nothing is written. Blocks: in a coroutine, call it with
    `asyncio.to_thread`.
    """
    if kustomization is None:
        return kustomize_build(path)
    _require_no_loop("build")
    wanted, root = _placed(decode(kustomization, Kustomization), Path(fspath(path)))
    after = wanted.spec.post_build
    merged = merge_variables([variables or {}], after.substitute) if after else {}
    return rehearse_now(wanted, root, Inputs(merged, keyring=_keyring(age_keys), strict=strict)).written


async def diff(
    client: Client,
    kustomization: Object,
    path: str | PathLike[str] | None = None,
    *,
    age_keys: Sequence[str | Path] = (),
    strict: bool = True,
    reveal: bool = False,
) -> Preview:
    """What applying a Kustomization would change in the cluster; nothing is written.

    Without a `path` the files are the artifact of its source. Variables and keys are those of the cluster, unless
    `age_keys` are given. Values of Secrets are told only as changed, unless `reveal` is set. What would be pruned is
    read from the inventory that the cluster has for the Kustomization.
    """
    wanted = decode(kustomization, Kustomization)
    async with AsyncExitStack() as stack:
        if path is None:
            root = await stack.enter_async_context(artifact_of(client, wanted))
        else:
            wanted, root = await asyncio.to_thread(_placed, wanted, Path(fspath(path)))
        keyring = await asyncio.to_thread(_keyring, age_keys)
        inputs = await inputs_of(client, wanted, keyring=keyring, strict=strict)
        made = await rehearse(wanted, root, inputs)
        return await compare(client, await with_status(client, wanted), made, reveal=reveal)


def decrypt(
    source: bytes | str | PathLike[str],
    *,
    age_keys: Sequence[str | Path],
    form: sops.Format | None = None,
    verify: bool = True,
) -> bytes:
    """The plain text of a SOPS file, given by its path or as its bytes. Blocks.

    The format is that of the file's name; of bytes it is YAML unless `form` says otherwise. A file that was tampered
    with is refused unless `verify` is off.
    """
    _require_no_loop("decrypt")
    if isinstance(source, bytes):
        data, form = source, form or sops.Format.YAML
    else:
        file = Path(fspath(source))
        data, form = file.read_bytes(), form or sops.by_name(file.name)
    keyring = _keyring(age_keys) or sops.Keyring()
    return asyncio.run(sops.decrypt(data, keyring, form=form, verify=verify))


def _placed(kustomization: Kustomization, directory: Path) -> tuple[Kustomization, Path]:
    root, path = locate(directory, kustomization.spec.path)
    spec = msgspec.structs.replace(kustomization.spec, path=path)
    return msgspec.structs.replace(kustomization, spec=spec), root


def _keyring(keys: Sequence[str | Path]) -> sops.Keyring | None:
    texts = [key if isinstance(key, str) else key.read_text() for key in keys]
    found = [identity for text in texts for identity in age.identities(text)]
    return sops.Keyring({"age": AgeService(tuple(found))}) if found else None


def _require_no_loop(name: str) -> None:
    """UsageError in a coroutine: the call would hold up everybody else there, and needs a loop of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(f"{name} blocks: in a coroutine write `await asyncio.to_thread({name}, ...)`")
