"""Writes `recorded.jsonl`: what a real API server answers to samples and some mutations of them.

`python -m tests.embedded.kinds.record`, whenever samples or the version of Kubernetes change.
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from tests.embedded.kinds.mutations import Mutation, mutations, samples, sparse
from tests.embedded.kinds.plane import plane

if TYPE_CHECKING:
    from tests.embedded.kinds.answers import Answer

RECORDED = Path(__file__).parent / "recorded.jsonl"
EACH = 14
SEED = 7
_POLICY, _VOLUMES = ("spec", "matchConstraints"), ("spec", "template", "spec", "volumes")
_CONTAINER = ("spec", "containers", 0)
KEPT: dict[str, tuple[Mutation, ...]] = {
    "CSIDriver": (Mutation(("spec", "tokenRequests", 0, "expirationSeconds"), 0),),
    "Deployment": (
        Mutation((*_VOLUMES, 1, "image"), {}),
        Mutation((*_VOLUMES, 4, "iscsi", "iqn"), "iqn.bad"),
        Mutation((*_VOLUMES, 5, "fc", "lun")),
        Mutation((*_VOLUMES, 7, "azureDisk", "kind"), "Bad"),
        Mutation((*_VOLUMES, 9, "gcePersistentDisk", "pdName"), ""),
    ),
    "EndpointSlice": (Mutation(("endpoints", 0, "hints", "forNodes", 0, "name"), "a/b"),),
    "HorizontalPodAutoscaler": (
        Mutation(("spec", "behavior", "scaleDown", "policies"), []),
        Mutation(("spec", "targetCPUUtilizationPercentage"), 0),
    ),
    "Job": (
        Mutation(("metadata", "name"), "Bad_Value!"),
        Mutation(("spec", "podFailurePolicy", "rules", 0, "onExitCodes", "values"), []),
        Mutation(("spec", "successPolicy", "rules", 0, "succeededIndexes"), "3-1"),
    ),
    "LimitRange": (Mutation(("metadata", "name")),),
    "Node": (Mutation(("spec", "podCIDR")), Mutation(("spec", "podCIDRs"), ["10.1.0.0/24", "10.2.0.0/24"])),
    "PersistentVolume": (Mutation(("spec", "csi", "controllerExpandSecretRef"), {}),),
    "Pod": (
        Mutation(("spec", "terminationGracePeriodSeconds"), -1),
        Mutation((*_CONTAINER, "resources", "claims", 0, "request"), "a/b"),
        Mutation((*_CONTAINER, "restartPolicyRules"), [{}]),
        Mutation((*_CONTAINER, "restartPolicyRules", 0, "exitCodes"), {}),
    ),
    "Service": (
        Mutation(("spec", "ports", 0, "nodePort"), -1),
        Mutation(("spec", "ports"), [{"name": name, "port": 1, "nodePort": 30080} for name in ("a", "b")]),
        Mutation(("spec", "ports"), [{"name": f"p{port}", "port": port, "nodePort": 30080} for port in (80, 81)]),
    ),
    "ValidatingAdmissionPolicy": (
        Mutation(("spec", "paramKind"), {}),
        Mutation(("spec", "validations", 0), {}),
        Mutation(("spec", "auditAnnotations"), [None]),
        Mutation((*_POLICY, "resourceRules", 0, "apiGroups"), "x"),
        Mutation((*_POLICY, "excludeResourceRules", 0), {}),
    ),
    "ValidatingAdmissionPolicyBinding": (Mutation(("spec", "paramRef"), {}),),
}
"""What differed once, recorded for every sample that has the field."""


async def record() -> list[bytes]:
    choose = random.Random(SEED)
    lines: list[bytes] = []
    async with plane() as asked:
        for index, obj in enumerate(sparse()):
            answer = await asked.create(obj)
            assert answer is not None
            lines.append(orjson.dumps({"sparse": index, "code": answer.code, "told": answer.told}))
        for index, sample in enumerate(samples()):
            answer = await asked.create(sample)
            assert answer is not None
            lines.append(orjson.dumps({"sample": index, "code": answer.code, "told": answer.told}))
            known = [mutation for mutation in KEPT.get(sample["kind"], ()) if mutation.fits(sample)]
            answers = [(mutation, await asked.create(mutation(sample))) for mutation in known]
            lines += [_line(index, mutation, answer) for mutation, answer in answers if answer is not None]
            found = list(mutations(sample))
            kept = 0
            for mutation in choose.sample(found, len(found)):
                answer = await asked.create(mutation(sample))
                if answer is None or answer.code == 201 or len(str(answer.told)) > 1500:
                    continue
                lines.append(_line(index, mutation, answer))
                kept += 1
                if kept == EACH:
                    break
    return lines


def _line(index: int, mutation: Mutation, answer: Answer) -> bytes:
    case = {"sample": index, "path": mutation.path, "code": answer.code, "told": answer.told}
    if not mutation.removes:
        case["value"] = mutation.value
    return orjson.dumps(case)


if __name__ == "__main__":
    RECORDED.write_bytes(b"\n".join(asyncio.run(record())) + b"\n")
