"""What the laws share: running one conversion without ever raising, and reading what came of it.

A record is a dict `{"id", "protocol", "kind", "body"}`, with `"events"` instead of `"body"` for a stream, and `"path"`
and `"status"` of the HTTP exchange where they are known. Protocols may carry a dialect (`name:dialect`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import unified_llm as ul

from ..engine.pairs.reading import Reader
from ..engine.registry import provider_of, split
from ..foundation.generated_ids import is_made
from ..foundation.json_codec import load
from ..foundation.secret import Secret
from ..foundation.usage_errors import InvalidArgument
from ..streams import collect_and_decompose
from .walk import Path, dumps, get, is_prefix, pointer, same

__all__ = [
    "FORM",
    "Failure",
    "Outcome",
    "Record",
    "canonical",
    "checked",
    "differ",
    "document",
    "hollow",
    "http_of",
    "in_short",
    "noticed",
    "ours",
    "outcome",
    "plain",
    "returned",
    "show",
    "without_form",
]

Record = dict[str, Any]

FORM = ("form", "frame")
"""Drawers of `extra[protocol]` that hold the form of a value and never the value: where two canonical
documents differ in these alone, they have the same content. (That they hold no values is seen by `sensitivity`, where
an altered value is never excused.)"""


_JUDGED: dict[str, Any] = {"output.choices": "ignore"}
# (Several choices of a target that gives one are refused, unless `on_loss` names them. The laws are
# about everything else in such a request, too.)


GONE = ("lost", "parked")
"""Fates of what is not in the value at all."""


class Failure(NamedTuple):
    """One broken promise: the record, the JSON pointer, and what happened."""

    record: str
    path: str
    detail: str

    def __str__(self) -> str:
        return f"{self.record} {self.path or '/'}: {self.detail}"


class Outcome(NamedTuple):
    """What came of a conversion. For a stream `value` is the list of wire events, up to the `error` if any."""

    value: Any
    losses: Sequence[ul.Loss]
    error: Exception | None = None
    http: Mapping[str, Any] | None = None

    def names(self, path: str) -> bool:
        """Whether the report names the place, or a node around it of which nothing arrived.

        (Of what is in a node that took another form, something should be seen in that form.)
        """
        return any(
            loss.side == "source" and (loss.path == path or (loss.fate in GONE and is_prefix(loss.path, path)))
            for loss in self.losses
        )

    def names_below(self, path: str) -> bool:
        """Whether the report names something in the node at the place."""
        return any(loss.side == "source" and is_prefix(path, loss.path) for loss in self.losses)

    def around(self, path: str) -> list[ul.Loss]:
        """The losses of the nodes around the place."""
        return [loss for loss in self.losses if loss.side == "source" and is_prefix(loss.path, path)]

    def added(self) -> list[ul.Loss]:
        """The values that were added to the target."""
        return [loss for loss in self.losses if loss.side == "target"]


def outcome(record: Record, target: str, body: Any = None, *, source: str | None = None, **options: Any) -> Outcome:
    """Convert a record (or another body in its place) to `target`; an error is part of the outcome."""
    source = source or record["protocol"]
    http = http_of(record)
    body = document(record) if body is None else body
    if record["kind"] == "stream":
        events: list[Any] = []
        stream = ul.convert_stream(body, source=source, target=target, http=http, **options)
        try:
            for event in stream:
                events.append(event)
        except Exception as error:
            return Outcome(events, stream.losses, error)
        return Outcome(events, stream.losses)
    try:
        done = ul.convert(
            body, source=source, target=target, kind=record["kind"], http=http, on_loss=_JUDGED, **options
        )
    except Exception as error:
        return Outcome(None, (), error)
    return Outcome(done.value, done.losses, None, done.http)


def checked(records: Iterable[Record], *keys: str) -> Iterator[Record]:
    """The records, each with all that a law needs of it: also `keys`, by default its document.

    Raises `InvalidArgument` with the id of the record and the key that it lacks.
    """
    for number, record in enumerate(records):
        if not isinstance(record, dict):
            raise InvalidArgument(f"record {number} is a {type(record).__name__}; a record is a dict")
        name = f"record {record['id']!r}" if "id" in record else f"record {number}"
        for key in ("id", "protocol", "kind"):
            if key not in record:
                raise InvalidArgument(f"{name} has no {key!r}")
        for key in keys or ("events" if record["kind"] == "stream" else "body",):
            if key not in record:
                raise InvalidArgument(f"{name}, of kind {record['kind']!r}, has no {key!r}")
        yield record


def document(record: Record) -> Any:
    """The wire document of a record: its body, or the list of its events."""
    return record["events"] if record["kind"] == "stream" else record["body"]


def has_class(record: Record) -> bool:
    """Whether the document of a record has a canonical class, so that `canonical` reads it; a stream has none."""
    from ..types.validation import KINDS

    declared = split(record["protocol"])[0].kinds.get(record["kind"])
    return declared is not None and declared.node in KINDS


def canonical(body: Any, protocol: str, kind: str, record: Record | None = None) -> Any:
    """The canonical JSON of a wire document, read with the HTTP exchange of its record."""
    return load(ul.read(body, protocol, kind, http=http_of(record) if record is not None else None))


def returned(value: Any, protocol: str, secret: str | None = None) -> Any:
    """The canonical response of what was written for a client (a document, or a list of wire events), as it sends that.

    A client collects a stream into one document, in which envelopes are strings like others, and they are opened in
    what it sends back. `canonical` reads what a provider sends, where they never are.
    """
    adapter, dialect = split(protocol)
    if type(value) is list:
        client = Reader(adapter, dialect=dialect, provider=provider_of(protocol, dialect))
        client.escapes = False
        collected = ul.collect(collect_and_decompose.checked(adapter.streams.reader(client), value))
        value = ul.write(collected, protocol, "response").value
    reader = Reader(adapter, dialect=dialect, provider=provider_of(protocol, dialect), opens=True)
    reader.secret = Secret.of(secret)
    return reader.root(adapter.kinds["response"].read, load(value))


def http_of(record: Record) -> dict[str, Any] | None:
    """The HTTP part of a record: its `http` with `path` and `status`; None where it has none."""
    beside = {key: record[key] for key in ("path", "status") if record.get(key) is not None}
    return {**(record.get("http") or {}), **beside} or None


def without_form(value: Any) -> Any:
    """A canonical document without what is only form (the grouping into wire messages is form as well)."""
    if type(value) is list:
        return [without_form(inner) for inner in value]
    if type(value) is not dict:
        return value
    out = {key: without_form(inner) for key, inner in value.items() if key not in ("extra", "turn")}
    drawers = {
        protocol: {key: inner for key, inner in drawer.items() if key not in FORM}
        for protocol, drawer in (value.get("extra") or {}).items()
        if type(drawer) is dict
    }
    drawers = {protocol: drawer for protocol, drawer in drawers.items() if drawer}
    return {**out, "extra": drawers} if drawers else out


def in_short(value: Any) -> Any:
    """With content that is one plain text as that text, which means the same."""
    if type(value) is list:
        return [in_short(inner) for inner in value]
    if type(value) is not dict:
        return value
    out = {key: in_short(inner) for key, inner in value.items()}
    for key in ("content",) if out.get("type") == "message" else ("instructions",):
        content = out.get(key)
        if type(content) is list and len(content) == 1 and type(content[0]) is dict:
            out[key] = text if type(text := plain(content[0])) is str else content
    return out


def plain(part: dict[str, Any]) -> Any:
    """A part that is one plain text as that text."""
    said = {key for key, inner in part.items() if inner not in (None, [], {})}
    return part["text"] if said == {"type", "text"} and part["type"] in ("input_text", "output_text") else part


def ours(error: Exception | None) -> bool:
    """Whether an error is one the library raises on purpose."""
    return isinstance(error, ul.UnifiedLLMError)


def noticed(record: Record, target: str, base: Outcome, body: Any, path: Path) -> bool:
    """Whether a change at `path`, which makes `body`, shows in the value, the report, or an error of ours."""
    if base.names(pointer(path)):
        return True
    done = outcome(record, target, body)
    if done.error is not None:
        return ours(done.error)
    if done.names(pointer(path)) or differ(base, done):
        return True
    if base.around(pointer(path)) != done.around(pointer(path)):
        return True
    # A value that was in the source before and is now supplied has to be reported as added.
    return [loss for loss in base.losses if loss.side == "target"] != [
        loss for loss in done.losses if loss.side == "target"
    ]


def differ(one: Outcome, other: Outcome) -> bool:
    """Whether two conversions gave different documents, generated ids apart.

    A generated id follows from how the conversation begins: that one of them changed does not mean the leaf arrived.
    """
    mine, theirs = [one.value, dict(one.http or {})], [other.value, dict(other.http or {})]
    return not same(mine, theirs, lambda left, right: is_made(left) and is_made(right))


def hollow(value: Any) -> bool:
    """Whether a value holds nothing but its type, however deep."""
    if type(value) is dict:
        return all(key == "type" or hollow(inner) for key, inner in value.items())
    return all(map(hollow, value)) if type(value) is list else value is None or value == ""


def show(doc: Any, path: Path) -> str:
    """The value at a path as short text, "nothing" where there is none."""
    try:
        text = dumps(get(doc, path))
    except (LookupError, TypeError, ValueError):
        return "nothing"
    return text if len(text) <= 120 else text[:117] + "..."
