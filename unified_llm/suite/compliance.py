"""Every law at once: what an adapter still owes, between its own records and all other protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain

import unified_llm as ul

from ..engine.registry import adapter
from .completeness import unclassified_types
from .defaults import no_noise
from .fuzz import fuzz
from .laws import edit, identity, injection, sensitivity, specificity
from .outcome import Failure, Record, checked, has_class
from .packaged import covering, records
from .signatures import foreign_minds, minds_of_conversations
from .streams.content import streamed_content
from .streams.laws import chunking, repeating, truncation
from .streams.silence import frame_sensitivity, stream_sensitivity

__all__ = ["all"]

Check = Callable[[], Iterable[Failure]]


def all(
    protocol: str,
    found: Iterable[Record],
    others: Iterable[Record] | None = None,
    *,
    mutants: int = 300,
    said_again: tuple[str, ...] = (),
    progress: Callable[[str], None] = lambda name: None,
) -> dict[str, list[Failure]]:
    """Run every law that needs nothing but records; an empty dict means that the adapter keeps them all.

    Of `protocol`'s own records are checked: identity, edits, and the way to each other protocol (`sensitivity`,
    `specificity`, `injection`, `no_noise`; for streams `chunking`, `repeating`, `truncation` and `frame_sensitivity`,
    and `stream_sensitivity` and `streamed_content` for responses; opaque data over each other surface). Of the others'
    records: the way to `protocol`. The laws that need more than records (`collecting`, `decomposing`,
    `prefix_stability`, `valid`, `unclassified_fields`) are not among them. Of a kind of documents
    without a canonical class (lists of models), or that the other protocol does not have, only identity is checked.

    Args:
        protocol: id of the adapter's protocol, which has to be registered.
        found: its records, of all kinds; small ones that hold each field, and an unknown key in each object.
        others: records of other protocols; by default those of `suite.records` that `covering` keeps.
        mutants: how many broken documents to convert.
        said_again: as in `frame_sensitivity`.
        progress: called with the name of each law before it runs.

    Returns:
        The failures by law, with the other protocol where there is one: `{"sensitivity to openai-chat": [...]}`.

    Raises `InvalidArgument` for a record without one of its keys, as every law does.

    Example, in a test of an adapter (a minute or two with all packaged records)::

        def test_the_adapter_keeps_every_law():
            assert suite.all("acme-talk", RECORDS) == {}

    >>> from unified_llm import suite
    >>> body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "seed": 7, "mood": "calm"}
    >>> made = [{"id": "hi", "protocol": "openai-chat", "kind": "request", "body": body}]
    >>> suite.all("openai-chat", made, others=[], mutants=20)
    {}
    """
    mine = list(checked(found))
    foreign = covering(records()) if others is None else list(checked(others))
    foreign = [each for each in foreign if each["protocol"] != protocol]
    failures: dict[str, list[Failure]] = {}
    ways = (_own(protocol, mine, mutants), _ways_out(mine, protocol, said_again), _ways_in(foreign, protocol))
    for name, law in chain.from_iterable(ways):
        progress(name)
        broken = list(law())
        if broken:
            failures[name] = broken
    return failures


def _own(protocol: str, mine: list[Record], mutants: int) -> Iterator[tuple[str, Check]]:
    documents = [record for record in mine if record["kind"] != "stream"]
    yield "identity", partial(identity, protocol, mine)
    yield "edit", partial(edit, protocol, documents)
    yield "unclassified_types", partial(unclassified_types, protocol)
    if mine and mutants:
        yield "fuzz", lambda: fuzz(mine, sorted(ul.protocols()), mutants).failures


def _ways_out(mine: list[Record], protocol: str, said_again: tuple[str, ...]) -> Iterator[tuple[str, Check]]:
    streams, responses, requests = _of(mine, "stream"), _of(mine, "response"), _of(mine, "request")
    targets = [name for name in sorted(ul.protocols()) if name != protocol]
    for target in targets:
        yield from _documents(mine, target)
        yield f"chunking to {target}", partial(chunking, streams, target)
        yield f"repeating to {target}", partial(repeating, streams, target)
        yield f"streamed_content to {target}", partial(streamed_content, responses, target)
        yield f"minds_of_conversations over {target}", partial(minds_of_conversations, protocol, target, requests)
        yield f"foreign_minds to {target}", partial(_foreign_minds, protocol, target, requests)
    yield "truncation", partial(truncation, streams, targets)
    yield "stream_sensitivity", partial(stream_sensitivity, responses, targets)
    yield "frame_sensitivity", partial(frame_sensitivity, streams, targets, None, said_again)


def _ways_in(foreign: list[Record], protocol: str) -> Iterator[tuple[str, Check]]:
    for source in sorted({record["protocol"] for record in foreign}):
        theirs = [record for record in foreign if record["protocol"] == source]
        for name, law in _documents(theirs, protocol):
            yield f"{name}, from {source}", law
        yield f"streamed_content to {protocol}, from {source}", partial(streamed_content, theirs, protocol)
        yield f"chunking to {protocol}, from {source}", partial(chunking, _of(theirs, "stream"), protocol)
        yield f"truncation to {protocol}, from {source}", partial(truncation, _of(theirs, "stream"), [protocol])
        yield f"foreign_minds of {source}", partial(_foreign_minds, source, protocol, _of(theirs, "request"))


def _documents(found: list[Record], target: str) -> Iterator[tuple[str, Check]]:
    kinds = adapter(target).kinds
    documents = [record for record in found if has_class(record) and record["kind"] in kinds]
    for law in (sensitivity, specificity, injection, no_noise):
        yield f"{law.__name__} to {target}", partial(law, documents, target)


def _foreign_minds(source: str, target: str, requests: list[Record]) -> list[Failure]:
    return foreign_minds(source, target, requests, frozenset(adapter(source).constants))


def _of(found: list[Record], kind: str) -> list[Record]:
    return [record for record in found if record["kind"] == kind]
