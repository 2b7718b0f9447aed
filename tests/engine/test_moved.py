"""The kinds of documents of adapters that are shapes, at the front door; the engine's laws over their own shapes."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

import pytest

import unified_llm as ul
from engine import laws
from unified_llm.engine import Shape
from unified_llm.suite.outcome import canonical
from unified_llm_anthropic.messages.errors import body
from unified_llm_anthropic.messages.models import models
from unified_llm_anthropic.messages.response import count

MESSAGES, CHAT, RESPONSES = "anthropic-messages", "openai-chat", "openai-responses"
Node = dict[str, Any]
TOO_LONG = "prompt is too long: 3 tokens > 2 maximum"

ENTRY = {"type": "model", "id": "m", "display_name": "M", "created_at": "2026-02-19T00:00:00Z"}
DOCUMENTS: list[tuple[str, Shape, Node]] = [
    ("models", models, {"data": []}),
    ("models", models, {"data": [ENTRY], "has_more": False, "first_id": "m", "last_id": "m"}),
    (
        "models",
        models,
        {"data": [ENTRY, {**ENTRY, "id": "n", "max_tokens": 5, "a": {"b": [1]}}], "has_more": True, "last_id": "n"},
    ),
    ("models", models, {"data": [{"id": "x"}, {"type": "other", "id": "q"}, 3, None], "first_id": None, "zz": 1}),
    ("models", models, {"data": [{**ENTRY, "created_at": "2026-02-19T00:00:00.5Z", "display_name": None}]}),
    ("count_tokens_response", count, {"input_tokens": 12}),
    ("count_tokens_response", count, {"input_tokens": 0, "context_management": {"original_input_tokens": 20}}),
    ("error", body, {"type": "error", "error": {"type": "rate_limit_error", "message": "m"}, "request_id": "r"}),
    ("error", body, {"error": {"type": "teapot_error", "message": "m", "details": {"error_code": "c", "q": [1]}}}),
    ("error", body, {"type": "other", "error": {"message": None}, "request_id": None, "zz": {"y": 1}}),
    ("error", body, {"type": "error", "error": {"type": 5, "message": "exceed context limit"}}),
    ("error", body, {"type": "error", "error": {"type": "invalid_request_error", "message": 5, "details": None}}),
    ("error", body, {"error": {}}),
]
IDS = [f"{kind}-{number}" for number, (kind, _, _) in enumerate(DOCUMENTS)]


@pytest.mark.parametrize(("kind", "shape", "doc"), DOCUMENTS, ids=IDS)
def test_the_laws_of_the_engine_hold(kind: str, shape: Shape, doc: Node) -> None:
    assert laws.identity(shape, doc) == []
    for path, moved, expected in laws.edits(shape, doc, random.Random(1), 99):
        assert moved == expected, path
    assert list(laws.silent(shape, Shape({}, name="nothing"), deepcopy(doc), random.Random(2), 99)) == []


@pytest.mark.parametrize(("kind", "shape", "doc"), DOCUMENTS, ids=IDS)
def test_the_front_door_gives_the_document_back(kind: str, shape: Shape, doc: Node) -> None:
    done = ul.convert(doc, source=MESSAGES, target=MESSAGES, kind=kind)
    assert done.value == doc and not done.losses


@pytest.mark.parametrize("target", [CHAT, "google-generate-content"])
def test_every_altered_value_is_seen_or_reported(target: str) -> None:
    doc = {"data": [{**ENTRY, "max_tokens": 5}], "has_more": True, "first_id": "m", "last_id": "m"}
    before = ul.convert(doc, source=MESSAGES, target=target, kind="models").value
    for path, value in laws.leaves(doc):
        changed = deepcopy(doc)
        laws.at(changed, path[:-1])[path[-1]] = laws.altered(value)
        done = ul.convert(changed, source=MESSAGES, target=target, kind="models")
        told = {loss.path for loss in done.losses}
        page = path[0] in ("has_more", "first_id", "last_id")  # the fields of the page follow from the list
        assert page or done.value != before or laws.names(path, told), (path, told)


PLAIN = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
TOOLS: list[Any] = [
    PLAIN,
    {**PLAIN, "type": "custom", "description": None, "strict": False, "zz": {"y": 1}, "input_examples": [{"a": 1}]},
    {**PLAIN, "allowed_callers": ["direct", "code_execution_20250825"]},
    {**PLAIN, "allowed_callers": ["code_execution_20250825", "code_execution_20260120"]},
    {**PLAIN, "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    {**PLAIN, "cache_control": {"type": "eternal", "ttl": None, "zz": 1}},
    {**PLAIN, "cache_control": {}, "description": 5, "type": None},
    {"name": 5},
    {"name": "g", "input_schema": 5},
    {"type": "web_search_20260209", "name": "web_search", "allowed_domains": ["a"], "user_location": {"city": "O"}},
    {"type": "web_search_20250305", "name": "other", "blocked_domains": None, "max_uses": 2, "user_location": {}},
    {"type": "web_fetch", "name": "web_fetch", "citations": {"enabled": True}, "max_content_tokens": 5},
    {"type": "code_execution_20250522"},
    {"type": "computer_20250124", "name": "computer", "display_width_px": 10, "display_height_px": None},
    {"type": "bash_20250124", "name": "bash", "defer_loading": False},
    {"type": "tool_search_tool_regex", "name": "tool_search_tool_regex"},
    {"type": "tool_search_tool_bm25_20251119"},
    {"type": "memory_20250818", "name": "memory"},
    {"type": ["custom"], "name": "h"},
    5,
    None,
]


@pytest.mark.parametrize("tool", TOOLS, ids=range(len(TOOLS)))
def test_a_kind_of_a_family_may_be_a_shape(tool: Any) -> None:
    doc = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}], "tools": [PLAIN, tool]}
    done = ul.convert(doc, source=MESSAGES, target=MESSAGES)
    assert done.value == doc and not done.losses
    back = ul.write(canonical(doc, MESSAGES, "request"), MESSAGES, "request")
    assert back.value == doc and not back.losses


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
@pytest.mark.parametrize("tool", [tool for tool in TOOLS if type(tool) is dict])
def test_every_altered_value_of_a_tool_is_seen_or_reported(tool: Node, target: str) -> None:
    doc = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "Hi"}], "tools": [PLAIN, tool]}
    before = ul.convert(doc, source=MESSAGES, target=target)
    for path, value in laws.leaves(tool):
        changed = deepcopy(doc)
        laws.at(changed["tools"][1], path[:-1])[path[-1]] = laws.altered(value)  # type: ignore[index]
        done = ul.convert(changed, source=MESSAGES, target=target)
        told = {loss.path for loss in (*done.losses, *before.losses)}
        assert done.value != before.value or laws.names(("tools", 1, *path), told), (path, told)


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ({"name": "g", "input_schema": 5}, "/tools/0/input_schema: an integer, should be an object"),
        ({**PLAIN, "cache_control": {"ttl": 5}}, "/tools/0/cache_control: ttl is an integer, should be a string"),
        ({"name": 5}, "/tools/0: not what its type promises"),
    ],
)
def test_what_a_shape_could_not_take_is_an_error_for_who_reads_strictly(tool: Node, told: str) -> None:
    doc = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}], "tools": [tool]}
    with pytest.raises(ul.InvalidBody, match=told):
        ul.read(doc, MESSAGES, strict=True)


def test_a_page_says_what_clients_read_of_it() -> None:
    listed = {"object": "list", "data": [{"id": "a", "object": "model", "created": 1}, {"id": "b", "object": "model"}]}
    page = ul.convert(listed, source=CHAT, target=MESSAGES, kind="models").value
    required = {"type": "model", "lifecycle": "active"}
    assert page == {
        "data": [
            {"created_at": "1970-01-01T00:00:01Z", "id": "a", **required, "display_name": "a"},
            {"created_at": "1970-01-01T00:00:00Z", "id": "b", **required, "display_name": "b"},
        ],
        "has_more": False,
        "first_id": "a",
        "last_id": "b",
    }
    empty = ul.convert({"object": "list", "data": []}, source=CHAT, target=MESSAGES, kind="models").value
    assert empty == {"data": [], "has_more": False, "first_id": None, "last_id": None}
    more = ul.write({"models": [], "next": "token"}, MESSAGES, "models")
    assert more.value["has_more"] is True and not more.losses


def test_the_ends_of_a_page_are_models_that_are_in_it() -> None:
    kinds = ("embedding", "model", "model", "embedding")
    listed = {"object": "list", "data": [{"id": str(n), "object": kind} for n, kind in enumerate(kinds)]}
    page = ul.convert(listed, source=CHAT, target=MESSAGES, kind="models").value
    assert [each["id"] for each in page["data"]] == ["1", "2"] == [page["first_id"], page["last_id"]]


@pytest.mark.parametrize("created", [1_700_000_000_000_000_000, 1e300])
def test_a_time_that_no_calendar_has_is_lost_alone(created: float) -> None:
    listed = {"object": "list", "data": [{"id": "a", "object": "model", "created": created}]}
    done = ul.convert(listed, source=CHAT, target=MESSAGES, kind="models")
    assert [each["id"] for each in done.value["data"]] == ["a"]
    assert [loss.path for loss in done.losses if loss.fate != "added"] == ["/data/0/created"]


def test_what_is_not_an_entry_is_reported_where_it_stands() -> None:
    doc = {"data": [{"type": "other", "id": "q"}, 3, None]}
    done = ul.convert(doc, source=MESSAGES, target=CHAT, kind="models")
    assert [(loss.path, loss.fate) for loss in done.losses] == [(f"/data/{n}", "lost") for n in range(3)]


@pytest.mark.parametrize(
    ("kind", "doc", "path", "reason"),
    [
        ("models", {}, "/data", "data is missing"),
        ("models", {"data": {}}, "/data", "data is an object, not a list"),
        ("count_tokens_response", {"input_tokens": 1.5}, "/input_tokens", "is a number, not a whole number"),
    ],
)
def test_a_document_of_another_shape_is_refused_with_path_and_reason(
    kind: str, doc: Any, path: str, reason: str
) -> None:
    with pytest.raises(ul.InvalidBody, match=f"not a document of anthropic-messages: .*{reason}") as caught:
        ul.convert(doc, source=MESSAGES, target=CHAT if kind == "models" else RESPONSES, kind=kind)
    assert caught.value.path == path


def test_a_document_that_is_a_list_is_refused() -> None:
    with pytest.raises(ul.InvalidBody, match="anthropic-messages requires a JSON object, got a list") as caught:
        ul.convert([], source=MESSAGES, target=RESPONSES, kind="count_tokens_response")
    assert caught.value.path == ""


def test_a_count_that_is_missing_is_reported() -> None:
    done = ul.convert(
        {"object": "response.input_tokens"}, source=RESPONSES, target=MESSAGES, kind="count_tokens_response"
    )
    assert done.value == {"input_tokens": 0}
    assert [(loss.path, loss.fate, loss.side) for loss in done.losses] == [("/input_tokens", "added", "target")]


@pytest.mark.parametrize("status", [None, 400, 503])
def test_an_error_word_is_classified_and_comes_back(status: int | None) -> None:
    """The class follows from word, message and status; a value without a word is neither lost nor replaced."""
    http = {"status": status} if status else None
    for word, message in (("teapot_error", "m"), (5, "m"), (None, "m"), ("invalid_request_error", TOO_LONG)):
        doc = {"type": "error", "error": {"type": word, "message": message}}
        done = ul.convert(doc, source=MESSAGES, target=MESSAGES, kind="error", http=http)
        assert done.value == doc and not done.losses
    canonical = ul.read({"type": "error", "error": {"type": "zz", "message": "m"}}, MESSAGES, "error", http=http).error
    assert (canonical["type"], canonical["native_type"]) == (
        {None: "other", 400: "invalid_request", 503: "overloaded"}[status],
        "zz",
    )


def test_a_class_without_a_word_is_approximated() -> None:
    done = ul.write({"error": {"type": "budget", "message": "m", "native_type": "zz", "code": "c"}}, MESSAGES, "error")
    assert done.value == {
        "type": "error",
        "error": {"type": "api_error", "message": "m", "details": {"error_code": "c"}},
    }
    assert sorted((loss.path, loss.fate) for loss in done.losses) == [
        ("/error/native_type", "lost"),
        ("/error/type", "approximated"),
    ]


CACHE = {"cache_control": {"type": "ephemeral", "ttl": "1h", "zz": 1}}
DATA = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=", "zz": 1}
PLACE = {"type": "char_location", "start_char_index": 0, "end_char_index": 1, "cited_text": 5, "zz": 1}
SAID: list[Any] = [
    {"type": "text", "text": "a", **CACHE, "zz": 1},
    {"type": "text", "text": "b", "citations": None},
    {
        "type": "text",
        "text": "c",
        "citations": [PLACE, {"type": "page_location"}, 5, {"type": "new_location", "q": [1]}],
    },
    {"type": "text", "text": 5},
    {"type": "text", "text": "d", "cache_control": {"ttl": "5m"}},
]
GIVEN: list[Any] = [
    *SAID,
    {"type": "image", "source": DATA, **CACHE},
    {"type": "image", "source": {"type": "url", "url": "data:image/png;base64,iVBORw0KGgo="}},
    {"type": "image", "source": {"type": "url", "url": "https://a.b", "zz": {"y": 1}}},
    {"type": "image", "source": {"type": "other", "url": "https://a.b"}},
    {"type": "document", "source": {"type": "text", "data": "t", "media_type": 5}, "title": 5, "context": None},
    {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "e", "zz": 1}]}},
    {"type": "document", "source": {"type": "file", "file_id": 5}, "citations": {"enabled": True, "zz": 1}},
    {
        "type": "search_result",
        "source": "s",
        "title": "t",
        "content": [{"type": "text", "text": "f"}],
        "citations": None,
    },
]
CALLER = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1", "zz": 1}
DONE: list[Any] = [
    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1.0}, "caller": CALLER, **CACHE},
    {"type": "tool_use", "id": "toolu_2", "name": "f", "input": {}, "caller": {"type": "other", "x": 1}},
    {"type": "tool_use", "id": "toolu_3", "name": "f", "input": "no object"},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "1", "zz": 1}},
    {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {
        "type": "code_execution_result", "stdout": "1", "stderr": "", "return_code": 0, "zz": 1,
        "content": [{"type": "code_execution_output", "file_id": "f"}]}},
    {"type": "server_tool_use", "id": "srvtoolu_2", "name": "bash_code_execution", "input": {"command": "ls"}},
    {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_2", "content": {
        "type": "bash_code_execution_result", "stdout": "1", "return_code": 1, "zz": {"y": 1},
        "content": [{"type": "bash_code_execution_output", "file_id": "f", "zz": 1}]}},
    {"type": "server_tool_use", "id": "srvtoolu_3", "name": "web_fetch", "input": {"url": "https://a.b"}},
    {"type": "web_fetch_tool_result", "tool_use_id": "srvtoolu_3", "content": {
        "type": "web_fetch_result", "url": "https://a.b", "retrieved_at": None, "zz": 1}},
    {"type": "server_tool_use", "id": "srvtoolu_4", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_4", "content": [
        {"type": "web_search_result", "url": "https://a.b", "title": 5, "encrypted_content": "x", "zz": 1}, 5]},
    {"type": "server_tool_use", "id": "srvtoolu_5", "name": "web_search", "input": {"query": 5}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_5", "content": {
        "type": "web_search_tool_result_error", "error_code": "unavailable", "error_message": None, "zz": 1}},
    {"type": "server_tool_use", "id": "srvtoolu_6", "name": "new_tool", "input": {"a": 1}},
    {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "g", "server_name": "s", "input": {"a": [1]}, "zz": 1},
    {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": None, "content": "text"},
]  # fmt: skip
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": None, "is_error": None, **CACHE}


def _asked(*blocks: Any, role: str = "user") -> Node:
    talk = [{"role": "user", "content": "Hi"}, {"role": role, "content": [*blocks]}]
    return {"model": "m", "max_tokens": 5, "messages": talk}


BLOCKS = [*(_asked(each) for each in [*GIVEN, RESULT]), *(_asked(each, role="assistant") for each in [*SAID, *DONE])]


@pytest.mark.parametrize("doc", BLOCKS, ids=range(len(BLOCKS)))
def test_blocks_come_back_at_once_and_with_a_caller_between(doc: Node) -> None:
    done = ul.convert(doc, source=MESSAGES, target=MESSAGES)
    assert done.value == doc and not done.losses
    back = ul.write(
        canonical(doc, MESSAGES, "request"), MESSAGES, "request", repair="never"
    )  # their calls are not there
    assert back.value == doc and not back.losses


@pytest.mark.parametrize("target", [CHAT, RESPONSES])
@pytest.mark.parametrize("doc", BLOCKS, ids=range(len(BLOCKS)))
def test_every_altered_value_of_a_block_is_seen_or_reported(doc: Node, target: str) -> None:
    before = ul.convert(doc, source=MESSAGES, target=target)
    for path, value in laws.leaves(doc["messages"][1]["content"][0]):
        whole = ("messages", 1, "content", 0, *path)
        changed = deepcopy(doc)
        laws.at(changed, whole[:-1])[whole[-1]] = laws.altered(value)  # type: ignore[index]
        try:
            done = ul.convert(changed, source=MESSAGES, target=target)
        except ul.UnifiedLLMError:
            continue
        told = {loss.path for loss in (*done.losses, *before.losses)}
        assert done.value != before.value or laws.names(whole, told), (path, told)


def test_what_a_block_says_beside_an_unknown_key_is_understood() -> None:
    doc = _asked({"type": "text", "text": "a", **CACHE}, {"type": "image", "source": DATA})
    text, image = canonical(doc, MESSAGES, "request")["input"][1]["content"]
    assert text["cache"] == {"mode": "explicit", "ttl": "1h"}
    assert image["image_url"] == "data:image/png;base64,iVBORw0KGgo="
    paths = {loss.path for loss in ul.convert(doc, source=MESSAGES, target="google-generate-content").losses}
    assert {"/messages/1/content/0/cache_control/zz", "/messages/1/content/1/source/zz"} <= paths


def test_an_image_of_an_unknown_source_is_not_an_empty_image_elsewhere() -> None:
    doc = _asked({"type": "text", "text": "a"}, {"type": "image", "source": {"type": "other", "url": "https://a.b"}})
    done = ul.convert(doc, source=MESSAGES, target=RESPONSES)
    assert done.value["input"][1]["content"] in ("a", [{"type": "input_text", "text": "a"}])
    assert "/messages/1/content/1" in {loss.path for loss in done.losses}


def test_a_call_is_written_in_one_order_whatever_stands_with_it() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}}
    docs = (_asked(call, role="assistant"), _asked({**call, **CACHE}, role="assistant"))
    for doc in docs:
        block = ul.convert(doc, source=MESSAGES, target=MESSAGES).value["messages"][1]["content"][0]
        assert list(block)[:4] == list(call)


def test_a_call_of_an_mcp_server_without_a_name_is_reported() -> None:
    node = {"output": [{"type": "mcp_call", "call_id": "c", "server_label": "s", "arguments": "{}"}], "model": "m"}
    done = ul.write(node, MESSAGES, "response")
    assert done.value["content"][0]["name"] == ""
    assert ("/content/0/name", "added") in {(loss.path, loss.fate) for loss in done.losses}


@pytest.mark.parametrize("target", ["google-generate-content", "google-interactions", "amazon-converse"])
def test_an_argument_that_arrives_as_it_was_is_not_reported(target: str) -> None:
    start = {"type": "message", "id": "m", "role": "assistant", "model": "m", "content": [], "usage": {}}
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    datas: list[Node] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a" : 1}'}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    events = [{"event": data["type"], "data": data} for data in datas]
    stream = ul.convert_stream(events, source=MESSAGES, target=target)
    sent = str([*stream])
    assert '{"a" : 1}' in sent or "{'a': 1}" in sent
    assert [loss.path for loss in stream.losses if loss.capability == "tools.function"] == []


def test_a_breakpoint_of_another_mode_has_the_one_type_there_is() -> None:
    part = {"type": "input_text", "text": "a", "cache": {"mode": "other", "ttl": "12h"}}
    node = {"model": "m", "input": [{"type": "message", "role": "user", "content": [part]}]}
    done = ul.write(node, MESSAGES, "request")
    block = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    assert done.value["messages"] == [{"role": "user", "content": [block]}]
    told = {(loss.path.rpartition("/")[2], loss.fate) for loss in done.losses if "cache" in loss.path}
    assert told == {("mode", "lost"), ("ttl", "approximated"), ("type", "added")}


def test_a_tool_that_changes_is_named_where_it_is_lost() -> None:
    tool = {"type": "tool_reference", "name": "f"}
    doc = _asked({"type": "tool_addition", "tool": tool}, role="system")
    told = {loss.path for loss in ul.convert(doc, source=MESSAGES, target=CHAT).losses}
    assert "/messages/1/content/0/tool/name" in told
