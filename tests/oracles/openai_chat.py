"""Chat Completions as its oracle serves it: facts of a request, answers, chunks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from oracles.plan import Facts, Plan, Tool, Turn, tokens
from oracles.refusal import Refused, error_body
from oracles.shapes import Node
from oracles.stamp import WAV, Stamp, counts, listed

PROTOCOL = "openai-chat"
FINISH = {"calls": "tool_calls", "length": "length", "filter": "content_filter"}
Frame = tuple["str | None", Any]


def facts(body: Node) -> Facts:
    """The content of the request."""
    names: dict[str, str] = {}
    turns: list[Turn] = []
    for message in body["messages"]:
        role = message["role"]
        if role == "user":
            turns.append(Turn("user", text_of(message["content"]), tuple(media_of(message["content"]))))
        elif role == "assistant":
            for call in message.get("tool_calls") or ():
                names[call["id"]] = (call.get("function") or call.get("custom") or {}).get("name", "")
            turns.append(Turn("model", text_of(message.get("content"))))
        elif role in ("tool", "function"):
            name = message.get("name") if role == "function" else names.get(message["tool_call_id"], "")
            turns.append(Turn("result", text_of(message["content"]), name=name or ""))
    tools = [_tool(tool) for tool in body.get("tools") or () if tool.get("type", "function") in ("function", "custom")]
    tools += [Tool(each["name"], each.get("parameters")) for each in body.get("functions") or ()]
    choice, allowed = body.get("tool_choice", body.get("function_call")), None
    if isinstance(choice, dict):
        if choice.get("type") == "allowed_tools":
            inner = choice["allowed_tools"]
            choice, allowed = inner["mode"], tuple(each[each["type"]]["name"] for each in inner["tools"])
        else:
            named = choice.get("function") or choice.get("custom") or choice
            choice, allowed = "required", (named["name"],)
    form = body.get("response_format") or {}
    stop = body.get("stop")
    return Facts(
        body, turns, tools, choice or "auto", allowed, body.get("parallel_tool_calls") is not False,
        form.get("type") in ("json_object", "json_schema"), (form.get("json_schema") or {}).get("schema"),
        body.get("max_completion_tokens") or body.get("max_tokens"),
        tuple([stop] if isinstance(stop, str) else stop or ()), bool(body.get("stream")),
    )  # fmt: skip


def _tool(tool: Node) -> Tool:
    inner = tool.get("function") or tool.get("custom") or {}
    return Tool(inner["name"], inner.get("parameters"), tool.get("type") == "custom")


def text_of(content: Any) -> str:
    """The text of a content, which is one or a list of parts."""
    if isinstance(content, str):
        return content
    return " ".join(part["text"] for part in listed(content) if isinstance(part, dict) and "text" in part)


def media_of(content: Any) -> Iterator[str]:
    """What else is in it, in a few words each."""
    for part in listed(content):
        kind = part.get("type")
        inner = part.get(kind)
        if kind == "image_url":
            yield f"image {kind_of_url(inner['url'])}"
        elif kind == "input_audio":
            yield f"audio {inner['format']}"
        elif kind == "file":
            yield f"file {inner.get('filename') or inner.get('file_id') or kind_of_url(inner.get('file_data', ''))}"


def kind_of_url(url: str) -> str:
    """A data URL's media type, or the address."""
    return url[5:].partition(";")[0].partition(",")[0] if url.startswith("data:") else url


def message(plan: Plan, stamp: Stamp, choice: int) -> Node:
    """The assistant's message."""
    said: list[str] = []
    cites: list[Node] = []
    calls: list[Node] = []
    made: Node = {"role": "assistant", "content": None, "refusal": None}
    for place, piece in enumerate(plan.pieces):
        if piece.kind in ("text", "image"):
            text = piece.text or ("(an image)" if piece.kind == "image" else "")
            start = len(" ".join([*said, ""]))
            said.append(text)
            cites += [{"type": "url_citation", "url_citation": {"url": url, "title": title, "start_index": start,
                       "end_index": start + len(text)}} for url, title in piece.cites]  # fmt: skip
        elif piece.kind == "refusal":
            made["refusal"] = piece.text
        elif piece.kind == "reasoning" and not piece.hidden:
            made["reasoning_content"] = " ".join([*filter(None, [made.get("reasoning_content")]), piece.text])
        elif piece.kind == "audio":
            made["audio"] = {"id": stamp.id("audio_", choice, place), "data": WAV, "transcript": "An audio clip.",
                             "expires_at": stamp.now + 3600}  # fmt: skip
        elif piece.kind == "call":
            assert piece.tool is not None
            inner = {"name": piece.tool.name, "input": piece.text} if piece.tool.raw else {
                "name": piece.tool.name, "arguments": piece.json}  # fmt: skip
            kind = "custom" if piece.tool.raw else "function"
            calls.append({"id": stamp.id("call_", choice, place), "type": kind, kind: inner})
    if said:
        made["content"] = " ".join(said)
    if calls:
        made["tool_calls"] = calls
    made["annotations"] = cites
    return made


def answer(facts: Facts, plan: Plan, stamp: Stamp) -> Node:
    """The answer in one piece."""
    body, used = facts.body, counts(facts, plan)
    choices = []
    for index in range(body.get("n") or 1):
        made = message(plan, stamp, index)
        logs = {"content": [_logprob(t) for t in tokens(made["content"] or "")], "refusal": None}
        choices.append({"index": index, "message": made, "logprobs": logs if body.get("logprobs") else None,
                        "finish_reason": FINISH.get(plan.finish, "stop")})  # fmt: skip
    return {
        "id": stamp.id("chatcmpl-"), "object": "chat.completion", "created": stamp.now, "model": stamp.model,
        "choices": choices,
        "usage": {
            "prompt_tokens": used.input, "completion_tokens": used.output * len(choices),
            "total_tokens": used.input + used.output * len(choices),
            "prompt_tokens_details": {"cached_tokens": used.cached, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": used.reasoning, "audio_tokens": 0,
                                          "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
        },
        "service_tier": "default", "system_fingerprint": "fp_echo",
    }  # fmt: skip


def _logprob(token: str) -> Node:
    return {"token": token, "logprob": -0.1, "bytes": list(token.encode()), "top_logprobs": []}


def frames(facts: Facts, plan: Plan, stamp: Stamp) -> Iterator[Frame]:
    """The same answer in chunks."""
    whole = answer(facts, plan, stamp)
    counted = bool((facts.body.get("stream_options") or {}).get("include_usage"))
    base = {"id": whole["id"], "object": "chat.completion.chunk", "created": whole["created"], "model": whole["model"],
            "service_tier": "default", "system_fingerprint": "fp_echo"}  # fmt: skip

    def chunk(index: int, delta: Node, finish: str | None = None, logs: Any = None) -> Frame:
        choice = {"index": index, "delta": delta, "logprobs": logs, "finish_reason": finish}
        return None, {**base, "choices": [choice], **({"usage": None} if counted else {})}

    for choice in whole["choices"]:
        index, said = choice["index"], choice["message"]
        yield chunk(index, {"role": "assistant", "content": "", "refusal": None})
        for token in tokens(said.get("reasoning_content") or ""):
            yield chunk(index, {"reasoning_content": token})
        for token in tokens(said["content"] or ""):
            yield chunk(index, {"content": token}, logs={"content": [_logprob(token)], "refusal": None}
                        if choice["logprobs"] else None)  # fmt: skip
        for token in tokens(said["refusal"] or ""):
            yield chunk(index, {"refusal": token})
        if said["annotations"]:
            yield chunk(index, {"annotations": said["annotations"]})
        if "audio" in said:
            audio = said["audio"]
            yield chunk(index, {"audio": {"id": audio["id"], "data": audio["data"]}})
            yield chunk(index, {"audio": {"transcript": audio["transcript"]}})
            yield chunk(index, {"audio": {"expires_at": audio["expires_at"]}})
        for place, call in enumerate(said.get("tool_calls", ())):
            kind = call["type"]
            text = "input" if kind == "custom" else "arguments"
            opened = {"index": place, "id": call["id"], "type": kind, kind: {"name": call[kind]["name"], text: ""}}
            yield chunk(index, {"tool_calls": [opened]})
            for token in pieces(call[kind][text]):
                yield chunk(index, {"tool_calls": [{"index": place, kind: {text: token}}]})
        yield chunk(index, {}, choice["finish_reason"])
    if counted:
        yield None, {**base, "choices": [], "usage": whole["usage"]}
    yield None, "[DONE]"


def pieces(text: str) -> list[str]:
    """A text cut every few characters, as arguments come."""
    return [text[at : at + 8] for at in range(0, len(text), 8)]


def failed(error: Refused, stamp: Stamp) -> Iterator[Frame]:
    """The end of a stream that fails."""
    yield None, error_body(PROTOCOL, error, "")


def encode(frame: Frame) -> bytes:
    """A frame on the wire."""
    data = frame[1]
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    named = f"event: {frame[0]}\n" if frame[0] else ""
    return f"{named}data: {text}\n\n".encode()
