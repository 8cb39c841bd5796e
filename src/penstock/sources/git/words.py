"""What `git` and `ssh` say when they fail, in the words of our own texts.

Part of it comes from the server, so it is cut, made printable, and never trusted.
"""

from __future__ import annotations

import re

from penstock.sources.git.errors import RemoteTrouble

_KNOWN: tuple[tuple[str, str, bool], ...] = (
    (r"Authentication failed|could not read (?:Username|Password)|error: 401", "authentication required", False),
    (r"error: 403|access denied", "authorization failed", False),
    (r"Host key verification failed", "ssh: its host key is not among the known_hosts of the Secret", False),
    (r"Unable to negotiate|no matching", "ssh: server and client have no algorithm in common", False),
    (r"Permission denied", "ssh: the server does not accept the key of the Secret", False),
    (r"error: 404|[Rr]epository.*not found|does not appear to be a git repository", "repository not found", True),
    (r"couldn't find remote ref \S+", "{}", True),
    (r"not our ref \w+|unadvertised object \w+", "{}", True),
    (r"Could not resolve host(?:name)?|Name or service not known", "its host cannot be looked up", False),
    (r"Connection refused|Failed to connect", "it cannot be reached: Connection refused", False),
    (r"Connection timed out", "it cannot be reached: Connection timed out", False),
    (r"certificate", "its certificate is not trusted", False),
    (r"File size limit exceeded|signal 25", "it sends more than may be stored", False),
)
_PREFIX = re.compile(r"^(?:fatal|error|remote|ssh): *")
_LONGEST = 300


def trouble(said: str) -> RemoteTrouble:
    """The cause behind what a program said."""
    for pattern, words, is_missing in _KNOWN:
        if found := re.search(pattern, said):
            return RemoteTrouble(words.format(found[0]), is_missing=is_missing)
    lines = [line for line in map(str.strip, said.splitlines()) if line]
    chosen = next((line for line in reversed(lines) if line.startswith(("fatal:", "error:"))), "git failed")
    text = "".join(letter if letter.isprintable() else " " for letter in _PREFIX.sub("", chosen))
    return RemoteTrouble(text[:_LONGEST], is_known=False)
