"""Final objects into a cluster: validated as a whole, applied stage by stage, remembered, and pruned when unwanted."""

from penstock.apply.applier import Applier
from penstock.apply.changes import ApplyFailed, Change, ChangeSet, PruneFailed, TerminationTimeout
from penstock.apply.fieldchanges import FieldChange
from penstock.apply.ignore import BadIgnoreRule
from penstock.apply.managers import Rival
from penstock.apply.order import parse_kinds
from penstock.apply.plan import Known, Ledger
from penstock.apply.policy import Owner
from penstock.apply.preview import Difference, Discretion, Preview
from penstock.apply.prune import until_terminated

__all__ = [
    "Applier",
    "ApplyFailed",
    "BadIgnoreRule",
    "Change",
    "ChangeSet",
    "Difference",
    "Discretion",
    "FieldChange",
    "Known",
    "Ledger",
    "Owner",
    "Preview",
    "PruneFailed",
    "Rival",
    "TerminationTimeout",
    "parse_kinds",
    "until_terminated",
]
