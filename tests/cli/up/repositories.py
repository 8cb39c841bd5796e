"""A small repository with one cluster, and the command on it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

WITHIN = 100.0
"""Seconds for one run, which takes three of them: a test may run beside many others."""
LIMIT = 240
"""Seconds for a test with such runs in it."""

_KUSTOMIZATION = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {name}
  namespace: flux-system
spec:
  interval: 1h
  retryInterval: 1h
  path: ./apps/{name}
  prune: true
  wait: true
  targetNamespace: default
  sourceRef:
    kind: GitRepository
    name: {source}
{more}---
"""
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  colour: blue
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: web
          image: web:1
"""
SOURCE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: {name}
  namespace: flux-system
spec:
  interval: 1h
  url: https://git.example.com/team/{name}
"""


def kustomization(name: str, *after: str, source: str = "flux-system") -> str:
    more = "".join(["  dependsOn:\n", *(f"    - name: {one}\n" for one in after)]) if after else ""
    return _KUSTOMIZATION.format(name=name, source=source, more=more)


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def small(root: Path) -> Path:
    """Two Kustomizations, of which one needs the other; no sync files and no Git."""
    return write(
        root,
        {
            "clusters/dev/apps.yaml": kustomization("settings") + kustomization("web", "settings"),
            "apps/settings/config.yaml": CONFIG,
            "apps/web/deployment.yaml": DEPLOYMENT,
        },
    )


def up(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "penstock", "up", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "KUBECONFIG": "/nonexistent"},
    )
