"""Interactions as its oracle serves it: facts of a request, the resource, events."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from oracles.google_generate_content import said
from oracles.openai_chat import Frame, pieces, text_of
from oracles.openai_chat import encode as encode
from oracles.plan import Facts, Piece, Plan, Tool, Turn, tokens
from oracles.refusal import Refused, error_body
from oracles.seal import Seal
from oracles.shapes import Node
from oracles.stamp import PNG, WAV, Stamp, counts, listed
from oracles.strict_google_interactions import bare, bearer, steps_of

PROTOCOL = "google-interactions"
SEAL = Seal(PROTOCOL)


def facts(body: Node, earlier: Sequence[Node] = ()) -> Facts:
    """The content of the request, after `earlier` steps."""
    names: dict[str, str] = {}
    turns: list[Turn] = []
    whole, body = body, bare(body)
    for step in [*earlier, *steps_of(body)]:
        kind = step["type"]
        if kind == "user_input":
            turns.append(Turn("user", text_of(step["content"]), tuple(_media(step["content"]))))
        elif kind == "function_call":
            names[step["id"]] = step["name"]
            turns.append(Turn("model"))
        elif kind == "function_result":
            result = step["result"]
            text = text_of(result) if isinstance(result, list) else said(result)
            turns.append(Turn("result", text, name=names.get(step["call_id"], step.get("name", ""))))
        elif kind == "model_output":
            turns.append(Turn("model", text_of(step["content"])))
    config = body.get("generation_config") or {}
    choice: Any = config.get("tool_choice", "auto")
    allowed = None
    if isinstance(choice, dict):
        inner = choice["allowed_tools"]
        choice, allowed = inner.get("mode", "auto"), tuple(inner.get("tools") or ()) or None
    form = body.get("response_format")
    entries = form if isinstance(form, list) else [form] if form else []
    wanted: Node = next((each for each in entries if each.get("type") == "text"), {})
    structured = wanted.get("mime_type") == "application/json" or "schema" in wanted
    tools = [Tool(t["name"], t.get("parameters")) for t in body.get("tools") or () if t["type"] == "function"]
    return Facts(
        whole, turns, tools, {"any": "required", "none": "none"}.get(choice, "auto"), allowed, True, structured,
        wanted.get("schema"), config.get("max_output_tokens"), tuple(config.get("stop_sequences") or ()),
        bool(body.get("stream")),
    )  # fmt: skip


def _media(content: Any) -> Iterator[str]:
    for part in listed(content):
        if part.get("type") not in ("text", "function_result"):
            what = "image" if part["type"] == "image" else "file"
            yield f"{what} {part.get('mime_type') or part.get('uri', '')}"


def steps(facts: Facts, plan: Plan, stamp: Stamp) -> list[Node]:
    """The steps of the answer; a call has a signed thought before it, with or without words."""
    made: list[Node] = []
    quiet = (facts.body.get("generation_config") or {}).get("thinking_summaries") == "none"
    for place, piece in enumerate(plan.pieces):
        before = made[-1]["type"] if made else ""
        if piece.kind == "reasoning":
            told = [] if piece.hidden or quiet else [{"type": "text", "text": piece.text}]
            made.append({"type": "thought", "signature": "", **({"summary": told} if told else {})})
        elif piece.kind == "call":
            assert piece.tool is not None
            if before not in ("thought", "function_call"):
                made.append({"type": "thought", "signature": ""})
            made.append({"type": "function_call", "id": stamp.id("", place, length=8), "name": piece.tool.name,
                         "arguments": piece.arguments})  # fmt: skip
        elif piece.kind != "refusal":
            if before != "model_output" or (piece.kind == "text" and made[-1]["content"][-1]["type"] == "text"):
                made.append({"type": "model_output", "content": []})
            made[-1]["content"].append(_content(piece))
    for place, step in enumerate(made):
        if step["type"] == "thought":
            after = next((each for each in made[place:] if each["type"] != "thought"), {})
            step["signature"] = SEAL.make("thought", *bearer(after))
    return made


def _content(piece: Piece) -> Node:
    if piece.kind in ("image", "audio"):
        kind, data = ("image/png", PNG) if piece.kind == "image" else ("audio/wav", WAV)
        return {"type": piece.kind, "mime_type": kind, "data": data}
    cites = [{"type": "url_citation", "url": url, "title": title, "start_index": 0,
              "end_index": len(piece.text.encode())} for url, title in piece.cites]  # fmt: skip
    return {"type": "text", "text": piece.text, **({"annotations": cites} if cites else {})}


def head(facts: Facts, stamp: Stamp, status: str) -> Node:
    """The resource without its steps. What is not stored has no id."""
    body = bare(facts.body)
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(stamp.now))
    kept = {"id": stamp.id("v1_")} if body.get("store") is not False else {}
    named = {"agent": body["agent"]} if "agent" in body else {"model": stamp.model}
    made = {**kept, "object": "interaction", "status": status, **named, "created": when, "updated": when}
    if "previous_interaction_id" in body:
        made["previous_interaction_id"] = body["previous_interaction_id"]
    return made


def answer(facts: Facts, plan: Plan, stamp: Stamp) -> Node:
    """The answer in one piece."""
    status = {"calls": "requires_action", "length": "incomplete", "refusal": "failed", "filter": "failed"}
    made, used = head(facts, stamp, status.get(plan.finish, "completed")), counts(facts, plan)
    made["steps"] = steps(facts, plan, stamp)
    if made["status"] == "failed":
        refusal = next((p.text for p in plan.pieces if p.kind == "refusal"), "The output was blocked.")
        made["errors"] = [{"code": "safety", "message": refusal}]
    made["usage"] = {
        "total_tokens": used.total, "total_input_tokens": used.input,
        "total_output_tokens": used.output - used.reasoning,
        "total_thought_tokens": used.reasoning, "total_cached_tokens": used.cached, "total_tool_use_tokens": 0,
        "input_tokens_by_modality": [{"modality": "text", "tokens": used.input}],
    }  # fmt: skip
    made["service_tier"] = "standard"
    return made


def frames(facts: Facts, plan: Plan, stamp: Stamp) -> Iterator[Frame]:
    """The same answer in events."""
    whole = answer(facts, plan, stamp)
    name = whole.get("id", "")
    numbered = 0
    kept = bool(facts.body.get("background"))

    def event(kind: str, **more: Any) -> Frame:
        nonlocal numbered
        numbered += 1
        place = {"event_id": f"{numbered}"} if kept else {}  # plain streams have none
        return kind, {"event_type": kind, **more, **place}

    begun = head(facts, stamp, "in_progress")
    yield event("interaction.created", interaction={**begun, "id": name})
    yield event("interaction.status_update", interaction_id=name, status="in_progress")
    for index, step in enumerate(whole["steps"]):
        opened, deltas = _opened(step)
        yield event("step.start", index=index, step=opened)
        for delta in deltas:
            yield event("step.delta", index=index, delta=delta)
        yield event("step.stop", index=index)
    done = {key: value for key, value in whole.items() if key != "steps"}
    yield event("interaction.completed", interaction={**done, "id": name})
    yield "done", "[DONE]"


def _opened(step: Node) -> tuple[Node, list[Node]]:
    """How a step starts, and the deltas that complete it."""
    kind = step["type"]
    if kind == "thought":
        told = [{"type": "thought_summary", "content": {"type": "text", "text": token}}
                for part in step.get("summary", ()) for token in tokens(part["text"])]  # fmt: skip
        return {"type": kind}, [*told, {"type": "thought_signature", "signature": step["signature"]}]
    if kind == "function_call":
        text = json.dumps(step["arguments"], ensure_ascii=False, separators=(",", ":"))
        return {**step, "arguments": {}}, [{"type": "arguments_delta", "arguments": part} for part in pieces(text)]
    deltas: list[Node] = []
    for part in step["content"]:
        if part["type"] == "text":
            deltas += [{"type": "text", "text": token} for token in tokens(part["text"])]
            if "annotations" in part:
                deltas.append({"type": "text_annotation_delta", "annotations": part["annotations"]})
        else:
            deltas.append(part)
    return {"type": kind}, deltas


def failed(error: Refused, stamp: Stamp) -> Iterator[Frame]:
    """The end of a stream that fails."""
    yield "error", {"event_type": "error", **error_body(PROTOCOL, error, "")}
