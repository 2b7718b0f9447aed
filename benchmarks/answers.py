"""What providers answer, whole and as streams: made here, the same bytes on every run."""

from __future__ import annotations

from typing import Any

import orjson

from benchmarks.documents import CREATED, MODEL, Json, arguments, words

_HEX = "0a6bb9db7c31ec1d016a5c0a66b8cc8197a6cd3ce6d3e5da24"  # ids are as long as the real ones

_CALLS = (
    ("call_1Zr7vTq0aB3xYz9KpLmW4u7c", "read_sensor", arguments(2, 7)),
    ("call_8Qd2nHs6eF5gJk1MxVbC3t0y", "tide_table", arguments(8, 7)),
)


def chat_response() -> Json:
    """A Chat Completions answer: a paragraph, two parallel tool calls, usage with its details."""
    calls = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in _CALLS]
    message = {"role": "assistant", "content": words(3, 6), "refusal": None, "annotations": [], "tool_calls": calls}
    return {
        "id": f"chatcmpl-{_HEX[:29]}", "object": "chat.completion", "created": CREATED, "model": MODEL,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}],
        "usage": _chat_usage(), "service_tier": "default", "system_fingerprint": "fp_bench",
    }  # fmt: skip


def _chat_usage() -> Json:
    return {
        "prompt_tokens": 9120, "completion_tokens": 310, "total_tokens": 9430,
        "prompt_tokens_details": {"cached_tokens": 8960, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 128, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
        },
    }  # fmt: skip


def responses_response() -> Json:
    """The same answer as a Responses resource, settings echoed as the API echoes them."""
    return _resource("completed", [_message_item(words(3, 6)), *(_call_item(k) for k in range(len(_CALLS)))])


def _message_item(text: str) -> Json:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": f"msg_{_HEX}", "type": "message", "status": "completed", "role": "assistant", "content": [part]}


def _call_item(k: int) -> Json:
    call_id, name, arguments = _CALLS[k]
    return {
        "id": f"fc_{_HEX[:-1]}{k}", "type": "function_call", "status": "completed", "call_id": call_id, "name": name,
        "arguments": arguments,
    }  # fmt: skip


def _resource(status: str, output: list[Json]) -> Json:
    usage = {
        "input_tokens": 9120, "input_tokens_details": {"cached_tokens": 8960},
        "output_tokens": 310, "output_tokens_details": {"reasoning_tokens": 128}, "total_tokens": 9430,
    }  # fmt: skip
    return {
        "id": f"resp_{_HEX}", "object": "response", "created_at": CREATED, "status": status, "background": False,
        "error": None, "incomplete_details": None, "instructions": None, "max_output_tokens": 4096, "model": MODEL,
        "output": output, "parallel_tool_calls": True, "previous_response_id": None,
        "reasoning": {"effort": "medium", "summary": None}, "service_tier": "default", "store": False,
        "temperature": 0.7, "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": 0.95,
        "truncation": "disabled", "usage": usage if status == "completed" else None, "user": None, "metadata": {},
    }  # fmt: skip


# --- streams --------------------------------------------------------------------------------------------------------


def _pieces(text: str, count: int) -> list[str]:
    """Cuts `text`, repeated as needed, into `count` pieces of about one token."""
    source = (text + " ") * (count * 6 // len(text) + 1)
    return [source[k * 5 : k * 5 + 5] for k in range(count)]


def _padding(n: int) -> str:
    """What both APIs send beside a delta by default, to hide its length."""
    return "kW3bTz9qLr0XnV5e"[n % 5 : n % 5 + 9 + n % 3]


def chat_stream(chunks: int = 1000) -> list[Json]:
    """`chunks` chunks: role, text, two tool calls in fragments, finish, usage. Four fifths of it is text."""
    head = {"id": f"chatcmpl-{_HEX[:29]}", "object": "chat.completion.chunk", "created": CREATED, "model": MODEL}
    head |= {"service_tier": "default", "system_fingerprint": "fp_bench"}

    def chunk(delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**head, "choices": [choice], "usage": None, "obfuscation": _padding(len(out))}

    fragments = chunks // 10
    texts = chunks - 3 - 2 * (fragments + 1)
    out: list[Json] = []
    out += [chunk({"role": "assistant", "content": "", "refusal": None})]
    for piece in _pieces(words(2, 5), texts):
        out.append(chunk({"content": piece}))
    for k, (call_id, name, _) in enumerate(_CALLS):
        opening = {"index": k, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
        out.append(chunk({"tool_calls": [opening]}))
        pieces = ['{"text":"', *_pieces("slack water after the front", fragments - 2), '"}']
        for piece in pieces:
            out.append(chunk({"tool_calls": [{"index": k, "function": {"arguments": piece}}]}))
    out.append(chunk({}, "tool_calls"))
    out.append({**head, "choices": [], "usage": _chat_usage()})
    return out


def responses_stream(events: int = 1000) -> list[Json]:
    """About the same answer as `events` Responses events, with the frames that open and close every item and part."""
    out: list[Json] = []

    def emit(kind: str, **fields: Any) -> None:
        out.append({"type": f"response.{kind}", "sequence_number": len(out), **fields})

    fragments = events // 10
    pieces = _pieces(words(2, 5), events - 8 - len(_CALLS) * (fragments + 3))
    message = _message_item("".join(pieces))
    part = message["content"][0]
    at: Json = {"item_id": message["id"], "output_index": 0, "content_index": 0}
    emit("created", response=_resource("in_progress", []))
    emit("in_progress", response=_resource("in_progress", []))
    emit("output_item.added", output_index=0, item={**message, "status": "in_progress", "content": []})
    emit("content_part.added", **at, part={**part, "text": ""})
    for piece in pieces:
        emit("output_text.delta", **at, delta=piece, logprobs=[], obfuscation=_padding(len(out)))
    emit("output_text.done", **at, text=part["text"], logprobs=[])
    emit("content_part.done", **at, part=part)
    emit("output_item.done", output_index=0, item=message)
    items = [message]
    for k in range(len(_CALLS)):
        pieces = ['{"text":"', *_pieces("slack water after the front", fragments - 2), '"}']
        item = {**_call_item(k), "arguments": "".join(pieces)}
        emit("output_item.added", output_index=k + 1, item={**item, "status": "in_progress", "arguments": ""})
        for piece in pieces:
            place = {"item_id": item["id"], "output_index": k + 1}
            emit("function_call_arguments.delta", **place, delta=piece, obfuscation=_padding(len(out)))
        emit("function_call_arguments.done", item_id=item["id"], output_index=k + 1, arguments=item["arguments"])
        emit("output_item.done", output_index=k + 1, item=item)
        items.append(item)
    emit("completed", response=_resource("completed", items))
    return out


def messages_response() -> Json:
    """The same answer of Messages."""
    calls = [{"type": "tool_use", "id": i, "name": n, "input": orjson.loads(a)} for i, n, a in _CALLS]
    return {
        "id": f"msg_{_HEX[:24]}", "type": "message", "role": "assistant", "model": MODEL,
        "content": [{"type": "text", "text": words(3, 6)}, *calls],
        "stop_reason": "tool_use", "stop_sequence": None, "usage": _messages_usage(310),
    }  # fmt: skip


def _messages_usage(output: int) -> Json:
    return {
        "input_tokens": 160, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 8960,
        "output_tokens": output, "service_tier": "standard",
    }  # fmt: skip


def messages_stream(events: int = 1000) -> list[Json]:
    """About the same answer as `events` Messages events."""
    fragments = events // 10
    empty = {**messages_response(), "content": [], "stop_reason": None, "usage": _messages_usage(1)}
    out: list[Json] = [{"type": "message_start", "message": empty}]

    def block(start: Json, deltas: list[Json]) -> None:
        index = sum(each["type"] == "content_block_start" for each in out)
        out.append({"type": "content_block_start", "index": index, "content_block": start})
        out.extend({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        out.append({"type": "content_block_stop", "index": index})

    texts = events - 5 - len(_CALLS) * (fragments + 2)
    block({"type": "text", "text": ""}, [{"type": "text_delta", "text": p} for p in _pieces(words(2, 5), texts)])
    for call_id, name, _ in _CALLS:
        pieces = ['{"text":"', *_pieces("slack water after the front", fragments - 2), '"}']
        start = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        block(start, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces])
    ended = {"stop_reason": "tool_use", "stop_sequence": None}
    out.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 310}})
    out.append({"type": "message_stop"})
    return out


def generate_stream(events: int = 1000) -> list[Json]:
    """About the same answer as `events` frames of generateContent: calls come whole, and every frame counts."""

    def frame(parts: list[Json], **more: Any) -> Json:
        counts = {"promptTokenCount": 9120, "candidatesTokenCount": len(out) + 1, "totalTokenCount": 9121 + len(out)}
        usage = {**counts, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9120}]}
        candidate = {"content": {"parts": parts, "role": "model"}, **more, "index": 0}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": MODEL, "responseId": _HEX[:24]}

    out: list[Json] = []
    for piece in _pieces(words(2, 5), events - 1 - len(_CALLS)):
        out.append(frame([{"text": piece}]))
    for call_id, name, args in _CALLS:
        out.append(frame([{"functionCall": {"name": name, "args": orjson.loads(args), "id": call_id}}]))
    return [*out, frame([{"text": ""}], finishReason="STOP")]


def interactions_stream(events: int = 1000) -> list[Json]:
    """About the same answer as `events` Interactions events."""
    out: list[Json] = []

    def emit(kind: str, **fields: Any) -> None:
        out.append({**fields, "event_type": kind})

    def step(start: Json, deltas: list[Json]) -> None:
        index = sum(each["event_type"] == "step.start" for each in out)
        emit("step.start", index=index, step=start)
        for delta in deltas:
            emit("step.delta", index=index, delta=delta)
        emit("step.stop", index=index)

    fragments, name = events // 10, f"v1_{_HEX}"
    begun = {"id": name, "status": "in_progress", "object": "interaction", "model": MODEL}
    emit("interaction.created", interaction=begun)
    emit("interaction.status_update", interaction_id=name, status="in_progress")
    texts = events - 6 - len(_CALLS) * (fragments + 2)
    step({"type": "model_output"}, [{"text": piece, "type": "text"} for piece in _pieces(words(2, 5), texts)])
    for call_id, function, _ in _CALLS:
        pieces = ['{"text":"', *_pieces("slack water after the front", fragments - 2), '"}']
        start = {"type": "function_call", "id": call_id, "name": function, "arguments": {}}
        step(start, [{"arguments": piece, "type": "arguments_delta"} for piece in pieces])
    emit("interaction.status_update", interaction_id=name, status="requires_action")
    usage = {
        "total_tokens": 9430, "total_input_tokens": 9120, "total_cached_tokens": 8960, "total_output_tokens": 182,
        "total_tool_use_tokens": 0, "total_thought_tokens": 128,
    }  # fmt: skip
    emit("interaction.completed", interaction={**begun, "status": "requires_action", "usage": usage})
    return out


def name_of(event: Json) -> str | None:
    """What a frame of this event is called: Responses, Messages and Interactions name theirs."""
    found: str | None = event.get("event_type", event.get("type"))
    return found


def sse(events: list[Json]) -> bytes:
    """Prints events as their API frames them: with their names, or without; Chat closes with a done marker."""
    frames = []
    for event in events:
        name = name_of(event)
        frames.append(b"event: %s\n" % name.encode() if name else b"")
        frames.append(b"data: %s\n\n" % orjson.dumps(event))
    return b"".join(frames) + (b"data: [DONE]\n\n" if "object" in events[0] else b"")


def stream_data(body: bytes) -> list[bytes]:
    """The data of every event in `body`, without the done marker: what a floor has to parse and print."""
    return [line[6:] for line in body.split(b"\n") if line.startswith(b"data: ") and line != b"data: [DONE]"]
