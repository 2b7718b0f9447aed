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
        page = path[0] in ("has_more", "first_id", "last_id")  # what is said of the page follows from the list
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
    assert page == {
        "data": [
            {"type": "model", "id": "a", "created_at": "1970-01-01T00:00:01Z", "display_name": "a"},
            {"type": "model", "id": "b", "display_name": "b"},
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
    assert [(loss.path, loss.fate) for loss in done.losses] == [("/data/0/created", "lost")]


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
