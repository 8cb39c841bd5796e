"""Trees to build, of any size: what the benchmarks of `kustomize build` run on."""

from pathlib import Path

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{n}
  labels:
    app: app-{n}
spec:
  replicas: 2
  selector:
    matchLabels:
      app: app-{n}
  template:
    metadata:
      labels:
        app: app-{n}
    spec:
      containers:
      - name: main
        image: nginx:1.25
        ports:
        - containerPort: 8080
          name: http
        envFrom:
        - configMapRef:
            name: config-{n}
        resources:
          requests:
            cpu: 100m
            memory: 64Mi
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: app-{n}
spec:
  selector:
    app: app-{n}
  ports:
  - name: http
    port: 80
    targetPort: http
"""
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: config-{n}
data:
  mode: production
  greeting: hello from {n}
  settings.ini: |
    [server]
    port = 8080
    workers = 4
"""
OVERLAY = """\
resources:
- ../base
namespace: shop
namePrefix: prod-
labels:
- pairs:
    team: blue
    stage: production
  includeSelectors: true
images:
- name: nginx
  newTag: "1.27"
patches:
- path: first.yaml
- path: all.yaml
  target:
    kind: Deployment
"""
PATCH = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
spec:
  {field}
  template:
    spec:
      containers:
      - name: main
        env:
        - name: STAGE
          value: {value}
"""


def overlay(folder: Path, count: int) -> Path:
    """An overlay with namespace, prefix, labels, images and two strategic patches over `count` objects, a file each."""
    base, top = folder / "base", folder / "overlay"
    base.mkdir(parents=True)
    top.mkdir()
    names: list[str] = []
    for number in range(count):
        template = (DEPLOYMENT, SERVICE, CONFIG_MAP)[number % 3]
        names.append(f"{number}.yaml")
        (base / names[-1]).write_text(template.format(n=number // 3))
    _kustomization(base, "resources", names)
    (top / "kustomization.yaml").write_text(OVERLAY)
    (top / "first.yaml").write_text(PATCH.format(name="app-0", field="replicas: 5", value="first"))
    (top / "all.yaml").write_text(PATCH.format(name="any", field="minReadySeconds: 5", value="production"))
    return top


def components(folder: Path, count: int) -> Path:
    """`count` components that patch one Deployment."""
    top = folder / "top"
    top.mkdir(parents=True)
    (top / "deployment.yaml").write_text(DEPLOYMENT.format(n=0))
    names: list[str] = []
    for number in range(count):
        component = folder / f"component-{number}"
        component.mkdir()
        names.append(f"../component-{number}")
        (component / "kustomization.yaml").write_text(
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: patch.yaml\n"
        )
        patch = PATCH.format(name="app-0", field=f"replicas: {number}", value=str(number)).replace(
            "STAGE", f"E{number}"
        )
        (component / "patch.yaml").write_text(patch.replace(f"value: {number}", f'value: "{number}"'))
    (top / "kustomization.yaml").write_text(
        "resources:\n- deployment.yaml\ncomponents:\n" + "".join(f"- {name}\n" for name in names)
    )
    return top


def bases(folder: Path, count: int) -> Path:
    """`count` bases of three objects each under one overlay."""
    names: list[str] = []
    for number in range(count):
        base = folder / f"base-{number}"
        base.mkdir(parents=True)
        names.append(f"../base-{number}")
        for name, template in (("d", DEPLOYMENT), ("s", SERVICE), ("c", CONFIG_MAP)):
            (base / f"{name}.yaml").write_text(template.format(n=number))
        _kustomization(base, "resources", ["d.yaml", "s.yaml", "c.yaml"])
    top = folder / "top"
    top.mkdir()
    _kustomization(top, "resources", names, "namespace: shop\n")
    return top


def _kustomization(folder: Path, field: str, names: list[str], more: str = "") -> None:
    text = f"{more}{field}:\n" + "".join(f"- {name}\n" for name in names)
    (folder / "kustomization.yaml").write_text(text)
