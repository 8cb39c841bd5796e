"""What a reader of a tree can ask for. Paths are absolute and use `/`."""

from typing import Protocol


class Tree(Protocol):
    """Directories and files under absolute names."""

    def directory(self, path: str) -> str:
        """The real name of a directory, all links resolved; FileError if there is none."""
        ...

    def close(self) -> None:
        """Let go of whatever is open."""
        ...

    def read(self, path: str, *, within: str | None = None) -> bytes:
        """The content of a file; EscapeError unless it really lies in or below the directory `within`."""
        ...


def is_within(path: str, directory: str) -> bool:
    """Whether a real name is the directory itself or lies below it."""
    return path == directory or directory == "/" or path.startswith(directory + "/")
