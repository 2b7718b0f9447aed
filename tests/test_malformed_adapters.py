"""Mistakes of an adapter's own code: errors of this library that name where they were raised."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.engine import registry
from unified_llm.engine.adapter import Kind, Streams
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.registry import adapter

CHAT, MINE = "openai-chat", "mine"
Node = dict[str, Any]
BODY = {"model": "m", "messages": [{"role": "user", "content": "a secret"}]}
EVENTS = [{"event": None, "data": {"id": "c", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}}]
HERE = __name__.replace(".", "/") + r"\.py"


@pytest.fixture(autouse=True)
def _none_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("unified_llm.engine.malformed.net", True)
    yield
    registry._loaded.pop(MINE, None)


def made(kind: str, read: Any = None, write: Any = None, streams: Streams | None = None) -> None:
    """Register an adapter that is Chat's but for these functions."""
    chat = adapter(CHAT)
    known = chat.kinds[kind]
    kinds = {**chat.kinds, kind: Kind(read or known.read, write or known.write, known.node, known.facing)}
    ul.register(dataclasses.replace(chat, protocol=MINE, kinds=kinds, streams=streams or chat.streams))


def line(function: Any, offset: int = 1) -> int:
    number: int = function.__code__.co_firstlineno + offset
    return number


def missing(c: Node, w: Writer) -> Node:
    return {"of": c.pop("zork")}


def nothing(c: Node, w: Writer) -> None:
    return None


def ill_typed(c: Node, w: Writer) -> Node:
    return {"messages": w.nodes(adapter(CHAT).mappings[0], None)}


def unfit(w: Node, r: Reader) -> Node:
    return {"input": len(w["model"].zork)}


def without_key(w: Node, r: Reader) -> Node:
    return {"input": w.pop("zork")}


def refused(reason: str, **given: Any) -> None:
    with pytest.raises(ul.InvalidBody) as caught:
        ul.convert(BODY, **given)
    assert re.fullmatch(reason, caught.value.reason), caught.value.reason
    assert "secret" not in str(caught.value)


def test_an_error_of_a_writer_has_its_place() -> None:
    made("request", write=missing)
    refused(rf"cannot be converted: KeyError: 'zork' in {HERE}:{line(missing)}", source=CHAT, target=MINE)
    with pytest.raises(ul.InvalidBody, match=rf"cannot be written: KeyError: 'zork' in {HERE}:{line(missing)}$"):
        ul.write({"input": "Hi"}, MINE)


def test_an_error_that_the_core_raises_has_the_place_in_the_adapter_too() -> None:
    made("request", write=ill_typed)
    where = rf"in unified_llm/engine/pairs/writing\.py:\d+, called from {HERE}:{line(ill_typed)}"
    refused(rf"cannot be converted: IllTyped: not a list {where}", source=CHAT, target=MINE)


def test_an_error_of_a_reader_has_its_place_unless_a_key_is_missing() -> None:
    made("request", read=unfit)
    reason = "AttributeError: 'str' object has no attribute 'zork'"
    refused(rf"not a document of mine: {reason} in {HERE}:{line(unfit)}", source=MINE, target=CHAT)
    registry._loaded.pop(MINE)
    made("request", read=without_key)
    refused("not a document of mine: 'zork' is missing", source=MINE, target=CHAT)


ANSWER = {"id": "r", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}]}


@pytest.mark.parametrize(
    ("kind", "body", "node"), [("request", BODY, {"input": "Hi"}), ("response", ANSWER, {"output": []})]
)
def test_a_writer_that_gives_nothing_is_named_with_its_kind(
    kind: Any, body: Node, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(kind, write=nothing)
    reason = f"the writer of kind '{kind}' of the adapter 'mine' returned None"
    with pytest.raises(ul.InvalidBody, match=rf"^\(the whole body\): cannot be converted: {reason}$"):
        ul.convert(body, source=CHAT, target=MINE, kind=kind)
    with pytest.raises(ul.InvalidBody, match=rf"^\(the whole body\): cannot be written: {reason}$"):
        ul.write(node, MINE, kind)
    monkeypatch.setattr("unified_llm.engine.malformed.net", False)
    with pytest.raises(TypeError, match=reason):
        ul.convert(body, source=CHAT, target=MINE, kind=kind)


def test_the_document_of_an_error_may_be_null() -> None:
    made("error", write=nothing)
    assert ul.convert({"error": {"message": "x"}}, source=CHAT, target=MINE, kind="error").value is None


class Broken:
    """A reader and a writer of streams that fail in each method."""

    def __init__(self, side: Any) -> None:
        pass

    def feed(self, event: Node) -> list[Node]:
        return [event["zork"]]

    def close(self) -> list[Node]:
        return [{}["end"]]


class Late(Broken):
    def feed(self, event: Node) -> list[Node]:
        return []


@pytest.mark.parametrize("side", ["reader", "writer"])
def test_an_error_in_a_stream_has_its_place(side: str) -> None:
    made("request", streams=adapter(CHAT).streams._replace(**{side: Broken}))
    source, target = (MINE, CHAT) if side == "reader" else (CHAT, MINE)
    told = rf"event 0 of the stream cannot be converted: KeyError: 'zork' in {HERE}:{line(Broken.feed)}$"
    with pytest.raises(ul.RemoteProtocolError, match=told):
        list(ul.convert_stream(EVENTS, source=source, target=target))


def test_an_error_at_the_end_of_a_stream_has_its_place() -> None:
    made("request", streams=adapter(CHAT).streams._replace(reader=Late))
    told = rf"the end of the stream cannot be converted: KeyError: 'end' in {HERE}:{line(Broken.close)}$"
    with pytest.raises(ul.RemoteProtocolError, match=told):
        list(ul.convert_stream([], source=MINE, target=CHAT))


def test_an_error_while_canonical_events_are_written_has_its_place() -> None:
    made("request", streams=adapter(CHAT).streams._replace(writer=Broken))
    created = {"type": "response.created", "response": {"id": "r"}}
    told = rf"event 0 \(response.created\) .*: KeyError: 'zork' in {HERE}:{line(Broken.feed)}$"
    with pytest.raises(ul.LocalProtocolError, match=told):
        list(ul.write_stream([created], MINE))
