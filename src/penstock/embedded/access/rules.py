"""One RBAC rule: what it allows, and what of another rule it covers. Rules are the raw dicts of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from penstock.embedded.kinds.problems import go_quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.kube.resources import Object

ALL = "*"


class Question(NamedTuple):
    """Whether somebody may do this. With a path it is about a URL, else about a resource."""

    verb: str
    group: str = ""
    resource: str = ""
    """With its subresource, as rules have it: `pods/log`."""
    name: str = ""
    namespace: str = ""
    path: str = ""


def allows(rule: Object, asked: Question) -> bool:
    """True when this rule alone answers yes."""
    verbs = rule.get("verbs") or ()
    if asked.verb not in verbs and ALL not in verbs:
        return False
    if asked.path:
        return any(_path_fits(path, asked.path) for path in rule.get("nonResourceURLs") or ())
    groups = rule.get("apiGroups") or ()
    if asked.group not in groups and ALL not in groups:
        return False
    names = rule.get("resourceNames")
    return (not names or asked.name in names) and _resource_fits(rule.get("resources") or (), asked.resource)


def missing(held: Sequence[Object], wanted: Iterable[Object]) -> list[Object]:
    """What of the wanted rules no held rule covers, broken down to one verb and one resource each."""
    return [atom for rule in wanted for atom in _atoms(rule) if not any(_covers(owned, atom) for owned in held)]


def describe(rules: Iterable[Object]) -> list[str]:
    """The rules as messages name them: verbs of the same resource together, in alphabetical order."""
    compact: dict[tuple[str, ...], Object] = {}
    for rule in rules:
        if "nonResourceURLs" in rule:
            compact[rule["nonResourceURLs"][0], rule["verbs"][0], "url"] = rule
            continue
        key = (rule["apiGroups"][0], rule["resources"][0], *rule.get("resourceNames", ()), "resource")
        known = compact.setdefault(key, {**rule, "verbs": []})
        known["verbs"] = [*known["verbs"], *rule["verbs"]]
    return sorted({_described(rule) for rule in compact.values()})


_SHOWN = (
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("NonResourceURLs", "nonResourceURLs"),
    ("ResourceNames", "resourceNames"),
    ("Verbs", "verbs"),
)


def _described(rule: Object) -> str:
    parts = [f"{title}:{go_list(rule[key])}" for title, key in _SHOWN if rule.get(key)]
    return "{" + ", ".join(parts) + "}"


def go_list(values: Iterable[str]) -> str:
    """Texts as Go's %q prints a slice of them."""
    return "[" + " ".join(go_quote(value) for value in values) + "]"


def _resource_fits(resources: Sequence[str], asked: str) -> bool:
    if asked in resources or ALL in resources:
        return True
    _, slash, subresource = asked.partition("/")
    return bool(slash) and f"*/{subresource}" in resources


def _path_fits(allowed: str, path: str) -> bool:
    return allowed in (ALL, path) or (allowed.endswith("*") and path.startswith(allowed.rstrip("*")))


def _atoms(rule: Object) -> list[Object]:
    verbs, names = rule.get("verbs") or (), rule.get("resourceNames") or ()
    atoms: list[Object] = []
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in verbs:
                atom: Object = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                atoms += [{**atom, "resourceNames": [name]} for name in names] if names else [atom]
    atoms += [
        {"nonResourceURLs": [url], "verbs": [verb]} for url in rule.get("nonResourceURLs") or () for verb in verbs
    ]
    return atoms


def _covers(owned: Object, atom: Object) -> bool:
    verbs = owned.get("verbs") or ()
    if ALL not in verbs and atom["verbs"][0] not in verbs:
        return False
    if "nonResourceURLs" in atom:
        # A rule is for resources or for URLs; one that names resources restricts names only there.
        url: str = atom["nonResourceURLs"][0]
        return not owned.get("resourceNames") and any(
            _url_covers(path, url) for path in owned.get("nonResourceURLs") or ()
        )
    groups = owned.get("apiGroups") or ()
    if ALL not in groups and atom["apiGroups"][0] not in groups:
        return False
    names = owned.get("resourceNames")
    if names and ("resourceNames" not in atom or atom["resourceNames"][0] not in names):
        return False
    return _resource_fits(owned.get("resources") or (), atom["resources"][0])


def _url_covers(owned: str, url: str) -> bool:
    return owned == url or (owned.endswith("*") and url.startswith(owned.rstrip("*")))
