"""The library's front door for whole documents: convert, preview, write.

Every conversion goes wire -> canonical -> wire, the same protocol on both sides too, so that identity is a property of
the canonical model and not of a shortcut. Conversions do no I/O, never print, and give the same bytes for the same
input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Unpack

from ..engine.malformed import FAULTS, refuse_conversion, refuse_document, refuse_nothing
from ..engine.pairs.writing import Writer
from ..engine.registry import split, surface
from ..foundation.document_kind import check_kind
from ..foundation.errors import CapabilityLost, InvalidBody
from ..foundation.exchange import Exchange
from ..foundation.json_codec import load
from ..foundation.secret import Secret, SecretLike
from ..foundation.usage_errors import MissingExtra
from ..losses import Levels, Losses, check_levels, enforce
from ..losses.defaults import Weighing, significant
from ..losses.locator import locate
from ..provenance.answer_envelope import parked
from ..provenance.vault import Vault
from .argument_checks import check_given, check_words
from .keyword_arguments import ConvertKeywords, spelled_out
from .pipeline import Repair, ends, prepare, prompt_for, recording
from .route import kind_of, route_of
from .unsupported import refuse

if TYPE_CHECKING:
    from ..losses.certificate import Trace
    from ..models.names import KindName, ProtocolName
    from ..types import Model

__all__ = ["Converted", "Facing", "Repair", "convert", "preview", "to_sdk", "write"]

Facing = Literal["provider", "client"]


class _Recorded:
    """The exchange of a conversion, made on first use: a caller of the request alone needs none."""

    def __get__(self, done: Converted | None, owner: type) -> Exchange | None:
        if done is None:
            return None  # the default of the field
        kept = done.__dict__
        record = kept.get("_record")
        if record is not None:
            kept["exchange"] = record()
            kept.pop("_record", None)
        found: Exchange | None = kept["exchange"]
        return found


_recorded: Any = _Recorded()
_NONE = Losses()


@dataclass(frozen=True)
class Converted:
    """A finished conversion: `value` is the target's JSON value, `losses` what did not come through as it was.

    `http` holds what the target carries outside the body (`method`, `path`, `query`, `headers`, `status`), and
    `exchange` what the conversion of the answer needs (None unless a request was converted). `trace` is the certificate
    (None unless it was requested with `trace=True`).

    >>> body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    >>> done = convert(body, source="openai-chat", target="google-generate-content")
    >>> done.value, done.http["path"], len(done.losses), done.exchange.alias
    ({'contents': [{'role': 'user', 'parts': [{'text': 'Hi'}]}]}, 'models/m:generateContent', 0, 'm')
    """

    value: Any
    losses: Losses
    http: Mapping[str, Any] = field(default_factory=dict)
    exchange: Exchange | None = _recorded
    trace: Trace | None = None

    def __getstate__(self) -> dict[str, Any]:
        kept = {"value": self.value, "losses": self.losses, "http": self.http, "exchange": self.exchange}
        return kept if self.trace is None else {**kept, "trace": self.trace}


def _finished(value: Any, losses: Losses, writer: Writer, record: Callable[[], Exchange] | None) -> Converted:
    done = object.__new__(Converted)
    kept = done.__dict__
    kept["value"], kept["losses"], kept["http"] = value, losses, writer.http
    kept["exchange" if record is None else "_record"] = record
    return done


def convert(
    body: Any,
    *,
    source: ProtocolName,
    target: ProtocolName,
    kind: KindName = "request",
    model: str | None = None,
    http: Mapping[str, Any] | None = None,
    on_loss: Levels = "ignore",
    facing: Facing | None = None,
    exchange: Exchange | None = None,
    vault: Vault | None = None,
    secret: SecretLike = None,
    scope: str | None = None,
    repair: Repair = "auto",
    trace: bool = False,
) -> Converted:
    """Convert one document from the wire format of `source` to that of `target`.

    `body` is a JSON value, JSON text as bytes, or an SDK object (anything with `model_dump`); it is not changed.
    `source` and `target` are protocol ids, with a dialect behind a colon where one is meant (`openai-chat:deepseek`).
    `kind` is "request" (default), "response", "error", or another the adapters declare. `model` is the target's model.
    `http` is what the source carried outside the body. `facing` is the reader of the result: "provider" (default for
    requests) or "client" (default otherwise). `exchange` is what converting the request gave. `on_loss` is a level
    or a mapping of `capability-glob[@fate]` to levels. `vault` remembers the opaque data that a client drops, under the
    conversation so far: pass it to both conversions, and the request's exchange to that of the answer. `secret` (a
    string, bytes, or a list of them: the first signs, all verify) authenticates the envelopes in which clients keep
    other providers' data; without one they bring back less (docs/security.md). `scope` labels the credential or
    deployment of the provider, where opaque data is bound to one (an exchange remembers it). `repair` corrects a
    history that the target refuses: "auto" (default) where the protocols differ, "always", "never". `trace=True` gives
    the certificate: where each value went and came from (docs/verification.md). It costs several times the conversion.

    Raises `InvalidBody` (path and reason) for what is not a document of the source, `CapabilityLost` for a loss at
    level `raise` (the result is in its `.converted`), `CapabilityRefused` where no meaningful document exists, and
    `UnknownProtocol`.

    >>> body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "seed": 7}
    >>> done = convert(body, source="openai-chat", target="openai-responses")
    >>> done.value
    {'input': [{'type': 'message', 'role': 'user', 'content': 'Hi'}], 'model': 'm', 'store': False}
    >>> [(loss.path, loss.fate) for loss in done.losses]
    [('/store', 'added'), ('/seed', 'lost')]
    """
    if on_loss != "ignore":
        check_levels(on_loss)
    if repair != "auto":
        check_words(repair=repair)
    route = route_of(source, target, kind, facing)
    here, there, origin, goal, read_kind, write_kind, crossing, side, is_request, is_answered = route
    notes: list[tuple[Any, ...]] = []
    doc = load(body, notes)
    if trace:
        from .certificate import distinct

        doc = distinct(doc)
    reader, writer = ends(
        here,
        there,
        side,
        not crossing,
        model=model,
        http=http,
        exchange=exchange,
        vault=vault,
        scope=scope,
        secret=secret,
        opens=read_kind.facing == "provider",
    )
    check_kind(origin, kind, doc, http)
    try:
        node = reader.root(read_kind.read, doc)
        prompt = prompt_for(node, write_kind, goal, writer, reader) if is_answered else None
        node = prepare(node, write_kind, there, here, reader, writer, crossing, repair)
        value = writer.root(write_kind.write, node)
        if value is None and write_kind.node != "error":  # (An error may be any text, and so null.)
            refuse_nothing(goal.protocol, kind)
        if "carried" in writer.context:
            parked(writer)
        losses = _NONE
        if writer.noted or reader.notes:
            losses = locate(node, value, writer, reader, origin, goal, read_kind.node)
            losses = significant(losses, Weighing(source, target, read_kind.node, exchange, node, origin), doc)
    except FAULTS as error:
        refuse_conversion((), doc, error)
    if notes:
        losses = Losses([*losses, *_surrogates(notes)])
    record = recording(source, target, node, value, writer) if is_request else None
    done = _finished(value, losses, writer, record)
    if trace:
        from .certificate import certificate

        names = (source, target, kind)
        done.__dict__["trace"] = certificate(names, route, doc, node, value, reader, writer, losses)
    if on_loss != "ignore":
        enforce(losses, on_loss, done)
    if losses and prompt is not None and (prompt or "n" in node or not node.get("input")):
        find = partial(locate, node, value, writer, reader, origin, goal, read_kind.node)
        refuse(node, prompt, losses, writer, on_loss, find)
    return done


@spelled_out(ConvertKeywords, convert)
def preview(body: Any, **arguments: Unpack[ConvertKeywords]) -> Losses:
    """The loss report of `convert` with the same arguments, without the value: the dry run.

    A loss at the level `raise` of `on_loss` is in the report and raises nothing.

    >>> preview({"model": "m", "messages": [], "store": True}, source="openai-chat", target="openai-responses")
    Losses([])
    """
    try:
        return convert(body, **arguments).losses
    except CapabilityLost as lost:
        return lost.converted.losses  # type: ignore[no-any-return]


def write(
    obj: Model | Mapping[str, Any] | bytes | bytearray | memoryview,
    protocol: ProtocolName,
    kind: KindName = "request",
    *,
    model: str | None = None,
    on_loss: Levels = "ignore",
    facing: Facing | None = None,
    exchange: Exchange | None = None,
    vault: Vault | None = None,
    secret: SecretLike = None,
    scope: str | None = None,
    provider: str | None = None,
    repair: Repair = "auto",
) -> Converted:
    """The wire document of a canonical object (or of its JSON form); the paths of losses point into that form.

    `protocol` may have a dialect behind a colon; `kind`, `model`, `on_loss`, `facing`, `exchange`, `vault`, `secret`
    and `repair` are as in `convert`, and so are the errors.
    `provider` names the provider where the dialect does not, and `scope` the credential or deployment: what another
    one encrypted is not sent.

    >>> import unified_llm as ul
    >>> ul.write(ul.Request(model="m", input="Hi"), "openai-chat").value
    {'model': 'm', 'messages': [{'role': 'user', 'content': 'Hi'}]}
    """
    check_levels(on_loss)
    there = surface(protocol)
    adapter, dialect, known = there
    declared = kind_of(adapter, kind)
    check_given(model, None, exchange, vault, scope)
    check_words(facing=facing, repair=repair)
    if hasattr(obj, "model_dump"):
        _check_class(obj, kind, declared.node)
    node = load(obj)
    if type(node) is not dict:
        raise InvalidBody("", "a canonical document is an object")
    if declared.node == "error" and "error" not in node:
        node = {"error": node}  # the error alone, as an answer or an event has it
    if type(node.get("input")) is list:
        node["input"] = [_typed(item) for item in node["input"]]
    writer = Writer(
        adapter,
        dialect=dialect,
        facing=facing or declared.facing,
        model=model,
        exchange=exchange,
        vault=vault,
        provider=known or provider,
        scope=scope,
        secret=Secret.of(secret),
    )
    try:
        prompt = prompt_for(node, declared, adapter, writer)
        node = prepare(node, declared, there, None, None, writer, True, repair)
        value = writer.root(declared.write, node)
        if value is None and declared.node != "error":
            refuse_nothing(adapter.protocol, kind)
        if "carried" in writer.context:
            parked(writer)
        losses = locate(node, value, writer, None, None, adapter, declared.node)
        if losses:
            given = writer.context.get("given", node)
            losses = significant(losses, Weighing("", protocol, declared.node, exchange, node), given)
        record = recording("", protocol, node, value, writer) if declared.node == "request" else None
    except FAULTS as error:
        refuse_document(declared.node, load(obj), error)
    done = _finished(value, losses, writer, record)
    enforce(losses, on_loss, done)
    if losses and prompt is not None:
        find = partial(locate, node, value, writer, None, None, adapter, declared.node)
        refuse(node, prompt, losses, writer, on_loss, find)
    return done


def _check_class(obj: Any, kind: str, node: str) -> None:
    """Raise `InvalidBody` for an object of a canonical class that is not that of the kind."""
    from ..types.base import Model
    from ..types.validation import KINDS

    wanted = KINDS.get(node)
    if isinstance(obj, Model) and isinstance(wanted, type) and not isinstance(obj, wanted):
        own = next((name for name, each in KINDS.items() if isinstance(each, type) and isinstance(obj, each)), None)
        said = own in ("request", "response", "error")
        hint = f"; pass kind={own!r}" if said else f"; put it into a {wanted.__name__}"
        raise InvalidBody("", f"{type(obj).__name__} is not a canonical {kind}{hint}")


def _typed(item: Any) -> Any:
    """An item with its type, which a message may lack: https://www.openresponses.org/specification"""
    return {"type": "message", **item} if type(item) is dict and "type" not in item and "role" in item else item


def to_sdk(value: Any, protocol: ProtocolName, kind: KindName = "request") -> Any:
    """The official SDK's own object for a wire document; a request stays the dict the SDK takes as keyword arguments.

    `protocol` and `kind` are those of the document, as in `read`; "stream" is the data of one event of a stream.
    Raises `MissingExtra` naming the extra to install when the SDK is missing, `InvalidBody` for a value of which the
    SDK can make no object.

    >>> answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": []}
    >>> to_sdk(answer, "openai-chat", "response").id
    'c'
    """
    from importlib import import_module

    adapter, _ = split(protocol)
    if kind != "stream":
        kind_of(adapter, kind)
    where = adapter.sdk.get(kind)
    if not where:
        return value
    module, _, name = where.partition(":")
    try:
        type_ = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise MissingExtra(where, adapter.sdk_extra) from error
    from ..engine.sdk_objects import built

    return built(type_, value)


def _surrogates(notes: list[tuple[Any, ...]]) -> Losses:
    from ..foundation.json_paths import pointer
    from ..losses import Loss

    return Losses(
        Loss(pointer(path), "text.unicode", "approximated", "a lone surrogate became U+FFFD") for path in notes
    )
