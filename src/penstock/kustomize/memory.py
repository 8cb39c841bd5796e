"""Work on objects, done only where a cache does not know what comes of it.

The functions here take work on one object and return work with the same outcome. The state of an object has a number
(`Resource.key`); a fact is what a step makes of a state. An object without a number is simply worked on.
"""

import marshal
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from penstock.kustomize.cache import Cache
from penstock.kustomize.candidates import Candidates, Followed
from penstock.kustomize.resource import Object, Resource, Summary, Work

_FOLLOWED = 500  # bytes of questions and answers
T = TypeVar("T")


def step(cache: Cache, name: Hashable, work: Work, *, renames: bool) -> Work:
    """Work that depends on nothing but the state of the object and its own name."""
    number = cache.number(name)

    def run(resource: Resource) -> None:
        key = resource.key
        if key is None:
            resource.wake()
            work(resource)
            return
        known: tuple[int, Summary] | None = cache.get((key, number))
        if known is not None:
            resource.advance(known[0], known[1], work)
            return
        resource.release()
        work(resource)
        after = resource.key = cache.new_state()
        cache.put((key, number), (after, resource.settle(after) if renames else resource.summary))

    return run


def question(cache: Cache, name: Hashable, answer: Callable[[Resource], T]) -> Callable[[Resource], T]:
    """A question that depends on the same, and has an answer other than None."""
    number = cache.number(name)

    def ask(resource: Resource) -> T:
        if resource.key is None:
            return answer(resource)
        known: T | None = cache.get((resource.key, number))
        if known is None:
            known = answer(resource)
            cache.put((resource.key, number), known)
        return known

    return ask


def following(cache: Cache, name: Hashable, work: Work, candidates: Candidates) -> Work:
    """Work that also depends on the candidates it asks for."""
    number = cache.number(name)

    def run(resource: Resource) -> None:
        key = resource.key
        known: Followed | None = None if key is None else cache.get((key, number))
        if known is not None and candidates.agree(known):
            resource.advance(known.key, known.summary, work)
            return
        before = resource.summarized() if key is None or resource.summary is None else resource.summary
        candidates.begin()
        resource.release()
        work(resource)
        after = cache.new_state()
        summary = resource.settle(after)
        if key is not None and summary == before:
            cache.put((key, number), candidates.answers(after, summary), weight=_FOLLOWED)
            return
        resource.release()
        if summary != before:
            candidates.moved()

    return run


def last(cache: Cache, value: Callable[[Resource], Object]) -> Callable[[Resource], Object]:
    """What becomes of objects in the end; it is kept packed, so that every caller gets objects of its own."""
    from msgspec import msgpack  # a command that builds once has no use for it

    number = cache.number("last")
    encode, decode = msgpack.Encoder().encode, msgpack.Decoder(type=dict[str, Any]).decode

    def get(resource: Resource) -> Object:
        key = resource.key
        if key is None:
            return value(resource)
        known: bytes | None = cache.get((key, number))
        if known is not None:
            return decode(known)
        found = value(resource)
        try:
            content = encode(found)
        except (TypeError, ValueError, OverflowError):  # not plain after all
            return found
        cache.put((key, number), content, weight=len(content))
        return found

    return get


def remember(cache: Cache, resource: Resource) -> None:
    """Number the state of an object that was made by this build, by its content."""
    try:
        content = marshal.dumps(resource.object)
    except ValueError:  # some key remembers its text
        return
    resource.settle(cache.number(("made", content, resource.id, resource.hashed, resource.behavior)))
