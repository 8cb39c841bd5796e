"""`penstock build`: what a kustomization comes to, with the flags and exit codes of `kustomize build`.

Dispatched before Typer, because it has to start fast.
"""

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.errors import PenstockError, UsageError
from penstock.kustomize import Options, Result, build_result
from penstock.yaml import dump

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.cli.fast import Parser
    from penstock.kustomize.context import Reorder

_SUMMARY = "Print the objects of a kustomization, as `kustomize build` does."
_GROUP = frozenset(("kustomization", "kustomizations", "ks"))
_RESTRICTORS = ("LoadRestrictionsRootOnly", "LoadRestrictionsNone")


class BuildFailed(PenstockError):
    """The command line makes no sense, or the output cannot be written; `kustomize build` says 1 to both."""


def main(arguments: Sequence[str]) -> int:
    if _GROUP.intersection(arguments) and (more := _of_cluster(list(arguments))):
        from penstock.cli.app import execute
        from penstock.cli.build_kustomization import app

        return execute("build", app, _SUMMARY, more)
    asked = _simple(arguments) or _parse(arguments)
    options = Options(
        reorder=asked.reorder,
        restrict=asked.load_restrictor != "LoadRestrictionsNone",
        managed_by=asked.managed_by or os.environ.get("KUSTOMIZE_ENABLE_MANAGEDBY_LABEL") == "on",
        remote=not asked.no_remote_bases,
    )
    gc.disable()  # one build leaves next to nothing to collect
    try:
        result = build_result(asked.directory, options=options, cache=None)
        for warning in result.warnings:
            print(warning, file=sys.stderr)
        _write(result, asked.output)
    finally:
        gc.enable()
    return 0


def _of_cluster(arguments: list[str]) -> list[str] | None:
    """The arguments if they are for `build kustomization NAME`; a directory of that name stays one."""
    from penstock.cli.verbs import hoist

    words = hoist(arguments)
    named = len(words) > 1 and not words[1].startswith("-")
    if words[0] not in _GROUP or (not named and os.path.isdir(words[0])):  # noqa: PTH112
        return None
    return words


class _Asked(NamedTuple):
    """What was asked on the command line."""

    directory: str = "."
    output: str | None = None
    load_restrictor: str = _RESTRICTORS[0]
    reorder: "Reorder" = "unspecified"
    managed_by: bool = False
    no_remote_bases: bool = False


def _simple(arguments: Sequence[str]) -> _Asked | None:
    """The usual calls, understood without argparse, which takes a fifth of a small build; None for all others."""
    asked = _Asked()
    directories = 0
    for argument in arguments:
        if argument in ("--reorder=none", "--reorder=legacy"):
            asked = asked._replace(reorder="none" if argument.endswith("none") else "legacy")
        elif argument.startswith("-") or directories:
            return None
        else:
            asked = asked._replace(directory=argument)
            directories += 1
    return asked


def _parse(arguments: Sequence[str]) -> Any:
    from penstock.cli.fast import Parser

    parser = Parser("build", f"{_SUMMARY} 'penstock build kustomization NAME' is what a controller would apply.")
    parser.add_argument("directory", nargs="?", default=".", metavar="DIR", help="where the kustomization lies (.)")
    parser.add_argument(
        "-o", "--output", metavar="PATH", help="write to a file, or to one file an object in a directory"
    )
    parser.add_argument(
        "--load-restrictor",
        choices=_RESTRICTORS,
        default=_RESTRICTORS[0],
        help="whether files may lie outside the kustomization that names them",
    )
    parser.add_argument(
        "--reorder",
        choices=["legacy", "none", "unspecified"],
        default="unspecified",
        help="sort the objects by kind (legacy, the default), or keep their order (none)",
    )
    parser.add_argument(
        "--enable-managedby-label", dest="managed_by", action="store_true", help="add app.kubernetes.io/managed-by"
    )
    parser.add_argument("--no-remote-bases", action="store_true", help="refuse bases and files from other hosts")
    _accept_plugin_flags(parser)
    try:
        return parser.parse_args(arguments)
    except UsageError as error:
        raise BuildFailed(str(error)) from error


def _accept_plugin_flags(parser: "Parser") -> None:
    """Flags for Helm and plugins, so that scripts keep working; neither is ever run."""
    for name in ("enable-alpha-plugins", "enable-helm", "enable-exec", "helm-debug", "network", "as-current-user"):
        parser.add_argument(f"--{name}", action="store_true", help="accepted, without effect")
    for name in ("helm-command", "helm-api-versions", "helm-kube-version", "network-name", "mount"):
        parser.add_argument(f"--{name}", action="append", metavar="VALUE", help="accepted, without effect")
    parser.add_argument("-e", "--env", action="append", metavar="NAME=VALUE", help="accepted, without effect")


def _write(result: Result, output: str | None) -> None:
    if not output:
        sys.stdout.write(result.as_yaml())
        return
    from pathlib import Path

    target = Path(output)
    try:
        if target.is_dir():
            _write_files(result, target)
        else:
            target.write_text(result.as_yaml(), encoding="utf-8")
    except OSError as error:
        raise BuildFailed(f"cannot write to '{output}': {error.strerror}") from error


def _write_files(result: Result, directory: "Path") -> None:
    """One file an object; with several namespaces, their names come first."""
    namespaces = {_namespace(item) for item in result.objects} - {""}
    for item in result.objects:
        namespace = _namespace(item)
        prefix = f"{namespace.lower()}_" if namespace and len(namespaces) > 1 else ""
        (directory / f"{prefix}{_file_name(item)}").write_text(dump(item), encoding="utf-8")


def _namespace(item: dict[str, Any]) -> str:
    from penstock.schema import builtin

    if builtin().is_cluster_scoped(item.get("apiVersion", ""), item["kind"]):
        return ""
    return item["metadata"].get("namespace") or "default"


def _file_name(item: dict[str, Any]) -> str:
    group, _, version = item.get("apiVersion", "").rpartition("/")
    parts = [part for part in (group, version, item["kind"]) if part]
    return f"{'_'.join(parts)}_{item['metadata']['name']}.yaml".lower()
