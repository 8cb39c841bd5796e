"""INI files: sections of `name = value`, with comments above them, in the dialect of the library that SOPS uses."""

from __future__ import annotations

import re

from penstock.sops.dotenv_store import text_of
from penstock.sops.errors import EmitError, LoadError
from penstock.sops.values import Branch, Comment, decoded, encoded

_DEFAULT = "DEFAULT"
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_DELIMITER = re.compile("[=:]")
_INLINE = re.compile("[#;]")


class _Section:
    def __init__(self, name: str, comment: str) -> None:
        self.name = name
        self.comment = comment
        self.values: dict[str, tuple[str, str]] = {}

    def branch(self) -> Branch:
        branch = Branch()
        if self.comment:
            branch.append((Comment(_without_sign(self.comment)), None))
        for name, (value, comment) in self.values.items():
            branch.append((name, value))
            if comment:
                branch.append((Comment(_without_sign(comment)), None))
        return branch


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = [f"{line}\n" for line in text.split("\n")]
        self.at = 0
        self.comment = ""
        self.automatic = 1

    def next(self) -> str:
        line = self.lines[self.at]
        self.at += 1
        return line

    @property
    def done(self) -> bool:
        return self.at >= len(self.lines)

    def take_comment(self) -> str:
        comment, self.comment = self.comment.strip(_SPACE), ""
        return comment


def load(data: bytes) -> list[Branch]:
    """All sections as one document; what stands before the first section is in one called DEFAULT."""
    reader = _Reader(decoded(data.removeprefix(b"\xef\xbb\xbf")))
    sections = [_Section(_DEFAULT, "")]
    while not reader.done:
        line = reader.next().lstrip(_SPACE)
        if not line:
            continue
        if line[0] in "#;":
            reader.comment += line
        elif line[0] == "[":
            sections.append(_section(reader, line))
        else:
            name, rest = _name(reader, line)
            value = _value(reader, rest)
            sections[-1].values[name] = (value, reader.take_comment())
    return [Branch((section.name, section.branch()) for section in sections)]


def _section(reader: _Reader, line: str) -> _Section:
    end = line.rfind("]")
    if end == -1:
        raise LoadError(f"line {reader.at} opens a section and does not close it")
    if end == 1:
        raise LoadError(f"line {reader.at} is a section without a name")
    inline = _INLINE.search(line, end + 1)
    if inline:
        reader.comment += line[inline.start() :]
    reader.automatic = 1
    return _Section(line[1:end], reader.take_comment())


def _name(reader: _Reader, line: str) -> tuple[str, str]:
    quote = '"""' if line.startswith('"""') and len(line) > 6 else line[0] if line[0] in '"`' else ""
    start = len(quote)
    end = line.find(quote, start) if quote else 0
    delimiter = _DELIMITER.search(line, end + start) if end >= 0 else None
    if delimiter is None:
        raise LoadError(f"line {reader.at} is not of the form name = value")
    name = (line[start:end] if quote else line[: delimiter.start()]).strip(_SPACE)
    if not name:
        raise LoadError(f"line {reader.at} has no name before its value")
    if name == "-":
        name = f"#{reader.automatic}"
        reader.automatic += 1
    return name, line[delimiter.end() :]


def _value(reader: _Reader, text: str) -> str:
    text = text.lstrip(_SPACE)
    quote = '"""' if text.startswith('"""') and len(text) > 3 else "`" if text.startswith("`") else ""
    if quote:
        return _quoted(reader, text[len(quote) :], quote)
    text = text.rstrip(_SPACE)
    if text.endswith("\\"):
        return _continued(reader, text[:-1])
    inline = _INLINE.search(text)
    if inline:
        reader.comment += text[inline.start() :]
        text = text[: inline.start()].strip(_SPACE)
    for mark in "'\"":
        if len(text) >= 2 and text[0] == text[-1] == mark and text.find(mark, 1) == len(text) - 1:
            return text[1:-1]
    return text


def _quoted(reader: _Reader, text: str, quote: str) -> str:
    end = text.rfind(quote)
    if end >= 0:
        return text[:end]
    value = text
    while not reader.done:
        line = reader.next()
        end = line.rfind(quote)
        if end < 0 or line[end + len(quote) :].strip(_SPACE).endswith("\\"):
            value += line
            continue
        inline = _INLINE.search(line, end)
        if inline:
            reader.comment += line[inline.start() :].strip(_SPACE)
        return value + line[:end]
    raise LoadError(f"the quote that ends at line {reader.at} is not closed")


def _continued(reader: _Reader, value: str) -> str:
    while not reader.done:
        line = reader.next().strip(_SPACE)
        if not line:
            break
        value += line
        if not value.endswith("\\"):
            break
        value = value[:-1]
    return value


def _without_sign(comment: str) -> str:
    if comment.startswith((";", "#")):
        return comment.lstrip(comment[0] + " ")
    return comment


def emit(documents: list[Branch]) -> bytes:
    """All sections, the equal signs of each in one column."""
    sections = [(key, value) for branch in documents for key, value in branch if isinstance(key, str)]
    parts: list[str] = []
    for position, (name, value) in enumerate(sections):
        if not isinstance(value, Branch):
            raise EmitError(f"{name} is not a mapping, and INI files are made of sections")
        if not name:
            raise EmitError("a section has no name")
        unnamed = position == 0 and name.upper() == _DEFAULT
        comment, entries = _entries(name, value)
        parts.extend(_comment(comment))
        if not unnamed:
            parts.append(f"[{name}]\n")
        elif not entries:
            continue
        parts.extend(_lines(entries))
        if position < len(sections) - 1:
            parts.append("\n")
    return encoded("".join(parts))


def _entries(section: str, branch: Branch) -> tuple[str, dict[str, tuple[str, str]]]:
    first = branch.pairs[0][0] if branch.pairs else ""
    comment = first.text if isinstance(first, Comment) else ""
    entries: dict[str, tuple[str, str]] = {}
    last = ""
    for key, value in branch.pairs[1:] if isinstance(first, Comment) else branch.pairs:
        if isinstance(key, Comment):
            if last:
                entries[last] = (entries[last][0], key.text)
            continue
        if isinstance(value, list | Branch):
            raise EmitError(f"{section}.{key} is a list or a mapping, and INI files have only text")
        if not key:
            raise EmitError(f"a value in {section} has no name")
        entries[key] = (text_of(value), entries[key][1] if key in entries else "")
        last = key
    return comment, entries


def _lines(entries: dict[str, tuple[str, str]]) -> list[str]:
    names = {name: _written_name(name) for name in entries}
    width = max((len(encoded(written)) for written in names.values()), default=0)
    lines: list[str] = []
    for name, (value, comment) in entries.items():
        lines.extend(_comment(comment))
        lines.append(f"{names[name]}{' ' * (width - len(encoded(names[name])))} = {_written_value(value)}\n")
    return lines


def _comment(comment: str) -> list[str]:
    lines: list[str] = []
    for line in comment.split("\n") if comment else ():
        if line.startswith(("#", ";")):
            lines.append(f"{line[0]} {line[1:].strip(_SPACE)}\n")
        else:
            lines.append(f"; {line.strip(_SPACE)}\n")
    return lines


def _written_name(name: str) -> str:
    if re.fullmatch(r"#\d+", name):
        return "-"  # numbered by its place; written as it stands it would be read as a comment
    if '"' in name or _DELIMITER.search(name):
        return f"`{name}`"
    return f'"""{name}"""' if "`" in name else name


def _written_value(value: str) -> str:
    if "\n" in value or "`" in value:
        return f'"""{value}"""'
    if _INLINE.search(value):
        return f"`{value}`"
    return f'"{value}"' if value.strip(_SPACE) != value else value
