"""Random trees, byte for byte as the real kustomize builds them. Needs Go; part of `make e2e`."""

import os

import pytest

from tests.controlplane.build import NoGo
from tests.kustomize import differential

COUNT = 1000


@pytest.mark.real
@pytest.mark.timeout(1800)
def test_random_trees_agree_with_the_real_kustomize() -> None:
    try:
        binary = differential.real()
    except NoGo as error:
        pytest.skip(f"not here: {error}")
    first = int(os.environ.get("PENSTOCK_SEED", "0"))
    print(f"seeds {first} to {first + COUNT - 1}")  # noqa: T201
    found = dict(differential.differences(binary, range(first, first + COUNT)))
    assert not found, "\n".join(f"seed {seed}:\n{difference}" for seed, difference in found.items())
