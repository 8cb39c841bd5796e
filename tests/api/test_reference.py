from __future__ import annotations

from pathlib import Path

from penstock.api import reference

COMMITTED = Path(__file__).parents[2] / "docs/reference/api"


def test_the_committed_reference_is_current() -> None:
    """If this fails: python -m penstock.api.reference"""
    committed = {path.name: path.read_text(encoding="utf-8") for path in COMMITTED.glob("*.md")}
    assert committed == reference.pages()


def test_a_page_shows_type_default_rules_and_sentence(tmp_path: Path) -> None:
    reference.write(tmp_path / "new")
    lines = (tmp_path / "new/gitrepository.md").read_text().splitlines()
    assert "| `spec.timeout` | duration | `60s` | without hours | Longest time for one remote operation. |" in lines
    assert (
        "| `spec.url` | string |  | required; like `^(http\\|https\\|ssh)://.*$` "
        "| Address of the repository, over HTTP, HTTPS or SSH. |" in lines
    )
    assert "| `spec.include[].repository.name` | string |  | required | Name of the object. |" in lines
