"""How Git's failures are told: each knows its condition and its reason, and none carries a credential."""

from __future__ import annotations

from penstock.sources.remote import SourceError, Stalled


class GitFailed(SourceError):
    """The repository could not be listed, fetched or read."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason="GitOperationFailed")


class EmptyRepository(SourceError):
    """Nobody has pushed anything yet."""

    def __init__(self) -> None:
        super().__init__("git repository is empty", reason="EmptyGitRepository")


class LoginFailed(SourceError):
    """The Secret cannot be used to log in."""

    def __init__(self, message: str) -> None:
        super().__init__(f"failed to configure authentication options: {message}", reason="AuthenticationFailed")


class ProviderUnusable(Stalled):
    """`provider` and the Secret do not go together."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason="InvalidProviderConfiguration")


class InvalidAddress(Stalled):
    """The URL is not one of a repository."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason="URLInvalid")


class NotVerified(SourceError):
    """A signature is missing or wrong."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message, reason=reason, condition="SourceVerified")


class ModeUnusable(Stalled):
    """A tag should be checked, and the reference is none."""

    def __init__(self) -> None:
        super().__init__(
            "cannot verify tag object's signature if a tag reference is not specified",
            reason="InvalidVerificationMode",
            condition="SourceVerified",
        )


class RemoteTrouble(Exception):
    """What went wrong between us and the server, in a few words; the caller says which repository it was."""

    def __init__(self, cause: str, *, is_missing: bool = False, is_known: bool = True) -> None:
        """`is_known` is false for a failure that may as well be one of this machine."""
        super().__init__(cause)
        self.cause, self.is_missing, self.is_known = cause, is_missing, is_known
