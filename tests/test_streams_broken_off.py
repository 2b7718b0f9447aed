"""A stream that ends in an error loses what its target sends with the end: each leaf of it is in the report.

Wire formats: docs.claude.com/en/api/messages-streaming, platform.openai.com/docs/api-reference (chat and responses
streaming), ai.google.dev/api/generate-content, ai.google.dev/api/interactions.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.losses import Losses
from unified_llm.suite.mutate import altered
from unified_llm.suite.walk import leaves, pointer, replaced

Node = dict[str, Any]


def named(*frames: Node) -> list[Node]:
    return [{"event": frame.get("type") or frame["event_type"], "data": frame} for frame in frames]


def plain(*frames: Node) -> list[Node]:
    return [{"event": None, "data": frame} for frame in frames]


CHUNK = {
    "id": "chatcmpl-1x", "object": "chat.completion.chunk", "created": 1712345, "model": "m-1",
    "service_tier": "flexy", "system_fingerprint": "fp_77", "provider": "Prov", "zz": {"deep": 5},
}  # fmt: skip
RESPONSE = {
    "id": "resp_1x", "object": "response", "created_at": 1712345, "status": "in_progress", "model": "m-1",
    "output": [], "service_tier": "flexy", "temperature": 0.25, "zz": {"deep": 5}, "safety_identifier": "sid9",
    "metadata": {"k": "vv1"},
}  # fmt: skip
MESSAGE = {
    "id": "msg_1x", "type": "message", "role": "assistant", "model": "m-1", "content": [], "stop_reason": None,
    "stop_sequence": None, "container": {"id": "cont9", "expires_at": "2026-01-01T00:00:00Z"}, "zz": {"deep": 5},
    "usage": {"input_tokens": 17, "output_tokens": 3, "service_tier": "flexy", "cache_read_input_tokens": 5},
}  # fmt: skip
INTERACTION = {
    "id": "int_1x", "object": "interaction", "status": "in_progress", "model": "m-1",
    "created": "2026-05-27T16:53:45Z", "zz": {"deep": 5}, "service_tier": "flexy",
}  # fmt: skip
CANDIDATE = {
    "content": {"role": "model", "parts": [{"text": "Hi"}]}, "index": 0, "avgLogprobs": -0.5,
    "citationMetadata": {"citationSources": [{"uri": "https://e.com/77"}]},
    "groundingMetadata": {"webSearchQueries": ["quest9"]},
}  # fmt: skip
COUNTS = {"promptTokenCount": 17, "totalTokenCount": 17, "trafficType": "ON_DEMANDX"}
CHOICE = {"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": None, "yy": 3}

# The first frame of each protocol, and the error that ends its stream.
STREAMS: dict[str, list[Node]] = {
    "openai-chat": plain({**CHUNK, "choices": [CHOICE]}, {"error": {"message": "no", "type": "server_error"}}),
    "openai-responses": named(
        {"type": "response.created", "sequence_number": 0, "response": RESPONSE},
        {"type": "error", "sequence_number": 1, "code": "server_error", "message": "no", "param": None},
    ),
    "anthropic-messages": named(
        {"type": "message_start", "message": MESSAGE},
        {"type": "error", "error": {"type": "api_error", "message": "no"}},
    ),
    "google-interactions": named(
        {"event_type": "interaction.created", "interaction": INTERACTION},
        {"event_type": "error", "error": {"code": "internal", "message": "no"}},
    ),
    "google-generate-content": plain(
        {"candidates": [CANDIDATE], "responseId": "rid_1x", "modelVersion": "m-1", "usageMetadata": COUNTS,
         "createTime": "2026-05-27T16:53:45.443719Z", "zz": {"deep": 5}},
        {"error": {"code": 500, "message": "no", "status": "INTERNAL"}},
    ),
}  # fmt: skip
# What comes later, and what all of it counts.
USED = {**CHUNK, "choices": [], "usage": {"prompt_tokens": 17, "completion_tokens": 3, "total_tokens": 20}}
# What numbers frames, and that an answer is under way, which no report needs.
EXEMPT = ("/0/data/sequence_number", "/0/data/interaction/status", "/0/data/response/status")
PAIRS = [(source, target) for source in STREAMS for target in STREAMS if source != target]


def told(frames: list[Node], source: str, target: str) -> tuple[list[Node], list[ul.Loss]]:
    stream = ul.convert_stream(frames, source=source, target=target)
    return list(stream), list(stream.losses)


@pytest.mark.parametrize("end", ["in an error", "cut off"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_what_a_stream_said_of_its_answer_is_sent_or_reported(source: str, target: str, end: str) -> None:
    frames = STREAMS[source] if end == "in an error" else STREAMS[source][:1]
    base, losses = told(frames, source, target)
    for path, value in leaves(frames[:1]):
        where = pointer(path)
        if path[1] != "data" or value in (None, [], {}) or where in EXEMPT:
            continue
        if any(f"{where}/".startswith(f"{loss.path}/") for loss in losses if loss.side == "source"):
            continue
        other = told(replaced(frames, path, altered(value)), source, target)
        assert other != (base, losses), f"{where} is neither sent nor reported"


@pytest.mark.parametrize("end", ["in an error", "cut off"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_what_was_sent_is_not_reported(source: str, target: str, end: str) -> None:
    """A value of the first frame whose change is seen in what is sent is not reported as lost, and nothing is twice."""
    frames = STREAMS[source] if end == "in an error" else STREAMS[source][:1]
    sent, losses = told(frames, source, target)
    places = [loss.path for loss in losses if loss.side == "source"]
    assert len(places) == len(set(places)), "a place is reported twice"
    lost = [loss.path for loss in losses if loss.side == "source" and loss.fate == "lost"]
    for path, value in leaves(frames[:1]):
        where = pointer(path)
        if any(f"{where}/".startswith(f"{place}/") for place in lost) and value not in (None, [], {}):
            changed, _ = told(replaced(frames, path, altered(value)), source, target)
            assert changed == sent, f"{where} is reported as lost, and sent"


@pytest.mark.parametrize("target", [each for each in STREAMS if each != "openai-chat"])
def test_the_usage_before_an_error_is_reported(target: str) -> None:
    first, error = STREAMS["openai-chat"]
    _, losses = told([first, *plain(USED), error], "openai-chat", target)
    fates = {loss.path: loss.fate for loss in losses}
    assert {key: fates.get(f"/1/data/usage/{key}") for key in USED["usage"]} == dict.fromkeys(USED["usage"], "lost")


def snapshots(count: int) -> list[Node]:
    """A stream of Gemini, each of whose chunks has the counts so far."""
    counts = [
        {"promptTokenCount": 3, "candidatesTokenCount": each, "trafficType": "ON_DEMAND"} for each in range(count)
    ]
    said = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "a word, "}]}}]}
    return plain(*({**said, "usageMetadata": each, "responseId": "r", "modelVersion": "g"} for each in counts))


@pytest.mark.parametrize("count", [4, 40, 400])
@pytest.mark.parametrize("target", [each for each in STREAMS if each != "google-generate-content"])
def test_the_counts_so_far_are_reported_once_where_they_were_stated_last(target: str, count: int) -> None:
    _, losses = told(snapshots(count), "google-generate-content", target)
    found = {loss.path for loss in losses if loss.side == "source" and "usageMetadata" in loss.path}
    keys = {"promptTokenCount", "candidatesTokenCount", "trafficType"}
    if target == "anthropic-messages":
        keys.remove("promptTokenCount")  # sent with the first chunk
    assert found == {f"/{count - 1}/data/usageMetadata/{key}" for key in keys}


def test_a_count_that_is_not_stated_again_is_reported_where_it_was() -> None:
    frames = snapshots(4)
    frames[1]["data"]["usageMetadata"]["newTokenCount"] = 7
    found = lost(frames, "google-generate-content", "openai-responses")
    assert {path for path in found if path.startswith(("/0/", "/1/", "/2/")) and "usageMetadata" in path} <= {
        "/1/data/usageMetadata/newTokenCount"
    }


def test_an_object_is_not_reported_beside_each_value_in_it() -> None:
    found = lost(STREAMS["anthropic-messages"], "anthropic-messages", "openai-chat")
    assert "/0/data/message/usage/input_tokens" in found and "/0/data/message/usage" not in found


def test_a_part_of_a_lost_sum_is_lost() -> None:
    """A part of a count is carried by its sum, but not by one that was never sent."""
    _, losses = told(STREAMS["anthropic-messages"], "anthropic-messages", "google-generate-content")
    fates = {loss.path: loss.fate for loss in losses}
    assert fates["/0/data/message/usage/input_tokens"] == "lost"
    assert fates["/0/data/message/usage/cache_read_input_tokens"] == "lost"


OPEN_ITEM = {
    "id": "ctc_1",
    "type": "custom_tool_call",
    "status": "in_progress",
    "call_id": "call_7",
    "name": "sql",
    "input": "",
}
HELD = named(
    {"type": "response.created", "sequence_number": 0, "response": RESPONSE},
    {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": OPEN_ITEM},
    *({"type": "response.custom_tool_call_input.delta", "sequence_number": 2 + number, "output_index": 0,
       "item_id": "ctc_1", "delta": f"part{number}"} for number in range(60)),
)  # fmt: skip


def lost(frames: list[Node], source: str, target: str) -> set[str]:
    return {loss.path for loss in told(frames, source, target)[1] if loss.fate == "lost"}


def test_a_call_that_a_target_holds_until_it_ends_is_reported() -> None:
    found = lost(HELD, "openai-responses", "google-generate-content")
    assert "/1/data/item" in found
    assert {f"/{number}/data/delta" for number in (2, 3, 4)} <= found, "what it grew by"
    # The same call is sent as it comes where the target has a frame for that.
    found = lost(HELD, "openai-responses", "openai-chat")
    assert not {path for path in found if path.endswith("/delta")} and "/1/data/item/name" not in found


@pytest.mark.parametrize("target", [each for each in STREAMS if each != "openai-responses"])
def test_what_is_held_is_found_at_a_cost_that_does_not_grow(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from unified_llm.streams.pipeline import Pipe

    fed: list[int] = []
    replay = Pipe._replay
    monkeypatch.setattr(Pipe, "_replay", lambda *given: fed.append(len(given[1])) or replay(*given))
    told(HELD, "openai-responses", target)
    few = sum(fed)
    fed.clear()
    more = [{**HELD[-1], "data": {**HELD[-1]["data"], "sequence_number": 62 + each}} for each in range(2000)]
    told([*HELD, *more], "openai-responses", target)
    assert few and sum(fed) <= 2 * few


def test_a_text_that_was_sent_in_pieces_is_not_reported_when_it_is_repeated() -> None:
    """Sources repeat a text when its part ends; what the pieces brought has arrived."""
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    item = {"type": "message", "id": "msg_1", "status": "in_progress", "role": "assistant", "content": []}
    pieces = ("The weather ", "in Paris is ", "fine today.")
    frames = named(
        {"type": "response.created", "response": {**RESPONSE, "metadata": {}}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **at, "part": {"type": "output_text", "text": "", "annotations": []}},
        *({"type": "response.output_text.delta", **at, "delta": piece, "zz": {"n": 1}} for piece in pieces),
        {"type": "response.output_text.done", **at, "text": "".join(pieces)},
    )
    for target in STREAMS:
        if target != "openai-responses":
            sent, losses = told(frames, "openai-responses", target)
            assert all(piece.strip() in str(sent) for piece in pieces)
            assert "/6/data/text" not in {loss.path for loss in losses}, target


def chunks(count: int, more: Callable[[int], Node]) -> list[Node]:
    """A stream of Chat Completions that repeats `x`, each time with something else beside it."""
    said = {"index": 0, "delta": {"content": "x", "role": "assistant"}, "finish_reason": None}
    return plain(*({**CHUNK, "choices": [{**said, **more(number)}]} for number in range(count)))


def logprobs(number: int) -> Node:
    """The likelihoods of one token and of two others, each of one to four bytes."""
    each = [{"token": "x", "logprob": -0.5, "bytes": [97] * (1 + number // 4**place % 4)} for place in range(3)]
    return {"logprobs": {"content": [{**each[0], "top_logprobs": each[1:]}], "refusal": None}}


def unknown(number: int) -> Node:
    return {f"field{number}": number}


@pytest.mark.parametrize("more", [logprobs, unknown])
def test_what_is_kept_and_compared_does_not_grow_with_the_shapes(
    more: Callable[[int], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    from unified_llm.streams import unsent
    from unified_llm.streams.pipeline import Pipe

    compared: list[int] = []
    choose = unsent.HeldFrames._choose
    monkeypatch.setattr(unsent.HeldFrames, "_choose", lambda *given: compared.append(1) or choose(*given))
    pipe = Pipe("openai-chat", "openai-responses")
    for frame in chunks(4_000, more):
        pipe.feed(frame)
    assert pipe.unsent is not None
    assert not compared and len(pipe.unsent._first) + len(pipe.unsent._last) <= unsent._MANY + unsent._MOST


def test_values_of_frames_alike_are_reported_where_they_are() -> None:
    """Frames of one shape may have plain lists of other lengths; here a target sends the first value of each."""
    from unified_llm.streams.unsent import HeldFrames

    held = HeldFrames()
    frames = [{"data": {"said": [each, *range(1000, 1000 + (0, 2, 1, 0)[each % 4])]}} for each in range(40)]
    for number, frame in enumerate(frames):
        held.feed(number, frame, ())
    trail: Any = SimpleNamespace(capability=lambda data, keys: "native.field")

    def replay(events: list[Node]) -> Any:
        yield [{"data": {"first": each["data"]["said"][0]}} for each in events], []

    found = held.losses(replay, Losses(), {}, trail)
    paths = {loss.path for loss in found}
    assert {"/1/data/said/1", "/1/data/said/2"} <= paths and "/10/data/said" in paths
    for path in paths:
        at: Any = frames
        for key in path.split("/")[1:]:
            at = at[int(key) if type(at) is list else key]


@pytest.mark.parametrize("target", ["openai-chat", "openai-chat:ollama", "google-generate-content"])
def test_frames_nested_too_deeply_to_be_compared_are_not_tried(target: str) -> None:
    deep: Any = "no"
    for _ in range(1500):
        deep = {"a": deep}
    events = named({"event_type": "error", "error": {"message": deep}})
    done = ul.convert_stream(events, source="google-interactions", target=target)
    list(done)
    assert "/0/data" in [loss.path for loss in done.losses]


def test_a_repeat_of_what_arrived_in_another_form_is_not_lost() -> None:
    """The model is in the path of a request to Converse, and every chunk has it."""
    texts = [{**CHUNK, "choices": [{"index": 0, "delta": {"content": text}}]} for text in ("Hi", " there", ".")]
    stream = ul.convert_stream(plain(*texts), source="openai-chat", target="amazon-converse")
    list(stream)
    found = {loss.path: loss.fate for loss in stream.losses if loss.path.endswith("/model")}
    assert found == {"/0/data/model": "approximated"}
    # Another model in a later chunk is a value of its own.
    stream = ul.convert_stream(
        plain(*texts, {**texts[0], "model": "m-2"}), source="openai-chat", target="amazon-converse"
    )
    list(stream)
    assert {loss.path: loss.fate for loss in stream.losses if loss.path.endswith("/model")} == {
        "/0/data/model": "approximated",
        "/3/data/model": "lost",
    }


def test_a_text_that_the_target_has_as_it_came_is_not_tried() -> None:
    """It was sent, and nothing is converted once more to find that out."""
    from unified_llm.streams.unsent import HeldFrames

    held, trials = HeldFrames(), 0
    data = {"sent": "a text", "equal": "const", "kept": "nowhere"}
    held.feed(0, {"data": {"sent": "the opening"}}, ())
    held.feed(1, {"data": data}, ())
    trail: Any = SimpleNamespace(capability=lambda data, keys: "native.field")

    def replay(events: list[Node]) -> Any:
        nonlocal trials
        trials += 1
        yield [{"data": {"text": each["data"]["sent"], "own": "const"}} for each in events], []

    paths = {loss.path for loss in held.losses(replay, Losses(), {}, trail)}
    assert paths == {"/1/data/kept", "/1/data/equal"}
    assert trials == 3, "the frames as they came, and one for each value that was not sent"


@pytest.mark.parametrize("end", ["error", "failed"])
@pytest.mark.parametrize("target", ul.protocols())
def test_every_piece_before_an_error_is_sent(target: str, end: str) -> None:
    """generateContent writes a text one event late, with the signature that may follow it."""
    events: list[Node] = [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "role": "assistant"}},
        *(
            {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": piece}
            for piece in ("first", "second", "third")
        ),
    ]
    error = {"type": "server_error", "message": "gone"}
    if end == "error":
        events.append({"type": "error", "error": error})
    else:
        events.append({"type": "response.failed", "response": {"id": "r", "status": "failed", "error": error}})
    written = str(list(ul.write_stream(events, target)))
    assert all(piece in written for piece in ("first", "second", "third"))
