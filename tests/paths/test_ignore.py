"""Ignore rules: what stays out of an artifact."""

from __future__ import annotations

import subprocess
from functools import lru_cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.paths.globs import compile_glob
from penstock.paths.ignore import (
    LARGEST_FILE,
    MOST_PATTERNS,
    IgnoreError,
    IgnoreRules,
    Pattern,
    load,
    parse,
    rules_of,
    with_defaults,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        pytest.param("a", ["a"], ["", "b", "aa"], id="a plain name"),
        pytest.param("*", ["", "a", "a.b"], [], id="a star is anything, also nothing"),
        pytest.param("*.jpg", [".jpg", "a.jpg"], ["a.jpeg", "jpg"], id="a star in front"),
        pytest.param("a*", ["a", "ab"], ["ba"], id="a star behind"),
        pytest.param("a*b*c", ["abc", "axbxc", "abbcc"], ["ab", "acb", "abcd"], id="several stars"),
        pytest.param("a?c", ["abc", "a\N{SNOWMAN}c"], ["ac", "abbc"], id="a question mark is one character"),
        pytest.param("[a-c]x", ["ax", "cx"], ["dx", "x", "-x"], id="a range"),
        pytest.param("[^a-c]x", ["dx"], ["ax", "x"], id="a range turned round"),
        pytest.param("[!a]x", ["!x", "ax"], ["bx"], id="an exclamation mark is a character like others"),
        pytest.param(r"\*", ["*"], ["a", r"\*"], id="an escaped star"),
        pytest.param(r"[\]]", ["]"], ["\\", "a"], id="an escaped bracket in a class"),
        pytest.param("[z-a]", [], ["a", "z", "m"], id="a range that holds nothing"),
        pytest.param("[a", [], ["a", "[a"], id="a class that never ends is malformed"),
        pytest.param("[]a]", [], ["]", "a"], id="a bracket at the start of a class is malformed"),
        pytest.param("[a-]", [], ["a", "-"], id="a range without an end is malformed"),
        pytest.param("[-a]", [], ["a", "-"], id="a range without a start is malformed"),
        pytest.param("a\\", [], ["a", "a\\"], id="a backslash at the end is malformed"),
        pytest.param("[", [], ["["], id="a lone bracket is malformed"),
    ],
)
def test_go_patterns(pattern: str, matching: list[str], others: list[str]) -> None:
    matches = compile_glob(pattern)
    assert [name for name in [*matching, *others] if matches(name)] == matching


def test_a_hostile_pattern_takes_no_time() -> None:
    assert not compile_glob("*a" * 30_000)("a" * 255)
    assert not compile_glob("*a?" * 100 + "b")("a" * 255)


def left_out(rules: IgnoreRules, *paths: str) -> list[str]:
    """A path that ends in a slash is a directory."""
    return [path for path in paths if rules.excludes(path.rstrip("/"), directory=path.endswith("/"))]


@pytest.mark.parametrize(
    ("text", "excluded", "kept"),
    [
        pytest.param("x", ["x", "x/", "a/x", "x/a", "a/x/b"], ["xx", "a/xx"], id="a name matches in every directory"),
        pytest.param("x/", ["x/", "x/a", "a/x/b"], ["x", "a/x"], id="a slash at the end means directories"),
        pytest.param("/x", ["x", "x/a"], ["a/x"], id="a slash in front means the root"),
        pytest.param("a/x", ["a/x", "a/x/b"], ["b/a/x", "x"], id="a slash inside means the root too"),
        pytest.param("a/*.md", ["a/b.md", "a/b.md/c"], ["a/b/c.md", "b.md"], id="a star stays in its directory"),
        pytest.param("**/x", ["x", "a/x", "a/b/x"], ["xx"], id="two stars in front"),
        pytest.param("a/**/x", ["a/x", "a/b/x", "a/b/c/x"], ["x", "b/x"], id="two stars inside"),
        pytest.param("a/**", ["a/x", "a/"], ["b/a"], id="two stars at the end"),
        pytest.param("/**", [], ["a", "a/b"], id="two stars alone match nothing"),
        pytest.param("a/b**/c", [], ["a/bx/c", "a/b/x/c"], id="two stars in a longer part match nothing"),
        pytest.param("**/x/y", ["x/y", "a/x/y"], ["x/a/x/y"], id="two stars take the first fit for good"),
        pytest.param("# x\n#y", [], ["x", "y", "# x"], id="comments"),
        pytest.param(" #x", [" #x"], ["x"], id="a comment begins in the first column"),
        pytest.param("\n  \nx\r\n", ["x"], [], id="blank lines and Windows line ends"),
        pytest.param("x  ", ["x"], ["x  "], id="blanks at the end do not count"),
        pytest.param("x\\ ", ["x "], ["x"], id="unless the last one is escaped"),
        pytest.param("*\n!x", ["a", "b/"], ["x", "x/", "a/x"], id="an exclamation mark takes back"),
        pytest.param("!x\n*", ["a", "x"], [], id="the last match wins"),
        pytest.param(
            "d/\n!d/keep.yaml", ["d/", "d/other.yaml"], ["d/keep.yaml"], id="ignored directories are searched"
        ),
        pytest.param("/*\n!/deploy", ["a", "a/b", "src/"], ["deploy/", "deploy/a"], id="an allow list"),
    ],
)
def test_patterns(text: str, excluded: list[str], kept: list[str]) -> None:
    assert left_out(IgnoreRules(parse(text)), *excluded, *kept) == excluded


def written(tree: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(content)
    return tree


SAMPLE = ("a.jpg", "docs/b.md", ".github/", ".github/x.yaml", "x/.sops.yaml", ".git/", ".git/config", ".gitignore")


@pytest.mark.scenario("sources-11")
@pytest.mark.parametrize(
    ("ignore_file", "ignore", "excluded"),
    [
        pytest.param("", "", [one for one in SAMPLE if one != "docs/b.md"], id="the defaults"),
        pytest.param("*.md\n", "", ["docs/b.md", *SAMPLE[5:]], id="a file takes the place of the defaults"),
        pytest.param("", "*.md", ["docs/b.md", *SAMPLE[5:]], id="so does the spec"),
        pytest.param("# nothing\n", "", [one for one in SAMPLE if one != "docs/b.md"], id="a comment does not"),
        pytest.param("*.md\n", "!*.md", [*SAMPLE[5:]], id="the spec wins over the file"),
        pytest.param("!.gitignore\n", "", [*SAMPLE[5:7]], id="what is always left out can be taken back"),
    ],
)
def test_defaults(tmp_path: Path, ignore_file: str, ignore: str, excluded: list[str]) -> None:
    written(tmp_path, {".sourceignore": ignore_file})
    assert left_out(rules_of(tmp_path, ignore), *SAMPLE) == excluded


@pytest.mark.scenario("sources-12")
def test_an_allow_list_in_the_spec(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, "/*\n!/deploy")
    assert left_out(rules, "README.md", "src/", "src/deploy", "deploy/", "deploy/a.yaml") == [
        "README.md",
        "src/",
        "src/deploy",
    ]


@pytest.mark.scenario("sources-13")
def test_a_nested_file_acts_in_its_directory_only(tmp_path: Path) -> None:
    written(tmp_path, {"apps/web/.sourceignore": "*.md\n/only-here\n", ".git/x/.sourceignore": "*\n"})
    rules = rules_of(tmp_path)
    paths = ("a.md", "apps/a.md", "apps/web/a.md", "apps/web/x/a.md", "apps/web/only-here", "apps/web/x/only-here")
    assert left_out(rules, *paths) == ["apps/web/a.md", "apps/web/x/a.md", "apps/web/only-here"]


def test_a_nested_file_wins_over_the_one_above(tmp_path: Path) -> None:
    written(tmp_path, {".sourceignore": "*.md\n", "docs/.sourceignore": "!*.md\n"})
    assert left_out(rules_of(tmp_path), "a.md", "docs/a.md") == ["a.md"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param("x" * (LARGEST_FILE + 1), "larger than", id="a huge file"),
        pytest.param("x\n" * (MOST_PATTERNS + 1), "more than 5000 patterns", id="very many patterns"),
    ],
)
def test_ignore_files_that_are_refused(tmp_path: Path, content: str, told: str) -> None:
    written(tmp_path, {"a/.sourceignore": content})
    with pytest.raises(IgnoreError, match=told):
        load(tmp_path)


def test_an_ignore_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".sourceignore").symlink_to("/etc/passwd")
    with pytest.raises(IgnoreError, match=r"cannot read '\.sourceignore'"):
        load(tmp_path)


# A reference that is as slow and as plain as can be: every way to place the stars is tried.


@lru_cache(maxsize=100_000)
def name_fits(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(name_fits(pattern[1:], name[cut:]) for cut in range(len(name) + 1))
    return bool(name) and pattern[0] in ("?", name[0]) and name_fits(pattern[1:], name[1:])


def first_fit(pattern: Pattern, below: tuple[str, ...]) -> int:
    """How many leading names the pattern takes."""
    if not pattern.anchored:
        return next((place for place, name in enumerate(below, 1) if name_fits(pattern.parts[0], name)), 0)
    rest, taken, anywhere = list(pattern.parts), 0, False
    if rest[-1] == "**":
        rest.pop()
    for part in rest:
        if part == "**":
            anywhere = True
        elif part == "":
            anywhere = False
        elif "**" in part:
            return 0
        else:
            while anywhere and taken < len(below) and not name_fits(part, below[taken]):
                taken += 1
            if taken == len(below) or not name_fits(part, below[taken]):
                return 0
            taken, anywhere = taken + 1, False
    return taken


def reference(patterns: Sequence[Pattern], path: str, *, directory: bool) -> bool:
    parts = tuple(path.split("/"))
    for pattern in reversed(patterns):
        depth = len(pattern.domain)
        if parts[:depth] != pattern.domain or len(parts) <= depth:
            continue
        taken = first_fit(pattern, parts[depth:])
        if taken and (directory or not pattern.directories or taken < len(parts) - depth):
            return not pattern.includes
    return False


NAMES = st.sampled_from(["a", "b", "ab", "aa", "b.md", ".git"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
PART = st.sampled_from(["a", "b", "*", "a*", "*b", "?", "**", "a**", "*.md", "", "a*b"])
LINE = st.builds(
    lambda negated, parts, slash: negated + "/".join(parts) + slash,
    st.sampled_from(["", "", "!"]),
    st.lists(PART, min_size=1, max_size=4),
    st.sampled_from(["", "/"]),
)
DOMAIN = st.sampled_from([(), (), ("a",), ("a", "b")])


@given(lines=st.lists(st.tuples(LINE, DOMAIN), max_size=6), path=PATHS, directory=st.booleans())
@settings(max_examples=200, deadline=None)
def test_as_the_reference_says(lines: list[tuple[str, tuple[str, ...]]], path: str, directory: bool) -> None:
    patterns = [pattern for line, domain in lines for pattern in parse(line, domain)]
    expected = reference(patterns, path, directory=directory)
    assert IgnoreRules(patterns).excludes(path, directory=directory) == expected


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


# Git and the peers agree where nothing is taken back, every part is plain, and the pattern names one thing.
COMMON = st.builds(
    lambda front, name, slash: front + name + slash,
    st.sampled_from(["", "/", "a/", "**/", "a/**/"]),
    st.sampled_from(["a", "b", "*.md", "a?", "[a-b]", "ab"]),
    st.sampled_from(["", "/"]),
)


@given(lines=st.lists(COMMON, min_size=1, max_size=4), paths=st.lists(PATHS, min_size=1, max_size=6, unique=True))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_as_git_says_where_both_agree(repository: Path, lines: list[str], paths: list[str]) -> None:
    paths = [path for path in paths if ".git" not in path.split("/")]
    (repository / ".git" / "info" / "exclude").write_text("\n".join(lines) + "\n")
    told = subprocess.run(
        ["git", "-C", repository, "check-ignore", "--no-index", "--stdin"],
        input="\n".join(paths),
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    rules = IgnoreRules(parse("\n".join(lines)))
    assert [path for path in paths if rules.excludes(path)] == told


def test_rules_for_one_path_at_a_time_do_not_mix() -> None:
    rules = with_defaults(parse("a/\n!a/b"))
    assert [rules.excludes("a/b"), rules.excludes("a/c"), rules.excludes("a/b")] == [False, True, False]
