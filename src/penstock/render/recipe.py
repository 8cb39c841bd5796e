"""Everything that decides, together with the artifact, what a render comes to."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

import penstock
from penstock.render.overlay import Overlay

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.api.kustomization import KustomizationSpec
    from penstock.sops.granted import Granted


@dataclass(frozen=True, slots=True)
class KeyMaterial:
    """What opens encrypted files, as plain data: it travels to a worker process and becomes a key ring there.

    Clouds that are asked as a service account need what the cluster says of it, which is granted beforehand. Without
    that, such keys do not travel: `render` has to be called in this process, in a thread, with an open key ring.
    """

    provider: str
    secret: str = ""
    """Namespace and name of the Secret, for messages."""
    data: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    only_age: bool = False
    """Whether only age keys count, as in the Secret of the operator."""
    verify: bool = False
    """Whether MACs are looked at."""
    account: str = ""
    """The service account as which clouds are asked; empty: as the controller itself."""
    granted: Granted | None = field(default=None, repr=False)
    """What the cluster says of that account."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """`VAULT_*` of the controller, for those who bring no token."""

    @property
    def travels(self) -> bool:
        """Whether the key ring can be opened in another process."""
        return not self.account or self.granted is not None


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to make objects of a tree."""

    path: str = ""
    overlay: Overlay = field(default_factory=Overlay)
    keys: KeyMaterial | None = None
    variables: Mapping[str, str] | None = field(default=None, repr=False)
    """Merged already; None: nothing is substituted."""
    substitute_always: bool = False
    strict: bool = False
    remote_bases: bool = True

    @classmethod
    def of(
        cls,
        spec: KustomizationSpec,
        *,
        variables: Mapping[str, str] | None = None,
        keys: KeyMaterial | None = None,
        strict: bool = False,
        remote_bases: bool = True,
    ) -> Recipe:
        """From a spec; `variables` come from `merge_variables`, and count only where the spec has a `postBuild`."""
        after = spec.post_build
        return cls(
            path=spec.path,
            overlay=Overlay.of(spec),
            keys=keys if spec.decryption is not None else None,
            variables=dict(variables or {}) if after is not None else None,
            substitute_always=after is not None and after.substitute_strategy == "Always",
            strict=strict,
            remote_bases=remote_bases,
        )

    @property
    def substitutes(self) -> bool:
        """Whether texts are touched at all."""
        return self.variables is not None and (bool(self.variables) or self.substitute_always)

    def digest(self) -> str:
        """`sha256:...` of all of it, and of our version: equal recipes make equal objects of equal trees.

        Secrets take part as what they are, but nobody gets them back out of it.
        """
        content: Any = (penstock.__version__, self)
        return f"sha256:{hashlib.sha256(msgspec.json.encode(content, order='deterministic')).hexdigest()}"
