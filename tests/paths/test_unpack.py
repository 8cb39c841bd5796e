"""Archives that others write: hostile ones are refused, and nothing ever lands outside."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.paths import ArchiveError, Limits, pack, unpack
from penstock.paths.packing import header

if TYPE_CHECKING:
    from collections.abc import Callable


def tar(*entries: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for info, content in entries:
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def entry(name: str, content: bytes = b"", **facts: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in facts.items():
        setattr(info, key, value)
    return info, content


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, type=kind, linkname=target)


def raw(name: bytes, *, size: bytes = b"00000000000\x00", kind: bytes = b"0", content: bytes = b"") -> bytes:
    """A header with fields that no library would write."""
    block = bytearray(header("x", mode=0o644, size=0, kind=kind))
    block[0:100] = name.ljust(100, b"\x00")
    block[124:136] = size
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\x00 " % sum(block)
    return bytes(block) + content + bytes(1024)


def pax(records: bytes, kind: bytes = b"x") -> bytes:
    return raw(b"x", size=b"%011o\x00" % len(records), kind=kind)[:512] + records.ljust(512, b"\x00")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "a name that leads up": (lambda: tar(entry("../x")), "leads out"),
    "a name that leads up in the middle": (lambda: tar(entry("a/../../x")), "leads out"),
    "a name that is only dots": (lambda: tar(entry("..", type=tarfile.DIRTYPE)), "leads out"),
    "an absolute name": (lambda: tar(entry("/etc/x")), "no relative name"),
    "a backslash": (lambda: tar(entry("a\\..\\x")), "no relative name"),
    "an empty name": (lambda: raw(b""), "no relative name"),
    "a NUL in a long name": (lambda: pax(b"12 path=a\x00b\n") + raw(b"x"), "no relative name"),
    "an absolute name in an extension": (lambda: pax(b"15 path=/etc/x\n") + raw(b"x"), "no relative name"),
    "a file named like the root": (lambda: tar(entry(".", b"x")), "name of a directory"),
    "a file that ends in a slash": (lambda: raw(b"a/"), "name of a directory"),
    "a symbolic link": (lambda: tar(link("a", "/etc/passwd")), "a symbolic link"),
    "a hard link": (lambda: tar(link("a", "b", tarfile.LNKTYPE)), "a hard link"),
    "a file below a link": (lambda: tar(link("a", "/tmp"), entry("a/x", b"x")), "a symbolic link"),
    "a character device": (lambda: tar(entry("a", type=tarfile.CHRTYPE)), "a device"),
    "a block device": (lambda: tar(entry("a", type=tarfile.BLKTYPE)), "a device"),
    "a named pipe": (lambda: tar(entry("a", type=tarfile.FIFOTYPE)), "a named pipe"),
    "a sparse file": (lambda: raw(b"a", kind=b"S"), "a sparse file"),
    "a sparse file of the new form": (lambda: pax(b"22 GNU.sparse.major=1\n") + raw(b"a"), "a sparse file"),
    "a contiguous file": (lambda: raw(b"a", kind=b"7"), "an unknown kind"),
    "a kind that nobody knows": (lambda: raw(b"a", kind=b"Z"), "an unknown kind"),
    "a file twice": (lambda: tar(entry("a", b"1"), entry("a", b"2")), "twice"),
    "a file twice in other words": (lambda: tar(entry("a/b", b"1"), entry("a/./b", b"2")), "twice"),
    "a file as a directory": (lambda: tar(entry("a", b"1"), entry("a/b", b"2")), "no directory"),
    "a directory as a file": (lambda: tar(entry("a/b", b"1"), entry("a", b"2")), "twice"),
    "a negative size": (lambda: raw(b"a", size=b"\xff" * 12), "negative"),
    "an overflowing size": (lambda: raw(b"a", size=b"\x80" + b"\x7f" + b"\xff" * 10), "overflowing"),
    "a size that is no number": (lambda: raw(b"a", size=b"-0000000001\x00"), "no valid size"),
    "a negative size in an extension": (lambda: pax(b"11 size=-1\n") + raw(b"a"), "no valid size"),
    "an extension of a wrong length": (lambda: pax(b"99 path=a\n") + raw(b"a"), "malformed"),
    "an extension without a value": (lambda: pax(b"7 path\n") + raw(b"a"), "malformed"),
    "an extension for all entries": (lambda: pax(b"10 path=a\n", kind=b"g"), "for all its entries"),
    "a huge extension": (lambda: raw(b"a", size=b"%011o\x00" % (1 << 21), kind=b"x"), "too long"),
    "a wrong checksum": (lambda: raw(b"a").replace(b"a", b"b", 1), "checksum"),
    "an archive that is cut off": (lambda: tar(entry("a", b"x" * 2000))[:1000], "cut off"),
    "an archive without an end": (lambda: tar(entry("a", b"x"))[:1024], "no end marker"),
    "gzip that is cut off": (lambda: gzip.compress(tar(entry("a", os.urandom(9000))))[:5000], "cut off"),
    "gzip that is broken": (lambda: gzip.compress(tar(entry("a", b"x")))[:20] + b"\xff" * 100, "no valid gzip"),
    "zstd": (lambda: b"\x28\xb5\x2f\xfd" + bytes(100), "packed with zstd"),
    "a zip file": (lambda: b"PK\x03\x04" + bytes(600), "packed with zip"),
    "a text": (lambda: b"Not found\n" * 100, "no valid|checksum"),
    "nothing at all": (lambda: b"", "cut off"),
}


@pytest.mark.scenario("sources-47")
@pytest.mark.parametrize(("archive", "told"), HOSTILE.values(), ids=HOSTILE)
def test_refused(root: Path, archive: Callable[[], bytes], told: str) -> None:
    with pytest.raises(ArchiveError, match=told):
        unpack(io.BytesIO(archive()), root)
    assert [one.name for one in root.parent.iterdir()] == ["root"], "nothing lands outside"


@pytest.mark.scenario("sources-47")
@pytest.mark.parametrize(
    ("archive", "limits", "told"),
    [
        pytest.param(lambda: tar(entry("a", bytes(2000))), Limits(content=1999), "more than 1999 bytes", id="oversize"),
        pytest.param(
            lambda: gzip.compress(pax(b"10 path=a\n") * 20_000),
            Limits(content=1 << 20, entries=10),
            "unpacks to more",
            id="a gzip bomb",
        ),
        pytest.param(
            lambda: gzip.compress(tar(entry("a", bytes(8 << 20)))),
            Limits(content=1 << 20),
            "more than",
            id="a tar bomb",
        ),
        pytest.param(
            lambda: gzip.compress(tar(*(link(f"a{n}", "x" * 90) for n in range(500)))),
            Limits(entries=100),
            "more than 100 entries",
            id="a flood of links",
        ),
        pytest.param(
            lambda: tar(*(entry(f"f{n}") for n in range(101))),
            Limits(entries=100),
            "100 entries",
            id="many empty files",
        ),
        pytest.param(lambda: tar(entry("d/" * 102 + "x")), None, "100 directories deep", id="deep directories"),
        pytest.param(lambda: tar(entry("d" * 5000)), None, "longer than 4096", id="a long name"),
        pytest.param(lambda: tar(entry("d" * 300)), None, "cannot unpack", id="a name the file system cannot hold"),
    ],
)
def test_bounds(root: Path, archive: Callable[[], bytes], limits: Limits | None, told: str) -> None:
    with pytest.raises(ArchiveError, match=told):
        unpack(io.BytesIO(archive()), root, limits=limits, links="skip")


def test_extensions_count_too(root: Path) -> None:
    """A stream of headers without a single file must end as well."""
    flood = pax(b"10 path=a\n") * 3000 + raw(b"a")
    with pytest.raises(ArchiveError, match="unpacks to more than"):
        unpack(io.BytesIO(flood), root, limits=Limits(content=1000, entries=10))


def test_links_can_be_skipped(root: Path) -> None:
    archive = tar(link("a", "/etc/passwd"), entry("b", b"x"), link("c/d", ".."))
    assert unpack(io.BytesIO(archive), root, links="skip").files == 1
    assert [one.name for one in root.iterdir()] == ["b"]


def test_a_link_that_was_there_is_not_followed(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (root / "a").symlink_to(outside)
    with pytest.raises(ArchiveError, match="no directory"):
        unpack(io.BytesIO(tar(entry("a/x", b"x"))), root)
    assert not list(outside.iterdir())


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize("wrap", [gzip.compress, lambda data: data], ids=["gzip", "plain"])
def test_what_the_common_tools_write(root: Path, form: int, wrap: Callable[[bytes], bytes]) -> None:
    deep = "/".join(["directory" * 5] * 4) + "/x"
    archive = tar(
        entry("./", type=tarfile.DIRTYPE),
        entry("./a/", type=tarfile.DIRTYPE, mode=0o555),
        entry("./a/x", b"1"),
        entry(deep, b"2"),
        entry("README", b"3"),
        entry("readme", b"4"),
        form=form,
    )
    told = unpack(io.BytesIO(wrap(archive)), root)
    assert (told.files, told.content) == (4, 4)
    assert (root / "a/x").read_bytes() == b"1"
    assert (root / deep).read_bytes() == b"2"
    assert (root / "README").read_bytes() == b"3"
    assert (root / "readme").read_bytes() == b"4"


def test_several_gzip_streams(root: Path) -> None:
    whole = tar(entry("a", b"x" * 3000))
    unpack(io.BytesIO(gzip.compress(whole[:1000]) + gzip.compress(whole[1000:]) + bytes(16)), root)
    assert (root / "a").stat().st_size == 3000


def test_the_comment_of_git_archive_is_taken(root: Path) -> None:
    comment = pax(b"19 comment=0123456\n", kind=b"g")
    unpack(io.BytesIO(comment + tar(entry("a", b"x"))), root)
    assert (root / "a").read_bytes() == b"x"


@pytest.mark.parametrize(
    ("mode", "kind", "expected"),
    [
        pytest.param(0o4755, tarfile.REGTYPE, 0o755, id="set-uid is dropped"),
        pytest.param(0o2775, tarfile.REGTYPE, 0o775, id="set-gid is dropped"),
        pytest.param(0o1777, tarfile.DIRTYPE, 0o777, id="the sticky bit is dropped"),
        pytest.param(0o000, tarfile.REGTYPE, 0o600, id="a file stays readable"),
        pytest.param(0o000, tarfile.DIRTYPE, 0o700, id="a directory stays deletable"),
        pytest.param(0o640, tarfile.REGTYPE, 0o640, id="other modes are kept"),
    ],
)
def test_modes(root: Path, mode: int, kind: bytes, expected: int) -> None:
    before = os.umask(0)
    try:
        unpack(io.BytesIO(tar(entry("a", mode=mode, type=kind))), root)
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "a").stat().st_mode) == expected


def test_no_open_files_are_left_behind(root: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(ArchiveError):
        unpack(io.BytesIO(tar(entry("a/b/c/d", b"x"), entry("a/b/c/d", b"x"))), root)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@given(data=st.binary(max_size=40), at=st.integers(0, 4000), cut=st.integers(0, 4000))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_archives_end_in_an_error_or_in_files(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, at: int, cut: int
) -> None:
    archive = tar(entry("a/b", b"x" * 700), entry("c" * 150, b"y"), entry("d", b"", type=tarfile.DIRTYPE))
    damaged = (archive[:at] + data + archive[at + len(data) :])[: max(cut, at)]
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "root").mkdir()
    with suppress(ArchiveError):
        unpack(io.BytesIO(damaged), folder / "root")
    assert [one.name for one in folder.iterdir()] == ["root"]


def test_there_and_back(root: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    for n in range(50):
        (source / f"d{n % 7}" / f"e{n % 3}").mkdir(parents=True, exist_ok=True)
        (source / f"d{n % 7}" / f"e{n % 3}" / f"f{n}").write_bytes(os.urandom(n * 37))
    first, second = io.BytesIO(), io.BytesIO()
    pack(source, first)
    first.seek(0)
    unpack(first, root)
    pack(root, second)
    assert first.getvalue() == second.getvalue()
