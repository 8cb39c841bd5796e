"""What is acknowledged survives: a restart, kill -9, and the batches in which it is written."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from typing import TYPE_CHECKING, Any

import pytest

from penstock.embedded.storage import Change, Compacted, Storage, StorageError

if TYPE_CHECKING:
    from pathlib import Path

MAPS = "/configmaps"

WRITER = """
import asyncio, sys
from pathlib import Path
from penstock.embedded.storage import Storage

async def write(store, worker):
    for number in range(100_000):
        name = f"{worker}-{number}"
        obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": {"filler": "x" * 500}}
        change = store.put("/configmaps", "default", name, obj)
        await store.settle(change.revision)
        print(name, change.revision, flush=True)
        if number % 3 == 0:
            gone = store.delete("/configmaps", "default", name)
            await store.settle(gone.revision)
            print("-" + name, gone.revision, flush=True)

async def main():
    store = Storage(Path(sys.argv[1]))
    await store.open()
    await asyncio.gather(*(write(store, worker) for worker in range(8)))

asyncio.run(main())
"""


def made(name: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}}


async def test_a_restart_loses_nothing(tmp_path: Path) -> None:
    store = Storage(tmp_path)
    await store.open()
    for name in ("a", "b", "c"):
        store.put(MAPS, "default", name, made(name))
    store.delete(MAPS, "default", "b")
    await store.close()

    again = Storage(tmp_path)
    await again.open()
    assert [record.key for record in again.list(MAPS)] == ["default/a", "default/c"]
    assert again.revision == store.revision
    assert [each.data for each in again.list(MAPS)] == [each.data for each in store.list(MAPS)]
    with pytest.raises(Compacted):
        again.since(MAPS, store.revision - 1)
    await again.close()


async def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    acknowledged: list[tuple[str, int]] = []
    async with asyncio.timeout(30):
        while len(acknowledged) < 500:
            name, revision = (await process.stdout.readline()).decode().split()
            acknowledged.append((name, int(revision)))
        os.kill(process.pid, signal.SIGKILL)
        whole = (await process.stdout.read()).decode().rpartition("\n")[0]
        acknowledged += [(name, int(revision)) for name, revision in map(str.split, whole.splitlines())]
        await process.wait()

    store = Storage(tmp_path)
    await store.open()
    present = {record.name for record in store.list(MAPS)}
    gone = {name[1:] for name, _ in acknowledged if name.startswith("-")}
    kept = {name for name, _ in acknowledged if not name.startswith("-")} - gone
    # A deletion that was stored but not yet told of may have taken one of each worker's last.
    assert len(kept - present) <= 8
    assert not gone & present
    assert store.revision >= max(revision for _, revision in acknowledged)
    await store.close()


async def test_nobody_hears_of_a_change_before_it_is_durable(tmp_path: Path) -> None:
    store = Storage(tmp_path)
    await store.open()
    heard: list[Change] = []
    store.subscribe(heard.append, [MAPS])
    change = store.put(MAPS, "default", "a", made("a"))
    assert (heard, store.durable < change.revision) == ([], True)
    assert store.since(MAPS, 1) == []
    await store.settle(change.revision)
    assert heard == [change]
    assert store.since(MAPS, 1) == [change]
    await store.close()


async def test_writes_of_one_turn_are_one_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Storage(tmp_path)
    await store.open()
    assert store._log is not None
    sizes: list[int] = []
    write = store._log.write

    def counted(entries: Any, revision: int) -> None:
        sizes.append(len(entries))
        write(entries, revision)

    monkeypatch.setattr(store._log, "write", counted)
    for number in range(50):
        store.put(MAPS, "default", f"n{number}", made(f"n{number}"))
    await store.settle()
    assert sizes == [50]
    await store.close()


async def test_a_directory_belongs_to_one_store(tmp_path: Path) -> None:
    first, second = Storage(tmp_path), Storage(tmp_path)
    await first.open()
    with pytest.raises(StorageError, match="in use by another cluster"):
        await second.open()
    await first.close()
    await second.open()
    await second.close()


async def test_a_directory_of_another_format_is_refused(tmp_path: Path) -> None:
    store = Storage(tmp_path)
    await store.open()
    await store.close()
    with sqlite3.connect(tmp_path / "objects.sqlite") as database:
        database.execute("UPDATE state SET value = 99 WHERE name = 'format'")
    database.close()
    with pytest.raises(StorageError, match="another version of penstock"):
        await store.open()


async def test_a_disk_that_fails_refuses_what_follows(tmp_path: Path) -> None:
    store = Storage(tmp_path)
    await store.open()
    assert store._log is not None
    store._log.close()  # as if the disk were gone
    store.put(MAPS, "default", "a", made("a"))
    with pytest.raises(StorageError):
        await store.settle()
    with pytest.raises(StorageError):
        store.put(MAPS, "default", "b", made("b"))
    await store.close()
