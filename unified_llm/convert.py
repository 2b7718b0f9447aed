"""The library's front door for whole documents: convert, preview, read, write.

Every conversion goes wire -> canonical -> wire, the same protocol on both sides too, so that identity is a property of
the hub and not of a shortcut. Conversions do no I/O, never print, and give the same bytes for the same input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from .adapter import Adapter, Kind, Surface
from .custody import conversation, handed, leaving
from .errors import CapabilityLost, InvalidBody
from .exchange import Exchange
from .ids import seed_of
from .jsonvalue import detached, parse
from .locate import locate
from .losses import Levels, Losses, check_levels, enforce
from .reading import Reader
from .refusing import prompt_of, refuse
from .registry import provider_of, split
from .turns import parked
from .vault import Vault, thread_of
from .writing import Writer

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["Converted", "Facing", "Repair", "convert", "preview", "read", "to_sdk", "write"]

Facing = Literal["provider", "client"]
Repair = Literal["auto", "never", "always"]


@dataclass(frozen=True, slots=True)
class Converted:
    """A finished conversion: `value` is the target's JSON value, `losses` what did not come through as it was.

    `http` holds what the target carries outside the body (`method`, `path`, `query`, `headers`, `status`), and
    `exchange` what the conversion of the answer will want to know (None unless a request was converted).
    """

    value: Any
    losses: Losses
    http: Mapping[str, Any] = field(default_factory=dict)
    exchange: Exchange | None = None


def convert(
    body: Any,
    *,
    source: str,
    target: str,
    kind: str = "request",
    model: str | None = None,
    http: Mapping[str, Any] | None = None,
    on_loss: Levels = "ignore",
    facing: Facing | None = None,
    exchange: Exchange | None = None,
    vault: Vault | None = None,
    scope: str | None = None,
    repair: Repair = "auto",
) -> Converted:
    """Convert one document from the wire format of `source` to that of `target`.

    `body` is a JSON value, JSON text as bytes, or an SDK object (anything with `model_dump`); it is not changed.
    `source` and `target` are protocol ids, with a dialect behind a colon where one is meant (`openai-chat:deepseek`).
    `kind` is "request" (default), "response", "error", or another the adapters declare. `model` is the target's model.
    `http` is what the source carried outside the body. `facing` is whom the result is for: "provider" (default for
    requests) or "client" (default otherwise). `exchange` is what converting the request gave. `on_loss` is a level
    or a mapping of `capability-glob[@fate]` to levels. `vault` remembers the opaque pieces that a client drops; `scope`
    labels the credential or deployment of the provider, where those are bound to one (an exchange remembers it).

    Raises `InvalidBody` (path and reason) for what is no document of the source, `CapabilityLost` for a loss at level
    `raise` (the result is in its `.converted`), `CapabilityRefused` where no meaningful document exists, and
    `UnknownProtocol`.

    >>> body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "seed": 7}
    >>> done = convert(body, source="openai-chat", target="openai-responses")
    >>> done.value
    {'input': [{'type': 'message', 'role': 'user', 'content': 'Hi'}], 'model': 'm', 'store': False}
    >>> [(loss.path, loss.fate) for loss in done.losses]
    [('/store', 'added'), ('/seed', 'lost')]
    """
    check_levels(on_loss)
    origin, source_dialect = split(source)
    goal, target_dialect = split(target)
    read_kind, write_kind = kind_of(origin, kind), kind_of(goal, kind)
    notes: list[tuple[Any, ...]] = []
    doc = load(body, notes)

    side = facing or write_kind.facing
    reader = Reader(
        origin.protocol,
        dialect=source_dialect,
        facing="client" if side == "provider" else "provider",
        model=exchange.model if exchange else None,
        http=http,
        provider=provider_of(source, source_dialect),
    )
    if scope is None and exchange is not None:
        scope = exchange.scope
    if side == "client":
        reader.scope = scope
    node = reader.root(read_kind.read, doc)
    writer = Writer(
        goal.protocol,
        dialect=target_dialect,
        facing=side,
        model=model,
        source=origin.protocol,
        exchange=exchange,
        vault=vault,
        refuses=goal.refuses,
        provider=provider_of(target, target_dialect),
        scope=scope if side == "provider" else None,
        origin=goal.origin,
        carries=goal.carries,
    )
    crossing = source != target
    writer.same = not crossing
    here, there = Surface(origin, source_dialect), Surface(goal, target_dialect)
    prompt = _prompt(node, write_kind, goal, writer)
    node = prepare(node, write_kind, there, here, reader, writer, crossing, repair)
    value = writer.root(write_kind.write, node)
    if "carried" in writer.context:
        parked(writer)
    losses = locate(node, value, writer, reader, origin, read_kind.node)
    if notes:
        losses = Losses([*losses, *_surrogates(notes)])
    record = None
    if write_kind.node == "request":
        record = _exchange(source, target, node, value, writer, http)
    done = Converted(value, losses, writer.http, record)
    enforce(losses, on_loss, done)
    if losses and prompt is not None:
        find = partial(locate, node, value, writer, reader, origin, read_kind.node)
        refuse(node, prompt, losses, writer, on_loss, find)
    return done


def preview(body: Any, *, on_loss: Levels = "ignore", **arguments: Any) -> Losses:
    """The loss report of `convert` with the same arguments, without the value: the dry run.

    >>> preview({"model": "m", "messages": [], "store": True}, source="openai-chat", target="openai-responses")
    Losses([])
    """
    try:
        return convert(body, on_loss=on_loss, **arguments).losses
    except CapabilityLost as lost:
        return lost.converted.losses  # type: ignore[no-any-return]


def read(
    body: Any,
    protocol: str,
    kind: str = "request",
    strict: bool = False,
    *,
    http: Mapping[str, Any] | None = None,
) -> BaseModel:
    """The canonical object of a wire document, validated. `http` is what it carried outside the body, as in `convert`.

    A node that is not what its type promises becomes an `UnknownItem` (or `UnknownPart`, ...) with its `.problems`;
    with `strict=True` it is an `InvalidBody` instead.

    >>> read({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}, "openai-chat").input[0].content
    'Hi'
    """
    adapter, dialect = split(protocol)
    declared = kind_of(adapter, kind)
    reader = Reader(adapter.protocol, dialect=dialect, http=http, provider=provider_of(protocol, dialect))
    node = reader.root(declared.read, load(body))
    from pydantic import ValidationError

    from .model.validate import validate
    from .paths import pointer
    from .strictness import misfits

    problems: dict[int, tuple[str, ...]] = {}
    for misfit in misfits(node, declared.node, reader, adapter):
        if strict:
            raise InvalidBody(pointer(misfit.path), misfit.reason)
        told = f"{pointer((misfit.key,)) if misfit.key else '/'}: {misfit.reason}"
        problems[id(misfit.node)] = (*problems.get(id(misfit.node), ()), told)
    try:
        found: BaseModel = validate(declared.node, node, strict=strict, problems=problems)
        return found
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        # pydantic names the union members it tried between the keys of the path; those are no keys of the document.
        raise InvalidBody(pointer(_real_path(node, first["loc"])), first["msg"]) from error


def write(
    obj: Any,
    protocol: str,
    kind: str = "request",
    *,
    model: str | None = None,
    on_loss: Levels = "ignore",
    facing: Facing | None = None,
    exchange: Exchange | None = None,
    vault: Vault | None = None,
    scope: str | None = None,
    provider: str | None = None,
    repair: Repair = "auto",
) -> Converted:
    """The wire document of a canonical object (or of its JSON form); the paths of losses point into that form.

    `provider` names whom it is for where the dialect does not, and `scope` the credential or deployment: what another
    one sealed stays behind.

    >>> import unified_llm as ul
    >>> ul.write(ul.Request(model="m", input="Hi"), "openai-chat").value
    {'model': 'm', 'messages': [{'role': 'user', 'content': 'Hi'}]}
    """
    check_levels(on_loss)
    adapter, dialect = split(protocol)
    declared = kind_of(adapter, kind)
    node = load(obj)
    if type(node) is not dict:
        raise InvalidBody("", "a canonical document is an object")
    writer = Writer(
        adapter.protocol,
        dialect=dialect,
        facing=facing or declared.facing,
        model=model,
        exchange=exchange,
        vault=vault,
        refuses=adapter.refuses,
        provider=provider_of(protocol, dialect) or provider,
        scope=scope,
        origin=adapter.origin,
        carries=adapter.carries,
    )
    prompt = _prompt(node, declared, adapter, writer)
    node = prepare(node, declared, Surface(adapter, dialect), None, None, writer, True, repair)
    value = writer.root(declared.write, node)
    if "carried" in writer.context:
        parked(writer)
    losses = locate(node, value, writer, None, None, declared.node)
    record = _exchange("", protocol, node, value, writer, None) if declared.node == "request" else None
    done = Converted(value, losses, writer.http, record)
    enforce(losses, on_loss, done)
    if losses and prompt is not None:
        refuse(node, prompt, losses, writer, on_loss, partial(locate, node, value, writer, None, None, declared.node))
    return done


def to_sdk(value: Any, protocol: str, kind: str = "request") -> Any:
    """The official SDK's own object for a wire document; a request stays the dict the SDK takes as keyword arguments.

    Raises `ImportError` naming the extra to install when the SDK is missing.
    """
    from importlib import import_module

    adapter, _ = split(protocol)
    kind_of(adapter, kind)
    where = adapter.sdk.get(kind)
    if not where:
        return value
    module, _, name = where.partition(":")
    try:
        type_ = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise ImportError(f"{where} needs the extra: pip install 'unified-llm[{adapter.sdk_extra}]'") from error
    construct = getattr(type_, "construct", None) or type_.model_validate
    return construct(**value) if construct is not type_.model_validate else construct(value)


def _real_path(node: Any, loc: tuple[Any, ...]) -> list[Any]:
    path: list[Any] = []
    for key in loc:
        if (type(node) is dict and key in node) or (type(node) is list and type(key) is int and key < len(node)):
            path.append(key)
            node = node[key]
    return path


def load(body: Any, notes: list[tuple[Any, ...]] | None = None) -> Any:
    """What the caller passed as a JSON tree of our own."""
    if isinstance(body, (bytes, bytearray, memoryview)):
        return parse(body, notes)
    if hasattr(body, "model_dump"):
        body = body.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return detached(body, notes)


def kind_of(adapter: Adapter, kind: str) -> Kind:
    found = adapter.kinds.get(kind)
    if found is None:
        raise ValueError(f"{adapter.protocol} has no documents of kind {kind!r}; it has: {', '.join(adapter.kinds)}")
    return found


def prepare(
    node: Any,
    kind: Kind,
    goal: Surface,
    source: Surface | None,
    reader: Reader | None,
    writer: Writer,
    crossing: bool,
    repair: Repair,
) -> Any:
    """What happens between reading and writing: seeds, parked pieces restored, the target's demands met or undone."""
    if type(node) is not dict:
        return node
    writer.seed = str(node.get("id") or "") or (writer.exchange.seed if writer.exchange else "") or _seed(node)
    if kind.node == "request":
        # What a client is shown of a conversation has no provider's demands to meet.
        meets = repair == "always" or (repair == "auto" and crossing and writer.facing == "provider")
        if type(node.get("input")) is list:
            conversation(node, reader, writer)
        if crossing and reader is not None and source is not None and writer.facing == "provider":
            _replace(handed(node, goal.adapter, source.adapter, reader, writer), reader, writer)
        if type(node.get("input")) is list:
            rules = goal.adapter.repair
            if rules is not None and meets:
                from .repair import repair as mend

                mended = mend(node, rules, writer, whole=kind is goal.adapter.kinds.get("request"))
                if mended is not node:
                    writer.context["given"] = {**node}
                    node.clear()
                    node.update(mended)
                    _follow(writer.context.get("replaced", ()), reader)
        if meets:
            from .fitting import fit

            replaced = fit(node, writer, goal, source if crossing else None)
            _replace(replaced, reader, writer)
        return node
    if kind.node == "response" and writer.exchange is not None:
        from .restoring import restoring

        restorer = restoring(writer.exchange)
        if restorer is not None:
            restored = restorer.response(node)
            if restored is not node:
                writer.context["given"] = {**node}
                node.update(restored)
                _follow(restorer.replaced, reader)
                writer.context.setdefault("replaced", []).extend(restorer.replaced)
    if type(node.get("output")) is list:
        leaving(node, reader, writer, crossing)
    return node


def _prompt(node: Any, kind: Kind, goal: Adapter, writer: Writer) -> list[Any] | None:
    """What must not vanish of a request that a provider is to answer; None for anything else."""
    answers = kind is goal.kinds.get("request") and writer.facing == "provider" and not writer.same
    return prompt_of(node.get("input")) if answers and type(node) is dict else None


def _replace(replaced: list[tuple[Any, Any]], reader: Reader | None, writer: Writer) -> None:
    """Nodes that were made stand, in the report, where those stood that they are made of."""
    if replaced:
        _follow(replaced, reader)
        before = {id(new): old for new, old in writer.context.get("replaced", ())}
        pairs = [(new, before.get(id(old), old)) for new, old in replaced]
        writer.context.setdefault("replaced", []).extend(pairs)


def _follow(replaced: Iterable[tuple[Any, Any]], reader: Reader | None) -> None:
    """Nodes that were made came from where those came from that they stand for."""
    made = {id(old): new for new, old in replaced}
    if reader is None or not made:
        return
    reader.trace += [(made[id(node)], wire) for node, wire in reader.trace if id(node) in made]
    reader.turns += [(made[id(node)], wire) for node, wire in reader.turns if id(node) in made]
    for key, place in list(reader.places.items()):
        if key[0] in made:
            reader.places[id(made[key[0]]), *key[1:]] = place
    for key_of, below in list(reader.below.items()):
        if key_of in made:
            reader.below[id(made[key_of])] = below


def _seed(node: dict[str, Any]) -> str:
    """A digest of the conversation's opening turn: it stays what it is while the conversation grows."""
    items = node.get("input")
    first = items[:1] if type(items) is list else items
    return seed_of(first) if first else ""


def _exchange(
    source: str, target: str, node: Any, value: Any, writer: Writer, http: Mapping[str, Any] | None
) -> Exchange:
    asked = node.get("model") if type(node) is dict else None
    settings = (
        {key: inner for key, inner in node.items() if key not in ("input", "extra")} if type(node) is dict else {}
    )
    said = writer.context.get("asked", ())
    settings.update({key: said[key] for key in said if key != "input"})
    options = {key: settings[key] for key in ("include", "stream", "stream_options") if key in settings}
    drawer = (node.get("extra") or {}).get(source.partition(":")[0]) if type(node) is dict else None
    if drawer and (drawer.get("form") or {}).get("stream") == "array":
        options["array"] = True
    return Exchange(
        source=source,
        target=target,
        alias=asked,
        model=writer.model or (value.get("model") if type(value) is dict else None) or asked,
        settings=settings,
        ids=writer.context.get("ids", {}),
        names=writer.context.get("renamed", {}),
        tools=writer.context.get("tools", {}),
        output=writer.context.get("output", {}),
        options=options,
        seed=writer.seed,
        thread=thread_of(node) if type(node) is dict else "",
        scope=writer.here["scope"],
    )


def _surrogates(notes: list[tuple[Any, ...]]) -> Losses:
    from .losses import Loss
    from .paths import pointer

    return Losses(
        Loss(pointer(path), "text.unicode", "approximated", "a lone surrogate became U+FFFD") for path in notes
    )
