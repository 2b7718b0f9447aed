"""What goes between the rules of a call and the drivers that do its work: requests, effects, answers.

Values alone. The rules are in `request_flow.py`, the drivers in `io.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ...engine.registry import split
from ...foundation.errors import APIError, InvalidBody, request_id_of
from ...foundation.secret import SecretLike
from ...losses import Levels, Losses
from ...passes.convert import Converted, Repair, convert
from ...provenance.vault import Vault
from ..upstreams.upstream import Upstream
from .api_errors import unusable
from .deadline import Deadline

if TYPE_CHECKING:
    from ...foundation.json_codec import Parsed
    from ..telemetry.operation import Operation, Telemetry

__all__ = [
    "Answer",
    "Ask",
    "Effect",
    "Hop",
    "Left",
    "OnFailure",
    "Opened",
    "Outgoing",
    "answer_kind",
    "is_made",
    "lowered",
]

OnFailure = Callable[[Upstream, APIError], None]


@dataclass(slots=True, kw_only=True)  # not frozen: that triples what it costs to make one, and each call makes one
class Ask:
    """A request: a wire document of `source`, or a canonical one (`source` None).

    `http` is what the source carried outside of the body (`method`, `path`, `query`, `headers`); without a body it
    is a request as it is, for routes that have none (lists, polling, cancelling). `stream` selects which form of
    answer is awaited. `secret` authenticates envelopes (`convert`). `timeout` is the HTTP library's, and `patience`
    stands for it where the upstream has none either. `deadline` is when the call ends, with everything in it.
    `at` and `answer_id` are the time (seconds since 1970) and the id of an answer that has none, `previous` is the
    answer that the caller went on from. `on_failure` is called with each upstream that failed, and its error, `on_left`
    where the caller leaves while an upstream answers.
    `kept` is where answers are kept for the source's client, if not by the upstream: as a detail of the loss report.
    `given` is the text that `body` was parsed from, where nothing was put into it: a conversion of that copies nothing.
    `outgoing` is a request that is ready as it is: then nothing is converted.
    `losses` came about before the conversion. `telemetry` has the hooks that are called. Headers and queries of the
    caller's are the upstream's: they go to no other.
    """

    body: Any = None
    source: str | None = None
    kind: str = "request"
    http: Mapping[str, Any] = field(default_factory=dict)
    stream: bool = False
    on_loss: Levels = "ignore"
    vault: Vault | None = None
    secret: SecretLike = None
    timeout: Any = None
    patience: Any = None
    deadline: Deadline | None = None
    at: int | None = None
    answer_id: str = ""
    previous: str | None = None
    kept: str = ""
    repair: Repair = "auto"
    on_failure: OnFailure | None = None
    on_left: Callable[[Left], None] | None = None
    given: Parsed | None = None
    outgoing: Outgoing | None = None
    losses: Losses = field(default_factory=Losses)
    telemetry: Telemetry | None = None


class Left(NamedTuple):
    """A request that was sent, and whose caller left before the answer."""

    upstream: Upstream
    model: str | None


class Hop(NamedTuple):
    """An upstream that was tried and passed by: how often, and why."""

    upstream: str
    attempts: int
    reason: str
    error: Exception | None = None


class Effect(NamedTuple):
    """Something to do for `steps`: a verb of the driver's, and what with."""

    verb: str
    what: tuple[Any, ...]


class Outgoing(NamedTuple):
    """A request that is ready to leave, but for the credentials."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None
    query: Mapping[str, Any]
    timeout: Any
    path: str  # below the protocol's root, for transports that have a root of their own
    public: frozenset[tuple[str, str]] = frozenset()  # what conversion set of headers and query: no credentials
    kept: dict[str, Any] | None = None  # what a driver keeps of it, where equal requests follow with other bodies
    losses: Losses = Losses()  # of the request, for what answers in this process and counts them


@dataclass(slots=True, kw_only=True)
class _Head:
    """Who answered, to what, and how: what answers and streams have in common."""

    upstream: Upstream
    sent: Converted
    status: int
    headers: Mapping[str, str]
    kind: str
    model: str | None = None
    method: str = ""
    url: str = ""
    hops: tuple[Hop, ...] = ()
    attempts: int = 1

    def located(self, error: APIError) -> APIError:
        """The error with the request it is about."""
        error.method, error.url = self.method, self.url
        return error

    @property
    def request_id(self) -> str | None:
        """The provider's name for the request."""
        return request_id_of(self.headers)

    @property
    def http(self) -> dict[str, Any]:
        """What came outside of the body, as `convert(http=)` takes it."""
        return {"status": self.status, "headers": dict(self.headers)}


@dataclass(slots=True, kw_only=True)
class Answer(_Head):
    """A whole answer: `value` is the document as the upstream wrote it (`kind` of its protocol), `raw` its bytes.

    `told` means that it came as a stream all the same; then the bytes are not the document's.
    """

    value: Any
    raw: bytes
    told: bool = False

    @property
    def is_made(self) -> bool:
        """Whether a model made it, so that it has a usage."""
        return is_made(self.upstream.protocol, self.kind)

    def to(self, target: str, **options: Any) -> Converted:
        """The answer as `target` has it; `options` are those of `convert`.

        Raises `ServerError` for what is JSON and yet no document of the upstream's protocol.
        """
        asked = {"exchange": self.sent.exchange, "http": self.http, "scope": self.upstream.scope, **options}
        try:
            # From the bytes where they are the document: a value would be printed and parsed to make it our own.
            body = self.value if self.told else self.raw
            return convert(body, source=self.upstream.protocol, target=target, kind=self.kind, **asked)
        except InvalidBody as error:
            failure = self.unread(error)
        raise failure

    def unread(self, error: InvalidBody) -> APIError:
        """The error of an answer that is ill-formed: the provider's, which the caller cannot correct."""
        why = f"no {self.kind} of {self.upstream.protocol}: {error}"
        return self.located(unusable(self.upstream, why, self.model, raw=self.raw, headers=self.headers))


@dataclass(slots=True, kw_only=True)
class Opened(_Head):
    """A stream that has begun: `first` are the bytes that were read already, `rest` is where the others come from.

    `operation` is to be notified when it ends; None where no hook, log or tracer is set.
    """

    first: list[bytes]
    response: Any
    rest: Any
    operation: Operation | None = None


def answer_kind(kind: str) -> str:
    """The kind of the answer to a request of that kind."""
    return f"{kind.removesuffix('request')}response" if kind.endswith("request") else kind


def is_made(protocol: str, kind: str) -> bool:
    """Whether answers of that kind are made by a model: responses, and compactions of conversations."""
    known = split(protocol)[0].kinds.get(kind)
    return known is not None and known.node == "response"


def lowered(headers: Any) -> dict[str, str]:
    """The headers of an HTTP library by their names in lower case; what comes several times is one, as there."""
    out: dict[str, str] = {}
    for name, value in headers.raw:
        key = name.decode("latin-1").lower()
        try:
            text = value.decode()
        except UnicodeDecodeError:
            text = value.decode("latin-1")
        out[key] = f"{out[key]}, {text}" if key in out else text
    return out
