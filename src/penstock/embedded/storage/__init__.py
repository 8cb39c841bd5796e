"""What the API server keeps: objects by key, one revision counter, and the changes of the last minutes.

Memory is the truth, SQLite the log of it. Reads and writes are synchronous in memory; `settle` waits until what was
written is on disk, and nobody outside hears of a change before that.
"""

from penstock.embedded.storage.records import Change, ChangeType, Record
from penstock.embedded.storage.store import Compacted, Retention, Stale, Storage, StorageError

__all__ = ["Change", "ChangeType", "Compacted", "Record", "Retention", "Stale", "Storage", "StorageError"]
