"""`penstock push|pull|tag|list|diff artifact`: files into a registry and out of it, as the `flux` command does it."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.artifact_access import Access, annotation, patterns, pull_into, run_within, staged
from penstock.cli.output import Column, Output, View, say, to_json, to_yaml
from penstock.errors import PenstockError, UsageError

if TYPE_CHECKING:
    from penstock.sources.oci import Registry

push = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
pull = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
tag = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
listing = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


class ArtifactsDiffer(PenstockError):
    """What `diff` found; exit 1."""


class PushOutput(StrEnum):
    """What `push -o` accepts."""

    JSON = "json"
    YAML = "yaml"


Url = Annotated[str, typer.Argument(metavar="OCI-URL", help="oci://host/repository:tag", show_default=False)]
Creds = Annotated[str, typer.Option(metavar="USERNAME[:PASSWORD]", help="login; default: the Docker configuration")]
Insecure = Annotated[bool, typer.Option("--insecure-registry", help="allow plain HTTP, and any certificate")]
Timeout = Annotated[str, typer.Option(metavar="DURATION", help="longest time for the whole command")]
Provider = Annotated[str, typer.Option(help="how to log in; only generic is supported", show_default=False)]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="leave these out, in the syntax of .gitignore; replaces the defaults"),
]
Resolve = Annotated[bool, typer.Option("--resolve-symlinks", help="put what links lead to in their place")]


@push.command("artifact")
def push_artifact(
    url: Url,
    path: Annotated[str, typer.Option("--path", "-f", metavar="PATH", help="directory or file; - reads stdin")] = "",
    source: Annotated[str, typer.Option(help="where the files come from, such as the URL of the repository")] = "",
    revision: Annotated[str, typer.Option(help="which revision, as '<branch|tag>@sha1:<commit>'")] = "",
    annotations: Annotated[
        list[str] | None, typer.Option("--annotations", "-a", metavar="KEY=VALUE", help="more annotations")
    ] = None,
    output: Annotated[
        PushOutput | None, typer.Option("--output", "-o", help="print address and digest in this format")
    ] = None,
    creds: Creds = "",
    provider: Provider = "generic",
    ignore_paths: Ignore = None,
    reproducible: Annotated[bool, typer.Option("--reproducible", help="set the time of creation to 1970")] = False,
    resolve_symlinks: Resolve = False,
    insecure_registry: Insecure = False,
    timeout: Timeout = "5m",
    debug: Annotated[bool, typer.Option("--debug", help="accepted, without effect")] = False,
) -> int:
    """Make an artifact of a directory or file and upload it."""
    del debug
    from penstock.sources.oci import parse_image
    from penstock.sources.oci.artifact import EPOCH, IGNORED, Metadata, build
    from penstock.sources.oci.artifact import push as upload
    from penstock.sources.oci.reference import is_digest

    for option, value in (("--source", source), ("--revision", revision), ("--path", path)):
        if not value:
            raise UsageError(f"{option} is required")
    image = parse_image(url)
    if is_digest(image.reference):
        raise UsageError(f"'{url}' names a digest; an artifact is pushed to a tag")
    created = EPOCH if reproducible else datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = Metadata(source, revision, created, dict(map(annotation, annotations or ())))
    with staged(path, resolve=resolve_symlinks) as directory:
        layer = build(directory, patterns(ignore_paths) or IGNORED)
    if output is None:
        say(f"► pushing artifact to {image}")

    place = Access(creds, insecure_registry, provider).to(image)

    async def work() -> str:
        async with place as registry:
            return await upload(registry, image.reference, layer, metadata)

    digest = run_within(work(), timeout)
    where = image.repository.at(digest)
    if output is None:
        say(f"✔ artifact successfully pushed to {where}")
        return 0
    told = {"url": f"oci://{where}", "repository": str(image.repository), "tag": image.reference, "digest": digest}
    print(to_json(told) if output is PushOutput.JSON else to_yaml(dict(sorted(told.items()))), end="")
    return 0


@pull.command("artifact")
def pull_artifact(
    url: Url,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="directory to unpack into")],
    creds: Creds = "",
    provider: Provider = "generic",
    insecure_registry: Insecure = False,
    timeout: Timeout = "5m",
) -> int:
    """Download an artifact and unpack its first layer."""
    from penstock.sources.oci import parse_image
    from penstock.sources.oci.manifest import REVISION, SOURCE

    if not output.is_dir():
        raise UsageError(f"invalid output path '{output}': it is not a directory")
    image = parse_image(url)
    registry = Access(creds, insecure_registry, provider).to(image)
    say(f"► pulling artifact from {image}")
    digest, annotations = pull_into(registry, image, output, timeout)
    for name, value in (("source", annotations.get(SOURCE)), ("revision", annotations.get(REVISION))):
        if value:
            say(f"✔ {name} {value}")
    say(f"✔ digest {image.repository.at(digest)}")
    say(f"✔ artifact content extracted to {output}")
    return 0


@tag.command("artifact")
def tag_artifact(
    url: Url,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="a new tag; may be given several times")] = None,
    creds: Creds = "",
    provider: Provider = "generic",
    insecure_registry: Insecure = False,
    timeout: Timeout = "5m",
) -> int:
    """Give an artifact more tags."""
    from penstock.sources.oci import parse_image
    from penstock.sources.oci.artifact import tag as retag
    from penstock.sources.oci.reference import check_tag

    names = [check_tag(name) for given in tags or () for name in given.split(",")]
    if not names:
        raise UsageError("--tag is required")
    image = parse_image(url)
    place = Access(creds, insecure_registry, provider).to(image)
    say("► tagging artifact")

    async def work() -> None:
        async with place as registry:
            for name in names:
                await retag(registry, image.reference, name)
                say(f"✔ artifact tagged as {image.repository.at(name)}")

    run_within(work(), timeout)
    return 0


@dataclass(frozen=True, slots=True)
class Listed:
    """One tag of a repository."""

    artifact: str
    digest: str
    source: str
    revision: str


_LIST: View[Listed] = View(
    columns=(
        Column("ARTIFACT", lambda one: one.artifact),
        Column("DIGEST", lambda one: one.digest),
        Column("SOURCE", lambda one: one.source),
        Column("REVISION", lambda one: one.revision),
    ),
    name=lambda one: f"artifact/{one.artifact}",
    data=lambda one: {
        "artifact": one.artifact,
        "digest": one.digest,
        "source": one.source,
        "revision": one.revision,
    },
)


@listing.command("artifacts")
@listing.command("artifact", hidden=True)
def list_artifacts(
    url: Annotated[str, typer.Argument(metavar="OCI-URL", help="oci://host/repository", show_default=False)],
    filter_semver: Annotated[str, typer.Option(metavar="RANGE", help="only versions in this range")] = "",
    filter_regex: Annotated[str, typer.Option(metavar="PATTERN", help="only tags that match")] = "",
    output: Annotated[Output | None, typer.Option("--output", "-o", help="another format")] = None,
    creds: Creds = "",
    provider: Provider = "generic",
    insecure_registry: Insecure = False,
    timeout: Timeout = "5m",
) -> int:
    """List the artifacts of a repository with what their annotations say; signatures are left out."""
    from penstock.sources.oci.listing import filtered
    from penstock.sources.oci.reference import parse_image, parse_repository

    parse_repository(url)
    image = parse_image(url)

    place = Access(creds, insecure_registry, provider).to(image)

    async def work() -> list[Listed]:
        async with place as registry:
            tags = filtered(await registry.tags(), semver=filter_semver, regex=filter_regex)
            return await _listed(registry, tags)

    print(_LIST.render(run_within(work(), timeout), output), end="")
    return 0


def diff_artifact(
    url: Url,
    path: Annotated[str, typer.Option("--path", metavar="PATH", help="directory or file to compare with")] = "",
    creds: Creds = "",
    provider: Provider = "generic",
    ignore_paths: Ignore = None,
    resolve_symlinks: Resolve = False,
    insecure_registry: Insecure = False,
    timeout: Timeout = "5m",
) -> int:
    """Compare the files of an artifact with those of a directory; exit 1 when they differ."""
    from penstock.paths import unpack
    from penstock.sources.oci import parse_image
    from penstock.sources.oci.artifact import IGNORED, build
    from penstock.sources.oci.listing import differences

    if not path:
        raise UsageError("--path is required")
    image = parse_image(url)
    registry = Access(creds, insecure_registry, provider).to(image)
    with tempfile.TemporaryDirectory() as folder, staged(path, resolve=resolve_symlinks) as directory:
        theirs, ours = Path(folder, "theirs"), Path(folder, "ours")
        theirs.mkdir()
        ours.mkdir()
        pull_into(registry, image, theirs, timeout)
        with tempfile.TemporaryFile() as packed:
            packed.write(build(directory, patterns(ignore_paths) or IGNORED))
            packed.seek(0)
            unpack(packed, ours)
        found = differences(theirs, ours)
    for change, name in found:
        print(f"{change} {name}")
    if found:
        raise ArtifactsDiffer("the remote artifact contents differs from the local one")
    say("✔ no changes detected")
    return 0


async def _listed(registry: Registry, tags: list[str]) -> list[Listed]:
    from penstock.sources.oci.manifest import REVISION, SOURCE

    gate = asyncio.Semaphore(8)

    async def one(name: str) -> Listed:
        async with gate:
            found = await registry.manifest(name)
        notes = (found.index() if found.is_index else found.manifest()).annotations
        return Listed(registry.repository.at(name), found.digest, notes.get(SOURCE, ""), notes.get(REVISION, ""))

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(one(name)) for name in tags]
    return [task.result() for task in running]
