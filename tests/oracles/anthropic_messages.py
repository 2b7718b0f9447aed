"""Messages as its oracle serves it: facts of a request, answers, events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from oracles.openai_chat import Frame, kind_of_url, pieces, text_of
from oracles.openai_responses import encode as encode
from oracles.plan import Facts, Plan, Tool, Turn, tokens
from oracles.refusal import Refused, error_body
from oracles.seal import Seal
from oracles.shapes import Node
from oracles.stamp import Stamp, counts, listed
from oracles.strict_anthropic_messages import bearer

PROTOCOL = "anthropic-messages"
SEAL = Seal(PROTOCOL)
FINISH = {"stop": "end_turn", "calls": "tool_use", "length": "max_tokens", "sequence": "stop_sequence",
          "pause": "pause_turn", "refusal": "refusal", "filter": "refusal"}  # fmt: skip


def facts(body: Node) -> Facts:
    """The content of the request."""
    names: dict[str, str] = {}
    turns: list[Turn] = []
    for message in body["messages"]:
        content = message.get("content") or []
        if message["role"] == "assistant":
            names |= {b["id"]: b["name"] for b in listed(content) if b.get("type") == "tool_use"}
            turns.append(Turn("model", text_of(content)))
        elif message["role"] == "user":
            results = [block for block in listed(content) if block["type"] == "tool_result"]
            for block in results:
                turns.append(Turn("result", text_of(block.get("content")), name=names.get(block["tool_use_id"], "")))
            rest = content if isinstance(content, str) else [b for b in content if b["type"] != "tool_result"]
            if rest:
                turns.append(Turn("user", text_of(rest), tuple(_media(rest))))
    choice = body.get("tool_choice") or {}
    kind = choice.get("type", "auto")
    form = (body.get("output_config") or {}).get("format") or {}
    tools = [Tool(t["name"], t["input_schema"]) for t in body.get("tools") or () if "input_schema" in t]
    return Facts(
        body, turns, tools, {"any": "required", "tool": "required"}.get(kind, kind),
        (choice["name"],) if kind == "tool" else None, not choice.get("disable_parallel_tool_use"), bool(form),
        form.get("schema"), body.get("max_tokens"), tuple(body.get("stop_sequences") or ()), bool(body.get("stream")),
    )  # fmt: skip


def _media(content: Any) -> Iterator[str]:
    for block in listed(content):
        source = block.get("source")
        if isinstance(source, dict):
            told = source.get("media_type") or source.get("url") or source.get("file_id") or ""
            yield f"{'image' if block['type'] == 'image' else 'file'} {kind_of_url(told)}"


def answer(facts: Facts, plan: Plan, stamp: Stamp) -> Node:
    """The answer in one piece."""
    used = counts(facts, plan)
    content: list[Node] = []
    stop: Node | None = None
    for place, piece in enumerate(plan.pieces):
        if piece.kind == "reasoning":
            content.append({"type": "redacted_thinking", "data": ""} if piece.hidden else
                           {"type": "thinking", "thinking": piece.text, "signature": ""})  # fmt: skip
        elif piece.kind == "call":
            assert piece.tool is not None
            content.append({"type": "tool_use", "id": stamp.id("toolu_", place), "name": piece.tool.name,
                            "input": piece.arguments})  # fmt: skip
        elif piece.kind == "refusal":
            stop = {"type": "refusal", "category": None, "explanation": piece.text}
        else:
            text = piece.text if piece.kind == "text" else f"(an {piece.kind})"
            cites = [{"type": "web_search_result_location", "url": url, "title": title, "cited_text": text,
                      "encrypted_index": SEAL.make("index", url)} for url, title in piece.cites]  # fmt: skip
            if text:
                content.append({"type": "text", "text": text, "citations": cites})
    omitted = (facts.body.get("thinking") or {}).get("display") == "omitted"
    for place, block in enumerate(content):
        if block["type"] == "thinking":
            block["thinking"] = "" if omitted else block["thinking"]
            block["signature"] = SEAL.make("thinking", *bearer(content, place))
        elif block["type"] == "redacted_thinking":
            block["data"] = SEAL.make("redacted", *bearer(content, place))
    return {
        "id": stamp.id("msg_"), "type": "message", "role": "assistant", "model": stamp.model, "content": content,
        "stop_reason": FINISH[plan.finish], "stop_sequence": plan.stop if plan.finish == "sequence" else None,
        "stop_details": stop, "container": None,
        "usage": {
            "input_tokens": used.input - used.cached - used.cache_write, "output_tokens": used.output,
            "cache_creation_input_tokens": used.cache_write, "cache_read_input_tokens": used.cached,
            "cache_creation": {"ephemeral_5m_input_tokens": used.cache_write, "ephemeral_1h_input_tokens": 0},
            "output_tokens_details": {"thinking_tokens": used.reasoning}, "server_tool_use": None,
            "service_tier": "standard", "inference_geo": "global",
        },
    }  # fmt: skip


def frames(facts: Facts, plan: Plan, stamp: Stamp) -> Iterator[Frame]:
    """The same answer in events."""
    whole = answer(facts, plan, stamp)
    first = {
        **whole["usage"],
        "output_tokens": min(1, whole["usage"]["output_tokens"]),
        "output_tokens_details": {"thinking_tokens": 0},
    }
    begun = {**whole, "content": [], "stop_reason": None, "stop_sequence": None, "stop_details": None, "usage": first}
    yield _event("message_start", message=begun)
    yield _event("ping")
    for index, block in enumerate(whole["content"]):
        opened, deltas = _opened(block)
        yield _event("content_block_start", index=index, content_block=opened)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    delta = {key: whole[key] for key in ("stop_reason", "stop_sequence", "stop_details", "container")}
    yield _event("message_delta", delta=delta, usage=whole["usage"])
    yield _event("message_stop")


def _event(kind: str, **more: Any) -> Frame:
    return kind, {"type": kind, **more}


def _opened(block: Node) -> tuple[Node, list[Node]]:
    """How a block starts, and the deltas that complete it."""
    kind = block["type"]
    if kind == "text":
        cites = [{"type": "citations_delta", "citation": cite} for cite in block["citations"]]
        said = [{"type": "text_delta", "text": token} for token in tokens(block["text"])]
        return {"type": kind, "text": "", **({"citations": []} if cites else {})}, [*cites, *said]
    if kind == "thinking":
        thoughts = [{"type": "thinking_delta", "thinking": token} for token in tokens(block["thinking"])]
        signed = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "thinking": "", "signature": ""}, [*thoughts, signed]
    if kind == "tool_use":
        text = json.dumps(block["input"], ensure_ascii=False, separators=(",", ":")) if block["input"] else ""
        parts = ["", *pieces(text)]
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]
    return block, []  # redacted thinking comes whole


def failed(error: Refused, stamp: Stamp) -> Iterator[Frame]:
    """The end of a stream that fails."""
    body = error_body(PROTOCOL, error, stamp.id("req_"))
    yield "error", body
