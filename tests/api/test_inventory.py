from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.inventory import Identity, InvalidInventoryId, InventoryEntry, parse

RBAC = "rbac.authorization.k8s.io"


@pytest.mark.parametrize(
    ("identity", "entry_id"),
    [
        pytest.param(Identity("apps", "Deployment", "shop", "web"), "shop_web_apps_Deployment", id="namespaced"),
        pytest.param(Identity("", "Service", "default", "app"), "default_app__Service", id="core group"),
        pytest.param(Identity("", "Namespace", "", "demo"), "_demo__Namespace", id="cluster scope"),
        pytest.param(
            Identity(RBAC, "ClusterRole", "", "system:node:reader"),
            f"_system__node__reader_{RBAC}_ClusterRole",
            id="colons of an RBAC name",
        ),
        pytest.param(
            Identity(RBAC, "Role", "shop", "read_only"), f"shop_read_only_{RBAC}_Role", id="underscore of an RBAC name"
        ),
    ],
)
def test_an_id_names_its_object(identity: Identity, entry_id: str) -> None:
    assert identity.id == entry_id
    assert parse(entry_id) == identity


def test_double_underscores_become_colons_whatever_the_kind() -> None:
    assert parse("shop_a__b_example.org_Widget").name == "a:b"


def test_colons_of_other_kinds_stay() -> None:
    assert Identity("example.org", "Widget", "shop", "a:b").id == "shop_a:b_example.org_Widget"


@pytest.mark.parametrize("entry_id", ["", "_", "__", "___", "a_b_c", "default__apps_Deployment", "ns_name_group_"])
def test_what_names_no_object_is_refused(entry_id: str) -> None:
    with pytest.raises(InvalidInventoryId, match="nothing is deleted for it"):
        parse(entry_id)


LABEL = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)


@given(group=st.just("") | LABEL, kind=st.from_regex(r"[A-Z][A-Za-z0-9]*", fullmatch=True), name=LABEL)
def test_ids_are_read_back(group: str, kind: str, name: str) -> None:
    for namespace in ("", "shop"):
        identity = Identity(group, kind, namespace, name)
        assert InventoryEntry(id=identity.id, v="v1").identity == identity
