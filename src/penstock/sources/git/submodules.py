"""Repositories inside a repository, as `.gitmodules` names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.sources.git.errors import GitFailed
from penstock.sources.git.program import ProgramFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.sources.git.program import Job, Setting

DEEPEST = 10
MOST = 100
_FILE = ".gitmodules"


def urls(job: Job, setting: Setting, commit: str) -> Mapping[str, str]:
    """The URL for each path that `.gitmodules` of a commit names; empty without such a file."""
    try:
        printed = job.output(["config", "--no-includes", "--blob", f"{commit}:{_FILE}", "-z", "--list"], setting)
    except ProgramFailed as error:
        if "unable to resolve config blob" in error.words:
            return {}
        raise GitFailed(f"'{_FILE}' of commit {commit} cannot be read") from None
    sections: dict[str, dict[str, str]] = {}
    for record in printed.decode("utf-8", "surrogateescape").split("\0"):
        key, _, value = record.partition("\n")
        kind, _, rest = key.partition(".")
        name, _, variable = rest.rpartition(".")
        if kind == "submodule" and name:
            sections.setdefault(name, {})[variable] = value
    return {one["path"]: one["url"] for one in sections.values() if "path" in one and "url" in one}
