"""What users say about health, with programs that stand in for compiled expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from penstock.api.references import HealthExpression
from penstock.errors import PenstockError
from penstock.health import Expressions, HealthStatus, InvalidHealthExpression, status_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.kube import Object


@dataclass(frozen=True)
class Field:
    """The expression `has(spec.NAME)`, a field's name being its whole text; some names misbehave."""

    source: str

    def evaluate(self, variables: Mapping[str, Any], /) -> Any:
        if self.source == "broken":
            raise PenstockError("no such attribute(s): data.foo.bar")
        if self.source == "told":
            raise PenstockError("failed to evaluate the CEL expression 'told': no such key")
        return 1 if self.source == "number" else self.source in variables["spec"]


def compiled(source: str) -> Field:
    if source.endswith("."):
        raise PenstockError(f"failed to parse the CEL expression '{source}': ERROR: <input>:1:5: Syntax error")
    return Field(source)


def expressions(**fields: str) -> Expressions:
    spec = HealthExpression(api_version="example.com/v1", kind="Widget", **fields)
    return Expressions.of([spec], compiled)


def widget(*fields: str, **metadata: Any) -> Object:
    return {
        "apiVersion": "example.com/v2",
        "kind": "Widget",
        "metadata": metadata,
        "spec": dict.fromkeys(fields, True),
        "status": {"conditions": [{"type": "Ready", "status": "False"}]},
    }


ALL = {"current": "current", "failed": "failed", "in_progress": "progressing"}


@pytest.mark.parametrize(
    ("spec", "obj", "expected"),
    [
        pytest.param(ALL, widget("current"), HealthStatus.CURRENT, id="current"),
        pytest.param(ALL, widget("current", "failed"), HealthStatus.FAILED, id="failed goes before current"),
        pytest.param(ALL, widget("failed", "progressing"), HealthStatus.IN_PROGRESS, id="in progress before failed"),
        pytest.param(ALL, widget(), HealthStatus.IN_PROGRESS, id="none is true"),
        pytest.param({"current": "current"}, widget("failed", "current"), HealthStatus.CURRENT, id="only one given"),
        pytest.param(
            ALL, widget("current", deletionTimestamp="x"), HealthStatus.CURRENT, id="also instead of the deletion check"
        ),
        pytest.param(
            ALL,
            {**widget("current", generation=2), "status": {"observedGeneration": 1}},
            HealthStatus.IN_PROGRESS,
            id="a generation nobody saw goes first",
        ),
        pytest.param(
            ALL,
            {**widget("current", generation=2), "status": {"observedGeneration": "1"}},
            HealthStatus.CURRENT,
            id="a generation that is no number does not",
        ),
    ],
)
def test_order(spec: dict[str, str], obj: Object, expected: HealthStatus) -> None:
    assert status_of(obj, expressions=expressions(**spec)).status is expected


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("broken", "failed to evaluate the CEL expression 'broken': no such attribute(s): data.foo.bar"),
        ("told", "failed to evaluate the CEL expression 'told': no such key"),
        ("number", "failed to evaluate CEL expression as boolean: 'number'"),
    ],
)
def test_what_cannot_be_evaluated_is_unknown(source: str, message: str) -> None:
    health = status_of(widget("current"), expressions=expressions(current="current", in_progress=source))
    assert health == (HealthStatus.UNKNOWN, message)


def test_a_kind_goes_before_its_group() -> None:
    group = HealthExpression(api_version="example.com/v1", current="group")
    kind = HealthExpression(api_version="example.com/v1", kind="Widget", current="kind")
    both = Expressions.of([group, kind], compiled)
    assert status_of(widget("kind"), expressions=both).status is HealthStatus.CURRENT
    gadget = {**widget("group"), "kind": "Gadget"}
    assert status_of(gadget, expressions=both).status is HealthStatus.CURRENT
    other = {**widget("group"), "apiVersion": "example.org/v1"}
    assert status_of(other, expressions=both).status is HealthStatus.IN_PROGRESS


def test_an_expression_for_jobs_goes_before_the_rule_for_jobs() -> None:
    """Upstream it depends on the identity which of the two wins."""
    checks = Expressions.of([HealthExpression(api_version="batch/v1", kind="Job", current="done")], compiled)
    job = {**widget("done"), "apiVersion": "batch/v1", "kind": "Job"}
    assert status_of(job, expressions=checks).status is HealthStatus.CURRENT


def test_an_expression_that_makes_no_sense_is_named() -> None:
    fine = HealthExpression(api_version="v1", kind="ConfigMap", current="x")
    broken = HealthExpression(api_version="v1", kind="Secret", current="x", in_progress="foo.")
    with pytest.raises(InvalidHealthExpression) as failure:
        Expressions.of([fine, broken], compiled)
    assert failure.value.reason == "InvalidCELExpression"
    assert str(failure.value) == (
        "failed to create custom status evaluator for healthchecks[1]: failed to parse the expression InProgress: "
        "failed to parse the CEL expression 'foo.': ERROR: <input>:1:5: Syntax error"
    )
