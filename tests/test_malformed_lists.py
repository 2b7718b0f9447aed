"""Lists of the canonical model that hold something else than they declare: written, or refused with a typed error.

The documents are made from the declarations: every list field of a request or a response, of the objects in them, and
of every item, part, tool and annotation that they can hold.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest

import unified_llm as ul
from unified_llm.engine import malformed
from unified_llm.suite.walk import as_path, get, replaced
from unified_llm.types import Request, Response
from unified_llm.types.base import KNOWN, Kind, Model
from unified_llm.types.validation import KINDS

Node = dict[str, Any]
CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
STEPS = "google-interactions"
PROTOCOLS = [CHAT, RESPONSES, MESSAGES, "google-generate-content", STEPS]
TARGETS = [*PROTOCOLS, "openai-responses:open-responses"]
# An unknown node may hold any values under the keys that hold nodes elsewhere.
UNKNOWN = {"type": "x", **{key: ["x"] for key in ("content", "summary", "output", "results", "annotations", "tools")}}
ELEMENTS: list[Any] = ["x", 5, None, ["x"], {}, {"type": 5}, UNKNOWN]


def fields(cls: type[Model]) -> list[tuple[str, Any, bool]]:
    """Key, annotation and whether it is required, of every field but the type."""
    found = []
    cls.model_rebuild()  # resolves references of a class to itself
    for name, info in cls.__pydantic_fields__.items():
        annotation: Any = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
        found += [(info.alias or name, annotation, info.is_required())] if name != "type" else []
    return found


def leaves(annotation: Any, inside: bool = False) -> Iterator[tuple[Any, bool]]:
    """What an annotation names (a kind of node, a class, a value), and whether inside a list."""
    origin, args = get_origin(annotation), get_args(annotation)
    kinds = [mark.name for mark in args[1:] if isinstance(mark, Kind)] if origin is Annotated else []
    if kinds or not args or origin in (Literal, dict):
        yield (kinds[0] if kinds else annotation), inside
        return
    for each in args[:1] if origin is Annotated else args:
        yield from leaves(each, inside or origin is list)


def smallest(cls: type[Model]) -> Node:
    """A node of a class with the fields it requires."""
    node: Node = {}
    kind = cls.__pydantic_fields__.get("type")
    if kind is not None:
        name = next(iter(get_args(kind.annotation)), None)
        node.update({"type": name} if type(name) is str else {})
    for key, annotation, required in fields(cls):
        if required:
            leaf, inside = next(leaves(annotation))
            node[key] = [] if inside else {int: 1, float: 1.0, bool: True, dict[str, Any]: {}}.get(leaf, "x")
    return node


def held_by(leaf: Any) -> list[type[Model]]:
    if isinstance(leaf, str):
        return list(dict.fromkeys(KNOWN.get(leaf, {}).values()))
    return [leaf] if isinstance(leaf, type) and issubclass(leaf, Model) else []


def documents(cls: type[Model], depth: int = 1) -> Iterator[tuple[str, Node]]:
    """Where, and a node of a class with one element that is out of place in one of its lists."""
    for key, annotation, _ in fields(cls):
        found = list(leaves(annotation))
        if any(inside for _, inside in found):
            yield from ((f"{cls.__name__}.{key}: {each!r}", {**smallest(cls), key: [each]}) for each in ELEMENTS)
        for leaf, inside in found if depth else ():
            for inner in held_by(leaf):
                for where, node in documents(inner, depth - 1):
                    yield f"{cls.__name__}.{key}: {where}", {**smallest(cls), key: [node] if inside else node}


@functools.cache
def made(cls: type[Model]) -> list[tuple[str, Node]]:
    """All documents of a class, made once for all targets: writing changes none of them."""
    return list(documents(cls))


def failures(target: str, kind: str) -> tuple[int, list[str]]:
    """The number of documents, and those that fail with an error that is none of ours."""
    cls, start = (Request, {"model": "m", "input": "q"}) if kind == "request" else (Response, {"id": "r", "output": []})
    count, found = 0, []
    for where, node in made(cls):
        node = {**start, **node}
        works = [lambda node=node: ul.write(node, target, kind)]
        if kind == "response":
            works.append(lambda node=node: list(ul.write_stream(ul.decompose(node), target)))
        for work in works:
            count += 1
            try:
                work()
            except ul.UnifiedLLMError:
                pass
            except Exception as error:
                found.append(f"{where}: {type(error).__name__}: {error}")
    return count, found


@pytest.mark.parametrize("kind", ["request", "response"])
@pytest.mark.parametrize("target", TARGETS)
def test_an_element_out_of_place_is_written_or_refused(kind: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(malformed, "net", False)
    count, found = failures(target, kind)
    assert count > 500
    assert not found


def test_the_documents_reach_every_kind_of_node() -> None:
    wheres = "\n".join(where for cls in (Request, Response) for where, _ in made(cls))
    for place in ("Request.input: Message.content", "Request.tools: NamespaceTool.tools", "Request.context_management",
                  "Response.output: Compaction.tool_changes", "Response.choices: Choice.output"):  # fmt: skip
        assert place in wheres


# ---- single facts ---------------------------------------------------------------------------------------------------


def test_a_kept_node_without_a_type_is_written_as_it_was_kept() -> None:
    kept = {"rest": {"keep": 5}, "form": {"native": "anthropic-messages context edits"}}
    node = {"model": "m", "input": "q", "context_management": [{"extra": {MESSAGES: kept}}]}
    assert ul.write(node, MESSAGES).value["context_management"] == {"edits": [{"keep": 5}]}


def test_a_change_of_tools_is_an_object() -> None:
    item = {"type": "compaction", "content": "q", "tool_changes": ["x"]}
    with pytest.raises(ul.InvalidBody) as caught:
        ul.write({"model": "m", "input": [item]}, MESSAGES)
    assert caught.value.path == "/input/0/tool_changes/0"


@pytest.mark.parametrize("content", [["x"], [{"type": {}}], [{"type": "output_text", "text": "x", "annotations": 5}]])
def test_odd_content_of_an_unknown_item_stays_whole(content: Any) -> None:
    response = {"id": "r", "status": "completed", "output": [{"type": "x", "content": content, "summary": content}]}
    assert ul.collect(ul.decompose(response)) == response
    events = list(ul.decompose(response))
    assert [each["type"] for each in events[2:4]] == ["response.output_item.added", "response.output_item.done"]
    for target in TARGETS:
        ul.write(response, target, "response")
        list(ul.write_stream(events, target))


def test_a_further_choice_without_an_index_has_that_of_its_place() -> None:
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
    response = {"id": "r", "status": "completed", "output": [answer], "choices": [{"output": [answer]}]}
    for index in ({}, {"index": None}):
        response["choices"] = [{**index, "output": [answer]}]
        chunks = [each["data"] for each in ul.write_stream(ul.decompose(response), CHAT)]
        choices = [each for chunk in chunks if type(chunk) is dict for each in chunk["choices"]]
        assert [each["index"] for each in choices if each.get("finish_reason")] == [0, 1]


@pytest.mark.parametrize("marker", [["x"], 5, True])
def test_an_odd_marker_of_the_order_of_modalities_says_nothing(marker: Any) -> None:
    usage = {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4, "input_tokens_details": {"text_tokens": 3}}
    kept = {"extra": {STEPS: {"form": {"input_tokens_by_modality": marker}}}}
    written = [ul.write({"id": "r", "output": [], "usage": each}, STEPS, "response").value
               for each in (usage, {**usage, **kept})]  # fmt: skip
    assert written[0] == written[1]


FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object"}}
MARKED: list[tuple[str, str, Any, str]] = [
    ("google-generate-content", "request", {"model": "m", "input": "q", "tools": [FUNCTION]}, "/tools/0 parameters"),
    ("google-generate-content", "error", {"error": {"code": "x"}}, "/error reason"),
    ("google-generate-content", "error", {"error": {"message": "x", "retry_after": 5}}, "/error retry"),
    (CHAT, "error", {"error": {"message": "x"}}, "/error absent"),
]


@pytest.mark.parametrize("marker", ["", "x", False, 5.5, {"a": 1}])
@pytest.mark.parametrize(("target", "kind", "node", "place"), MARKED)
def test_an_odd_marker_is_not_a_marker(
    target: str, kind: str, node: Any, place: str, marker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(malformed, "net", False)
    path, name = place.split(" ")
    keys = as_path(node, path)
    marked = {**get(node, keys), "extra": {target: {"form": {name: marker}}}}
    ul.write(replaced(node, keys, marked), target, kind)


@pytest.mark.parametrize("kept", [{}, {"rest": {}}])
@pytest.mark.parametrize("marker", ["list", "value", "text", "other", "string", "flat"])
@pytest.mark.parametrize("target", TARGETS)
def test_a_marker_of_what_was_not_kept_breaks_no_error(
    target: str, marker: str, kept: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(malformed, "net", False)
    ul.write({"error": {}, "extra": {target: {"form": {"body": marker}, **kept}}}, target, "error")


@pytest.mark.parametrize("target", TARGETS)
def test_odd_opaque_data_breaks_no_request(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(malformed, "net", False)
    ul.write({"model": "m", "input": [{"opaque": [{"data": 30}], "type": "x"}]}, target)


@pytest.mark.parametrize("opaque", [5, "x", {"a": 1}, [5], [[1]]])
@pytest.mark.parametrize("target", TARGETS)
def test_odd_opaque_data_of_an_error_is_lost(target: str, opaque: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(malformed, "net", False)
    done = ul.write({"error": {"type": "x", "message": "m", "opaque": opaque}}, target, "error")
    assert ("/error/opaque", "lost") in [(loss.path, loss.fate) for loss in done.losses]


ITEMS: list[Node] = [
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "t", "annotations": 5}]},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "t", "annotations": ["x"]}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "t"}, {
        "type": "input_audio", "data": "AA==", "format": "wav",
        "extra": {"google-generate-content": {"form": {"media_type": ["x"]}}}}]},
    {"type": "message", "role": "assistant", "content": [{
        "type": "output_text", "text": "t", "extra": {"google-generate-content": {"form": {"signature": []}}}}]},
]  # fmt: skip


@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["request", "response"])
def test_odd_values_of_undeclared_keys_and_markers_break_no_item(
    kind: str, target: str, item: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(malformed, "net", False)
    ul.write({"model": "m", "input" if kind == "request" else "output": [item]}, target, kind)


@pytest.mark.parametrize("given", [{}, {"queries": None}, {"queries": 5}])
def test_a_search_without_queries_grounds_nothing(given: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(malformed, "net", False)
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "t"}]}
    form = {"google-generate-content": {"form": {"grounding": "retrievalQueries"}}}
    search = {"type": "file_search_call", **given, "extra": form}
    done = ul.write({"output": [said, search]}, "google-generate-content", "response")
    assert "groundingMetadata" not in done.value["candidates"][0]


@pytest.mark.parametrize("call_id", [[], {}, 5])
@pytest.mark.parametrize("target", TARGETS)
def test_a_call_id_of_another_type_is_nobodys(target: str, call_id: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(malformed, "net", False)
    items = [{"type": kind, "call_id": call_id} for kind in ("program", "program_output", "function_call_output")]
    for kind, key in (("request", "input"), ("response", "output")):
        ul.convert({"model": "m", key: items}, source=RESPONSES, target=target, kind=kind)


@pytest.mark.parametrize("mode", [[], {}, 5])
@pytest.mark.parametrize("target", [*TARGETS, "amazon-converse"])
def test_an_odd_mode_of_allowed_tools_is_not_a_mode(target: str, mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(malformed, "net", False)
    body = {"input": "q", "generation_config": {"tool_choice": {"allowed_tools": {"mode": mode}}}}
    assert mode not in ul.convert(body, source=STEPS, target=target).value.values()


@pytest.mark.parametrize("extra", [5, {CHAT: 5}, {CHAT: {"rest": {"evil": 1}}}])
@pytest.mark.parametrize("target", [*TARGETS, "amazon-converse"])
def test_no_key_of_an_allowed_tool_is_taken_for_the_librarys_own(target: str, extra: Any) -> None:
    tools = [{"type": "function", "name": name, "parameters": {"type": "object"}} for name in "fg"]
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f", "extra": extra}]}
    body = {"model": "m", "input": "q", "tools": tools, "tool_choice": choice}
    done = ul.convert(body, source=RESPONSES, target=target)
    if target.startswith(RESPONSES):
        assert done.value["tool_choice"] == choice
    else:
        assert "evil" not in str(done.value)
        assert ("/tool_choice/tools/0/extra", "lost") in [(loss.path, loss.fate) for loss in done.losses]


@pytest.mark.parametrize("target", [*TARGETS, "amazon-converse"])
@pytest.mark.parametrize("facing", ["provider", "client"])
def test_odd_opaque_data_of_an_unknown_item_is_written_or_refused(
    target: str, facing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(malformed, "net", False)
    part = {"type": "message", "role": "assistant", "content": [{"type": "x", "opaque": 1.5}]}
    for item, path in (({"type": "x", "opaque": 1.5}, "/0/opaque"), (part, "/0/content/0/opaque")):
        for kind, key in (("request", "input"), ("response", "output")):
            try:
                ul.write({"model": "m", key: [item]}, target, kind, facing=facing)
            except ul.InvalidBody as refused:
                assert (refused.path, refused.reason) == (f"/{key}{path}", "should be a list of objects")


@pytest.mark.parametrize("given", [{}, 5, None, ["x"]])
def test_the_input_of_a_custom_tool_is_text(given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(malformed, "net", False)
    call = {"id": "c", "type": "custom", "custom": {"name": "f", "input": given}}
    body = {"model": "m", "messages": [{"role": "assistant", "tool_calls": [call]}, {"role": "user", "content": "q"}]}
    done = ul.convert(body, source=CHAT, target=MESSAGES, vault=ul.MemoryVault())
    assert "/messages/0/tool_calls/0" in [loss.path for loss in done.losses]


def test_a_message_with_annotations_of_another_type_is_decomposed() -> None:
    part = {"type": "reasoning_text", "text": "Hm.", "annotations": 5}
    node = {"output": [{"type": "reasoning", "content": [part]}]}
    assert ul.collect(ul.decompose(node))["output"] == node["output"]


def test_the_type_of_usage_is_a_key_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(malformed, "net", False)
    usage = {"input_tokens": 1, "type": {}, "extra": {MESSAGES: {"rest": {"a": 1}}}}
    done = ul.write({"usage": usage}, STEPS, "response")
    assert "native.field" in [loss.capability for loss in done.losses]


@pytest.mark.parametrize("name", [None, 5, []])
@pytest.mark.parametrize("target", [*TARGETS, "amazon-converse"])
def test_a_call_of_a_custom_tool_has_a_name(target: str, name: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(malformed, "net", False)
    call = {"id": "c", "type": "custom", "custom": {"name": name, "input": "x"}}
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}
    done = ul.convert(body, source=CHAT, target=target, kind="response")
    assert target == CHAT or "/choices/0/message/tool_calls/0" in [loss.path for loss in done.losses]


def test_a_result_without_a_type_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(malformed, "net", False)
    item = {"type": "file_search_call", "id": "f", "queries": ["q"], "results": [{"type": []}]}
    for facing in ("provider", "client"):
        ul.convert({"output": [item]}, source=RESPONSES, target=MESSAGES, kind="response", facing=facing)
        ul.convert({"output": [item]}, source=RESPONSES, target="amazon-converse", kind="response", facing=facing)


def test_content_of_another_type_ends_no_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole answer for a client that waits for a stream: what no event has a place for is left out."""
    monkeypatch.setattr(malformed, "net", False)
    node = ul.read({"steps": [{"type": "model_output", "content": 3}]}, STEPS, "response")
    events = list(ul.write_stream(ul.decompose(node), STEPS))
    assert [event["event"] for event in events][-2:] == ["interaction.completed", "done"]


def test_a_further_choice_whose_index_is_null_has_that_of_its_place() -> None:
    node = {"output": [], "choices": [{"index": None, "output": []}, {"index": 2, "output": []}]}
    assert ul.collect(ul.decompose(node))["choices"] == node["choices"]


@pytest.mark.parametrize("odd", [{"": {}}, 5, ["x"]])
def test_an_odd_transcript_before_a_text_breaks_no_stream(odd: Any) -> None:
    sounds: list[Any] = [{"transcript": odd}, {"transcript": "e"}]
    chunks = [{"choices": [{"index": 0, "delta": {"audio": sound}, "finish_reason": None}]} for sound in sounds]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    stream = ul.convert_stream([{"event": None, "data": each} for each in chunks], source=CHAT, target=RESPONSES)
    assert list(stream)[-1]["event"] == "response.completed"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("place", [{}, [], "0", 1.5])
def test_an_unknown_event_may_say_anything_where_items_have_their_index(
    target: str, place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(malformed, "net", False)
    events = [{"type": "x", "output_index": 0}, {"type": "y", "output_index": place}]
    with pytest.raises(ul.ProtocolError, match="ended while"):
        list(ul.write_stream(iter(events), target))


LISTED = {
    CHAT: {"object": "list", "data": []},
    RESPONSES: {"object": "list", "data": []},
    MESSAGES: {"data": []},
    "google-generate-content": {"models": []},
}


@pytest.mark.parametrize("protocol", sorted(LISTED))
def test_a_kind_without_a_class_is_refused_with_the_reason(protocol: str) -> None:
    with pytest.raises(ul.InvalidBody, match="a document of kind 'models' has no canonical class"):
        ul.read(LISTED[protocol], protocol, "models")
    assert ul.convert(LISTED[protocol], source=protocol, target=protocol, kind="models").value == LISTED[protocol]
    assert "models" not in KINDS


@pytest.mark.parametrize("turn", [{}, {"turn": 1}])
@pytest.mark.parametrize("target", [*TARGETS, "amazon-converse"])
def test_a_message_without_content_is_written_as_one_of_no_parts(target: str, turn: dict[str, int]) -> None:
    said = {"type": "message", "role": "user", "content": "Hi", **turn}
    empty = {"type": "message", "role": "user", "extra": {target.partition(":")[0]: {"turn": {}}}, **turn}

    def written(item: dict[str, Any]) -> Any:
        return ul.write({"model": "m", "input": [said, item]}, target).value

    if target.startswith((CHAT, RESPONSES)):  # (They take it as it is.)
        assert written(empty) != written({**empty, "content": "Yes"})
    else:
        assert written(empty) == written({**empty, "content": []})
