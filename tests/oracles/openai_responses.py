"""Responses as its oracle serves it: facts of a request, the resource with every key, events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from oracles.openai_chat import Frame, kind_of_url, pieces, text_of
from oracles.plan import Facts, Piece, Plan, Tool, Turn, tokens
from oracles.refusal import Refused, error_body
from oracles.seal import Seal
from oracles.shapes import Node
from oracles.stamp import PNG, Stamp, counts, listed
from oracles.strict_openai_responses import anchor, reasoning_id

PROTOCOL = "openai-responses"
SEAL = Seal(PROTOCOL)
ECHOED = {
    "background": False, "conversation": None, "instructions": None, "max_output_tokens": None, "max_tool_calls": None,
    "parallel_tool_calls": True, "previous_response_id": None, "prompt_cache_key": None, "safety_identifier": None,
    "service_tier": "default", "store": True, "temperature": 1.0, "top_logprobs": 0, "top_p": 1.0,
    "truncation": "disabled", "user": None,
}  # fmt: skip


def items_of(body: Node) -> list[Node]:
    """The input as items."""
    given = body.get("input")
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given or ())


def facts(body: Node, earlier: Sequence[Node] = ()) -> Facts:
    """The content of the request, after `earlier` items."""
    names: dict[str, str] = {}
    turns: list[Turn] = []
    offered = list(body.get("tools") or ())
    for item in [*earlier, *items_of(body)]:
        kind = item.get("type") or "message"
        if kind == "message" and item.get("role") == "user":
            turns.append(Turn("user", text_of(item["content"]), tuple(_media(item["content"]))))
        elif kind in ("function_call", "custom_tool_call"):
            names[item["call_id"]] = item["name"]
            turns.append(Turn("model"))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            name = names.get(item.get("call_id") or "", item.get("name") or "")
            turns.append(Turn("result", text_of(item["output"]), name=name))
        elif kind in ("additional_tools", "tool_search_output"):
            offered += item.get("tools") or ()
        elif item.get("role") == "assistant":
            turns.append(Turn("model", text_of(item["content"])))
    choice, allowed = body.get("tool_choice"), None
    if isinstance(choice, dict):
        chosen = choice["tools"] if choice["type"] == "allowed_tools" else [choice]
        allowed = tuple(each.get("name", each["type"]) for each in chosen)
        choice = choice.get("mode", "required")
    form = (body.get("text") or {}).get("format") or {}
    return Facts(
        body, turns, [t for each in offered for t in _tools(each)], choice or "auto", allowed,
        body.get("parallel_tool_calls") is not False, form.get("type") in ("json_object", "json_schema"),
        form.get("schema"), body.get("max_output_tokens"), (), bool(body.get("stream")),
    )  # fmt: skip


def _tools(tool: Node, namespace: str | None = None) -> Iterator[Tool]:
    kind = tool.get("type")
    if kind in ("function", "custom"):
        yield Tool(tool["name"], tool.get("parameters"), kind == "custom", namespace)
    for each in listed(tool.get("tools")) if kind == "namespace" else ():
        yield from _tools(each, tool["name"])


def _media(content: Any) -> Iterator[str]:
    for part in listed(content):
        if part.get("type") == "input_image":
            yield f"image {kind_of_url(part.get('image_url') or part.get('file_id') or '')}"
        elif part.get("type") == "input_file":
            told = part.get("filename") or part.get("file_id") or part.get("file_url")
            yield f"file {told or kind_of_url(part.get('file_data') or '')}"


def output(plan: Plan, stamp: Stamp) -> list[Node]:
    """The items of the answer; an item that reasoning led to has an id that shows it."""
    made: list[Node] = []
    for place, piece in enumerate(plan.pieces):
        led = "r" if made and made[-1]["type"] == "reasoning" else ""
        if piece.kind in ("text", "refusal", "audio"):
            if not made or made[-1]["type"] != "message":
                made.append({"id": stamp.id("msg_", place) + led, "type": "message", "status": "completed",
                             "role": "assistant", "content": []})  # fmt: skip
            made[-1]["content"].append(_part(piece))
        elif piece.kind == "reasoning":
            summary = [] if piece.hidden else [{"type": "summary_text", "text": piece.text}]
            made.append({"id": "", "type": "reasoning", "summary": summary, "encrypted_content": ""})
        elif piece.kind == "image":
            made.append(
                {"id": stamp.id("ig_", place), "type": "image_generation_call", "status": "completed", "result": PNG}
            )
        elif piece.kind == "call":
            made.append(_call(piece, stamp, place, led))
    if made and made[-1]["type"] == "reasoning":  # the API ends on no reasoning: something follows from it
        made.append({"id": stamp.id("msg_", "end") + "r", "type": "message", "status": "completed", "role": "assistant",
                     "content": [_part(Piece("text"))]})  # fmt: skip
    for place, item in enumerate(made):
        if item["type"] == "reasoning":
            after = next(each for each in made[place:] if each["type"] != "reasoning")
            item["encrypted_content"] = SEAL.make("reasoning", anchor(after))
            item["id"] = reasoning_id(item["encrypted_content"])
    if plan.finish in ("length", "filter") and made:
        made[-1]["status"] = "incomplete"
    return made


def _part(piece: Piece) -> Node:
    if piece.kind == "refusal":
        return {"type": "refusal", "refusal": piece.text}
    text = piece.text if piece.kind == "text" else "(audio)"
    cites = [{"type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": len(text)}
             for url, title in piece.cites]  # fmt: skip
    return {"type": "output_text", "text": text, "annotations": cites, "logprobs": []}


def _call(piece: Piece, stamp: Stamp, place: int, led: str) -> Node:
    assert piece.tool is not None
    raw = piece.tool.raw
    said = {"input": piece.text} if raw else {"arguments": piece.json}
    kind, prefix = ("custom_tool_call", "ctc_") if raw else ("function_call", "fc_")
    space = {"namespace": piece.tool.namespace} if piece.tool.namespace else {}
    ids = {"id": stamp.id(prefix, place) + led, "call_id": stamp.id("call_", place)}
    return {"type": kind, "status": "completed", **ids, "name": piece.tool.name, **said, **space}


def resource(facts: Facts, stamp: Stamp, status: str) -> Node:
    """The resource without its answer: every setting as in the request, or its default."""
    body = facts.body
    said = {key: body[key] if body.get(key) is not None else value for key, value in ECHOED.items()}
    if isinstance(said["conversation"], str):
        said["conversation"] = {"id": said["conversation"]}
    text, reasoning = body.get("text") or {}, body.get("reasoning") or {}
    defaults = {"description": None, "parameters": None, "strict": True}
    tools = [{**defaults, **tool} if tool.get("type") == "function" else tool for tool in body.get("tools") or ()]
    return {
        "id": stamp.id("resp_"), "object": "response", "created_at": stamp.now, "completed_at": None, "status": status,
        "error": None, "incomplete_details": None, "model": stamp.model, "output": [], "usage": None, **said,
        "presence_penalty": 0.0, "frequency_penalty": 0.0, "metadata": body.get("metadata") or {},
        "reasoning": {"effort": reasoning.get("effort"), "summary": reasoning.get("summary")},
        "text": {"format": text.get("format") or {"type": "text"}, "verbosity": text.get("verbosity") or "medium"},
        "tool_choice": body.get("tool_choice") or "auto", "tools": tools,
    }  # fmt: skip


def answer(facts: Facts, plan: Plan, stamp: Stamp) -> Node:
    """The answer in one piece."""
    whole, used = resource(facts, stamp, "completed"), counts(facts, plan)
    whole["output"] = output(plan, stamp)
    whole["usage"] = {
        "input_tokens": used.input,
        "input_tokens_details": {"cached_tokens": used.cached, "cache_write_tokens": used.cache_write},
        "output_tokens": used.output, "output_tokens_details": {"reasoning_tokens": used.reasoning},
        "total_tokens": used.total,
    }  # fmt: skip
    if plan.finish in ("length", "filter"):
        whole["status"] = "incomplete"
        whole["incomplete_details"] = {"reason": "max_output_tokens" if plan.finish == "length" else "content_filter"}
    else:
        whole["completed_at"] = stamp.now
    return whole


def frames(facts: Facts, plan: Plan, stamp: Stamp) -> Iterator[Frame]:
    """The same answer in events."""
    whole = answer(facts, plan, stamp)
    number = -1

    def event(kind: str, **more: Any) -> Frame:
        nonlocal number
        number += 1
        return kind, {"type": kind, "sequence_number": number, **more}

    begun = resource(facts, stamp, "in_progress")
    yield event("response.created", response=begun)
    if facts.body.get("background"):
        yield event("response.queued", response={**begun, "status": "queued"})
    yield event("response.in_progress", response=begun)
    for index, item in enumerate(whole["output"]):
        at = {"item_id": item["id"], "output_index": index}
        opened = _opened(item)
        yield event("response.output_item.added", output_index=index, item=opened)
        for kind, more in _inside(item):
            yield event(kind, **at, **more)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event(f"response.{whole['status']}", response=whole)


def _opened(item: Node) -> Node:
    empty: Node = {"content": [], "summary": [], "arguments": "", "input": "", "result": None}
    opened = {key: empty.get(key, value) for key, value in item.items()}
    return {**opened, "status": "in_progress"} if "status" in item else opened


def _inside(item: Node) -> Iterator[tuple[str, Node]]:
    """What happens between an item's opening and its end."""
    for place, part in enumerate(item.get("content", ()) if item["type"] == "message" else ()):
        at, refusing = {"content_index": place}, part["type"] == "refusal"
        key, kind = ("refusal", "response.refusal") if refusing else ("text", "response.output_text")
        logs: Node = {} if refusing else {"logprobs": []}
        empty = {"type": "refusal", "refusal": ""} if refusing else {**part, "text": "", "annotations": []}
        yield "response.content_part.added", {**at, "part": empty}
        for token in tokens(part[key]):
            yield f"{kind}.delta", {**at, "delta": token, **logs}
        for index, cite in enumerate(part.get("annotations", ())):
            yield "response.output_text.annotation.added", {**at, "annotation_index": index, "annotation": cite}
        yield f"{kind}.done", {**at, key: part[key], **logs}
        yield "response.content_part.done", {**at, "part": part}
    for place, part in enumerate(item.get("summary", ())):
        at = {"summary_index": place}
        yield "response.reasoning_summary_part.added", {**at, "part": {**part, "text": ""}}
        for token in tokens(part["text"]):
            yield "response.reasoning_summary_text.delta", {**at, "delta": token}
        yield "response.reasoning_summary_text.done", {**at, "text": part["text"]}
        yield "response.reasoning_summary_part.done", {**at, "part": part}
    for key, kind in (("arguments", "response.function_call_arguments"), ("input", "response.custom_tool_call_input")):
        if key in item:
            for piece in pieces(item[key]):
                yield f"{kind}.delta", {"delta": piece}
            yield f"{kind}.done", {key: item[key]}
    if item["type"] == "image_generation_call":
        for state in ("in_progress", "generating", "completed"):
            yield f"response.image_generation_call.{state}", {}


def failed(error: Refused, stamp: Stamp) -> Iterator[Frame]:
    """The end of a stream that fails: the error as the API sends it, nested, then the resource."""
    inner = error_body(PROTOCOL, error, "")["error"]
    yield "error", {"type": "error", "sequence_number": 1000, "error": inner}
    gone = resource(Facts({}, []), stamp, "failed")
    gone["error"] = {"code": inner["code"] or "server_error", "message": inner["message"]}
    yield "response.failed", {"type": "response.failed", "sequence_number": 1001, "response": gone}


def encode(frame: Frame) -> bytes:
    """A frame on the wire."""
    text = json.dumps(frame[1], ensure_ascii=False, separators=(",", ":"))
    return f"event: {frame[0]}\ndata: {text}\n\n".encode()
