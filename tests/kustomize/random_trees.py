"""Random kustomization trees: valid most of the time, odd in the details.

A tree is a mapping of file names to texts, with the directory `top` to be built. The same seed gives the same tree.
"""

import json
from random import Random
from typing import Any, TypeVar

Files = dict[str, str]
T = TypeVar("T")
_NAMES = ("web", "api", "db", "cache", "worker", "front-end")
_SCALARS: tuple[str, ...] = (
    "yes", "on", '"yes"', "'on'", "true", "True", '"true"', "null", "~", "", "0", "7", "-3", "0777", "0x1F", "0o17",
    "1_000", "1.0", "1.10", "1e3", "3.14", ".5", "2001-01-01", "2001-01-01T10:00:00Z", "12:30:45", "100m", "64Mi",
    "10.0.0.1",
    "12345678901234567890", "plain text", "'it''s'", '"a\\tb"', '"line\\nline\\n"', '"line\\n\\n"', "'# not a comment'",
    "x#y", "a:b", "=", '"<<"', "'- x'", "'{a}'", '" lead"', '"trail "', "'é ü'", '"\\U0001F600"', "'!x'", '"*x"',
    '"&x"', "'@x'",     "'%x'", '"?"', "'? x'", "'-'", "--", "'---'", "...x", "a,b", "'[x]'", '"\\0"', "word " * 20,
    '"' + "quoted: word " * 12 + '"', "https://example.com/" + "a" * 90, '" \\n x"', '"x \\n y"', '"\\n"',
    '"\\\\"', "'\"'", "y", "N",
)  # fmt: skip


class Maker:
    """Makes one tree."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.files: Files = {}
        self.count = 0
        self.objects: list[tuple[str, str]] = []  # kinds and names

    def tree(self) -> Files:
        bases = [self.base(f"base{number}") for number in range(self.random.randint(1, 3))]
        middle = [self.overlay(f"mid{number}", [base]) for number, base in enumerate(bases) if self.chance(0.4)]
        rest = bases[len(middle) :] if middle else bases
        self.overlay("top", [*middle, *rest], top=True)
        return self.files

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, *choices: T) -> T:
        return self.random.choice(choices)

    def scalar(self) -> str:
        return self.random.choice(_SCALARS)

    # Objects

    def base(self, folder: str) -> str:
        names: list[str] = []
        chosen = self.random.sample(_NAMES, self.random.randint(1, 3))
        for name in chosen:
            for kind in self.random.sample(list(_KINDS), self.random.randint(1, 4)):
                if kind == "Namespace" and any(known == kind for known, _ in self.objects):
                    continue
                full = f"{name}-{folder}" if self.chance(0.95) else name
                self.objects.append((kind, full))
                self.files[f"{folder}/{name}-{kind.lower()}.yaml"] = _KINDS[kind](self, full)
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
            self.patches(fields, folder)
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
        self.patches(fields, folder)
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

    def patches(self, fields: list[str], folder: str) -> None:
        fields.append("patches:")
        for _ in range(self.random.randint(1, 3)):
            kind = self.pick("Deployment", "Service", "ConfigMap", "StatefulSet", "CronJob")
            more = self.pick("", ", name: .*web.*", ", version: v1")
            target = f"  target: {{kind: {self.pick(kind, kind, '.*Set|Deployment')}{more}}}"
            if self.chance(0.35):
                fields += ["- patch: |-", *self.json_patch(kind), target]
            elif self.chance(0.5):
                fields += ["- patch: |-", *_indented(self.strategic(kind), 4), target]
            else:
                self.count += 1
                name = f"patch{self.count}.yaml"
                self.files[f"{folder}/{name}"] = self.strategic(kind)
                fields += [f"- path: {name}", target]

    def json_patch(self, kind: str) -> list[str]:
        operations = [
            f"    - {{op: add, path: /metadata/annotations/b~1c, value: {self.pick('x', '1', 'true')}}}",
            "    - {op: add, path: /metadata/labels, value: {replaced: yes}}",
            f"    - {{op: replace, path: /metadata/name, value: renamed-{self.random.randint(1, 99)}}}",
            "    - {op: add, path: /data, value: {k: v, n: '1'}}"
            if kind == "ConfigMap"
            else "    - {op: add, path: /spec/extra, value: [1, two, 3.5, null]}",
        ]
        return self.random.sample(operations, self.random.randint(1, 2))

    def strategic(self, kind: str) -> str:
        api_version = {"Service": "v1", "ConfigMap": "v1", "CronJob": "batch/v1"}.get(kind, "apps/v1")
        head = f"apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: any\n"
        if self.chance(0.3):
            head += f"  labels: {{added: {self.pick('x', 'null', '1')}}}\n"
        if kind == "ConfigMap":
            return head + f"data:\n  mode: {self.scalar() or 'x'}\n  {self.pick('old', 'text')}: null\n"
        if kind == "Service":
            return (
                head
                + "spec:\n  ports:\n"
                + self.ports(service=True)
                + self.pick("", "  type: NodePort\n", "  selector: null\n")
            )
        lead = "spec:\n  jobTemplate:\n    spec:\n      template:\n" if kind == "CronJob" else "spec:\n  template:\n"
        pad = " " * (8 if kind == "CronJob" else 4)
        return head + lead + "".join(f"{pad}{line}\n" for line in self.pod_patch())

    def pod_patch(self) -> list[str]:
        lines = ["spec:"]
        if self.chance(0.7):
            lines += ["  containers:"]
            for name in self.random.sample(("main", "side", "new"), self.random.randint(1, 3)):
                lines.append(f"  - name: {name}")
                choice = self.random.random()
                if choice < 0.15:
                    lines.append(f"    $patch: {self.pick('delete', 'replace', 'merge')}")
                elif choice < 0.5:
                    lines += ["    env:", *self.env_patch()]
                elif choice < 0.7:
                    lines += ["    ports:", *_indented(self.ports(service=False), 4)]
                else:
                    lines += [
                        f"    image: {self.pick('nginx:2', 'null', 'repo/app')}",
                        "    resources: {limits: {cpu: 2}, requests: null}",
                    ]
        if self.chance(0.3):
            lines += [
                "  volumes:",
                f"  - name: {self.pick('data', 'conf')}",
                f"    {self.pick('emptyDir: {}', '$patch: delete', 'configMap: {name: web}')}",
            ]
        if self.chance(0.3):
            lines += [f"  {self.pick('serviceAccountName: web', 'nodeSelector: {a: b}', 'nodeSelector: null')}"]
        return lines if len(lines) > 1 else ["metadata: {labels: {patched: 'true'}}"]

    def env_patch(self) -> list[str]:
        choices = (
            "{name: A, value: patched}", "{name: NEW, value: '1'}", "{name: B, $patch: delete}", "{$patch: replace}",
            "{name: C, value: null, valueFrom: {secretKeyRef: {name: web, key: x}}}",
        )  # fmt: skip
        return [f"    - {one}" for one in self.random.sample(choices, self.random.randint(1, 3))]

    def ports(self, *, service: bool) -> str:
        field = "port" if service else "containerPort"
        lines = ""
        for _ in range(self.random.randint(1, 3)):
            parts = [f"{field}: {self.pick(80, 81, 443, 8080)}"]
            if self.chance(0.5):
                parts.append(f"name: {self.pick('http', 'alt', 'x')}")
            if self.chance(0.4):
                parts.append(f"protocol: {self.pick('TCP', 'UDP')}")
            lines += "  - {" + ", ".join(parts) + "}\n"
        return lines

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


def _indented(text: str, by: int) -> list[str]:
    return [" " * by + line if line else "" for line in text.splitlines()]


def _workload(maker: Maker, name: str, kind: str) -> str:
    pod = _pod(maker, name)
    lines = [
        f"apiVersion: {'batch/v1' if kind in ('Job', 'CronJob') else 'apps/v1'}",
        f"kind: {kind}",
        *_metadata(maker, name),
        "spec:",
    ]
    if kind == "CronJob":
        lines += ["  jobTemplate:", "    spec:", "      template:", *(" " * 8 + line for line in pod)]
    else:
        lines += [
            f"  replicas: {maker.pick(1, 2)}",
            f"  selector: {{matchLabels: {{app: {name}}}}}",
            "  template:",
            *("    " + line for line in pod),
        ]
    if maker.chance(0.2):
        lines += ["  blank:", "  nothing: null"]
    return "\n".join(lines) + "\n"


def _metadata(maker: Maker, name: str) -> list[str]:
    lines = ["metadata:", f"  name: {name}"]
    if maker.chance(0.5):
        lines.append(f"  labels: {{app: {name}, tier: {maker.pick('a', 'b')}}}")
    if maker.chance(0.2):
        lines.append(f"  namespace: {maker.pick('shop', 'default', 'own')}")
    if maker.chance(0.3):
        lines += ["  annotations:", f"    note: {maker.scalar()}"]
    return lines


def _pod(maker: Maker, name: str) -> list[str]:
    lines = ["metadata:", f"  labels: {{app: {name}}}", "spec:", "  containers:"]
    for container in ("main", "side")[: maker.random.randint(1, 2)]:
        lines += [
            f"  - name: {container}",
            f"    image: {maker.pick('nginx', 'nginx:1.25', 'repo/app:v1@sha256:00', 'host:5000/app:1')}",
        ]
        if maker.chance(0.6):
            lines += [
                "    env:",
                f"    - {{name: A, value: {json.dumps(maker.pick('x', '1', 'yes'))}}}",
                "    - {name: B, value: b}",
            ]
        if maker.chance(0.4):
            lines += ["    ports:", *_indented(maker.ports(service=False), 2)]
        if maker.chance(0.4):
            lines += [
                f"    envFrom: [{{{maker.pick('configMapRef', 'secretRef')}: {{name: {maker.pick(name, 'made')}}}}}]"
            ]
    if maker.chance(0.4):
        lines += [
            "  volumes:",
            f"  - {{name: conf, configMap: {{name: {maker.pick(name, 'web', 'generated')}}}}}",
            "  - {name: data, emptyDir: {}}",
        ]
    if maker.chance(0.3):
        lines.append(f"  serviceAccountName: {name}")
    return lines


def _config_map(maker: Maker, name: str) -> str:
    lines = [
        "apiVersion: v1",
        "kind: ConfigMap",
        *_metadata(maker, name),
        "data:",
        f"  mode: {maker.pick('prod', 'a:b:c', 'x/y')}",
        "  port: '8080'",
        "  old: gone",
    ]
    lines += [
        f"  key{number}{maker.pick('', '.ini', '-x', '_Y')}: {maker.scalar()}"
        for number in range(maker.random.randint(0, 4))
    ]
    if maker.chance(0.3):
        lines += ["  text: |", "    first", "      second", "", "    third"]
    if maker.chance(0.2):
        lines += ["  folded: >-", "    some words", "    more words", "", "    end"]
    return "\n".join(lines) + "\n"


def _service(maker: Maker, name: str) -> str:
    lines = [
        "apiVersion: v1",
        "kind: Service",
        *_metadata(maker, name),
        "spec:",
        f"  selector: {{app: {name}}}",
        "  ports:",
    ]
    return "\n".join(lines) + "\n" + maker.ports(service=True)


def _account(maker: Maker, name: str) -> str:
    binding = f"""---
apiVersion: rbac.authorization.k8s.io/v1
kind: {maker.pick("RoleBinding", "ClusterRoleBinding")}
metadata: {{name: {name}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {maker.pick("Role", "ClusterRole")}, name: {name}}}
subjects:
- {{kind: ServiceAccount, name: {maker.pick(name, "default")}, namespace: {maker.pick("default", "shop")}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {maker.pick("Role", "ClusterRole")}
metadata: {{name: {name}}}
rules: [{{apiGroups: [""], resources: [configmaps], resourceNames: [{name}], verbs: [get]}}]
"""
    return f"apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}}}\n" + (
        binding if maker.chance(0.6) else ""
    )


def _ingress(maker: Maker, name: str) -> str:
    backend = f"{{service: {{name: {name}, port: {{number: 80}}}}}}"
    return f"""apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: {name}}}
spec:
  rules:
  - host: example.com
    http: {{paths: [{{path: /, pathType: Prefix, backend: {backend}}}]}}
"""


def _custom(maker: Maker, name: str) -> str:
    value = f"  odd: {maker.scalar()}\n  list: [1, {maker.pick('a', 'true', '1.50')}, {{x: y}}]\n"
    return (
        f"apiVersion: example.com/v1\nkind: {maker.pick('Widget', 'Thing')}\nmetadata: {{name: {name}}}\nspec:\n{value}"
    )


_KINDS: dict[str, Any] = {
    "Deployment": lambda maker, name: _workload(maker, name, "Deployment"),
    "StatefulSet": lambda maker, name: _workload(maker, name, "StatefulSet"),
    "CronJob": lambda maker, name: _workload(maker, name, "CronJob"),
    "ConfigMap": _config_map,
    "Service": _service,
    "ServiceAccount": _account,
    "Ingress": _ingress,
    "Widget": _custom,
    "Namespace": lambda _, name: f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n",
}


def tree(seed: int) -> Files:
    """The tree of a seed."""
    return Maker(seed).tree()
