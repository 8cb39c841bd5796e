"""What somebody might do to a tree between two builds: change, add, remove or bring back a file."""

import re

from tests.kustomize.dice import Dice
from tests.kustomize.random_objects import KINDS

Files = dict[str, str]
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_WORDS = ("web", "api-base0", "app", "main", "x", "shop", "default", "true", "null", "Deployment", "v1", "made")
_FIELDS = """\
namePrefix: late-
nameSuffix: -late
namespace: late
commonAnnotations: {late: 'yes'}
labels: [{pairs: {late: a}, includeSelectors: true}]
images: [{name: nginx, newTag: late}]
patches: [{patch: '- {op: add, path: /metadata/annotations/late, value: x}', target: {labelSelector: tier=a}}]
patches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {late: x}}', target: {kind: Conf.*}}]
vars: [{name: M, objref: {apiVersion: v1, kind: ConfigMap, name: web-base0}, fieldref: {fieldpath: data.mode}}]
transformers: ['{apiVersion: builtin, kind: PrefixTransformer, metadata: {name: t}, prefix: l-, fieldSpecs: []}']
replacements: [{sourceValue: late, targets: [{select: {kind: Service}, fieldPaths: [metadata.name]}]}]
replacements: [{sourceValue: x, targets: [{select: {kind: .*}, reject: [{labelSelector: tier=b}], fieldPaths: [kind]}]}]
buildMetadata: [originAnnotations]
""".splitlines(keepends=True)


def change(dice: Dice, files: Files, original: Files) -> str:
    """Change one file of the tree, and say how."""
    name = dice.random.choice(sorted(files))
    kustomizations = [one for one in sorted(files) if one.endswith("kustomization.yaml")]
    way = dice.random.randrange(7)
    if way == 0:
        return _add(dice, files, dice.random.choice(kustomizations))
    if way == 1 and not name.endswith("kustomization.yaml"):
        return _remove(dice, files, name)
    if way == 2:
        return _more_fields(dice, files, dice.random.choice(kustomizations))
    if way == 3:
        name = dice.random.choice(sorted(original))
        files[name] = original[name]
        return f"{name} is as it was"
    return _reword(dice, files, name)


def _reword(dice: Dice, files: Files, name: str) -> str:
    """Exchange one word for another, of the same file or a common one."""
    words = list(_WORD.finditer(files[name]))
    if not words:
        return f"{name} has no words"
    old = dice.random.choice(words)
    new = dice.pick(dice.random.choice(_WORDS), dice.random.choice(words)[0], old[0] + "x")
    files[name] = files[name][: old.start()] + new + files[name][old.end() :]
    return f"{name}: '{old[0]}' at {old.start()} becomes '{new}'"


def _add(dice: Dice, files: Files, kustomization: str) -> str:
    """A new object in a file of its own, listed in a kustomization."""
    folder = kustomization.rpartition("/")[0]
    kind, name = dice.random.choice(sorted(KINDS)), f"{dice.pick('made', 'web', 'api')}-{dice.random.randrange(9)}"
    file = f"{folder}/{name}-{kind.lower()}-more.yaml"
    files[file] = KINDS[kind](dice, name)
    text = files[kustomization]
    entry = f"{file.rpartition('/')[2]}"
    if "resources: [" in text:
        files[kustomization] = text.replace("resources: [", f"resources: [{entry}, ", 1)
    elif "resources:\n" in text:
        files[kustomization] = text.replace("resources:\n", f"resources:\n- {entry}\n", 1)
    else:
        files[kustomization] = f"resources: [{entry}]\n{text}"
    return f"{file} is new"


def _remove(dice: Dice, files: Files, name: str) -> str:
    """Remove a file, mostly with its mention."""
    del files[name]
    folder, _, file = name.rpartition("/")
    kustomization = f"{folder}/kustomization.yaml"
    if kustomization in files and dice.chance(0.8):
        text = files[kustomization]
        for mention in (f'"{file}", ', f', "{file}"', f'"{file}"', f"{file}, ", f"- {file}\n"):
            text = text.replace(mention, "")
        files[kustomization] = text
    return f"{name} is gone"


def _more_fields(dice: Dice, files: Files, kustomization: str) -> str:
    """One more field, unless the kustomization has it."""
    field = dice.random.choice(_FIELDS)
    if f"\n{field.partition(':')[0]}:" not in f"\n{files[kustomization]}":
        files[kustomization] += field
    return f"{kustomization} may have {field.partition(':')[0]}"
