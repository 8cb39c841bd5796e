"""The guides do what they say: their code blocks are run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.docs.blocks import Block, blocks, environment, follow, kubectl

GUIDES = Path(__file__).parents[2] / "docs" / "guides"


async def stop(folder: Path, *flags: str) -> None:
    """Stop the cluster that a guide may have left running because it did not get to its end."""
    process = await asyncio.create_subprocess_exec(
        *("penstock", "cluster", "stop", *flags),
        env=environment(folder),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    await process.wait()


@pytest.mark.timeout(180)  # some start a dozen programs: seconds here, and many of them where there is other work
@pytest.mark.parametrize("guide", ["embedded.md", "library.md", "from-flux.md", "multi-tenancy.md"])
async def test_a_guide_can_be_followed(guide: str, tmp_path: Path) -> None:
    missing = () if await asyncio.to_thread(kubectl) else ("kubectl ",)
    try:
        code, out = await follow(GUIDES / guide, tmp_path, without=missing, within=150)
    finally:
        await stop(tmp_path)
    assert code == 0, out


@pytest.mark.timeout(180)  # it takes ten seconds, and many times that on a machine that has other work
async def test_the_first_steps_can_be_taken(tmp_path: Path) -> None:
    if not await asyncio.to_thread(kubectl):
        pytest.skip("not here: no kubectl, and no control plane that has one in it")
    try:
        code, out = await follow(GUIDES / "first-steps.md", tmp_path, within=150)
    finally:
        await stop(tmp_path, f"--data-dir={tmp_path / 'state'}")
    assert code == 0, out
    assert "(see apps/promotions/promotions.yaml)" in out.rpartition("---")[2]


@pytest.mark.parametrize(
    ("text", "code", "printed"),
    [
        pytest.param("```sh\necho one\n```\n", 0, ["one"], id="a command"),
        pytest.param("```sh\nfalse\necho two\n```\n", 1, [], id="a command that fails ends it"),
        pytest.param("```sh fails\nfalse\n```\n", 0, [], id="a command that should fail"),
        pytest.param("```sh fails\ntrue\n```\n", 99, [], id="a command that should fail and does not"),
        pytest.param("```sh\nexport A=three\n```\n```sh\necho $A\n```\n", 0, ["three"], id="one environment for all"),
        pytest.param("```yaml a.yaml\nb: c\n```\n```sh\ncat a.yaml\n```\n", 0, ["b: c"], id="a file"),
        pytest.param(
            "```python\nimport asyncio\nawait asyncio.sleep(0)\nprint('four')\n```\n",
            0,
            ["four"],
            id="Python that waits",
        ),
        pytest.param("```python\nassert False\n```\n", 1, [], id="Python that fails"),
        pytest.param("```\nfalse\n```\n```yaml\na: b\n```\n", 0, [], id="what is only shown"),
        pytest.param("```sh\nmissing --flag\necho five\n```\n", 0, ["five"], id="a program that nobody has here"),
    ],
)
async def test_blocks_are_run(text: str, code: int, printed: list[str], tmp_path: Path) -> None:
    page, folder = tmp_path / "page.md", tmp_path / "folder"
    await asyncio.to_thread(page.write_text, text)
    await asyncio.to_thread(folder.mkdir)
    ended, out = await follow(page, folder, without=("missing ",))
    assert ended == code, out
    if not code:
        assert [line for line in out.splitlines() if not line.startswith("---")] == printed


def test_a_block_knows_its_line() -> None:
    assert blocks("# A\n\n```sh\ntrue\n```\n\n```yaml a.yaml\nb: c\n```\n") == [
        Block(("sh",), "true\n", 4),
        Block(("yaml", "a.yaml"), "b: c\n", 8),
    ]
