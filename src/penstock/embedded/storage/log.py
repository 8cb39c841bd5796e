"""The log of the store: a SQLite database that always holds a state which some moment really had."""

from __future__ import annotations

import fcntl
import sqlite3
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from penstock.embedded.storage.records import Record
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
  collection TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY (collection, namespace, name)
);
CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""
_PUT = (
    "INSERT INTO objects (collection, namespace, name, revision, data) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET revision = excluded.revision, data = excluded.data"
)
_DELETE = "DELETE FROM objects WHERE collection = ? AND namespace = ? AND name = ?"
_STATE = "INSERT INTO state (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"

FORMAT = 1


class StorageError(PenstockError):
    """The data directory cannot be used, or no longer."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the log."""

    record: Record
    deleted: bool


class Log:
    """The database of one data directory; every call blocks and belongs into a thread."""

    def __init__(self, folder: Path, *, fsync: bool) -> None:
        self._folder = folder
        self._fsync = fsync
        self._lock: IO[bytes] | None = None
        self._database: sqlite3.Connection | None = None

    def open(self) -> tuple[int, list[Record]]:
        """Take the directory for ourselves; the last revision, and every object."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = (self._folder / "lock").open("ab")
            self._take()
            return self._load()
        except (OSError, sqlite3.Error) as error:
            self.close()
            raise StorageError(f"the data directory {self._folder} cannot be used: {error}") from error
        except BaseException:
            self.close()
            raise

    def write(self, entries: Sequence[Entry], revision: int) -> None:
        """Add entries, all or nothing."""
        database = self._database
        if database is None:
            raise StorageError(f"the data directory {self._folder} is closed")
        # Only the last word about a key counts, so puts and deletions may be written apart from each other.
        last = {(entry.record.collection, entry.record.namespace, entry.record.name): entry for entry in entries}
        puts = [(*key, entry.record.revision, entry.record.data) for key, entry in last.items() if not entry.deleted]
        deletions = [key for key, entry in last.items() if entry.deleted]
        try:
            with database:
                database.execute("BEGIN")
                if puts:
                    database.executemany(_PUT, puts)
                if deletions:
                    database.executemany(_DELETE, deletions)
                database.execute(_STATE, ("revision", revision))
        except sqlite3.Error as error:
            raise StorageError(f"the data directory {self._folder} cannot be written: {error}") from error

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _take(self) -> None:
        assert self._lock is not None  # noqa: S101 - opened by the only caller
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StorageError(
                f"the data directory {self._folder} is in use by another cluster; stop that one first"
            ) from error

    def _load(self) -> tuple[int, list[Record]]:
        database = sqlite3.connect(self._folder / "objects.sqlite", isolation_level=None, check_same_thread=False)
        self._database = database
        # NORMAL survives kill -9: what was committed is with the operating system. FULL survives a power cut too.
        # An empty database is nothing to wait for the disk for.
        database.execute(f"PRAGMA synchronous = {'FULL' if self._fsync else 'OFF'}")
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(_SCHEMA)
        database.execute(f"PRAGMA synchronous = {'FULL' if self._fsync else 'NORMAL'}")
        state: dict[str, int] = dict(database.execute("SELECT name, value FROM state"))
        if state.setdefault("format", FORMAT) != FORMAT:
            raise StorageError(
                f"the data directory {self._folder} was written by another version of penstock; use a new one"
            )
        database.execute(_STATE, ("format", FORMAT))
        rows = database.execute("SELECT collection, namespace, name, revision, data FROM objects")
        records = [Record(*row) for row in rows]
        return state.get("revision", 0), records
