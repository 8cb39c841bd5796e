"""A whole document in and out of encryption, and the MAC over it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from penstock.sops.errors import LoadError, TreeError
from penstock.sops.values import Branch, Comment, Value, plain_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.sops.cipher import Cipher, Plain
    from penstock.sops.rules import Rules

# A MAC over the encrypted values alone starts from these bytes, so that it never equals one over all values.
_ONLY_ENCRYPTED = hashlib.sha256(b"sops").digest()
_DEPTH = 200


class _Walk:
    """One pass over all documents of a file; `leaf` says what becomes of each scalar and comment."""

    def __init__(self, cipher: Cipher, rules: Rules, *, mac_only_encrypted: bool) -> None:
        self.cipher = cipher
        self.rules = rules
        self.only_encrypted = mac_only_encrypted
        self.mac = hashlib.sha512(_ONLY_ENCRYPTED if mac_only_encrypted else b"")
        self.comments: list[list[str]] = []

    def branch(self, branch: Branch, path: tuple[str, ...], *, encrypted: bool) -> Branch:
        if len(self.comments) > _DEPTH:
            raise LoadError(f"the document is nested more than {_DEPTH} levels deep")
        result = Branch()
        self.comments.append([])
        for key, value in branch:
            if isinstance(key, Comment):
                self.comments[-1].append(key.text)
                asked = self._asked(encrypted=encrypted, is_comment=True)
                result.append((self.comment(key, path, encrypted=asked), None))
                continue
            inner = (*path, key)
            by_name = encrypted if self.rules.by_comment else self.rules.encrypts(inner)
            result.append((key, self.value(value, inner, encrypted=by_name)))
            self.comments[-1].clear()
        self.comments.pop()
        return result

    def value(self, value: Value, path: tuple[str, ...], *, encrypted: bool) -> Value:
        if value is None:
            return None
        if isinstance(value, Branch):
            return self.branch(value, path, encrypted=encrypted)
        if isinstance(value, list):
            return self.items(value, path, encrypted=encrypted)
        encrypted = self._asked(encrypted=encrypted, is_comment=isinstance(value, Comment))
        try:
            return self.leaf(value, path, encrypted=encrypted)
        except (TreeError, LoadError) as error:
            raise type(error)(f"{'.'.join(path)}: {error}") from error

    def items(self, items: list[Value], path: tuple[str, ...], *, encrypted: bool) -> list[Value]:
        if len(self.comments) > _DEPTH:
            raise LoadError(f"the document is nested more than {_DEPTH} levels deep")
        result: list[Value] = []
        self.comments.append([])
        for item in items:
            if isinstance(item, Comment):
                self.comments[-1].append(item.text)
            result.append(self.value(item, path, encrypted=encrypted))
            if not isinstance(item, Comment):
                self.comments[-1].clear()
        self.comments.pop()
        return result

    def leaf(self, value: Plain, path: tuple[str, ...], *, encrypted: bool) -> Plain:
        raise NotImplementedError

    def comment(self, comment: Comment, path: tuple[str, ...], *, encrypted: bool) -> Comment:
        raise NotImplementedError

    def count(self, value: Plain, *, encrypted: bool) -> None:
        if encrypted or not self.only_encrypted:
            self.mac.update(plain_bytes(value))

    def _asked(self, *, encrypted: bool, is_comment: bool) -> bool:
        if self.rules.by_comment:
            return self.rules.encrypts_below(self.comments, is_comment=is_comment)
        return encrypted


class _Encrypt(_Walk):
    def leaf(self, value: Plain, path: tuple[str, ...], *, encrypted: bool) -> Plain:
        # A comment in a list becomes an item like any other, and whoever decrypts counts it as one.
        if not isinstance(value, Comment) or encrypted:
            self.count(value, encrypted=encrypted)
        return self.cipher.encrypt(value, _joined(path)) if encrypted else value

    def comment(self, comment: Comment, path: tuple[str, ...], *, encrypted: bool) -> Comment:
        if not encrypted:
            return comment
        text = self.cipher.encrypt(Comment(comment.text), _joined(path))
        if self.rules.hides(text):
            raise LoadError("unencrypted_comment_regex matches an encrypted comment; make the pattern narrower")
        return Comment(text, inline=comment.inline)


class _Decrypt(_Walk):
    def __init__(self, cipher: Cipher, rules: Rules, *, mac_only_encrypted: bool) -> None:
        super().__init__(cipher, rules, mac_only_encrypted=mac_only_encrypted)
        self.without_comments = self.mac.copy()
        """The MAC as SOPS writes it when lists hold comments: it leaves them out, but counts them when it reads."""

    def leaf(self, value: Plain, path: tuple[str, ...], *, encrypted: bool) -> Plain:
        if isinstance(value, Comment):
            return self.comment(value, path, encrypted=encrypted)
        if encrypted and not isinstance(value, str):
            raise TreeError(f"expected an encrypted value, but found a plain {type(value).__name__.lower()}")
        plain = self.cipher.decrypt(value, _joined(path)) if encrypted and isinstance(value, str) else value
        self.count(plain, encrypted=encrypted)
        if not isinstance(plain, Comment) and (encrypted or not self.only_encrypted):
            self.without_comments.update(plain_bytes(plain))
        return plain

    def comment(self, comment: Comment, path: tuple[str, ...], *, encrypted: bool) -> Comment:
        if not encrypted:
            return comment
        try:
            plain = self.cipher.decrypt(comment.text, _joined(path))
        except TreeError:
            return comment  # written by hand, or by a SOPS that left comments alone
        return plain if isinstance(plain, Comment) else Comment(str(plain), inline=comment.inline)


def encrypt(documents: Iterable[Branch], cipher: Cipher, rules: Rules, *, mac_only: bool) -> tuple[list[Branch], str]:
    """The documents with their values encrypted, and the MAC over the plain ones."""
    walk = _Encrypt(cipher, rules, mac_only_encrypted=mac_only)
    return [_whole(walk, document) for document in documents], walk.mac.hexdigest().upper()


def decrypt(
    documents: Iterable[Branch], cipher: Cipher, rules: Rules, *, mac_only: bool
) -> tuple[list[Branch], frozenset[str]]:
    """The documents with their values decrypted, and the MACs either of which a sound file carries."""
    walk = _Decrypt(cipher, rules, mac_only_encrypted=mac_only)
    plain = [_whole(walk, document) for document in documents]
    return plain, frozenset(mac.hexdigest().upper() for mac in (walk.mac, walk.without_comments))


def _whole(walk: _Walk, document: Branch) -> Branch:
    return walk.branch(document, (), encrypted=walk.rules.encrypts(()))


def _joined(path: Iterable[str]) -> str:
    return ":".join(path) + ":"


def plain_data(value: Value) -> Any:
    """A value as plain Python data, without comments; of a repeated key the last one counts."""
    if isinstance(value, Branch):
        return {key: plain_data(inner) for key, inner in value if isinstance(key, str)}
    if isinstance(value, list):
        return [plain_data(item) for item in value if not isinstance(item, Comment)]
    return value
