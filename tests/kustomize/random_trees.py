"""Random kustomization trees: valid most of the time, odd in the details.

A tree is a mapping of file names to texts, with the directory `top` to be built. The same seed gives the same tree.
"""

import json

from tests.kustomize.dice import Dice
from tests.kustomize.random_objects import KINDS
from tests.kustomize.random_patches import patches

Files = dict[str, str]
_NAMES = ("web", "api", "db", "cache", "worker", "front-end")


class Maker(Dice):
    """Makes one tree."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.files: Files = {}
        self.objects: list[tuple[str, str]] = []  # kinds and names

    def tree(self) -> Files:
        bases = [self.base(f"base{number}") for number in range(self.random.randint(1, 3))]
        middle = [self.overlay(f"mid{number}", [base]) for number, base in enumerate(bases) if self.chance(0.4)]
        rest = bases[len(middle) :] if middle else bases
        self.overlay("top", [*middle, *rest], top=True)
        return self.files

    # Objects

    def base(self, folder: str) -> str:
        names: list[str] = []
        chosen = self.random.sample(_NAMES, self.random.randint(1, 3))
        for name in chosen:
            for kind in self.random.sample(list(KINDS), self.random.randint(1, 4)):
                if kind == "Namespace" and any(known == kind for known, _ in self.objects):
                    continue
                full = f"{name}-{folder}" if self.chance(0.95) else name
                self.objects.append((kind, full))
                self.files[f"{folder}/{name}-{kind.lower()}.yaml"] = KINDS[kind](self, full)
                names.append(f"{name}-{kind.lower()}.yaml")
        fields = [f"resources: {json.dumps(names)}"]
        self.some_transformers(fields, folder, top=False)
        self.write(folder, fields)
        return folder

    def overlay(self, folder: str, bases: list[str], *, top: bool = False) -> str:
        fields = ["resources:", *(f"- ../{base}" for base in bases)]
        self.some_transformers(fields, folder, top=top)
        if self.chance(0.4):
            fields += ["components:", f"- ../{self.component(folder)}"]
        if self.chance(0.45):
            patches(self, fields, folder, self.files)
        if self.chance(0.45):
            self.generators(fields, folder, bases)
        if self.chance(0.45):
            self.replacements(fields, bases)
        if self.chance(0.45):
            self.images(fields)
        if self.chance(0.45):
            self.replicas(fields, bases)
        if top and self.chance(0.2):
            fields.append("buildMetadata: [originAnnotations, transformerAnnotations]")
        if top and self.chance(0.3):
            fields.append(f"sortOptions: {{order: {self.pick('fifo', 'legacy')}}}")
        self.write(folder, fields)
        return folder

    def component(self, parent: str) -> str:
        folder = f"component-{parent}"
        fields = ["apiVersion: kustomize.config.k8s.io/v1alpha1", "kind: Component"]
        self.some_transformers(fields, folder, top=False)
        patches(self, fields, folder, self.files)
        self.write(folder, fields)
        return folder

    def write(self, folder: str, fields: list[str]) -> None:
        if len(fields) == 2 and fields[0].startswith("apiVersion"):
            fields.append("namePrefix: c-")
        self.files[f"{folder}/kustomization.yaml"] = "\n".join(fields) + "\n"

    def known(self, bases: list[str], *kinds: str) -> str:
        """The name of an object of such a kind below the bases, now and then one that is not there."""
        ends = tuple(base.replace("mid", "base") for base in bases)
        names = [name for kind, name in self.objects if kind in kinds and name.endswith(ends)]
        return self.random.choice(names) if names and self.chance(0.98) else ""

    # Fields of a kustomization

    def some_transformers(self, fields: list[str], folder: str, *, top: bool) -> None:
        if self.chance(0.3):
            fields.append(f"namespace: {self.pick('shop', 'default', 'other')}")
        if self.chance(0.3):
            fields.append(f"namePrefix: {self.pick('p-', 'pre-', folder[:1] + '-')}")
        if self.chance(0.2):
            fields.append(f"nameSuffix: {self.pick('-s', '-v2')}")
        if self.chance(0.3):
            label = f"- pairs: {{team: {self.pick('blue', 'red')}, app: {self.pick('x', 'y1')}}}"
            fields += ["labels:", label]
            if self.chance(0.5):
                fields.append(f"  {self.pick('includeSelectors', 'includeTemplates')}: true")
        if self.chance(0.2):
            fields.append(f"commonAnnotations: {{note: {json.dumps(self.pick('a', '1', 'true', 'long ' * 20))}}}")
        if top and self.chance(0.2):
            fields.append("commonLabels: {stage: prod}")

    def generators(self, fields: list[str], folder: str, bases: list[str]) -> None:
        kind = self.pick("configMapGenerator", "secretGenerator")
        self.files[f"{folder}/app.properties"] = "a=1\nb = two\n# comment\nempty\n"
        self.files[f"{folder}/file.txt"] = self.pick("text\n", "no newline", "a\n\n", "é\n", "x" * 120)
        existing = self.known(bases, "ConfigMap") if kind == "configMapGenerator" and self.chance(0.3) else ""
        name = existing or f"generated{self.pick('', folder)}"
        fields += [f"{kind}:", f"- name: {name}"]
        if existing or self.chance(0.05):
            fields.append(f"  behavior: {self.pick('merge', 'replace')}")
        fields.append(
            "  literals: " + json.dumps(self.random.sample(["k=v", 'q="x"', "e=", "m=a=b", "long=" + "z" * 90], 2))
        )
        if self.chance(0.4):
            fields.append("  files: [file.txt, other.key=file.txt]")
        if self.chance(0.3):
            fields.append("  envs: [app.properties]")
        if self.chance(0.3):
            fields.append("  options: {disableNameSuffixHash: true, labels: {gen: 'yes'}, annotations: {num: '1'}}")
        if self.chance(0.2):
            fields.append("generatorOptions: {immutable: true, labels: {all: gen}}")

    def replacements(self, fields: list[str], bases: list[str]) -> None:
        name = self.known(bases, "ConfigMap")
        if not name:
            return
        source = self.pick("metadata.name", "data.mode", "data.port")
        image = "spec.template.spec.containers."
        path, options = self.pick(
            ("metadata.annotations.from", "{create: true}"),
            ("metadata.annotations.[a.b/c]", "{create: true}"),
            (image + "[name=main].image", ""),
            (image + "[name=main].image", "{delimiter: ':', index: 1}"),
            (image + "0.image", "{delimiter: '/', index: 0}"),
            (image + "*.image", "{delimiter: '@', index: 5}"),
            (image + "[name=main].env.[name=A].value", "{create: true}"),
            (image + "[name=late].image", "{create: true}"),
            ("spec.template.metadata.labels.app", ""),
            ("metadata.name", ""),
        )
        fields += [
            "replacements:",
            f"- source: {{kind: ConfigMap, name: {name}, fieldPath: {source}}}",
            "  targets:",
            f"  - select: {{kind: {self.pick('Deployment', 'StatefulSet', 'Deploy.*')}}}",
            f"    fieldPaths: [{json.dumps(path)}]",
            *([f"    options: {options}"] if options else []),
        ]

    def images(self, fields: list[str]) -> None:
        fields += ["images:", f"- name: {self.pick('nginx', 'repo/app', 'app', 'n.*x')}"]
        fields.append(f"  {self.pick('newTag: v9', 'newName: other/name', 'digest: sha256:abc', 'tagSuffix: -x')}")

    def replicas(self, fields: list[str], bases: list[str]) -> None:
        name = self.known(bases, "Deployment", "StatefulSet")
        if name:
            fields += ["replicas:", f"- {{name: {name}, count: 4}}"]


def tree(seed: int) -> Files:
    """The tree of a seed."""
    return Maker(seed).tree()
