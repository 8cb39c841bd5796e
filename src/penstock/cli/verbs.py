"""The table of verbs: what there is, what it is for, and where it lives. Nothing is imported to read it."""

from __future__ import annotations

from typing import NamedTuple

from penstock.errors import UsageError


class Verb(NamedTuple):
    """One verb of the command, or a group of them."""

    module: str
    attribute: str
    """A Typer app, a command function, or `main` for a fast verb that takes its raw arguments."""
    summary: str
    more: str = ""
    """For a fast verb: the module whose Typer app has verbs of its own, such as `penstock build kustomization`."""

    @property
    def fast(self) -> bool:
        return self.attribute == "main"


VERBS: dict[str, Verb] = {
    "up": Verb("penstock.cli.up", "up", "Keep a cluster in the state of a Git repository: the main job."),
    "controller": Verb("penstock.cli.controller", "controller", "Run the controllers against a cluster."),
    "install": Verb("penstock.cli.install", "install", "Run the controllers inside of a cluster, or print how."),
    "uninstall": Verb("penstock.cli.install", "uninstall", "Take the controllers out of a cluster."),
    "get": Verb("penstock.cli.get", "get", "Show sources and Kustomizations, and how they are."),
    "tree": Verb("penstock.cli.tree", "tree", "Show what a Kustomization has applied, and what that has applied."),
    "events": Verb("penstock.cli.events", "events", "Show what the controllers told about objects."),
    "logs": Verb("penstock.cli.logs", "logs", "Show what the controllers of a cluster log."),
    "reconcile": Verb("penstock.cli.reconcile", "reconcile", "Have an object looked at now, and wait for the outcome."),
    "suspend": Verb("penstock.cli.suspend", "suspend", "Leave objects as they are, for a while or until resumed."),
    "resume": Verb("penstock.cli.suspend", "resume", "Take suspended objects up again."),
    "pin": Verb("penstock.cli.pin", "pin", "Keep a Kustomization on one revision of its source."),
    "unpin": Verb("penstock.cli.pin", "unpin", "Let a pinned Kustomization follow its source again."),
    "delete": Verb("penstock.cli.delete", "delete", "Delete a source or a Kustomization."),
    "export": Verb("penstock.cli.export", "export", "Print objects as manifests that can be applied again."),
    "trace": Verb("penstock.cli.trace", "trace", "Show where an object of the cluster comes from."),
    "stats": Verb("penstock.cli.stats", "stats", "Count objects, and say how much is stored for them."),
    "check": Verb("penstock.cli.check", "check", "Check whether a cluster has what the controllers need."),
    "build": Verb(
        "penstock.cli.build",
        "main",
        "Print the objects of a kustomization, as `kustomize build` does.",
        "penstock.cli.build_kustomization",
    ),
    "secrets": Verb("penstock.cli.secrets", "app", "Decrypt, encrypt, edit, rotate and check SOPS files."),
    "push": Verb("penstock.cli.artifacts", "push", "Upload files to a registry as an artifact."),
    "pull": Verb("penstock.cli.artifacts", "pull", "Download an artifact from a registry."),
    "tag": Verb("penstock.cli.artifacts", "tag", "Give an artifact of a registry more tags."),
    "list": Verb("penstock.cli.artifacts", "listing", "List the artifacts of a repository in a registry."),
    "diff": Verb("penstock.cli.diff", "app", "Tell what applying would change, or compare files with an artifact."),
    "cluster": Verb("penstock.cli.cluster", "app", "Run a Kubernetes API server here, for rehearsal and tests."),
    "kinds": Verb("penstock.cli.kinds", "kinds", "List the custom resources, and which of them are handled yet."),
    "crds": Verb("penstock.cli.kinds", "crds", "Print the CustomResourceDefinitions, to be applied to a cluster."),
    "completion": Verb("penstock.cli.completion", "completion", "Print a script that completes commands in a shell."),
    "version": Verb("penstock.cli.version", "main", "Print the version of penstock and, on request, of the cluster."),
}

FAST = frozenset(name for name, verb in VERBS.items() if verb.fast)

_GLOBAL_WITH_VALUE = frozenset(("-n", "--namespace", "--kubeconfig", "--context", "--timeout", "-o", "--output"))


def hoist(arguments: list[str]) -> list[str]:
    """Let options that stand before the verb count as if they stood behind it, as in `penstock -n apps get ...`."""
    leading: list[str] = []
    rest = list(arguments)
    while rest and rest[0].partition("=")[0] in _GLOBAL_WITH_VALUE:
        leading.append(rest.pop(0))
        if "=" not in leading[-1] and rest:
            leading.append(rest.pop(0))
    return [*rest[:1], *leading, *rest[1:]]


def find(name: str) -> Verb:
    """The verb of that name; a typing mistake gets a suggestion."""
    if name in VERBS:
        return VERBS[name]
    from difflib import get_close_matches

    close = get_close_matches(name, VERBS, n=1)
    suggestion = f"; did you mean {close[0]!r}?" if close else "; see 'penstock --help'"
    raise UsageError(f"there is no verb {name!r}{suggestion}")


def overview() -> str:
    """What `penstock --help` shows."""
    width = max(map(len, VERBS))
    lines = "\n".join(f"  {name:<{width}}   {verb.summary}" for name, verb in VERBS.items())
    return f"""\
penstock: a GitOps engine that speaks Flux's API

Usage: penstock VERB [options]

{lines}

'penstock VERB --help' tells more about one of them."""
