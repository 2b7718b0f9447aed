"""Traps of settings, stored state, names, offsets and numbers, towards every surface; values are the trap's."""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE = "google-interactions", "google-generate-content"
EVERYBODY = [CHAT, RESPONSES, MESSAGES, INTERACTIONS, GENERATE]
Node = dict[str, Any]
USER = {"role": "user", "content": "q"}


def chat(target: str, **settings: Any) -> ul.Converted:
    return ul.convert({"model": "m", "messages": [USER], **settings}, source=CHAT, target=target)


def responses(target: str, **settings: Any) -> ul.Converted:
    return ul.convert({"model": "m", "input": "q", **settings}, source=RESPONSES, target=target)


def lost(done: ul.Converted) -> dict[str, str]:
    return {loss.path: loss.capability for loss in done.losses if loss.fate == "lost"}


# ---- settings --------------------------------------------------------------------------------------------------------


def test_trap_134_one_stop_text_is_a_list_of_one() -> None:
    assert chat(MESSAGES, stop="a").value["stop_sequences"] == ["a"]
    assert chat(GENERATE, stop="a").value["generationConfig"]["stopSequences"] == ["a"]
    assert chat(INTERACTIONS, stop="a").value["generation_config"]["stop_sequences"] == ["a"]
    assert lost(chat(RESPONSES, stop="a")) == {"/stop": "output.stop"}


@pytest.mark.parametrize(("source", "key"), [(CHAT, "stop"), (MESSAGES, "stop_sequences")])
def test_trap_134_more_stop_texts_than_the_target_takes_are_told_one_by_one(source: str, key: str) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [USER], key: list("abcdefg")}
    done = ul.convert(body, source=source, target=GENERATE)
    assert done.value["generationConfig"]["stopSequences"] == list("abcde")
    assert {f"/{key}/5": "output.stop", f"/{key}/6": "output.stop"}.items() <= lost(done).items()


SETTINGS = {
    "n": 2, "seed": 1, "logprobs": True, "top_logprobs": 2, "presence_penalty": 1, "frequency_penalty": 1,
    "logit_bias": {"5": 1},
}  # fmt: skip
LOST = {
    RESPONSES: {"n", "seed", "presence_penalty", "frequency_penalty", "logit_bias"},
    MESSAGES: set(SETTINGS),
    INTERACTIONS: set(SETTINGS) - {"seed"},
    GENERATE: {"logit_bias"},
}


@pytest.mark.parametrize("target", LOST)
def test_trap_135_every_setting_without_a_home_is_one_loss(target: str) -> None:
    body = {"model": "m", "messages": [USER], **SETTINGS}
    done = ul.convert(body, source=CHAT, target=target, on_loss={"output.choices": "ignore"})
    assert {path.split("/")[1] for path in lost(done)} == LOST[target]


@pytest.mark.parametrize("target", [RESPONSES, MESSAGES, INTERACTIONS])
def test_trap_135_a_wrong_count_of_answers_is_an_error(target: str) -> None:
    body = {"model": "m", "messages": [USER], "n": 2}
    for on_loss in ("ignore", {"*": "ignore"}):
        with pytest.raises(ul.CapabilityRefused) as refused:
            ul.convert(body, source=CHAT, target=target, on_loss=on_loss)
        assert (refused.value.path, refused.value.capability) == ("/n", "output.choices")
    with pytest.raises(ul.CapabilityLost):
        ul.convert(body, source=CHAT, target=target, on_loss={"output.choices": "raise"})
    # A caller who accepts it gets one answer; so does one that requests one.
    done = ul.convert(body, source=CHAT, target=target, on_loss={"output.*": "ignore"})
    assert lost(done) == {"/n": "output.choices"}
    assert chat(target, n=1).value
    config = {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "generationConfig": {"candidateCount": 2}}
    with pytest.raises(ul.CapabilityRefused, match="/generationConfig/candidateCount"):
        ul.convert(config, source=GENERATE, target=target)


def test_trap_135_several_answers_are_asked_of_who_gives_them() -> None:
    assert chat(GENERATE, n=2).value["generationConfig"]["candidateCount"] == 2


@pytest.mark.parametrize("target", [CHAT, RESPONSES, INTERACTIONS, GENERATE])
def test_trap_139_a_marker_on_a_tool_whose_schema_was_fitted_is_lost(target: str) -> None:
    tool = {"name": "f", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}
    body = {"model": "m", "max_tokens": 50, "messages": [USER], "tools": [tool]}
    done = ul.convert(body, source=MESSAGES, target=target)
    assert [loss.fate for loss in done.losses if loss.path == "/tools/0/cache_control"] == ["lost"]


@pytest.mark.parametrize("target", [CHAT, RESPONSES, INTERACTIONS, GENERATE])
def test_trap_137_no_field_of_one_surface_is_sent_to_another(target: str) -> None:
    edits = {"edits": [{"type": "clear_tool_uses_20250919"}]}
    body = {"model": "m", "max_tokens": 9, "messages": [USER], "context_management": edits, "headers": {"x": "y"}}
    done = ul.convert(body, source=MESSAGES, target=target)
    assert "context_management" not in done.value and "headers" not in json.dumps(done.value)
    told = {path.split("/")[1] for path in lost(done)}
    assert {"context_management", "headers"} <= told


MARK = {"cache_control": {"type": "ephemeral"}}
MARKED = {
    "model": "m", "max_tokens": 9,
    "system": [{"type": "text", "text": "a", **MARK}, {"type": "text", "text": "b", **MARK}],
    "tools": [{"name": "f", "input_schema": {"type": "object", "properties": {}}, **MARK}],
    "messages": [{"role": "user", "content": [{"type": "text", "text": "x", **MARK},
                                              {"type": "text", "text": "y", **MARK}]}],
}  # fmt: skip


@pytest.mark.parametrize("target", [CHAT, RESPONSES, INTERACTIONS, GENERATE])
def test_trap_139_every_cache_marker_arrives_or_is_told(target: str) -> None:
    done = ul.convert(MARKED, source=MESSAGES, target=target)
    assert "cache_control" not in json.dumps(done.value)
    arrived = json.dumps(done.value).count("prompt_cache_breakpoint")
    told = [loss for loss in done.losses if loss.capability == "cache.breakpoint" and loss.fate == "lost"]
    assert arrived + len(told) == 5
    if target in (INTERACTIONS, GENERATE):
        assert len(told) == 5


@pytest.mark.parametrize("target", [RESPONSES, MESSAGES, INTERACTIONS, GENERATE])
def test_trap_140_schemas_and_tools_keep_their_order(target: str) -> None:
    properties = {"z": {"type": "string"}, "a": {"type": "integer"}, "m": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["z", "a"]}
    tools = [{"type": "function", "function": {"name": name, "parameters": schema}} for name in ("z", "a")]
    one, two = (json.dumps(chat(target, tools=tools, temperature=0.5, user="u").value) for _ in range(2))
    assert one == two
    assert one.index('"z": {"type"') < one.index('"a": {"type"') < one.index('"m": {"type"')


# ---- state -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [CHAT, MESSAGES, GENERATE])
def test_trap_175_memory_that_is_not_there_is_told(target: str) -> None:
    done = responses(target, previous_response_id="resp_1")
    assert "resp_1" not in json.dumps(done.value)
    assert lost(done) == {"/previous_response_id": "state.previous_response"}


@pytest.mark.parametrize("target", [CHAT, MESSAGES, GENERATE])
def test_trap_176_background_is_refused_where_there_is_none(target: str) -> None:
    done = responses(target, background=True, store=True)
    assert "background" not in json.dumps(done.value)
    assert lost(done)["/background"] == "state.background"
    with pytest.raises(ul.CapabilityLost):
        ul.convert({"model": "m", "input": "q", "background": True}, source=RESPONSES, target=target, on_loss="raise")


def test_trap_176_what_a_chained_turn_does_not_inherit_is_sent_again() -> None:
    settings = {"instructions": "Be terse", "temperature": 0.5, "previous_response_id": "v1_a",
                "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}]}  # fmt: skip
    value = responses(INTERACTIONS, **settings).value
    assert (value["system_instruction"], value["generation_config"]["temperature"]) == ("Be terse", 0.5)
    assert value["tools"][0]["name"] == "f"


ANSWERS: dict[str, Node] = {
    CHAT: {"id": "c", "object": "chat.completion", "created": 1, "model": "vendor/x-2026", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}]},
    MESSAGES: {"id": "c", "type": "message", "role": "assistant", "model": "vendor/x-2026", "stop_reason": "end_turn",
               "stop_sequence": None, "content": [{"type": "text", "text": "A"}],
               "usage": {"input_tokens": 1, "output_tokens": 1}},
    RESPONSES: {"id": "c", "object": "response", "created_at": 1, "model": "vendor/x-2026", "status": "completed",
                "output": [{"type": "message", "id": "m", "role": "assistant", "status": "completed",
                            "content": [{"type": "output_text", "text": "A", "annotations": []}]}]},
    GENERATE: {"candidates": [{"content": {"role": "model", "parts": [{"text": "A"}]}, "finishReason": "STOP"}],
               "modelVersion": "vendor/x-2026", "responseId": "c"},
    INTERACTIONS: {"id": "c", "model": "vendor/x-2026", "status": "completed", "object": "interaction",
                   "steps": [{"type": "model_output", "content": [{"type": "text", "text": "A"}]}]},
}  # fmt: skip
REQUESTS: dict[str, Node] = {
    CHAT: {"model": "fast", "messages": [USER]},
    RESPONSES: {"model": "fast", "input": "q"},
    MESSAGES: {"model": "fast", "max_tokens": 9, "messages": [USER]},
    INTERACTIONS: {"model": "fast", "input": "q"},
    GENERATE: {"model": "fast", "contents": [{"role": "user", "parts": [{"text": "q"}]}]},
}


def names(value: Any) -> set[str]:
    """The model names anywhere in a value."""
    if isinstance(value, list):
        return {name for each in value for name in names(each)}
    if not isinstance(value, dict):
        return set()
    own = {value[key] for key in ("model", "modelVersion") if isinstance(value.get(key), str)}
    return own | {name for inner in value.values() for name in names(inner)}


@pytest.mark.parametrize("source", EVERYBODY)
@pytest.mark.parametrize("surface", EVERYBODY)
def test_trap_177_the_alias_is_in_the_answer_and_in_every_event(surface: str, source: str) -> None:
    http = {"path": "models/fast:generateContent"} if surface == GENERATE else None
    body = {key: value for key, value in REQUESTS[surface].items() if surface != GENERATE or key != "model"}
    asked = ul.convert(body, source=surface, target=source, model="vendor/x-2026", http=http)
    assert asked.exchange is not None and asked.exchange.alias == "fast"
    if source != GENERATE:
        assert asked.value["model"] == "vendor/x-2026"
    done = ul.convert(ANSWERS[source], source=source, target=surface, kind="response", exchange=asked.exchange)
    assert names(done.value) == {"fast"}
    canonical = ul.decompose(ul.read(ANSWERS[source], source, "response").dump())
    stream = ul.write_stream(canonical, surface, exchange=asked.exchange)
    told = names([event["data"] for event in stream])
    assert told == {"fast"}


def test_trap_178_versions_are_supplied_and_no_clients_keys_or_encodings_are_copied() -> None:
    headers = {
        "authorization": "Bearer s", "x-api-key": "s", "content-encoding": "gzip", "connection": "close",
        "transfer-encoding": "chunked", "content-length": "9", "host": "h", "cookie": "c",
    }  # fmt: skip
    for source in EVERYBODY:
        for target in EVERYBODY:
            body = {key: value for key, value in REQUESTS[source].items() if source != GENERATE or key != "model"}
            http = {"headers": headers, **({"path": "models/fast:generateContent"} if source == GENERATE else {})}
            sent = ul.convert(body, source=source, target=target, http=http).http.get("headers", {})
            assert not {name.lower() for name in sent} & headers.keys(), (source, target)
            assert ("anthropic-version" in sent) is (target == MESSAGES)


# ---- offsets ---------------------------------------------------------------------------------------------------------

CITED = "é😀x"


def grounded(start: int, end: int) -> Node:
    support = {"segment": {"startIndex": start, "endIndex": end}, "groundingChunkIndices": [0]}
    meta = {"groundingChunks": [{"web": {"uri": "https://e.x", "title": "e"}}], "groundingSupports": [support]}
    content = {"role": "model", "parts": [{"text": CITED}]}
    candidate = {"content": content, "finishReason": "STOP", "index": 0, "groundingMetadata": meta}
    return {"candidates": [candidate], "responseId": "r", "modelVersion": "m"}


def note_of(value: Node, surface: str) -> Node:
    if surface == CHAT:
        return dict(value["choices"][0]["message"]["annotations"][0]["url_citation"])
    if surface == RESPONSES:
        return dict(value["output"][0]["content"][0]["annotations"][0])
    if surface == INTERACTIONS:
        return dict(value["steps"][0]["content"][0]["annotations"][0])
    return dict(value["candidates"][0]["groundingMetadata"]["groundingSupports"][0]["segment"])


@pytest.mark.parametrize(("target", "span"), [(CHAT, (2, 3)), (RESPONSES, (2, 3)), (INTERACTIONS, (6, 7))])
def test_trap_179_bytes_here_are_characters_there(target: str, span: tuple[int, int]) -> None:
    value = ul.convert(grounded(6, 7), source=GENERATE, target=target, kind="response").value
    note = note_of(value, target)
    assert (note["start_index"], note["end_index"]) == span
    back = note_of(ul.convert(value, source=target, target=GENERATE, kind="response").value, GENERATE)
    assert (back["startIndex"], back["endIndex"]) == (6, 7)


def test_trap_179_an_offset_that_is_none_gives_a_source_of_the_whole_text_and_is_told() -> None:
    for start, end in ((1, 99), (99, 120)):
        done = ul.convert(grounded(start, end), source=GENERATE, target=RESPONSES, kind="response")
        note = note_of(done.value, RESPONSES)
        # Clients of the target rely on a place: that of the whole text, which is reported as added.
        assert (note["url"], note["start_index"], note["end_index"]) == ("https://e.x", 0, len(CITED))
        told = [loss.path for loss in done.losses if loss.fate == "added"]
        assert any(path.endswith("/annotations/0/start_index") for path in told)
        assert any(path.endswith("/segment/endIndex") for path in lost(done))


# ---- numbers and characters that are none ----------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_trap_180_what_is_not_a_number_is_refused(word: str) -> None:
    raw = '{"model":"m","messages":[{"role":"user","content":"x"}],"temperature":@}'.replace("@", word).encode()
    for target in EVERYBODY:
        with pytest.raises(ul.InvalidBody):
            ul.convert(raw, source=CHAT, target=target)
    with pytest.raises(ul.InvalidBody) as caught:
        chat(MESSAGES, temperature=float("nan"))
    assert caught.value.path == "/temperature"


@pytest.mark.parametrize("target", EVERYBODY)
def test_trap_180_a_lone_surrogate_is_replaced_and_told_everywhere(target: str) -> None:
    raw = b'{"model":"m","messages":[{"role":"user","content":"a\\ud83d"}]}'
    done = ul.convert(raw, source=CHAT, target=target)
    assert "a\ufffd" in json.dumps(done.value, ensure_ascii=False)
    assert ("/messages/0/content", "approximated") in {(loss.path, loss.fate) for loss in done.losses}
