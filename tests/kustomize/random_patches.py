"""Random patches: strategic merges and JSON operations, inline and in files."""

from tests.kustomize.dice import Dice, indented


def patches(dice: Dice, fields: list[str], folder: str, files: dict[str, str]) -> None:
    fields.append("patches:")
    for _ in range(dice.random.randint(1, 3)):
        kind = dice.pick("Deployment", "Service", "ConfigMap", "StatefulSet", "CronJob")
        more = dice.pick("", ", name: .*web.*", ", version: v1")
        target = f"  target: {{kind: {dice.pick(kind, kind, '.*Set|Deployment')}{more}}}"
        if dice.chance(0.35):
            fields += ["- patch: |-", *_json_patch(dice, kind), target]
        elif dice.chance(0.5):
            fields += ["- patch: |-", *indented(_strategic(dice, kind), 4), target]
        else:
            name = f"patch{_next(files)}.yaml"
            files[f"{folder}/{name}"] = _strategic(dice, kind)
            fields += [f"- path: {name}", target]


def _next(files: dict[str, str]) -> int:
    return 1 + sum("/patch" in name for name in files)


def _json_patch(dice: Dice, kind: str) -> list[str]:
    operations = [
        f"    - {{op: add, path: /metadata/annotations/b~1c, value: {dice.pick('x', '1', 'true')}}}",
        "    - {op: add, path: /metadata/labels, value: {replaced: yes}}",
        f"    - {{op: replace, path: /metadata/name, value: renamed-{dice.random.randint(1, 99)}}}",
        "    - {op: add, path: /data, value: {k: v, n: '1'}}"
        if kind == "ConfigMap"
        else "    - {op: add, path: /spec/extra, value: [1, two, 3.5, null]}",
    ]
    return dice.random.sample(operations, dice.random.randint(1, 2))


def _strategic(dice: Dice, kind: str) -> str:
    api_version = {"Service": "v1", "ConfigMap": "v1", "CronJob": "batch/v1"}.get(kind, "apps/v1")
    head = f"apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: any\n"
    if dice.chance(0.3):
        head += f"  labels: {{added: {dice.pick('x', 'null', '1')}}}\n"
    if kind == "ConfigMap":
        return head + f"data:\n  mode: {dice.scalar() or 'x'}\n  {dice.pick('old', 'text')}: null\n"
    if kind == "Service":
        return (
            head
            + "spec:\n  ports:\n"
            + dice.ports(service=True)
            + dice.pick("", "  type: NodePort\n", "  selector: null\n")
        )
    lead = "spec:\n  jobTemplate:\n    spec:\n      template:\n" if kind == "CronJob" else "spec:\n  template:\n"
    pad = " " * (8 if kind == "CronJob" else 4)
    return head + lead + "".join(f"{pad}{line}\n" for line in _pod_patch(dice))


def _pod_patch(dice: Dice) -> list[str]:
    lines = ["spec:"]
    if dice.chance(0.7):
        lines += ["  containers:"]
        for name in dice.random.sample(("main", "side", "new"), dice.random.randint(1, 3)):
            lines.append(f"  - name: {name}")
            choice = dice.random.random()
            if choice < 0.15:
                lines.append(f"    $patch: {dice.pick('delete', 'replace', 'merge')}")
            elif choice < 0.5:
                lines += ["    env:", *_env_patch(dice)]
            elif choice < 0.7:
                lines += ["    ports:", *indented(dice.ports(service=False), 4)]
            else:
                lines += [
                    f"    image: {dice.pick('nginx:2', 'null', 'repo/app')}",
                    "    resources: {limits: {cpu: 2}, requests: null}",
                ]
    if dice.chance(0.3):
        lines += [
            "  volumes:",
            f"  - name: {dice.pick('data', 'conf')}",
            f"    {dice.pick('emptyDir: {}', '$patch: delete', 'configMap: {name: web}')}",
        ]
    if dice.chance(0.3):
        lines += [f"  {dice.pick('serviceAccountName: web', 'nodeSelector: {a: b}', 'nodeSelector: null')}"]
    return lines if len(lines) > 1 else ["metadata: {labels: {patched: 'true'}}"]


def _env_patch(dice: Dice) -> list[str]:
    choices = (
        "{name: A, value: patched}", "{name: NEW, value: '1'}", "{name: B, $patch: delete}", "{$patch: replace}",
        "{name: C, value: null, valueFrom: {secretKeyRef: {name: web, key: x}}}",
    )  # fmt: skip
    return [f"    - {one}" for one in dice.random.sample(choices, dice.random.randint(1, 3))]
