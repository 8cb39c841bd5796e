"""Random sequences of requests about one object, made from a seed and nothing else."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import orjson

from tests.embedded.differential.altering import directed, odd_metadata, pointers, spoilt, thinned
from tests.embedded.differential.kinds import KINDS
from tests.embedded.differential.making import LETTERS, some, words

if TYPE_CHECKING:
    from penstock.kube.resources import Object
    from tests.embedded.differential.kinds import Kind

NAMESPACE = "differential"
MANAGERS = ("alpha", "beta", "kubectl")
STEPS = 8
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


@dataclass(frozen=True)
class Step:
    """One request.

    `{namespace}` stands for the namespace of the run; in a body, `{version}` and `{uid}` for those that the object
    had after the last step.
    """

    verb: str
    path: str
    body: Any = None
    content_type: str = "application/json"
    query: dict[str, str] = field(default_factory=dict[str, str])
    manager: str = ""
    subresource: str = ""

    def sent(self, metadata: Object | None = None) -> Any:
        """The body, in the namespace of the run; `metadata` is that of the object as it is now."""
        known = metadata or {}
        text = orjson.dumps(self.body).decode().replace("{namespace}", NAMESPACE)
        text = text.replace("{version}", known.get("resourceVersion", "1")).replace("{uid}", known.get("uid", "gone"))
        return orjson.loads(text)

    def located(self) -> str:
        return self.path.replace("{namespace}", NAMESPACE)

    def asked(self) -> dict[str, str]:
        """The query, in the namespace of the run."""
        return {key: value.replace("{namespace}", NAMESPACE) for key, value in self.query.items()}


@dataclass(frozen=True)
class Sequence:
    """All requests of one seed."""

    seed: int
    kind: Kind
    path: str
    """The object that all of it is about."""
    steps: tuple[Step, ...]

    def located(self) -> str:
        return self.path.replace("{namespace}", NAMESPACE)


def sequence(seed: int) -> Sequence:
    """The sequence of a seed: always the same one."""
    random = Random(seed)
    kind = KINDS[seed % len(KINDS)]
    maker = _Maker(random, kind, f"web-{seed}")
    steps = [maker.create() if random.random() < 0.5 else maker.apply()]
    steps += [maker.any() for _ in range(STEPS - 1)]
    return Sequence(seed, kind, maker.path, tuple(steps))


class _Maker:
    """Makes the steps of one sequence."""

    def __init__(self, random: Random, kind: Kind, name: str) -> None:
        self.random = random
        self.main = self.kind = kind
        self.name = name
        self.last: Object = {}
        """The last object made: where a JSON patch finds most of its pointers."""
        self.path = self.located()

    @property
    def collection(self) -> str:
        kind = self.kind
        root = f"/apis/{kind.api_version}" if "/" in kind.api_version else f"/api/{kind.api_version}"
        return f"{root}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"

    def located(self, subresource: str = "") -> str:
        path = f"{self.collection}/{self.name}"
        return f"{path}/{subresource}" if subresource else path

    def any(self) -> Step:
        sibling = self.main.sibling
        self.kind = sibling if sibling is not None and self.random.random() < 0.25 else self.main
        choices = [
            (self.apply, 6),
            (self.merge_patch, 3),
            (self.json_patch, 3),
            (self.update, 2),
            (self.delete, 1),
            (self.create, 1),
            (self.listed, 1),
        ]
        choices.append((self.strategic_patch, 3))
        if self.kind.status is not None:
            choices.append((self.status, 3))
        if self.kind.scale:
            choices.append((self.scale, 2))
        makers, weights = zip(*choices, strict=True)
        made: Step = self.random.choices(makers, weights)[0]()
        return made

    def object(self) -> Object:
        """A whole object, now and then with something wrong in it."""
        random = self.random
        metadata = {"name": self.name, **some(random, labels=words("x", "y"), annotations=words("1", "<2>"))}
        if random.random() < 0.1:
            metadata["finalizers"] = [f"example.com/{name}" for name in random.sample(LETTERS, 2)]
        if random.random() < 0.1:
            metadata["ownerReferences"] = [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": f"uid-{name}"}
                for name in random.sample(LETTERS, random.randint(1, 2))
            ]
        if random.random() < 0.04:
            odd_metadata(random, metadata)
        made = {**self.identity(metadata), **self.kind.make(random)}
        made = self.last = copy.deepcopy(made)
        return spoilt(random, made) if random.random() < 0.06 else made

    def identity(self, metadata: Object) -> Object:
        return {"apiVersion": self.kind.api_version, "kind": self.kind.kind, "metadata": metadata}

    def step(self, verb: str, path: str, body: Any = None, **more: Any) -> Step:
        manager = self.random.choice(MANAGERS)
        query = {**self.managed_by(manager), **more.pop("query", {})}
        if self.random.random() < 0.2 and body is not None:
            query["fieldValidation"] = self.random.choice(("Strict", "Warn", "Ignore"))
        if self.random.random() < 0.04 and body is not None:
            query["dryRun"] = "All"
        return Step(verb, path, body, query=query, manager=manager, **more)

    def managed_by(self, manager: str) -> dict[str, str]:
        """Mostly a name; now and then one that is no good, or none, which an apply is refused for."""
        chance = self.random.random()
        if chance < 0.97:
            return {"fieldManager": manager}
        return {} if chance < 0.99 else {"fieldManager": self.random.choice(("", "x" * 129, "a\nb", "ä b"))}

    def listed(self) -> Step:
        """A list of this one object, if the selectors let it pass."""
        random = self.random
        fields, labels = [f"metadata.name={self.name}"], list[str]()
        if random.random() < 0.3:
            fields.append(
                random.choice(
                    (
                        "metadata.namespace={namespace}",
                        "metadata.namespace!=other",
                        "metadata.name!=other",
                        "status.phase=Pending",
                        "spec.unknown=x",
                        "type=Opaque",
                        "wrong",
                    )
                )
            )
        if random.random() < 0.8:
            labels += random.sample(("a", "!b", "a=x", "b!=y", "c in (x,y)", "c notin (x)", "a==x", "a in ()", "-"), 2)
        selectors = {"fieldSelector": ",".join(fields), "labelSelector": ",".join(labels)}
        return Step("GET", self.collection, query={key: value for key, value in selectors.items() if value})

    def create(self) -> Step:
        return self.step("POST", self.collection, self.versioned(self.object(), 0.03))

    def update(self) -> Step:
        # Custom objects are replaced only by those who know the version.
        return self.step("PUT", self.located(), self.versioned(self.object(), 0.8 if self.kind.custom else 0.2))

    def versioned(self, obj: Object, chance: float) -> Object:
        """The object as somebody writes it who has read it before, or believes so."""
        random = self.random
        metadata = obj.get("metadata")
        if isinstance(metadata, dict) and random.random() < chance:
            metadata["resourceVersion"] = random.choice(("{version}",) * 8 + ("1", "x"))
            if random.random() < 0.2:
                metadata["uid"] = random.choice(("{uid}",) * 3 + ("other",))
            if random.random() < 0.1:
                metadata["managedFields"] = random.choice(([], [{}], None))
        return obj

    def delete(self) -> Step:
        random = self.random
        chance = random.random()
        if chance < 0.5:
            return Step("DELETE", self.located())
        if chance < 0.6:
            ways = ("propagationPolicy", "Orphan"), ("orphanDependents", "false"), ("gracePeriodSeconds", "5")
            return Step("DELETE", self.located(), query=dict([random.choice((*ways, ("dryRun", "All")))]))
        options = some(
            random,
            propagationPolicy=("Background", "Foreground", "Orphan", "Wrong"),
            gracePeriodSeconds=(0, 5),
            preconditions=(
                {"uid": "{uid}"},
                {"uid": "other"},
                {"resourceVersion": "{version}"},
                {"resourceVersion": "1"},
            ),
            dryRun=["All"],
        )
        return Step("DELETE", self.located(), {"apiVersion": "v1", "kind": "DeleteOptions", **options})

    def apply(self) -> Step:
        body = self.versioned(self.object(), 0.04)
        return self.step("PATCH", self.located(), body, content_type=APPLY_PATCH, query=self.forced())

    def forced(self) -> dict[str, str]:
        chance = self.random.random()
        return {"force": "true"} if chance < 0.5 else {"force": "false"} if chance < 0.52 else {}

    def merge_patch(self) -> Step:
        return self.step("PATCH", self.located(), self.partial(), content_type=MERGE_PATCH)

    def strategic_patch(self) -> Step:
        body = directed(self.random, self.partial())
        return self.step("PATCH", self.located(), body, content_type=STRATEGIC_PATCH)

    def partial(self) -> Object:
        """Some parts of an object, some of them null."""
        made = self.versioned(thinned(self.random, self.object()), 0.04)
        if isinstance(made.get("metadata"), dict):
            made["metadata"].pop("name", None)
        return self.mistaken(made)

    def mistaken(self, made: Object) -> Object:
        """Now and then something that calls itself by another name."""
        random = self.random
        if random.random() < 0.03:
            made[random.choice(("kind", "apiVersion"))] = random.choice(("Other", "v9", "", None, "apps/v1", "Scale"))
        return made

    def json_patch(self) -> Step:
        random = self.random
        operations = [self.operation() for _ in range(random.randint(1, 3))]
        return self.step("PATCH", self.located(), operations, content_type=JSON_PATCH)

    def operation(self) -> Object:
        random = self.random
        last = self.last
        source = last if random.random() < 0.8 else self.object()
        self.last = last
        return self.operation_on(source)

    def operation_on(self, source: Object) -> Object:
        random = self.random
        path, value = random.choice(pointers(source))
        verb = random.choice(("add", "add", "replace", "remove", "test", "copy", "move"))
        if verb == "remove":
            return {"op": verb, "path": path}
        if verb in {"copy", "move"}:
            return {
                "op": verb,
                "from": path,
                "path": random.choice(("/metadata/annotations/a", path, "/metadata/labels/b")),
            }
        return {"op": verb, "path": path, "value": value}

    def status(self) -> Step:
        random = self.random
        assert self.kind.status is not None
        body = self.identity({"name": self.name}) | copy.deepcopy(self.kind.status(random))
        if random.random() < 0.2:
            body["metadata"] = {**body["metadata"], "labels": words("x", "y")(random)}
        if random.random() < 0.06:
            body["status"] = spoilt(random, {"metadata": {}, "status": body["status"]})["status"]
        return self.written_status(body)

    def written_status(self, body: Object) -> Step:
        random = self.random
        path = self.located("status")
        chance = random.random()
        if chance < 0.45:
            return self.step("PATCH", path, body, content_type=APPLY_PATCH, query=self.forced(), subresource="status")
        if chance < 0.6:
            whole = self.versioned({**self.object(), "status": body["status"]}, 0.8 if self.kind.custom else 0.2)
            return self.step("PUT", path, whole, subresource="status")
        if chance < 0.7:
            operations = [self.operation_on({"status": body["status"]}) for _ in range(random.randint(1, 2))]
            return self.step("PATCH", path, operations, content_type=JSON_PATCH, subresource="status")
        content_type = random.choice((MERGE_PATCH, STRATEGIC_PATCH))
        patch = self.mistaken({"status": body["status"]})
        if random.random() < 0.2:
            patch = self.mistaken({**thinned(random, self.object()), **patch})
        return self.step("PATCH", path, patch, content_type=content_type, subresource="status")

    def scale(self) -> Step:
        random = self.random
        path, replicas = self.located("scale"), random.choice((0, 1, 2, 5))
        chance = random.random()
        if chance < 0.4:
            patch = self.mistaken({"spec": {"replicas": replicas}})
            content_type = random.choice((MERGE_PATCH, MERGE_PATCH, STRATEGIC_PATCH))
            return self.step("PATCH", path, patch, content_type=content_type, subresource="scale")
        if chance < 0.5:
            operations = [self.operation_on({"spec": {"replicas": replicas}})]
            return self.step("PATCH", path, operations, content_type=JSON_PATCH, subresource="scale")
        namespace = {"namespace": "{namespace}"} if self.kind.namespaced else {}
        body = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": self.name, **namespace},
            "spec": {"replicas": replicas},
        }
        if chance < 0.7:
            return self.step("PATCH", path, body, content_type=APPLY_PATCH, query=self.forced(), subresource="scale")
        return self.step("PUT", path, self.versioned(body, 0.2), subresource="scale")
