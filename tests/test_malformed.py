"""Malformed input: whatever a wire or a caller puts where something else belongs, an error of ours names it."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from nesting import nested
from unified_llm.streams.byte_pipeline import _encoded
from unified_llm.streams.framings.sse import SSEDecoder

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
CONTENTS, STEPS = "google-generate-content", "google-interactions"
PROTOCOLS = [CHAT, RESPONSES, MESSAGES, CONTENTS, STEPS]
Node = dict[str, Any]
MESSAGE: Node = {"type": "message", "role": "assistant", "content": []}

# ---- single facts ---------------------------------------------------------------------------------------------------


def test_a_retry_of_very_many_digits_is_not_a_retry() -> None:
    events = SSEDecoder().feed(b"retry: " + b"9" * 4301 + b"\ndata: {}\n\nretry: 9000\ndata: {}\n\n")
    assert events == [{"event": None, "data": "{}"}, {"event": None, "data": "{}", "retry": 9000}]


@pytest.mark.parametrize("target", PROTOCOLS)
def test_an_annotation_event_without_its_annotation_means_nothing(target: str) -> None:
    kind = "response.output_text.annotation.added"
    stray = {"event": kind, "data": {"type": kind}}
    added = {"type": "response.output_item.added", "output_index": 0, "item": {**MESSAGE, "id": "m"}}
    datas: list[Node] = [{"type": "response.created", "response": {"id": "r", "output": []}}, added]
    datas += [{"type": "response.completed", "response": {"id": "r", "status": "completed"}}]
    events = [{"event": each["type"], "data": each} for each in datas]
    events.insert(2, stray)
    out = list(ul.convert_stream(events, source=RESPONSES, target=target))
    assert stray in out if target == RESPONSES else out


@pytest.mark.parametrize("name", [{}, [], 5, True])
def test_the_name_of_an_event_is_a_string(name: Any) -> None:
    with pytest.raises(ul.InvalidBody, match="/1/event: the name of an event should be a string or null"):
        list(ul.convert_stream([{"data": "[DONE]"}, {"event": name, "data": {}}], source=CHAT, target=MESSAGES))


@pytest.mark.parametrize("target", [*PROTOCOLS, "openai-responses:open-responses"])
def test_a_key_of_the_name_opaque_in_a_setting_is_a_leftover(target: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}], "stream_options": {"opaque": 5}}
    done = ul.convert(body, source=CHAT, target=target)
    assert done.value == body if target == CHAT else any("stream_options" in loss.path for loss in done.losses)


@pytest.mark.parametrize(
    "content",
    [
        5,
        ["x"],
        [{"type": "output_text", "text": "x", "annotations": 5}],
        [{"type": "output_text", "text": "x", "annotations": [5, None, {"type": {}}]}],
    ],
)
def test_the_strict_form_of_an_answer_takes_odd_types(content: Any) -> None:
    body = {"output": [{"type": "message", "content": content}], "tools": 5, "text": 6, "created_at": "x"}
    target = "openai-responses:open-responses"
    assert ul.convert(body, source=RESPONSES, target=target, kind="response").value["object"] == "response"


def test_a_breakpoint_without_a_lifetime_fits() -> None:
    from unified_llm.engine.shared.nearest_values import fit_lifetime

    part: Node = {"cache": {"type": "ephemeral"}}
    fit_lifetime(part, wire := {"type": "ephemeral"}, ("5m", "1h"))
    assert wire == {"type": "ephemeral"}


def test_a_request_id_is_one_header() -> None:
    body: Node = {"type": "error", "error": {"type": "invalid_request_error", "message": "x"}}
    body["request_id"] = "é\r\nset-cookie: a=b"
    upstream = ul.Upstream(protocol=MESSAGES, base_url="http://127.0.0.1/v1", model="m")
    answers = httpx2.MockTransport(lambda _: httpx2.Response(400, json=body))
    with ul.http_client(upstream, http_client=httpx2.Client(transport=answers)) as http:
        request = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
        response = http.post("http://any/v1/chat/completions", json=request)
    assert response.status_code == 400
    assert response.headers["x-request-id"] == "???set-cookie: a=b"
    assert "set-cookie" not in response.headers


def test_objects_of_sdks_are_made_of_odd_values_too() -> None:
    found = ul.to_sdk({"usageMetadata": {"trafficType": {}}}, CONTENTS, "response")
    assert type(found).__name__ == "GenerateContentResponse"
    for value in ([], "x", None, {"candidates": nested(2_000)}):
        with pytest.raises(ul.InvalidBody):
            ul.to_sdk(value, CONTENTS, "response")


# ---- canonical input ------------------------------------------------------------------------------------------------

CALL: Node = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
OPAQUE: Node = {"kind": "signature", "data": "x"}


@pytest.mark.parametrize(("item", "path"), [
    ({"type": "function_call"}, "/input/0/"),
    ({**CALL, "name": 5}, "/input/0/name"),
    ({"type": "message", "role": "user", "content": 5}, "/input/0/content"),
    ({"type": "message", "role": "user", "content": [{"type": "input_text", "text": {}}]}, "/input/0/content/0/text"),
    ({"type": "message", "role": "user", "content": "q", "extra": 5}, "/input/0/extra"),
    ({"type": "message", "role": "user", "content": "q", "extra": {CHAT: {"form": 5}}}, f"/input/0/extra/{CHAT}/form"),
])  # fmt: skip
@pytest.mark.parametrize("target", PROTOCOLS)
def test_a_malformed_item_is_named(item: Node, path: str, target: str) -> None:
    """Or written all the same, where the target's form of it has no need of what is malformed."""
    for work in (
        lambda: ul.write({"model": "m", "input": [item]}, target).value,
        lambda: ul.Client(ul.Upstream(protocol=target, base_url="http://127.0.0.1/v1", model="m"),
                          http_client=_silent()).responses.create(input=[item]),
    ):  # fmt: skip
        try:
            work()
        except ul.InvalidBody as error:
            assert error.path.startswith(path)
            assert len(error.reason) > 5
        except ul.APIError:
            pass  # it was written


def _silent() -> httpx2.Client:
    return httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(400, json={"error": {}})))


@pytest.mark.parametrize(
    "given",
    [
        5,
        True,
        [5],
        [{"type": {}}],
        [{"type": []}],
        [None],
        {"type": 5},
        [[]],
        [{"role": "user", "content": [{"type": {}}]}],
        nested(500),
        [nested(500)],
    ],
)
def test_input_of_the_wrong_shape_is_refused_before_anything_is_sent(given: Any) -> None:
    with pytest.raises(ul.InvalidBody) as caught:
        ul.Client().responses.create(model="local/echo", input=given)
    assert caught.value.path.startswith("/input")


@pytest.mark.parametrize("event", [5, None, [], {}, {"type": []}, {"type": {}}, {"type": 5}])
@pytest.mark.parametrize("fold", [ul.collect, lambda events: list(ul.write_stream(events, CHAT))])
def test_what_is_not_an_event_is_refused(fold: Any, event: Any) -> None:
    created = {"type": "response.created", "response": {"id": "r"}}
    with pytest.raises(ul.InvalidBody, match="/1: an event is an object with a string as its type"):
        fold([created, event])


@pytest.mark.parametrize(("event", "reason"), [
    ({"type": "response.completed"}, "response.completed has no object as its response"),
    ({"type": "response.output_item.added", "output_index": 0}, "has no object as its item"),
    ({"type": "response.output_item.done", "output_index": 0, "item": 5}, "has no object as its item"),
])  # fmt: skip
def test_an_event_without_its_object_breaks_the_grammar(event: Node, reason: str) -> None:
    created = {"type": "response.created", "response": {"id": "r"}}
    with pytest.raises(ul.RemoteProtocolError, match=reason):
        ul.collect([created, event])
    with pytest.raises(ul.LocalProtocolError):
        list(ul.write_stream([created, event], CHAT))


@pytest.mark.parametrize(("response", "path"), [
    (5, ""),
    ({"output": 5}, "/output"),
    ({"output": [5]}, "/output/0"),
    ({"output": [], "choices": 5}, "/choices"),
    ({"output": [], "finish": 5}, "/finish"),
    ({"output": [{**MESSAGE, "content": [5]}]}, "/output/0/content/0"),
])  # fmt: skip
def test_a_malformed_response_is_not_decomposed(response: Any, path: str) -> None:
    with pytest.raises(ul.InvalidBody) as caught:
        list(ul.decompose(response))
    assert caught.value.path.startswith(path)


@pytest.mark.parametrize(("item", "path"), [
    ({"type": "reasoning", "opaque": [OPAQUE], "summary": {"type": "object"}}, "/2/item/summary"),
    ({"type": "reasoning", "opaque": [OPAQUE, OPAQUE], "summary": {}}, "/2/item/summary"),
    ({"type": "reasoning", "opaque": [OPAQUE], "summary": ["x"]}, "/2/item/summary/0"),
])  # fmt: skip
@pytest.mark.parametrize("target", PROTOCOLS)
def test_a_malformed_item_is_named_by_its_own_event(
    item: Node, path: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer may keep an item until a later event, which is well-formed and not to blame."""
    monkeypatch.setattr("unified_llm.engine.malformed.net", False)
    events: list[Node] = [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.added", "item": {"type": "x"}},
        {"type": "response.output_item.done", "item": item},
        {"type": "x"},
        {"type": "response.completed", "response": {"id": "r", "status": "completed"}},
    ]
    try:
        list(ul.write_stream(events, target))
    except ul.InvalidBody as error:
        assert error.path.startswith(path)
    else:
        assert target != RESPONSES  # it prints what it was given there


def test_a_marker_of_the_wrong_type_is_not_a_marker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unified_llm.engine.malformed.net", False)
    item = {"type": "x", "extra": {STEPS: {"form": {"in": []}}}}
    assert ul.write({"model": "m", "input": [item]}, STEPS).value["input"] == []


def test_a_turn_of_the_wrong_type_holds_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unified_llm.engine.malformed.net", False)
    extra = {CHAT: {"form": {"turn": "choice"}, "turn": {"message": -1}}}
    item = {"type": "message", "role": "assistant", "content": [], "extra": extra}
    written = ul.write({"id": "r", "output": [item]}, CHAT, kind="response", facing="client").value
    assert written["choices"][0]["message"]["role"] == "assistant"


@pytest.mark.parametrize(("item", "path"), [
    ({"type": "x", "content": ["x"]}, ""),
    ({**CALL, "extra": {CONTENTS: {"form": {"snake": 2**53 + 1}}}}, ""),
    ({**CALL, "extra": {CHAT: {"form": {"arguments": {}}}}}, f"/input/0/extra/{CHAT}/form/arguments"),
    ({**CALL, "extra": {CONTENTS: {"form": {"snake": [[]]}}}}, f"/input/0/extra/{CONTENTS}/form/snake"),
    ({**CALL, "opaque": [{"kind": "thought_signature", "origin": {"protocol": CONTENTS}}]}, "/input/0/opaque/0/data"),
])  # fmt: skip
@pytest.mark.parametrize("target", [*PROTOCOLS, "openai-responses:open-responses", "google-generate-content:vertex"])
@pytest.mark.parametrize("facing", ["provider", "client"])
def test_an_odd_item_is_written_or_refused_with_its_path(
    item: Node, path: str, target: str, facing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unified_llm.engine.malformed.net", False)
    try:
        ul.write({"model": "m", "input": [item]}, target, facing=facing)
    except ul.InvalidBody as error:
        assert path and error.path == path


@pytest.mark.parametrize("target", PROTOCOLS)
def test_odd_values_of_what_is_undeclared_are_passed_over(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unified_llm.engine.malformed.net", False)
    choice = {"type": "allowed_tools", "tools": [{"type": []}]}
    ul.write({"model": "m", "input": "q", "tool_choice": choice}, target)
    with pytest.raises(ul.LocalProtocolError, match="ended while the response was idle"):
        list(ul.write_stream([{"type": "x", "response": [{}]}], target))


def test_a_role_of_any_depth_ends_no_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unified_llm.engine.malformed.net", False)
    chunk = {"candidates": [{"content": {"role": nested(2_000), "parts": [{"text": "Hi"}]}}]}
    end = {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}
    stream = ul.convert_stream([{"event": None, "data": data} for data in (chunk, end)], source=CONTENTS, target=CHAT)
    assert next(reversed(list(stream)))["data"] == "[DONE]"
    assert "/0/data/candidates/0/content/role" in [loss.path for loss in stream.losses]


def test_a_key_of_the_name_opaque_in_a_citation_is_a_leftover() -> None:
    cited = {"cited_text": {"opaque": 5}, "type": "web_search_result_location", "url": "a"}
    part = {"type": "text", "text": ".", "citations": [cited]}
    body = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [part]}
    for target in PROTOCOLS:
        ul.convert(body, source=MESSAGES, target=target, kind="response", secret="s")


@pytest.mark.parametrize("form", ["x", ["x"], [], 5])
def test_an_odd_marker_of_a_control_says_nothing(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unified_llm.engine.malformed.net", False)
    node = {"model": "m", "input": "q", "reasoning": {"effort": "low"}, "extra": {CHAT: {"form": {"reasoning": form}}}}
    assert ul.write(node, CHAT).value["reasoning_effort"] == "low"


@pytest.mark.parametrize("name", [":\n", "a\rb", "a\ud800"])
def test_a_name_that_no_line_can_hold_is_left_to_the_data(name: str) -> None:
    """Written as it is, it would forge a field of the event."""
    assert _encoded(name, b"{}") == b"data: {}\n\n"
    assert _encoded("a", b"{}") == b"event: a\ndata: {}\n\n"
    wire = json.dumps({"type": name, "": {"": ""}}).encode()
    out = b"".join(ul.translate_sse([wire], source=RESPONSES, target="openai-responses:open-responses"))
    assert {line[:16] for line in out.splitlines() if line.startswith(b"event:")} <= {
        b"event: response.",
        b"event: error",
    }


@pytest.mark.parametrize("target", PROTOCOLS)
def test_a_key_of_the_name_extra_on_a_wire_is_a_key_like_any_other(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unified_llm.engine.malformed.net", False)
    ul.convert({"input": [], "context_management": [{"extra": "x"}]}, source=RESPONSES, target=target)
    ul.write({"error": {"message": "x", "extra": {CHAT: {"form": {"absent": 30_000_000}}}}}, target, "error")
    for page in ({"extra": "x"}, {"extra": {CHAT: 5}}, {"turn": 5}, {"opaque": "x"}):
        step = {"type": "url_context_result", "call_id": "u", "result": [page]}
        done = ul.convert({"steps": [step]}, source=STEPS, target=target, kind="response")
        if target == STEPS:
            assert done.value["steps"] == [step]
        else:
            assert any("/steps/0/result".startswith(loss.path) for loss in done.losses)


@pytest.mark.parametrize("marker", [["num_cached_tokens"], ["cached_tokens"], [], {}, 5])
def test_a_list_in_the_place_of_one_word_is_ignored(marker: Any) -> None:
    usage = {"input_tokens_details": {"cached_tokens": 64}, "extra": {CHAT: {"form": {"cached": marker}}}}
    written = ul.write({"usage": usage}, CHAT, "response").value
    assert written["usage"]["prompt_tokens_details"] == {"cached_tokens": 64}
