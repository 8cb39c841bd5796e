"""Random objects of the usual kinds, as YAML that is odd in the details."""

import json
from typing import Any

from tests.kustomize.dice import Dice, indented


def _workload(dice: Dice, name: str, kind: str) -> str:
    pod = _pod(dice, name)
    lines = [
        f"apiVersion: {'batch/v1' if kind in ('Job', 'CronJob') else 'apps/v1'}",
        f"kind: {kind}",
        *_metadata(dice, name),
        "spec:",
    ]
    if kind == "CronJob":
        lines += ["  jobTemplate:", "    spec:", "      template:", *(" " * 8 + line for line in pod)]
    else:
        lines += [
            f"  replicas: {dice.pick(1, 2)}",
            f"  selector: {{matchLabels: {{app: {name}}}}}",
            "  template:",
            *("    " + line for line in pod),
        ]
    if dice.chance(0.2):
        lines += ["  blank:", "  nothing: null"]
    return "\n".join(lines) + "\n"


def _metadata(dice: Dice, name: str) -> list[str]:
    lines = ["metadata:", f"  name: {name}"]
    if dice.chance(0.5):
        lines.append(f"  labels: {{app: {name}, tier: {dice.pick('a', 'b')}}}")
    if dice.chance(0.2):
        lines.append(f"  namespace: {dice.pick('shop', 'default', 'own')}")
    if dice.chance(0.3):
        lines += ["  annotations:", f"    note: {dice.scalar()}"]
    return lines


def _pod(dice: Dice, name: str) -> list[str]:
    lines = ["metadata:", f"  labels: {{app: {name}}}", "spec:", "  containers:"]
    for container in ("main", "side")[: dice.random.randint(1, 2)]:
        lines += [
            f"  - name: {container}",
            f"    image: {dice.pick('nginx', 'nginx:1.25', 'repo/app:v1@sha256:00', 'host:5000/app:1')}",
        ]
        if dice.chance(0.6):
            lines += [
                "    env:",
                f"    - {{name: A, value: {json.dumps(dice.pick('x', '1', 'yes'))}}}",
                "    - {name: B, value: b}",
            ]
        if dice.chance(0.4):
            lines += ["    ports:", *indented(dice.ports(service=False), 2)]
        if dice.chance(0.4):
            lines += [
                f"    envFrom: [{{{dice.pick('configMapRef', 'secretRef')}: {{name: {dice.pick(name, 'made')}}}}}]"
            ]
    if dice.chance(0.4):
        lines += [
            "  volumes:",
            f"  - {{name: conf, configMap: {{name: {dice.pick(name, 'web', 'generated')}}}}}",
            "  - {name: data, emptyDir: {}}",
        ]
    if dice.chance(0.3):
        lines.append(f"  serviceAccountName: {name}")
    return lines


def _config_map(dice: Dice, name: str) -> str:
    lines = [
        "apiVersion: v1",
        "kind: ConfigMap",
        *_metadata(dice, name),
        "data:",
        f"  mode: {dice.pick('prod', 'a:b:c', 'x/y')}",
        "  port: '8080'",
        "  old: gone",
    ]
    lines += [
        f"  key{number}{dice.pick('', '.ini', '-x', '_Y')}: {dice.scalar()}"
        for number in range(dice.random.randint(0, 4))
    ]
    if dice.chance(0.3):
        lines += ["  text: |", "    first", "      second", "", "    third"]
    if dice.chance(0.2):
        lines += ["  folded: >-", "    some words", "    more words", "", "    end"]
    return "\n".join(lines) + "\n"


def _service(dice: Dice, name: str) -> str:
    lines = [
        "apiVersion: v1",
        "kind: Service",
        *_metadata(dice, name),
        "spec:",
        f"  selector: {{app: {name}}}",
        "  ports:",
    ]
    return "\n".join(lines) + "\n" + dice.ports(service=True)


def _account(dice: Dice, name: str) -> str:
    binding = f"""---
apiVersion: rbac.authorization.k8s.io/v1
kind: {dice.pick("RoleBinding", "ClusterRoleBinding")}
metadata: {{name: {name}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {dice.pick("Role", "ClusterRole")}, name: {name}}}
subjects:
- {{kind: ServiceAccount, name: {dice.pick(name, "default")}, namespace: {dice.pick("default", "shop")}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {dice.pick("Role", "ClusterRole")}
metadata: {{name: {name}}}
rules: [{{apiGroups: [""], resources: [configmaps], resourceNames: [{name}], verbs: [get]}}]
"""
    return f"apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}}}\n" + (binding if dice.chance(0.6) else "")


def _ingress(dice: Dice, name: str) -> str:
    backend = f"{{service: {{name: {name}, port: {{number: 80}}}}}}"
    return f"""apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: {name}}}
spec:
  rules:
  - host: example.com
    http: {{paths: [{{path: /, pathType: Prefix, backend: {backend}}}]}}
"""


def _custom(dice: Dice, name: str) -> str:
    value = f"  odd: {dice.scalar()}\n  list: [1, {dice.pick('a', 'true', '1.50')}, {{x: y}}]\n"
    return (
        f"apiVersion: example.com/v1\nkind: {dice.pick('Widget', 'Thing')}\nmetadata: {{name: {name}}}\nspec:\n{value}"
    )


KINDS: dict[str, Any] = {
    "Deployment": lambda dice, name: _workload(dice, name, "Deployment"),
    "StatefulSet": lambda dice, name: _workload(dice, name, "StatefulSet"),
    "CronJob": lambda dice, name: _workload(dice, name, "CronJob"),
    "ConfigMap": _config_map,
    "Service": _service,
    "ServiceAccount": _account,
    "Ingress": _ingress,
    "Widget": _custom,
    "Namespace": lambda _, name: f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n",
}
