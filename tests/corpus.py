"""Where the laws find their documents: the hand-made fixtures always, recorded traffic where there is some.

`UNIFIED_LLM_CORPUS` names a folder of JSON lines, one record a line, in files `{protocol}.{kind}.jsonl`; without it the
fixtures alone are used, which hold one document of every type, field and event. A law loops over records inside one
test a (protocol, kind) and shows its first failures, because thousands of test items are less useful than one list.
"""

from __future__ import annotations

import functools
import json
import marshal
import os
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

import unified_llm
from unified_llm import suite

PROTOCOLS = {  # the corpus' names for our protocols
    "chat": "openai-chat",
    "responses": "openai-responses",
    "interactions": "google-interactions",
    "generate_content": "google-generate-content",
    "messages": "anthropic-messages",
}
KINDS = ("request", "response", "stream", "error")


def corpus_folder() -> pathlib.Path | None:
    """The folder of recorded traffic, None when there is none."""
    named = os.environ.get("UNIFIED_LLM_CORPUS")
    return pathlib.Path(named) if named else None


def records(protocol: str | None = None, kind: str | None = None) -> Iterator[dict[str, Any]]:
    """Records `{id, protocol, kind, vendor, status, path, pair, ...}` with `body`, or `events` for a stream.

    `protocol` and `kind` narrow them down. `pair` is the id of the request that a response, stream or error answers;
    `twin` (fixtures only, on streams) that of the response with the same answer in one piece.
    """
    yield from fixtures(protocol, kind)
    yield from recorded(protocol, kind)


def fixtures(protocol: str | None = None, kind: str | None = None) -> Iterator[dict[str, Any]]:
    """The repository's own documents, which `suite.records` describes."""
    yield from suite.records(protocol, kind)


def recorded(protocol: str | None = None, kind: str | None = None) -> Iterator[dict[str, Any]]:
    """The records of the corpus, in file order; none when `UNIFIED_LLM_CORPUS` is not set."""
    folder = corpus_folder()
    for path in sorted(folder.glob("*.jsonl")) if folder else ():
        its_protocol, its_kind, _ = path.name.split(".")
        if protocol in (None, PROTOCOLS[its_protocol]) and kind in (None, its_kind):
            yield from marshal.loads(_packed_records(path, its_protocol, its_kind))


# Every law gets its records new: no test sees what another one did to them. Parsing them once,
# and unpacking them for each, takes a fifth of the time.


@functools.cache
def _packed_records(path: pathlib.Path, protocol: str, kind: str) -> bytes:
    """The records of one file of the corpus as `marshal` data."""
    lines = path.read_bytes().splitlines()
    return marshal.dumps([{**json.loads(line), "protocol": PROTOCOLS[protocol], "kind": kind} for line in lines])


def smallest_first(found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records for a law that tries places alike once: fixtures, then the others, each by size.

    So a place is tried in the smallest record that has it, which is the quickest.
    """
    return sorted(found, key=lambda record: (record["vendor"] != "fixture", len(marshal.dumps(record))))


def by_id(protocol: str, kind: str) -> dict[str, dict[str, Any]]:
    """The records of one protocol and kind, by their id."""
    return {record["id"]: record for record in records(protocol, kind)}


def cases(*kinds: str) -> list[tuple[str, str]]:
    """The (protocol, kind) pairs there are adapters and records for: what a law is parametrised with."""
    return [(protocol, kind) for protocol, kind in _cases() if kind in (kinds or KINDS)]


@functools.cache
def _cases() -> list[tuple[str, str]]:
    return [
        (protocol, kind)
        for protocol in unified_llm.protocols()
        for kind in KINDS
        if next(records(protocol, kind), None) is not None
    ]


def pairs(*kinds: str) -> list[tuple[str, str, str]]:
    """The (source, target, kind) triples of two different protocols."""
    found = cases(*kinds)
    return [
        (source, target, kind) for source, kind in found for target, its in found if its == kind and source != target
    ]


def show(failures: list[Any], law: str, examined: int, first: int = 10) -> str:
    """The text of a failed assertion: how many, and the first few with record id and JSON path."""
    lines = [f"{law}: {len(failures)} failure(s) in {examined} examined"]
    lines += [f"  {failure}" for failure in failures[:first]]
    return "\n".join(lines + ([f"  ... and {len(failures) - first} more"] if len(failures) > first else []))
