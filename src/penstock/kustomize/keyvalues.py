"""The pairs that ConfigMaps and Secrets are generated from: env files, literals, files."""

import posixpath
from collections.abc import Iterator

from penstock.kustomize.errors import KustomizationError
from penstock.kustomize.kustomization import GeneratorArguments
from penstock.kustomize.place import Place

_BOM = b"\xef\xbb\xbf"


def load(arguments: GeneratorArguments, place: Place) -> dict[str, bytes]:
    """All pairs; a key may be given once."""
    pairs: dict[str, bytes] = {}
    for key, value in _pairs(arguments, place):
        if key in pairs:
            raise KustomizationError(f"{place.file}: the generator '{arguments.name}' repeats the key '{key}'")
        pairs[key] = value
    return pairs


def _pairs(arguments: GeneratorArguments, place: Place) -> Iterator[tuple[str, bytes]]:
    for path in [*arguments.envs, *([arguments.env] if arguments.env else [])]:
        yield from _env_file(place.read(path), place.name(path))
    for literal in arguments.literals:
        yield _literal(literal, place)
    for source in arguments.files:
        key, path = _file_source(source, place)
        yield key, place.read(path)


def _env_file(content: bytes, file: str) -> Iterator[tuple[str, bytes]]:
    """Lines of `key=value`. A line without `=` gives an empty value; the environment is never read."""
    for number, raw in enumerate(content.split(b"\n")):
        line = raw.removesuffix(b"\r")
        try:
            text = (line.removeprefix(_BOM) if number == 0 else line).decode().lstrip()
        except UnicodeError as error:
            raise KustomizationError(f"{file}: line {number + 1} is not valid UTF-8") from error
        if text and not text.startswith("#"):
            key, _, value = text.partition("=")
            if key:
                yield key, value.encode()


def _literal(source: str, place: Place) -> tuple[str, bytes]:
    key, equals, value = source.partition("=")
    if not equals or not key:
        raise KustomizationError(f"{place.file}: the literal for '{key}' should be written as key=value")
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return key, value.encode()


def _file_source(source: str, place: Place) -> tuple[str, str]:
    parts = source.split("=")
    if len(parts) == 1:
        return posixpath.basename(source), source
    if len(parts) > 2 or not all(parts):
        raise KustomizationError(f"{place.file}: the file source '{source}' should be written as key=path or path")
    return parts[0], parts[1]
