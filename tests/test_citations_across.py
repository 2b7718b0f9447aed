"""Citations between the protocols: those that stand on blocks, those with a place in characters, those with bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

import unified_llm as ul
from test_law_mind import HISTORY

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
GENERATE, INTERACTIONS, CONVERSE = "google-generate-content", "google-interactions", "amazon-converse"
Node = dict[str, Any]

BEFORE, CITED, AFTER = "Größe: ", "the sky is blue", ", they say."
TEXT = BEFORE + CITED + AFTER
START, END = len(BEFORE), len(BEFORE + CITED)
BYTES = (len(BEFORE.encode()), len((BEFORE + CITED).encode()))
URL = "https://example.org/sky"


def messages(*blocks: Node) -> Node:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(blocks),
        "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def block(text: str, *urls: str) -> Node:
    kind = "web_search_result_location"
    found = [{"type": kind, "cited_text": "q", "url": url, "title": "T", "encrypted_index": "RW5j"} for url in urls]
    return {"type": "text", "text": text, **({"citations": found} if found else {})}


BLOCKS = messages(block(BEFORE), block(CITED, URL), block(AFTER))


def responses(*places: tuple[int, int]) -> Node:
    notes = [
        {"type": "url_citation", "url": f"{URL}/{number}", "title": "T", "start_index": start, "end_index": end}
        for number, (start, end) in enumerate(places)
    ]
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    item["content"] = [{"type": "output_text", "text": TEXT, "annotations": notes}]  # type: ignore[assignment]
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": [item],
    }  # fmt: skip


def convert(body: Node, source: str, target: str, secret: str | None = None) -> ul.Converted:
    return ul.convert(body, source=source, target=target, kind="response", secret=secret)


def streamed(body: Node, source: str, target: str, secret: str | None = None) -> tuple[list[Any], ul.Losses]:
    events = list(ul.write_stream(ul.decompose(ul.read(body, source, "response")), source))
    stream = ul.convert_stream(iter(events), source=source, target=target, secret=secret)
    return [event["data"] for event in stream], stream.losses


# ---- what is cut, and what is not ------------------------------------------------------------------------------------

CONVERSE = "amazon-converse"


def cut(body: Node, target: str, source: str = RESPONSES) -> tuple[list[tuple[str, int]], ul.Losses]:
    """The blocks of an answer: their texts, and by how many citations each is cited."""
    done = convert(body, source, target)
    if target == MESSAGES:
        return [(each["text"], len(each.get("citations", ()))) for each in done.value["content"]], done.losses
    blocks = done.value["output"]["message"]["content"]
    cited = [each.get("citationsContent") or {"content": [each], "citations": []} for each in blocks]
    return [("".join(part["text"] for part in each["content"]), len(each["citations"])) for each in cited], done.losses


@pytest.mark.parametrize("target", [MESSAGES, CONVERSE])
def test_blanks_between_cited_places_belong_to_the_block_before(target: str) -> None:
    body = responses((0, 5), (6, len(TEXT) - 1))
    body["output"][0]["content"][0]["text"] = f"{TEXT[:5]} {TEXT[6:-1]}\n"
    blocks, _ = cut(body, target)
    assert blocks == [(f"{TEXT[:5]} ", 1), (f"{TEXT[6:-1]}\n", 1)]


@pytest.mark.parametrize("target", [MESSAGES, CONVERSE])
@pytest.mark.parametrize("logprobs", [[], [{"token": "G", "logprob": -0.5, "bytes": [71], "top_logprobs": []}]])
def test_log_probabilities_do_not_hide_what_is_cited(target: str, logprobs: list[Node]) -> None:
    body = responses((START, END))
    body["output"][0]["content"][0]["logprobs"] = logprobs
    blocks, losses = cut(body, target)
    assert blocks == [(BEFORE, 0), (CITED, 1), (AFTER, 0)]
    lost = [loss.path for loss in losses if loss.fate == "lost"]
    assert ("/output/0/content/0/logprobs" in lost) == bool(logprobs)


@pytest.mark.parametrize("target", [MESSAGES, CONVERSE])
def test_no_block_is_cut_for_a_citation_that_is_lost(target: str) -> None:
    body = responses((START, END))
    file = {"type": "container_file_citation", "container_id": "c", "file_id": "f", "filename": "p.png"}
    body["output"][0]["content"][0]["annotations"].insert(0, {**file, "start_index": 0, "end_index": START + 2})
    blocks, losses = cut(body, target)
    assert blocks == [(BEFORE, 0), (CITED, 1), (AFTER, 0)]
    assert "/output/0/content/0/annotations/0" in [loss.path for loss in losses if loss.fate == "lost"]


# ---- the place of a source in generateContent ------------------------------------------------------------------------


def grounded(parts: list[Node], segment: Node) -> Node:
    meta = {"groundingChunks": [{"web": {"uri": URL, "title": "T"}}]}
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    support = {"segment": segment, "groundingChunkIndices": [0]}
    return {"candidates": [{**candidate, "groundingMetadata": {**meta, "groundingSupports": [support]}}]}


THOUGHT = {"text": "Wörds", "thought": True}
SHOWN = len("Hör zu! ".encode())


@pytest.mark.parametrize(
    "parts",
    [
        [THOUGHT, {"text": TEXT}],
        [{"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {}, "id": "g"}}, THOUGHT, {"text": TEXT}],
        [{"text": "Hör zu! "}, {"executableCode": {"language": "PYTHON", "code": "1"}}, {"text": TEXT}],
    ],
)
def test_offsets_without_a_part_count_through_the_texts_that_are_shown(parts: list[Node]) -> None:
    base = SHOWN if "thought" not in parts[0] and "text" in parts[0] else 0
    body = grounded(parts, {"startIndex": base + BYTES[0], "endIndex": base + BYTES[1], "text": CITED})
    output = convert(body, GENERATE, RESPONSES).value["output"]
    texts = [part for item in output if item["type"] == "message" for part in item["content"]]
    note = {"type": "url_citation", "url": URL, "title": "T", "start_index": START, "end_index": END}
    assert texts[-1] == {"type": "output_text", "text": TEXT, "annotations": [note]}
    assert convert(body, GENERATE, GENERATE).value == body
    assert ul.write(ul.read(body, GENERATE, "response"), GENERATE, "response").value == body


def test_the_text_of_a_segment_is_not_that_of_the_source() -> None:
    body = grounded([{"text": TEXT}], {"startIndex": BYTES[0], "endIndex": BYTES[1], "text": CITED})
    found = convert(body, GENERATE, MESSAGES).value["content"][1]["citations"][0]
    assert found["cited_text"] == ""
    done = convert(messages(block(BEFORE), block(CITED, URL)), MESSAGES, GENERATE)
    (support,) = done.value["candidates"][0]["groundingMetadata"]["groundingSupports"]
    assert "text" not in support["segment"]
    assert "/content/1/citations/0/cited_text" in [loss.path for loss in done.losses if loss.fate == "lost"]


@pytest.mark.parametrize("target", [CHAT, RESPONSES, INTERACTIONS, GENERATE])
def test_the_proof_of_a_streamed_citation_is_lost_at_its_own_place(target: str) -> None:
    _, losses = streamed(messages(block(CITED, URL)), MESSAGES, target)
    found = {(loss.path.partition("/delta/")[2], loss.fate) for loss in losses if loss.detail == "foreign"}
    assert found == {("citation/encrypted_index", "lost")}


# ---- from blocks to places ------------------------------------------------------------------------------------------


def test_a_block_is_a_place_in_the_text_of_chat() -> None:
    message = convert(BLOCKS, MESSAGES, CHAT).value["choices"][0]["message"]
    place = {"url": URL, "title": "T", "start_index": START, "end_index": END}
    assert message["content"] == TEXT
    assert message["annotations"] == [{"type": "url_citation", "url_citation": place}]
    data, _ = streamed(BLOCKS, MESSAGES, CHAT)
    notes = [
        note for chunk in data[:-1] for choice in chunk["choices"] for note in choice["delta"].get("annotations", ())
    ]
    assert notes == message["annotations"]


def test_a_block_is_the_whole_of_its_part_in_responses() -> None:
    parts = convert(BLOCKS, MESSAGES, RESPONSES).value["output"][0]["content"]
    note = {"type": "url_citation", "url": URL, "title": "T", "start_index": 0, "end_index": len(CITED)}
    assert [part["annotations"] for part in parts] == [[], [note], []]
    data, _ = streamed(BLOCKS, MESSAGES, RESPONSES)
    assert data[-1]["response"]["output"][0]["content"] == parts
    kind = "response.output_text.annotation.added"
    assert [(each["content_index"], each["annotation"]) for each in data if each["type"] == kind] == [(1, note)]


def test_a_block_is_a_support_in_generate_content() -> None:
    for candidate in (
        convert(BLOCKS, MESSAGES, GENERATE).value["candidates"][0],
        streamed(BLOCKS, MESSAGES, GENERATE)[0][-1]["candidates"][0],
    ):
        meta = candidate["groundingMetadata"]
        assert meta["groundingChunks"] == [{"web": {"uri": URL, "title": "T"}}]
        (support,) = meta["groundingSupports"]
        segment = support["segment"]
        # A client joins the texts, and counts from the first of them.
        whole = "".join(block["text"] for block in BLOCKS["content"]).encode()
        assert whole[segment["startIndex"] : segment["endIndex"]].decode() == CITED
        assert "partIndex" not in segment
        assert support["groundingChunkIndices"] == [0]


def test_a_block_is_a_place_in_interactions() -> None:
    note = {"type": "url_citation", "url": URL, "title": "T", "start_index": 0, "end_index": len(CITED)}
    contents = convert(BLOCKS, MESSAGES, INTERACTIONS).value["steps"][0]["content"]
    assert [content.get("annotations", []) for content in contents] == [[], [note], []]
    data, _ = streamed(BLOCKS, MESSAGES, INTERACTIONS)
    deltas = [each["delta"] for each in data if type(each) is dict and each.get("event_type") == "step.delta"]
    assert [each["annotations"] for each in deltas if each["type"] == "text_annotation_delta"] == [[note]]


def test_a_citation_that_comes_before_its_text_waits_for_it() -> None:
    citation = block(CITED, URL)["citations"][0]
    frames: list[Node] = [
        {"type": "message_start", "message": {**BLOCKS, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "", "citations": []}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": citation}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": CITED[:4]}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": CITED[4:]}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ]
    events = [{"event": frame["type"], "data": frame} for frame in frames]
    data = [event["data"] for event in ul.convert_stream(iter(events), source=MESSAGES, target=RESPONSES)]
    (note,) = [each for each in data if each["type"] == "response.output_text.annotation.added"]
    assert (note["annotation"]["start_index"], note["annotation"]["end_index"]) == (0, len(CITED))


# ---- from places to blocks ------------------------------------------------------------------------------------------


def test_a_place_in_the_text_cuts_it_into_blocks() -> None:
    done = convert(responses((START, END)), RESPONSES, MESSAGES)
    content = [part for part in done.value["content"] if part["type"] == "text"]
    assert [part["text"] for part in content] == [BEFORE, CITED, AFTER]
    assert [bool(part.get("citations")) for part in content] == [False, True, False]
    told = {loss.path.rpartition("/")[2]: loss.fate for loss in done.losses if "/content/0/" in loss.path}
    assert told == dict.fromkeys(("text", "start_index", "end_index"), "approximated")


def test_places_in_bytes_cut_it_too() -> None:
    body = {"candidates": [{
        "content": {"role": "model", "parts": [{"text": TEXT}]}, "finishReason": "STOP", "index": 0,
        "groundingMetadata": {
            "groundingChunks": [{"web": {"uri": URL, "title": "T"}}],
            "groundingSupports": [{
                "segment": {"startIndex": BYTES[0], "endIndex": BYTES[1], "text": CITED}, "groundingChunkIndices": [0],
            }],
        },
    }]}  # fmt: skip
    texts = [part["text"] for part in convert(body, GENERATE, MESSAGES).value["content"] if part["type"] == "text"]
    assert texts == [BEFORE, CITED, AFTER]


def test_two_citations_of_one_place_share_its_block() -> None:
    content = convert(responses((START, END), (START, END)), RESPONSES, MESSAGES).value["content"]
    assert [len(part.get("citations") or ()) for part in content if part["type"] == "text"] == [0, 2, 0]


# Data that is not opaque comes back out of an envelope that a secret authenticates, and out of no other (ADR 0016).
KEPT = [("a secret of the test", "parked"), (None, "lost")]


@pytest.mark.parametrize(("secret", "fate"), KEPT)
@pytest.mark.parametrize("places", [[(0, 9), (START, END)], [(4, 900)], [(5, 5)]])
def test_places_that_cannot_be_blocks_are_reported(
    places: list[tuple[int, int]], secret: str | None, fate: str
) -> None:
    done = convert(responses(*places), RESPONSES, MESSAGES, secret)
    assert [part["text"] for part in done.value["content"] if part["type"] == "text"] == [TEXT]
    told = {loss.path.rpartition("/")[2]: loss.fate for loss in done.losses if "_index" in loss.path}
    assert told == {"start_index": fate, "end_index": fate}


@pytest.mark.parametrize(("secret", "fate"), KEPT)
def test_a_stream_that_is_too_late_to_cut_says_so(secret: str | None, fate: str) -> None:
    data, losses = streamed(responses((START, END)), RESPONSES, MESSAGES, secret)
    starts = [each["content_block"] for each in data if each["type"] == "content_block_start"]
    assert len([each for each in starts if each["type"] == "text"]) == 1
    assert {loss.fate for loss in losses if loss.path.endswith("_index") and "annotations" in loss.path} == {fate}


def test_a_place_returns_over_a_client_of_blocks() -> None:
    request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    exchange = ul.convert(request, source=MESSAGES, target=RESPONSES, model="gpt-5.5").exchange
    shown = ul.convert(
        responses((START, END)), source=RESPONSES, target=MESSAGES, kind="response", exchange=exchange
    ).value
    turns = [*request["messages"], {"role": "assistant", "content": shown["content"]}]  # type: ignore[misc]
    again = {**request, "messages": [*turns, {"role": "user", "content": "go on"}]}
    items = ul.convert(again, source=MESSAGES, target=RESPONSES, model="gpt-5.5").value["input"]
    (said,) = [item for item in items if item.get("role") == "assistant"]
    notes = [(part["text"], note) for part in said["content"] for note in part["annotations"]]
    for text, note in notes:
        assert text[note["start_index"] : note["end_index"]] == CITED
    assert "".join(part["text"] for part in said["content"]) == TEXT


# ---- what a place needs ---------------------------------------------------------------------------------------------


def test_sources_that_come_before_the_text_of_a_chat_stream_are_kept() -> None:
    place = {"url": URL, "title": "T", "start_index": 0, "end_index": 2}
    note = {"type": "url_citation", "url_citation": place}

    def chunk(delta: Node, finish: str | None = None) -> Node:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}

    chunks = [
        chunk({"role": "assistant", "content": "", "annotations": [note]}),
        chunk({"content": "Hi"}),
        chunk({}, "stop"),
    ]
    events = [{"event": None, "data": data} for data in (*chunks, "[DONE]")]
    for target in (RESPONSES, MESSAGES, GENERATE, INTERACTIONS):
        stream = ul.convert_stream(iter(events), source=CHAT, target=target)
        assert URL in str(list(stream)), target
        assert not [loss for loss in stream.losses if "annotations" in loss.path and loss.fate == "lost"], target
    assert [event["data"] for event in ul.convert_stream(iter(events), source=CHAT, target=CHAT)] == [*chunks, "[DONE]"]
    answer = ul.collect(ul.read_stream(iter(events), CHAT))
    assert [each["url"] for each in answer["output"][0]["content"][0]["annotations"]] == [URL]


def test_sources_without_any_text_are_reported() -> None:
    note = {"type": "url_citation", "url_citation": {"url": URL, "title": "T", "start_index": 0, "end_index": 2}}
    choice = {"index": 0, "delta": {"role": "assistant", "annotations": [note]}, "finish_reason": "stop"}
    data = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    events = [{"event": None, "data": data}, {"event": None, "data": "[DONE]"}]
    stream = ul.convert_stream(iter(events), source=CHAT, target=MESSAGES)
    list(stream)
    assert [loss.path for loss in stream.losses if "annotations" in loss.path] == [
        "/0/data/choices/0/delta/annotations"
    ]


def test_a_file_that_was_cited_has_the_keys_that_clients_rely_on() -> None:
    chunk = {"retrievedContext": {"uri": "fileSearchStores/s/documents/d", "title": "manual.pdf", "text": "x"}}
    body = {"candidates": [{
        "content": {"role": "model", "parts": [{"text": TEXT}]}, "finishReason": "STOP", "index": 0,
        "groundingMetadata": {
            "groundingChunks": [chunk], "retrievalQueries": ["sky"],
            "groundingSupports": [{
                "segment": {"startIndex": BYTES[0], "endIndex": BYTES[1]}, "groundingChunkIndices": [0],
            }],
        },
    }]}  # fmt: skip
    output = convert(body, GENERATE, RESPONSES).value["output"]
    (note,) = [note for item in output if item["type"] == "message" for note in item["content"][0]["annotations"]]
    assert note == {
        "type": "file_citation", "file_id": "fileSearchStores/s/documents/d", "filename": "manual.pdf", "index": END,
    }  # fmt: skip
    for call in (item for item in output if item["type"] == "file_search_call"):
        assert type(call["queries"]) is list


def test_a_citation_without_proof_stays_as_it_is() -> None:
    bare = block("x", URL)
    del bare["citations"][0]["encrypted_index"]
    body = messages(bare)
    assert convert(body, MESSAGES, MESSAGES).value == body


@pytest.mark.parametrize("surface", [CONVERSE, MESSAGES])
def test_a_citation_returns_with_its_place_from_a_client_whose_blocks_are_cited(surface: str) -> None:
    """An answer that travels whole is kept as it was, whatever its blocks are cut into for the client."""
    search = {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    }
    answer = responses((START, END))
    answer["output"].insert(0, search)
    wanted = json.loads(json.dumps(answer["output"]))
    told = ul.convert(answer, source=RESPONSES, target=surface, kind="response", secret="s")
    history = HISTORY[surface](told.value)
    history["messages"].append({"role": "user", "content": [{"text": "On."}] if surface == CONVERSE else "On."})
    back = ul.convert(history, source=surface, target=RESPONSES, secret="s").value["input"]
    assert [item["content"][0]["annotations"] for item in back if item.get("role") == "assistant"] == [
        item["content"][0]["annotations"] for item in wanted if item["type"] == "message"
    ]


@pytest.mark.parametrize("count", [1100, 9000])
def test_each_of_many_sources_is_the_one_that_is_cited(count: int) -> None:
    protocol = "google-generate-content"
    chunks = [{"web": {"uri": f"https://example.com/{n}", "title": str(n)}} for n in range(count)]
    support = {"segment": {"startIndex": 0, "endIndex": 4, "text": "One."}, "groundingChunkIndices": [count - 1]}
    candidate = {
        "content": {"role": "model", "parts": [{"text": "One."}]},
        "finishReason": "STOP",
        "index": 0,
        "groundingMetadata": {"groundingChunks": chunks, "groundingSupports": [support]},
    }
    body = {"candidates": [candidate], "modelVersion": "m", "responseId": "r"}
    assert ul.write(ul.read(body, protocol, "response"), protocol, "response").value == body
