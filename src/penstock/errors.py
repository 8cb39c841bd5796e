"""The root of every error that Penstock raises on purpose.

    PenstockError
    ├── UsageError             the caller asked for something that makes no sense (exit 2)
    ├── penstock.kube.errors   a cluster that cannot be reached, or that said no
    └── StageError             a stage of the pipeline failed; knows its condition reason

An error is one sentence for a person: what, which object or file, why, and a hint. It never carries a secret.
"""


class PenstockError(Exception):
    """Something went wrong in a way we know how to tell."""

    exit_code = 1


class UsageError(PenstockError):
    """The request itself is wrong; nothing was tried."""

    exit_code = 2


class StageError(PenstockError):
    """A stage of the pipeline failed; knows its condition reason."""

    reason = "ReconciliationFailed"

    def __init__(self, *args: object, reason: str | None = None) -> None:
        super().__init__(*args)
        if reason is not None:
            self.reason = reason
