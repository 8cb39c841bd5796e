"""Every scenario of section 22 of the specification of Kustomizations is played by a test that names it."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[2]

WANTED = {
    "22.1": (
        "ConfigurationError/gate off",
        "ConfigurationError/gate on",
        "ConfigurationError/invalid CEL",
        "Fuzz",
        "NoCrossNamespaceRefs/1",
        "NoCrossNamespaceRefs/2",
        "RESTMapper/1",
        "RESTMapper/2",
        "RESTMapper/3",
        "StagedApply",
        "deleteBeforeFinalizer",
    ),
    "22.2": (
        "ArtifactDownload/1",
        "ArtifactDownload/2",
        "ArtifactDownload/3",
        "DirectSourceFetch OCIRepository and Bucket without artifact",
        "DirectSourceFetch/1",
        "DirectSourceFetch/2",
        "ExternalArtifact/1",
        "ExternalArtifact/2",
        "ExternalArtifact/3",
        "OriginRevision",
    ),
    "22.3": (
        "DependsOn/1",
        "DependsOn/2",
        "DependsOn/3",
        "DependsOn_CEL/1",
        "DependsOn_CEL/2",
        "DependsOn_CEL/3",
        "DependsOn_CEL/4",
    ),
    "22.4": (
        "BuildMetadata/1",
        "BuildMetadata/2",
        "CommonMetadata/1",
        "CommonMetadata/2",
        "FluxTransformers",
        "KustomizeTransformer",
        "KustomizeTransformerFiles",
        "MultiplePatchDelete/1",
        "MultiplePatchDelete/2",
        "NamePrefixSuffix",
        "Validation/overlay",
        "Validation/plain",
    ),
    "22.5": (
        "Varsub",
        "VarsubAlways/1",
        "VarsubAlways/2",
        "VarsubNumberBool",
        "VarsubOptional/1",
        "VarsubOptional/2",
        "VarsubStrict",
    ),
    "22.6": (
        "Decryptor/1",
        "Decryptor/2",
        "Decryptor/3",
        "Decryptor/4",
    ),
    "22.7": (
        "DisallowedManagers",
        "DriftIgnoreRules/1",
        "DriftIgnoreRules/2",
        "DriftIgnoreRules/3",
        "Force/1",
        "Force/2",
        "Force/3",
        "Impersonation/1",
        "Impersonation/2",
        "Impersonation/3",
        "Impersonation/4",
        "KubeConfig/1",
        "KubeConfig/2",
        "RBAC/1",
        "RBAC/2",
    ),
    "22.8": (
        "DeletionPolicy prune false + Delete",
        "DeletionPolicy prune false + MirrorPrune",
        "DeletionPolicy prune false + WaitForTermination",
        "DeletionPolicy prune true + MirrorPrune",
        "DeletionPolicy prune true + Orphan",
        "Inventory/1",
        "Inventory/2",
        "Inventory/3",
        "Inventory/4",
        "Prune/1",
        "Prune/2",
        "Prune/3",
        "Prune/4",
        "PruneEmpty/1",
        "PruneEmpty/2",
        "PruneEmpty/3",
        "PruneEmpty/4",
        "PruneExcludesSSAIgnore/1",
        "PruneExcludesSSAIgnore/2",
        "PruneFailedInventoryRetry/1",
        "PruneFailedInventoryRetry/2",
        "PruneIncludesSSAIfNotPresent/1",
        "PruneIncludesSSAIfNotPresent/2",
        "PruneSkipNotOwned/1",
        "PruneSkipNotOwned/2",
        "PruneSkipNotOwned/3",
    ),
    "22.9": (
        "CancelHealthCheckOnNewRevision",
        "CustomHealthChecks",
        "HealthCheckExprs_GroupOnly/1",
        "HealthCheckExprs_GroupOnly/2",
        "WaitConditions/1",
        "WaitConditions/2",
        "WaitConditions/3",
        "WaitConditions/4",
        "WaitConditions/5",
        "WaitConditions/6",
        "WaitConditions/7",
        "WaitConditions/8",
        "WaitConditions/9",
        "WaitIgnoresSkippedObjects",
    ),
    "22.11": (
        "ApplyAll",
        "Cleanup",
        "Defaults",
        "Delete in reverse order",
        "Drift ignore",
        "Exclusion on live object",
        "Fetcher",
        "Force",
        "Generator",
        "MigrateAPIVersion",
        "Missing namespace",
        "Normalise",
        "Staged partial failure",
        "Topological sort",
        "Wait",
        "envsubst vectors",
    ),
}
"""Section and name, as far as the name tells it from others. Those of 22.10 stand with the tests of SOPS."""


ATTACKS = ("A9", "A13", "A15", "A18", "A20", "A22", "A23", "A24", "A25", "A26", "A27")
"""Attacks that are tried on the running controller, besides the stages that they aim at."""


def test_every_scenario_is_named() -> None:
    named = _named(TESTS)
    missing = {f"{section} {name}" for section, names in WANTED.items() for name in names} - named
    assert not missing, f"no test is marked with {sorted(missing)}"


def test_every_attack_is_tried_on_the_controller() -> None:
    missing = set(ATTACKS) - _named(Path(__file__).parent)
    assert not missing, f"no test of the controller is marked with {sorted(missing)}"


def _named(folder: Path) -> set[str]:
    paths = [path for path in folder.rglob("test_*.py") if path != Path(__file__)]
    return {mark for path in paths for mark in _marks(ast.parse(path.read_text()))}


def _marks(tree: ast.Module) -> list[str]:
    """The arguments of all `pytest.mark.scenario(...)`; those made by a comprehension are numbered from 1 to 9."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "scenario":
            texts = [
                one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            found += texts
            found += [f"{text}{number}" for text in texts if text.endswith("/") for number in range(1, 10)]
    return found
