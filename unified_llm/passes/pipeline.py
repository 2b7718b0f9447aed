"""What happens between reading and writing a document, and what is remembered of it.

Seeds are chosen, a request is made to meet what its target demands (history, schemas, names, pieces and handles of
others), an answer is restored to the names and types of its request. Nodes that were made keep standing, in the report,
where those stood that they are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any, Literal

from ..engine.adapter import Adapter, Kind, Surface
from ..engine.pairs.outline import Outline
from ..engine.pairs.reading import Reader
from ..engine.pairs.writing import Writer
from ..foundation.exchange import Exchange
from ..foundation.secret import Secret, SecretLike
from ..provenance.conversation_digest import thread_of
from ..provenance.provider_data import conversation, handed, leaving
from ..provenance.provider_references import NAMING, may_name
from ..provenance.vault import OfRequest, Vault
from .argument_checks import check_given
from .unsupported import prompt_of

__all__ = ["Repair", "ends", "prepare", "prompt_for", "recording"]

Repair = Literal["auto", "never", "always"]


def ends(
    origin: Surface,
    goal: Surface,
    facing: str,
    same: bool,
    *,
    model: str | None = None,
    http: Mapping[str, Any] | None = None,
    exchange: Exchange | None = None,
    vault: Vault | None = None,
    scope: str | None = None,
    secret: SecretLike = None,
    opens: bool = False,
) -> tuple[Reader, Writer]:
    """What reads and what writes in one conversion, of a document or a stream; `facing` is the reader of the result.

    `same` means that the source is the target, dialect and all; `opens`, that a client sent what is read, so that there
    may be envelopes in it.
    """
    check_given(model, http, exchange, vault, scope)
    keys = Secret.of(secret)
    reader = Reader(
        origin.adapter,
        dialect=origin.dialect,
        facing="client" if facing == "provider" else "provider",
        model=exchange.model if exchange else None,
        http=http,
        provider=origin.provider,
        opens=opens,
        secret=keys,
    )
    if scope is None and exchange is not None:
        scope = exchange.scope
    if facing == "client":
        reader.scope = scope
    writer = Writer(
        goal.adapter,
        dialect=goal.dialect,
        facing=facing,
        model=model,
        source=origin.adapter.protocol,
        exchange=exchange,
        vault=vault,
        provider=goal.provider,
        scope=scope if facing == "provider" else None,
        secret=keys,
    )
    writer.same = same
    reader.target, reader.exchange = writer, exchange
    return reader, writer


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
    seed = str(node.get("id") or "") or (writer.exchange.seed if writer.exchange else "")
    items = node.get("input")
    writer.opening = items[:1] if type(items) is list else items
    if seed:
        writer.seed = seed
    elif reader is None or not reader.plain:
        # What is done below may change an item, which it does not of a conversation that is plain.
        writer.seed = writer.seed
    if kind.node == "request":
        _prepare_request(node, kind, goal, source, reader, writer, crossing, repair)
        return node
    if kind.node == "response" and writer.exchange is not None:
        from .restore_response import restoring

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


def _prepare_request(
    node: dict[str, Any],
    kind: Kind,
    goal: Surface,
    source: Surface | None,
    reader: Reader | None,
    writer: Writer,
    crossing: bool,
    repair: Repair,
) -> None:
    to_provider = writer.facing == "provider"
    writer.context["named"] = node.get("model")
    # What a client is shown of a conversation has no provider's demands to meet.
    meets = repair == "always" or (repair == "auto" and crossing and to_provider)
    if writer.vault is not None:
        if isinstance(writer.vault, OfRequest):
            writer.vault.wait(node)
        else:
            writer.context["thread"] = thread_of(node)
    items = node.get("input")
    if type(items) is list and (reader is None or reader.signed or reader.stuffed or writer.vault is not None):
        conversation(node, reader, writer)
    if not (meets or (crossing and to_provider)):
        return
    flatten, as_screens, send_summaries, keep_restrictions, join_pieces, mend, fit = _passes()
    # Nothing in the conversation declares a tool, or names what a provider keeps.
    bare = reader is not None and reader.plain and not writer.unparked
    simple = bare or (reader is not None and not writer.unparked and _is_simple(items))
    if crossing and to_provider and not (simple and _asks_nothing(node)):
        special = _is_special(node.get("tools"))
        if special or not simple:
            _replace(flatten(node, writer, kind, simple), reader, writer)
        if special and (screens := as_screens(node, writer, kind)):
            _replace(screens, reader, writer)
            simple = bare = False
            if reader is not None:
                reader.plain = False
        if not (simple or goal.adapter.summaries):
            _replace(send_summaries(node, writer), reader, writer)
        tools = node.get("tools")
        declared = list(tools) if type(tools) is list else None
        if reader is not None and source is not None and (special or not simple or not NAMING.isdisjoint(node)):
            _replace(handed(node, goal.adapter, source.adapter, reader, writer), reader, writer)
        if declared and (special or not simple or type(node.get("tool_choice")) is dict):
            origin = source.adapter if source is not None else None
            _replace(keep_restrictions(node, declared, writer, kind, origin, goal.adapter), reader, writer)
    if meets and not bare and source is not None and source.adapter.pieces and source.adapter is not goal.adapter:
        _replace(join_pieces(node, writer), reader, writer)
    items = node.get("input")
    rules = goal.adapter.repair
    if meets and rules is not None and type(items) is list:
        plain = _plainly(items, reader, writer)
        mended = mend(node, rules, writer, whole=kind is goal.adapter.kinds.get("request"), plain=plain)
        if mended is not node:
            writer.context.setdefault("given", {**node})
            node.clear()
            node.update(mended)
            _follow(writer.context.get("replaced", ()), reader)
        else:
            writer.plain = plain
    if meets and (writer.plain is None or writer.plain.names or node.get("tools") or node.get("text")):
        _replace(fit(node, writer, goal, source if crossing else None), reader, writer)


# What a request may hold beside its conversation that is declared, or names what a provider keeps.
_ASKING = NAMING | {"tools"}


def _asks_nothing(node: dict[str, Any]) -> bool:
    return _ASKING.isdisjoint(node) or not [1 for key in _ASKING if node.get(key)]


def _is_simple(items: Any) -> bool:
    """Whether a conversation is texts, calls of functions and their results, which name nothing of a provider's."""
    if type(items) is not list:
        return True
    return not may_name(items) and not [1 for item in items if "namespace" in item]


def _is_special(tools: Any) -> bool:
    """Whether anything else than functions is declared."""
    if type(tools) is list:
        for tool in tools:
            if tool.get("type") != "function":
                return True
    return False


@cache
def _passes() -> tuple[Callable[..., Any], ...]:
    """What a request is made to fit with, imported with the first one."""
    from .answer_pieces import join_pieces
    from .repair import repair
    from .summaries import send_summaries
    from .tool_schemas import fit
    from .tools.restrictions import keep_restrictions
    from .tools.screens import as_screens
    from .tools.toolset import flatten

    return flatten, as_screens, send_summaries, keep_restrictions, join_pieces, repair, fit


def _plainly(items: list[Any], reader: Reader | None, writer: Writer) -> Outline | None:
    """The outline of a conversation that its reader marked as plain, and nothing came to it since."""
    if reader is None or not reader.plain or writer.unparked:
        return None
    outline = reader.outline
    return outline if len(outline.letters) == len(items) else None


def prompt_for(node: Any, kind: Kind, goal: Adapter, writer: Writer, reader: Reader | None = None) -> list[Any] | None:
    """What must not vanish of a request that a provider is to answer; None for anything else."""
    answers = kind is goal.kinds.get("request") and writer.facing == "provider" and not writer.same
    if not answers or type(node) is not dict:
        return None
    return [] if reader is not None and reader.plain else prompt_of(node.get("input"))


def _replace(replaced: list[tuple[Any, Any]], reader: Reader | None, writer: Writer, *, several: bool = False) -> None:
    """Nodes that were made stand, in the report, where those stood that they are made of.

    Of one node the last made stands for it; with `several`, all of them.
    """
    if replaced:
        _follow(replaced, reader, several=several)
        before = {id(new): old for new, old in writer.context.get("replaced", ())}
        pairs = [(new, before.get(id(old), old)) for new, old in replaced]
        writer.context.setdefault("replaced", []).extend(pairs)


def _follow(replaced: Iterable[tuple[Any, Any]], reader: Reader | None, *, several: bool = False) -> None:
    """Nodes that were made came from where those came from that they stand for."""
    made: dict[int, list[Any]] = {}
    for new, old in replaced:
        made[id(old)] = [*made.get(id(old), ()), new] if several else [new]
    if reader is None or not made:
        return
    followed: dict[int, list[tuple[Any, Any]]] = {}
    for node, wire in reader.latest():
        if id(node) in made and id(node) not in followed:
            followed[id(node)] = [(new, wire) for new in made[id(node)]]
            if len(followed) == len(made):
                break
    reader.trace += [pair for pairs in reversed(followed.values()) for pair in pairs]
    reader.turns += [(new, wire) for node, wire in reader.turns for new in made.get(id(node), ())]
    for key, place in list(reader.places.items()):
        for new in made.get(key[0], ()):
            reader.places[id(new), *key[1:]] = place
    for key_of in made.keys() & reader.stands.keys():
        reader.stands.update({id(new): reader.stands[key_of] for new in made[key_of]})
    for key_of, below in list(reader.below.items()):
        reader.below.update({id(new): below for new in made.get(key_of, ())})


def recording(source: str, target: str, node: Any, value: Any, writer: Writer) -> Callable[[], Exchange]:
    """What makes the exchange of a request's conversion; the result may be changed before its use."""
    items = node.get("input") if type(node) is dict else None
    count = len(items) if items else 0
    return partial(_exchange, source, target, node, count, value.get("model") if type(value) is dict else None, writer)


def _exchange(source: str, target: str, node: Any, count: int, named: Any, writer: Writer) -> Exchange:
    """The data of a request that the conversion of its answer needs."""
    settings: dict[str, Any] = {}
    seed, options = writer.seed, {}
    if type(node) is dict:
        settings = node.copy()
        settings.pop("input", None)
        extra = settings.pop("extra", None)
        if count:
            # An answer without an id has made ids of its own too: no two answers of a conversation share one.
            seed = f"{seed}.{count}"
        drawer = extra.get(source.partition(":")[0]) if extra else None
        if drawer and (drawer.get("form") or {}).get("stream") == "array":
            options["array"] = True
    asked, context = settings.get("model"), writer.context
    said = context.get("asked")
    if said:
        settings.update({key: said[key] for key in said if key != "input"})
        settings = {key: value for key, value in settings.items() if key not in said or value is not None}
    if not _OPTIONS.isdisjoint(settings):
        options = {**{key: settings[key] for key in sorted(_OPTIONS) if key in settings}, **options}
    return Exchange(
        source=source,
        target=target,
        alias=asked,
        model=writer.model or named or asked,
        settings=settings,
        ids=context.get("ids", {}),
        names=context.get("renamed", {}),
        namespaces=context.get("namespaces", {}),
        tools=context.get("tools", {}),
        output=context.get("output", {}),
        options=options,
        seed=seed,
        thread=context.get("thread", ""),
        scope=writer.here["scope"],
    )


# Settings that are options of the surface.
_OPTIONS = frozenset(("include", "stream", "stream_options"))
