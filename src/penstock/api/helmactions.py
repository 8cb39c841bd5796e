"""What a HelmRelease says about installing, upgrading, testing, rolling back and uninstalling."""

from typing import Annotated, ClassVar, Literal

import msgspec

from penstock.api.durations import Duration
from penstock.api.wire import DEFAULTED, Rule, Wire, about

CRDPolicy = Literal["Skip", "Create", "CreateReplace"]
ApplyMode = Literal["enabled", "disabled", "auto"]
StrategyName = Literal["RemediateOnFailure", "RetryOnFailure"]


class Remediation(Wire, frozen=True, kw_only=True):
    """What to do after a failure."""

    retries: Annotated[int, about("How often to try again; negative means without end, 0 when left out.")] = 0
    ignore_test_failures: Annotated[
        bool | None, about("Do not count failed tests; by default what `test.ignoreFailures` says.")
    ] = None
    remediate_last_failure: Annotated[
        bool | None, about("Clean up after the last try too; after an upgrade this is so when there are retries.")
    ] = None


class UpgradeRemediation(Remediation, frozen=True, kw_only=True):
    """What to do after a failed upgrade."""

    strategy: Annotated[Literal["rollback", "uninstall"], about("How to clean up; `rollback` when left out.")] = (
        "rollback"
    )


class InstallStrategy(Wire, frozen=True, kw_only=True):
    """Whether a failed install is undone or just tried again."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.retryInterval) || self.name != 'RemediateOnFailure'",
            ".retryInterval cannot be set when .name is 'RemediateOnFailure'",
        ),
    )

    name: Annotated[StrategyName, about("Undo a failure first, or just try again.")]
    retry_interval: Annotated[
        Duration | None, about("Time between two tries with RetryOnFailure; 5m when left out.")
    ] = None


class UpgradeStrategy(InstallStrategy, frozen=True, kw_only=True):
    """Whether a failed upgrade is undone or just tried again."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.retryInterval) || self.name == 'RetryOnFailure'",
            ".retryInterval can only be set when .name is 'RetryOnFailure'",
        ),
    )


class Action(Wire, frozen=True, kw_only=True):
    """What every action has."""

    timeout: Annotated[
        Duration | None, about("Longest time for one Kubernetes operation; by default `spec.timeout`.")
    ] = None


class HookedAction(Action, frozen=True, kw_only=True):
    """An action that runs hooks and waits."""

    disable_hooks: Annotated[bool, about("Run no hooks.")] = False
    disable_wait: Annotated[bool, about("Do not wait for the objects to be ready.")] = False


class Deployment(HookedAction, frozen=True, kw_only=True):
    """What install and upgrade share."""

    crds: Annotated[CRDPolicy | None, about("What to do with the CRDs of the chart; `Create` when left out.")] = None
    disable_wait_for_jobs: Annotated[bool, about("Do not wait for Jobs to complete.")] = False
    disable_open_api_validation: Annotated[
        bool, about("Do not check the rendered objects against the cluster's schema.")
    ] = msgspec.field(default=False, name="disableOpenAPIValidation")
    disable_schema_validation: Annotated[bool, about("Do not check values against the chart's schema.")] = False
    disable_take_ownership: Annotated[bool, about("Fail on objects that another release owns.")] = False


class Install(Deployment, frozen=True, kw_only=True):
    """How to install."""

    create_namespace: Annotated[bool, about("Create `spec.targetNamespace` when it does not exist.")] = False
    remediation: Annotated[Remediation | None, about("What to do after a failed install.")] = None
    replace: Annotated[bool, about("Reuse the name of a release that was deleted but is remembered.")] = False
    server_side_apply: Annotated[bool, about("Use server-side apply; true when left out.")] = True
    skip_crds: Annotated[bool, about("Install no CRDs; `crds: Skip` has taken its place.")] = msgspec.field(
        default=False, name="skipCRDs"
    )
    strategy: Annotated[InstallStrategy | None, about("Undo a failed install first, or just try again.")] = None


class Upgrade(Deployment, frozen=True, kw_only=True):
    """How to upgrade."""

    chart_name_change_strategy: Annotated[
        Literal["InPlaceUpdate", "Reinstall"],
        about("What to do when the chart gets another name; `Reinstall` when left out."),
    ] = "Reinstall"
    cleanup_on_fail: Annotated[bool, about("Delete objects that a failed upgrade has created.")] = False
    force: Annotated[bool, about("Replace objects instead of patching them.")] = False
    preserve_values: Annotated[bool, about("Merge the values of the last release under the new ones.")] = False
    remediation: Annotated[UpgradeRemediation | None, about("What to do after a failed upgrade.")] = None
    server_side_apply: Annotated[
        ApplyMode, about("Use server-side apply, or as the last release did (`auto`, also when left out).")
    ] = "auto"
    strategy: Annotated[UpgradeStrategy | None, about("Undo a failed upgrade first, or just try again.")] = None


class Rollback(HookedAction, frozen=True, kw_only=True):
    """How to go back to the last good release."""

    cleanup_on_fail: Annotated[bool, about("Delete objects that a failed rollback has created.")] = False
    disable_wait_for_jobs: Annotated[bool, about("Do not wait for Jobs to complete.")] = False
    force: Annotated[bool, about("Replace objects instead of patching them.")] = False
    recreate: Annotated[bool, about("Accepted for old manifests; has no effect.")] = False
    server_side_apply: Annotated[
        ApplyMode, about("Use server-side apply, or as the release did (`auto`, also when left out).")
    ] = "auto"


class Uninstall(HookedAction, frozen=True, kw_only=True):
    """How to uninstall."""

    deletion_propagation: Annotated[
        Literal["background", "foreground", "orphan"], about("What becomes of dependent objects."), DEFAULTED
    ] = "background"
    keep_history: Annotated[bool, about("Remember the release after it is gone.")] = False


class TestFilter(Wire, frozen=True, kw_only=True):
    """A test to run or to leave out."""

    name: Annotated[str, about("Name of the test.", min_length=1, max_length=253)]
    exclude: Annotated[bool, about("Leave this test out instead of running it.")] = False


class Test(Action, frozen=True, kw_only=True):
    """Whether and how to run the tests of the chart."""

    enable: Annotated[bool, about("Run the tests after install and upgrade.")] = False
    filters: Annotated[tuple[TestFilter, ...], about("Tests to run or to leave out; by default all run.")] = ()
    ignore_failures: Annotated[bool, about("Do not let a failed test fail the release.")] = False
