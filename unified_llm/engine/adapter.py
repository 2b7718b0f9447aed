"""The contract of an adapter: what a package declares so that the core can use its protocol.

An adapter is one declaration. It lists which documents it reads and writes, how its streams are framed, where its
settings, native fields and routes are, and where the official SDK declares the same wire; the core holds no fact about
any vendor. `unified_llm.suite` checks everything that is declared here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from ..passes.repair import Rules
    from ..passes.schemas import SchemaProfile
    from ..streams.event_fast_path import ReadMore, WriteMore
    from .conversation_api import ConversationApi
    from .file_api import CacheApi, FileApi
    from .pairs.mapping import Mapping
    from .pairs.reading import Reader
    from .pairs.table import Table
    from .pairs.writing import Writer
    from .shared.error_headers import RateHeaders

__all__ = [
    "CARRIED",
    "Adapter",
    "Amended",
    "Framing",
    "Kind",
    "Paging",
    "Proof",
    "ReadsMore",
    "Route",
    "Socket",
    "Specification",
    "Streams",
    "WireReader",
    "WireWriter",
    "WritesMore",
]

CARRIED = frozenset(("reasoning", "function_call", "custom_tool_call", "output_text"))
Event = dict[str, Any]

Proof = MappingABC[str, type | tuple[str, ...] | MappingABC[str, type]]
"""What makes a JSON object an answer, or an event, of a protocol: any of these keys with a value of that type, with a
string that begins with one of those, or with a list that has an object with one of these keys and types."""


class Kind(NamedTuple):
    """One kind of document: a reader (wire to canonical), a writer (canonical to wire), and what it is canonically.

    `node` names the canonical document ("request", "response", "error", ...); `facing` the reader of the output, by
    default: a request goes to a provider, everything else to a client. `signs` are keys by which a document of this
    kind is distinguished from those of the others, `mark` a key with the one value that is enough (`document_kind.py`).
    `proof` is what an answer of this kind is recognized by; without one every JSON object is such an answer.
    `errors` are the paths at which an answer of this kind may have the error that it failed with.
    """

    read: Callable[[Any, Reader], Any]
    write: Callable[[Any, Writer], Any]
    node: str
    facing: str = "client"
    signs: tuple[str, ...] = ()
    mark: tuple[str, str] | None = None
    proof: Proof = MappingProxyType({})
    errors: tuple[tuple[str | int, ...], ...] = (("error",),)


class Route(NamedTuple):
    """One HTTP route of the surface: `path` relative to the protocol's root, `{name}` for a segment."""

    method: str
    path: str
    kind: str
    stream: bool | None = None


class Specification(NamedTuple):
    """A published specification of a surface, of which clients name a version in a header, or its root in the path.

    `dialect` is its form of this protocol; `versions` are the values of `header`, each with the version it stands for,
    and `version` is the one that is followed where none is named.
    """

    header: str
    versions: MappingABC[str, str]
    version: str
    dialect: str
    root: str


class Socket(NamedTuple):
    """A surface over WebSocket: a message of the client is a request, and each event of a response a message.

    `path` is that of the route which creates responses. A message with `type` `create` is the body of a request,
    beside the fields of `own`. `prepares` decides for a body whether its response is only to be continued, without the
    model. `lane` is the field with the lane of the socket that a message belongs to. `error` makes a message of an
    error document, or of an event that is an error, and its HTTP status (None for an event); `refused` one of a message
    of another type, where there is an own answer for it. `active` responses at a time, `lanes` with a name, and
    `lifetime` seconds are the limits of a socket; the codes are those of a lane with an ill-formed name, of too many
    lanes, and of the end of the time.
    """

    path: str
    create: str
    own: frozenset[str]
    prepares: Callable[[MappingABC[str, Any]], bool]
    error: Callable[[MappingABC[str, Any], int | None], Event]
    refused: Callable[[MappingABC[str, Any]], Event | None]
    lane: str
    lane_form: str
    active: int
    lanes: int
    lifetime: float
    codes: tuple[str, str, str]


class Paging(NamedTuple):
    """How a list comes in pages: names in the query of a request (`size`, `after`, `before`) and keys of the answer.

    `most` is the largest size that is taken, `next` the key of the value of `after` for the page behind this one, and
    `more` the key that is true if there is one (without it: whether `next` is there).
    """

    size: str
    after: str
    next: str
    most: int
    more: str = ""
    before: str = ""


class WireReader(Protocol):
    """Wire events to canonical events. No I/O, no clock: the same events give the same result."""

    def feed(self, event: Event) -> list[Event]:
        """The canonical events of one wire event `{"event": name or None, "data": value or string}`."""

    def close(self) -> list[Event]:
        """The end of the wire stream: what is still owed, an error event when it was cut off."""


class WireWriter(Protocol):
    """Canonical events to wire events, the mirror of `WireReader`."""

    def feed(self, event: Event) -> list[Event]:
        """The wire events of one canonical event."""

    def close(self) -> list[Event]:
        """The bytes at the end that the surface requires, such as its done marker."""


class WritesMore(Protocol):
    """The writer's half of the fast path of a stream's bulk, which a `WireWriter` may offer.

    Nearly all events of a stream are the last one over again, but for the text of their delta. After each event that
    took the general path as one canonical event, both sides are called for a template of the next one like it.
    The suite checks that the fast path and the general path give the same.
    """

    def write_more(self) -> WriteMore | None:
        """How more of the last delta is written; None where the last event was no delta."""


class ReadsMore(Protocol):
    """The reader's half, which a `WireReader` may offer."""

    def read_more(self) -> ReadMore | None:
        """How more of the last delta is read; None where the last event was no delta."""


class Framing(NamedTuple):
    """How a surface frames its stream as server-sent events: with `event:` names or without, and its content type.

    `array` is the content type of the other framing, one JSON array of all events, where the surface has it, and `sse`
    the query that requests server-sent events there. `binary`: the surface frames its events in binary instead
    (`streams/framings/eventstream.py`). `lines`: it sends one JSON value a line (`streams/framings/lines.py`). Within
    the library they are server-sent events; the edges decode and encode the frames (`streams/framings/of_protocol.py`).
    """

    named: bool = False
    content_type: str = "text/event-stream"
    array: str = ""
    binary: bool = False
    sse: MappingABC[str, str] = MappingProxyType({})
    lines: bool = False


class Streams(NamedTuple):
    """The stream half of an adapter."""

    reader: Callable[[Reader], WireReader]
    writer: Callable[[Writer], WireWriter]
    framing: Framing = Framing()
    # Which of the events whose content nothing repeats (`stream.ALONE`, `PASSING`) its writer has a form for.
    alone: frozenset[str] = frozenset()
    # What an event of this protocol is recognized by; without it every event is one.
    proof: Proof = MappingProxyType({})
    # The canonical fields of an answer that its writer sends before the end: after an error the others are lost.
    opening: frozenset[str] = frozenset(("id", "model"))
    # Whether its writer makes HTTP headers of the first event: a server then sends no header before that event.
    headers: bool = False
    # Whether clients of the API read no error in a stream: one that breaks off then ends without the end of its body.
    breaks: bool = False
    # Whether a request that does not decide it requests a stream, where the body decides (`Route.stream` is None).
    by_default: bool = False
    # The field of an event with the document that `Adapter.usage` reads, where the last event with a usage has all of
    # it; "" for the event itself. None where the usage is put together from several events.
    usage: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Adapter:
    """One wire protocol, declared. Built at import of the adapter package and never changed, so known by identity."""

    # Its id, such as "acme-talk", which `convert` and an entry point have; a title for people, and the page of the API.
    protocol: str
    title: str
    url: str
    # The documents that it reads and writes, by kind: "request", "response", "error", "models", ...
    kinds: MappingABC[str, Kind]
    streams: Streams
    # Every family of nodes, for the completeness checks of the suite.
    mappings: tuple[Mapping, ...] = ()
    # Canonical types that a document's writer groups or places itself, outside the mappings.
    by_hand: frozenset[str] = frozenset()
    # Canonical document name to its settings table, for locating losses and for completeness.
    settings: MappingABC[str, Table] = field(default_factory=dict)
    # Wire fields and types that only this protocol has, with the capability they stand for. A dotted key is more exact.
    natives: MappingABC[str, str] = field(default_factory=dict)
    # Native keys of tools, and native types of tools, that narrow a canonical type of tool: what has one of them is
    # never sent to another protocol without it (`restrictions.py`).
    narrows: MappingABC[str, str] = field(default_factory=dict)
    # Canonical type of tool -> field -> the restriction this protocol imposes where the field is absent.
    implied: MappingABC[str, MappingABC[str, Any]] = field(default_factory=dict)
    # Canonical types of tools that `tool_choice` decides about, the others being callable whatever it is; None for all.
    chosen: frozenset[str] | None = None
    # Whether the summary of a compaction may be read: elsewhere it is sent as a message (`summaries.py`).
    summaries: bool = False
    # Whether neighboring outputs of the model are one turn, of which clients keep each chunk of a stream as a message:
    # elsewhere they are joined (`answer_pieces.py`).
    pieces: bool = False
    # The words that a marker of form may hold where the writer puts it on the wire, those of which it is a list
    # (`frozenset`), or the numbers it counts to (`range`): anything else that a document made by hand has there is
    # ignored.
    forms: MappingABC[str, Collection[Any]] = field(default_factory=dict)
    # What the API documents as defaults, which are not reported where the target does the same without them: the table
    # that `losses/defaults.toml` has of a packaged protocol, `{"request": ({"path", "value", "field", "url"}, ...)}`.
    defaults: MappingABC[str, Any] = field(default_factory=dict)
    # Canonical fields and types this protocol has no form for, with the reason.
    refuses: MappingABC[str, str] = field(default_factory=dict)
    # The HTTP routes of its surface, by which transports and the gateway recognize a request and clients send theirs.
    routes: tuple[Route, ...] = ()
    # A published specification that clients may select by its version.
    specification: Specification | None = None
    # How requests come over WebSocket; None where the protocol has no such form.
    socket: Socket | None = None
    # How a list of models comes in pages; None where it comes whole.
    paging: Paging | None = None
    # The key of the list in a document of models: a model alone is one entry of it.
    entries: str = "data"
    # How a stream that is kept is taken up again: the query parameter of its GET route with the event behind which,
    # and the field of an event's data that is such a place; empty where streams are not kept.
    resume: tuple[str, ...] = ()
    # Files and cached prompts that clients upload and then name in requests; None where the protocol has none.
    files: FileApi | None = None
    caches: CacheApi | None = None
    # Conversations that clients keep and then name in requests; None where the protocol has none.
    conversations: ConversationApi | None = None
    # HTTP header names that carry a credential, in the order they are tried; "{}" stands for the key.
    auth: tuple[tuple[str, str], ...] = ()
    # Kind to "module:name" of the official SDK's type, and the extra that installs it.
    sdk: MappingABC[str, str] = field(default_factory=dict)
    sdk_extra: str = ""
    # Which parts of an opaque piece's origin must match for it to be sent back.
    origin: tuple[str, ...] = ("protocol", "provider", "scope")
    # Whether a piece of this kind and of another origin is valid at this target too, whose model is named in it; None
    # where none is.
    shares: Callable[[Any, MappingABC[str, Any], MappingABC[str, Any]], bool] | None = None
    # Values that any client may put where opaque data goes. No provider made them: they are neither opaque data nor
    # kept, and go back to their own protocol alone.
    constants: frozenset[str] = frozenset()
    # Protocols of one family share the stores that handles (files, containers, stored responses) name.
    family: str = ""
    # Bearers of opaque pieces whose foreign pieces this surface's writer seals into a slot that clients echo. Those of
    # all others travel with their whole answer (`answer_envelope.py`), in the slot of reasoning.
    carries: frozenset[str] = CARRIED
    # Whether an answer is one message whose text stands before its calls: where one text ends, and what came between
    # two calls, is not shown.
    joins: bool = False
    # Whether messages that follow each other in an answer are shown as one.
    merges: bool = False
    # The server's demands on the history of a request; None where it has none.
    repair: Rules | None = None
    # What a provider takes in place of a body of another protocol that it refused with this message; None where nothing
    # helps.
    amends: Callable[[Any, str], Amended | None] | None = None
    # What is accepted of JSON Schema and of names, by where a schema goes: "tools", "output", each with ".strict" where
    # strictness was requested, and "tools.output" for what a tool gives. What is missing accepts everything. What a
    # dialect names under "schemas" stands before a use that is different there ("openapi:tools").
    schemas: MappingABC[str, SchemaProfile] = field(default_factory=dict)
    # Variants of the protocol by name. The core reads `provider`, `schemas`, `repair`, `refuses` and `ignores`; other
    # names are the adapter's own.
    dialects: MappingABC[str, MappingABC[str, Any]] = field(default_factory=dict)
    # What a request for a response is called in telemetry (`gen_ai.operation.name`).
    operation: str = "chat"
    # What the ids of answers begin with, where clients of this protocol check that.
    id_prefix: str = ""
    # The canonical usage of a response, read without the rest of it; None where it has none. Without such a function
    # the whole response is read.
    usage: Callable[[Any, Reader], Any] | None = None
    # The status of a request that continues a response that is unknown.
    unknown_previous: int = 404
    # How a request has its conversation kept, if a field of its own declares that.
    thread: Thread | None = None
    # Headers of a request that has no document, and so no writer to set them.
    headers: MappingABC[str, str] = field(default_factory=dict)
    # The options of every stream that this library's client requests, by default, so that the answer is whole.
    streaming: MappingABC[str, MappingABC[str, Any]] = field(default_factory=dict)
    # Headers of a request that belong to the protocol (versions, betas), in lower case: a conversion sees no other.
    request_headers: tuple[str, ...] = ()
    # How it names the headers of rate limits; None for the names that most protocols have.
    rates: RateHeaders | None = None
    # Headers by which this surface's clients are known where paths are shared.
    marks: tuple[str, ...] = ()
    # What stands before its routes at its own provider, where that alone distinguishes its list of models from others'.
    roots: tuple[str, ...] = ()
    # A module of the official SDK to "module:function", which makes an upstream of a client of it.
    clients: MappingABC[str, str] = field(default_factory=dict)
    # An official declaration of the wire, as module names whose types the suite walks.
    declared: MappingABC[str, Any] = field(default_factory=dict)

    def stream_field(self) -> str:
        """The field of a request's body that requests a stream."""
        table = self.settings.get("request")
        return (table.wire_key(("stream",)) if table is not None else None) or "stream"

    def requests_stream(self, body: Any) -> bool:
        """Whether the body of a request requests a stream, in this protocol's own field and by its own default."""
        return type(body) is dict and body.get(self.stream_field(), self.streams.by_default) is True

    def profile(self, use: str, dialect: MappingABC[str, Any]) -> SchemaProfile | None:
        """What is accepted where a schema goes, the dialect's word first; None where everything is."""
        found = self.schemas.get(f"{dialect.get('schemas')}:{use}") or self.schemas.get(use)
        if found is None and use.endswith(".strict"):
            return self.profile(use.removesuffix(".strict"), dialect)
        return found


class Amended(NamedTuple):
    """A request in another form after its provider refused it, and its entry in the loss report.

    `headers` are added to those of the request, by a comma where it has one of the name. `added` are the keys that lead
    to what the body has in addition; without them the entry is about what was taken out.
    """

    body: Any
    capability: str
    detail: str
    added: tuple[str, ...] = ()
    headers: MappingABC[str, str] = MappingProxyType({})


class Thread(NamedTuple):
    """The field of a request by which its conversation is kept.

    `key` is that of the id of the response that it continues, in the field: a request without it begins a conversation.
    `settings` are the fields that only such a request has, and that hold for the whole conversation. `providers` keep
    conversations: other servers of the protocol may ignore the field, and would answer without what came before.
    `beta` is the header that such requests have, and its word for them.
    """

    field: str
    key: str
    settings: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    beta: tuple[str, str] = ("", "")


class Surface(NamedTuple):
    """A protocol in one of its dialects, and whose documents these are where that is known."""

    adapter: Adapter
    dialect: MappingABC[str, Any]
    provider: str | None = None

    def accepts(self, uses: tuple[str, ...]) -> tuple[SchemaProfile | None, ...]:
        """What is accepted of schemas for each use, None for everything."""
        return _accepted(self.adapter, self.dialect.get("schemas"), uses)


@lru_cache(maxsize=256)
def _accepted(adapter: Adapter, schemas: str | None, uses: tuple[str, ...]) -> tuple[SchemaProfile | None, ...]:
    return tuple(adapter.profile(use, {"schemas": schemas}) for use in uses)
