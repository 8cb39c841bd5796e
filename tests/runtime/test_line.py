from __future__ import annotations

import pytest

from penstock.runtime.line import Ask, Line, Priority
from tests.runtime.keys import key, keys, words

LEVELS = {"!": Priority.ASKED, "+": Priority.REVISION, "-": Priority.INTERVAL}


def line(text: str) -> Line:
    """`!a/x +b/y -c/z`: asked for, new revision, interval."""
    filled = Line()
    for word in text.split():
        filled.put(keys(word[1:])[0], Ask(LEVELS[word[0]]))
    return filled


def drain(filled: Line) -> str:
    return words([filled.pop()[0] for _ in range(len(filled))])


@pytest.mark.parametrize(
    ("arrived", "left"),
    [
        pytest.param("-a/x -a/y -a/z", "a/x a/y a/z", id="one namespace: in the order of arrival"),
        pytest.param("-a/x +a/y !a/z", "a/z a/y a/x", id="asked for, then new revisions, then intervals"),
        pytest.param("-a/1 -a/2 -a/3 -b/1", "a/1 b/1 a/2 a/3", id="namespaces take turns"),
        pytest.param("-a/1 -a/2 -b/1 -b/2 -c/1", "a/1 b/1 c/1 a/2 b/2", id="turns go round"),
        pytest.param("-a/1 -a/2 +b/1", "b/1 a/1 a/2", id="urgency goes over turns"),
        pytest.param("-a/1 -a/2 +a/2", "a/2 a/1", id="a key moves up"),
        pytest.param("+a/1 +a/2 -a/2", "a/1 a/2", id="a key never moves down"),
        pytest.param("-a/1 -a/2 -a/1", "a/1 a/2", id="a key stands in line once"),
    ],
)
def test_order(arrived: str, left: str) -> None:
    assert drain(line(arrived)) == left


def test_a_thousand_keys_of_one_tenant_delay_another_by_one_turn() -> None:
    filled = Line()
    for number in range(1000):
        filled.put(key(str(number), "greedy"), Ask(Priority.REVISION))
    filled.pop()
    filled.put(key("only", "modest"), Ask(Priority.REVISION))
    assert key("only", "modest") in [filled.pop()[0] for _ in range(2)]


def test_urgent_work_without_end_does_not_stop_the_rest() -> None:
    filled = Line(patience=8)
    filled.put(key("patient"), Ask(Priority.INTERVAL))
    filled.put(key("newer"), Ask(Priority.REVISION))
    taken: list[str] = []
    for number in range(20):
        filled.put(key(f"asked-{number}"), Ask(Priority.ASKED))
        taken.append(filled.pop()[0].name)
    assert taken.index("newer") == 8
    assert taken.index("patient") == 9


def test_depth_is_counted_by_priority() -> None:
    filled = line("-a/1 -a/2 +a/3")
    assert [filled.depth(priority) for priority in Priority] == [0, 1, 2]
    filled.pop()
    assert [filled.depth(priority) for priority in Priority] == [0, 0, 2]
    filled.clear()
    assert len(filled) == 0


@pytest.mark.parametrize(
    ("first", "second", "cause"),
    [
        pytest.param(Priority.REVISION, Priority.ASKED, "second", id="the more urgent wish names the cause"),
        pytest.param(Priority.REVISION, Priority.REVISION, "first", id="of equal wishes the older"),
    ],
)
def test_merged_wishes(first: Priority, second: Priority, cause: str) -> None:
    older, newer = Ask(first, key("first")), Ask(second, key("second"))
    assert older.merged(newer).cause == key(cause)
