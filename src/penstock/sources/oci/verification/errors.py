"""Why an image does not count as signed."""

from penstock.errors import PenstockError
from penstock.sources.remote import SourceError


class VerificationFailed(SourceError):
    """There is no signature that we trust; nothing is replaced."""

    def __init__(self, provider: str, told: str) -> None:
        super().__init__(
            f"failed to verify the signature using provider '{provider}': {told}",
            reason="VerificationError",
            condition="SourceVerified",
        )


class NotSigned(PenstockError):
    """One signature does not hold; another one may."""
