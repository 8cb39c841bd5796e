"""Who signed an image: signatures of cosign, with keys or identities, and of Notary (`notation`).

A verifier answers True, or False where the policy says not to look, and raises VerificationFailed otherwise. An
unsigned image, a registry that does not answer and a log that is down are failures: without a proof there is none.
"""

from penstock.sources.oci.verification.cosign import CosignKeys
from penstock.sources.oci.verification.errors import VerificationFailed
from penstock.sources.oci.verification.keyless import Identity, Keyless
from penstock.sources.oci.verification.notation import Notation

__all__ = ["CosignKeys", "Identity", "Keyless", "Notation", "VerificationFailed"]
