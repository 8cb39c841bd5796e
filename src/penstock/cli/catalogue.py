"""The kinds that the verbs of every day know: one row a kind, with its words, its columns and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from penstock.api.kinds import KINDS
from penstock.cli import state
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.api.kinds import Kind
    from penstock.kube import Object, Resource

    Value = Callable[[Object], str]

SOURCES = ("sources", "source")
ALL = "all"


@dataclass(frozen=True, slots=True)
class Entry:
    """One kind on the command line."""

    kind: Kind
    words: tuple[str, ...]
    """What people write for it, the plainest first; those of a source stand behind the word `source`."""
    human: str
    """What it is called in sentences."""
    columns: tuple[tuple[str, Value], ...]
    """Titles and values behind the name, as Flux has them."""
    revision: Value
    done: str = "fetched revision"
    """What is said of it, with its revision, when it has been reconciled."""
    source: bool = False
    is_static: Callable[[Object], bool] = lambda _obj: False
    """Whether nobody reconciles the object, so that there is nothing to wait for."""
    always_ready: bool = False
    """Whether objects of the kind are ready by being there."""
    refers: tuple[tuple[str, ...], ...] = ()
    """The paths of its reference to a source; the first one that is there counts."""

    @property
    def resource(self) -> Resource:
        from penstock.kube import Resource

        return Resource(self.kind.group, self.kind.version, self.kind.plural, self.kind.kind)

    @property
    def spoken(self) -> str:
        """The words to reach it with."""
        return f"source {self.words[0]}" if self.source else self.kind.kind.lower()

    def origin(self, obj: Object) -> Origin | None:
        """The source that the object is made from."""
        found = next((one for path in self.refers if (one := state.at(obj, *path))), None)
        if found is None:
            return None
        namespace = state.text(found, "namespace") or state.namespace(obj)
        return Origin(state.text(found, "kind"), namespace, state.text(found, "name"))


class Origin(NamedTuple):
    """A reference to a source."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


class Chosen(NamedTuple):
    """What the words of a command line mean."""

    entries: tuple[Entry, ...]
    names: tuple[str, ...]
    several: bool
    """Whether `all` was said: then a kind that is not there is no mistake."""

    @property
    def entry(self) -> Entry:
        return self.entries[0]


def _suspended(obj: Object) -> str:
    return str(state.is_suspended(obj))


def _artifact(obj: Object) -> str:
    return state.text(obj, "status", "artifact", "revision")


def _release(obj: Object) -> str:
    history = state.at(obj, "status", "history")
    latest = history[0] if isinstance(history, list) and history else {}
    return state.text(latest, "chartVersion") or state.text(obj, "status", "lastAttemptedRevision")


def _reference(obj: Object) -> str:
    """The source of an ExternalArtifact: written as it stands there, an empty namespace too."""
    found = state.at(obj, "spec", "sourceRef")
    return "/".join(state.text(found, part) for part in ("kind", "namespace", "name")) if found else ""


_SUSPENDED = ("SUSPENDED", _suspended)
_READY = (
    ("READY", lambda obj: state.ready(obj).status),
    ("MESSAGE", lambda obj: state.shortened(state.ready(obj).message)),
)


def _revision(value: Value) -> tuple[str, Value]:
    return "REVISION", lambda obj: state.shortened(value(obj))


def _always(words: str) -> tuple[tuple[str, Value], ...]:
    """Columns of a kind that is ready by being there."""
    return ("READY", lambda _obj: "True"), ("MESSAGE", lambda _obj: words)


def _source(kind: str, word: str) -> Entry:
    return Entry(
        KINDS[kind],
        (word, *_aliases(kind)),
        f"source {word}",
        (_revision(_artifact), _SUSPENDED, *_READY),
        _artifact,
        source=True,
    )


def _aliases(kind: str) -> tuple[str, ...]:
    known = KINDS[kind]
    return known.kind.lower(), known.plural, *known.short_names


def _applier(kind: str, word: str, revision: Value, *refers: tuple[str, ...]) -> Entry:
    return Entry(
        KINDS[kind],
        (word, *_aliases(kind)),
        kind.lower(),
        (_revision(revision), _SUSPENDED, *_READY),
        revision,
        done="applied revision",
        refers=refers,
    )


def _nothing(_obj: Object) -> str:
    return ""


KUSTOMIZATION = _applier(
    "Kustomization",
    "kustomizations",
    lambda obj: state.text(obj, "status", "lastAppliedRevision"),
    ("spec", "sourceRef"),
)

ENTRIES: tuple[Entry, ...] = (
    _source("OCIRepository", "oci"),
    _source("Bucket", "bucket"),
    _source("GitRepository", "git"),
    Entry(
        KINDS["HelmRepository"],
        ("helm", *_aliases("HelmRepository")),
        "source helm",
        (_revision(_artifact), _SUSPENDED, *_READY),
        _artifact,
        source=True,
        is_static=lambda obj: state.text(obj, "spec", "type") == "oci",
    ),
    Entry(
        KINDS["HelmChart"],
        ("chart", *_aliases("HelmChart")),
        "source chart",
        (("REVISION", _artifact), _SUSPENDED, *_READY),
        _artifact,
        source=True,
        refers=(("spec", "sourceRef"),),
    ),
    Entry(
        KINDS["ExternalArtifact"],
        ("external", *_aliases("ExternalArtifact")),
        "source external-artifact",
        (_revision(_artifact), ("SOURCE", _reference), *_READY),
        _artifact,
        source=True,
        is_static=lambda _obj: True,
    ),
    _applier("HelmRelease", "helmreleases", _release, ("spec", "chartRef"), ("spec", "chart", "spec", "sourceRef")),
    KUSTOMIZATION,
    Entry(KINDS["Receiver"], ("receivers", "receiver"), "receiver", (_SUSPENDED, *_READY), _nothing, done=""),
    Entry(
        KINDS["Provider"],
        ("alert-providers", "alert-provider", *_aliases("Provider")),
        "alert provider",
        _always("Provider is Ready"),
        _nothing,
        is_static=lambda _obj: True,
        always_ready=True,
    ),
    Entry(
        KINDS["Alert"],
        ("alerts", "alert"),
        "alert",
        (_SUSPENDED, *_always("Alert is Ready")),
        _nothing,
        is_static=lambda _obj: True,
        always_ready=True,
    ),
)
"""In the order in which `get all` shows them."""


def by_kind(kind: str) -> Entry | None:
    """The row of a kind, in whatever case its name is written."""
    return next((one for one in ENTRIES if one.kind.kind.lower() == kind.lower()), None)


def by_word(word: str) -> Entry | None:
    """The row of a kind by its name, its plural or a short name such as `ks`."""
    return next((one for one in ENTRIES if word.lower() in _aliases(one.kind.kind)), None)


def choose(words: Sequence[str], verb: str) -> Chosen:
    """What `kustomization apps`, `source git apps`, `sources all` or `ks/apps` mean."""
    if not words:
        raise UsageError(f"name a kind, such as kustomization or source git; see 'penstock {verb} --help'")
    first, *rest = words
    first, slash, name = first.partition("/")
    if slash:
        rest = [name, *rest]
    if first.lower() in SOURCES:
        return _of_sources(rest, verb)
    if first.lower() == ALL:
        return Chosen(ENTRIES, tuple(rest), several=True)
    return Chosen((_find(first, ENTRIES, verb),), tuple(rest), several=False)


def only(words: Sequence[str], verb: str) -> Chosen:
    """The same for verbs that take one kind."""
    chosen = choose(words, verb)
    if chosen.several:
        raise UsageError(f"penstock {verb} takes one kind, not all of them")
    return chosen


def one_name(chosen: Chosen, verb: str) -> str:
    """The one name that must follow the kind."""
    if len(chosen.names) == 1 and chosen.names[0]:
        return chosen.names[0]
    problem = f"{chosen.entry.human} name is required" if not chosen.names else "one name is enough"
    raise UsageError(f"{problem}; see 'penstock {verb} --help'")


def _of_sources(rest: Sequence[str], verb: str) -> Chosen:
    sources = tuple(entry for entry in ENTRIES if entry.source)
    if not rest:
        known = ", ".join(entry.words[0] for entry in sources)
        raise UsageError(f"say which kind of source: {known} or all; see 'penstock {verb} --help'")
    word, slash, name = rest[0].partition("/")
    names = (name, *rest[1:]) if slash else tuple(rest[1:])
    if word.lower() == ALL:
        return Chosen(sources, names, several=True)
    return Chosen((_find(word, sources, verb),), names, several=False)


def _find(word: str, among: Sequence[Entry], verb: str) -> Entry:
    for entry in among:
        if word.lower() in entry.words:
            return entry
    from difflib import get_close_matches

    known = [known for entry in among for known in entry.words]
    close = get_close_matches(word.lower(), known, n=1, cutoff=0.75)  # below that, pods would be providers
    advice = f"did you mean {close[0]!r}?" if close else f"see 'penstock {verb} --help'"
    raise UsageError(f"{word!r} is not a kind that penstock {verb} knows; {advice}")
