"""What a run would do, worked out beside the controller and without writing anything.

`rehearse` makes the objects that a run would apply, from an artifact or from files of one's own. `compare` tells what
applying them would change. `descend` goes on with the Kustomizations among the objects.
"""

from penstock.controllers.kustomization.rehearsal.building import (
    Inputs,
    Rehearsed,
    inputs_of,
    offline_inputs,
    rehearse,
    rehearse_now,
)
from penstock.controllers.kustomization.rehearsal.comparing import compare, with_status
from penstock.controllers.kustomization.rehearsal.descent import Act, Files, descend
from penstock.controllers.kustomization.rehearsal.files import NoArtifact, artifact_of, copied, locate

__all__ = [
    "Act",
    "Files",
    "Inputs",
    "NoArtifact",
    "Rehearsed",
    "artifact_of",
    "compare",
    "copied",
    "descend",
    "inputs_of",
    "locate",
    "offline_inputs",
    "rehearse",
    "rehearse_now",
    "with_status",
]
