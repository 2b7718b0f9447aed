"""generateContent as its oracle serves it: facts of a request, answers, chunks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from oracles.openai_chat import Frame
from oracles.plan import Facts, Plan, Tool, Turn, tokens
from oracles.refusal import Refused, error_body
from oracles.seal import Seal
from oracles.shapes import Node
from oracles.stamp import PNG, WAV, Stamp, counts, listed
from oracles.strict_google_generate_content import bearer, camel

PROTOCOL = "google-generate-content"
SEAL = Seal(PROTOCOL)
FINISH = {"length": "MAX_TOKENS", "refusal": "SAFETY", "filter": "SAFETY"}


def facts(body: Node, stream: bool = False) -> Facts:
    """The content of the request."""
    wire = camel(body)
    turns: list[Turn] = []
    for content in wire["contents"]:
        parts = [camel(part) for part in content["parts"]]
        responses = [part["functionResponse"] for part in parts if "functionResponse" in part]
        turns += [Turn("result", said(each.get("response")), name=each["name"]) for each in responses]
        rest = [part for part in parts if "functionResponse" not in part]
        if rest:
            text = " ".join(part["text"] for part in rest if "text" in part and not part.get("thought"))
            turns.append(Turn("model" if content.get("role") == "model" else "user", text, tuple(_media(rest))))
    calling = camel(camel(wire.get("toolConfig") or {}).get("functionCallingConfig") or {})
    mode = str(calling.get("mode", "AUTO")).upper()
    config = camel(wire.get("generationConfig") or {})
    allowed = tuple(calling.get("allowedFunctionNames") or ()) or None
    schema = config.get("responseJsonSchema", config.get("responseSchema"))
    return Facts(
        body, turns, [*_tools(wire)], {"ANY": "required", "NONE": "none"}.get(mode, "auto"), allowed, True,
        config.get("responseMimeType") == "application/json", schema, config.get("maxOutputTokens"),
        tuple(config.get("stopSequences") or ()), stream,
    )  # fmt: skip


def _tools(wire: Node) -> Iterator[Tool]:
    for tool in wire.get("tools") or ():
        for each in listed(camel(tool).get("functionDeclarations")):
            each = camel(each)
            yield Tool(each["name"], each.get("parametersJsonSchema", each.get("parameters")))


def said(response: Any) -> str:
    """What a function answered, as text: the whole, or what is under the usual key."""
    if isinstance(response, dict) and len(response) == 1:
        response = next(
            (response[key] for key in ("output", "result", "error", "content") if key in response), response
        )
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)


def _media(parts: list[Node]) -> Iterator[str]:
    for part in parts:
        blob = camel(part.get("inlineData") or part.get("fileData"))
        if blob:
            kind = blob.get("mimeType") or blob.get("fileUri") or ""
            yield f"{'image' if kind.startswith('image') else 'file'} {kind}"


def parts_of(facts: Facts, plan: Plan, stamp: Stamp, choice: int, stream: bool) -> list[Node]:
    """The parts; the first call is signed, else, after reasoning, the last part: in a stream an empty one of its
    own."""
    made: list[Node] = []
    thinking = camel(camel(camel(facts.body).get("generationConfig") or {}).get("thinkingConfig") or {})
    for place, piece in enumerate(plan.pieces):
        if piece.kind == "reasoning":
            if not piece.hidden and thinking.get("includeThoughts") is not False:
                made.append({"text": piece.text, "thought": True})
        elif piece.kind == "call":
            assert piece.tool is not None
            call = {"id": stamp.id("", choice, place, length=8), "name": piece.tool.name, "args": piece.arguments}
            made.append({"functionCall": call})
        elif piece.kind == "text":
            if made and "text" in made[-1] and "thought" not in made[-1]:
                made[-1]["text"] += f" {piece.text}"
            else:
                made.append({"text": piece.text})
        elif piece.kind in ("image", "audio"):
            kind, data = ("image/png", PNG) if piece.kind == "image" else ("audio/wav", WAV)
            made.append({"inlineData": {"mimeType": kind, "data": data}})
    first = next((part for part in made if "functionCall" in part), None)
    if first is not None:
        first["thoughtSignature"] = SEAL.make(*bearer(first))
    elif any(piece.kind == "reasoning" for piece in plan.pieces):
        last = made[-1] if made and "thought" not in made[-1] and not (stream and "text" in made[-1]) else {"text": ""}
        if not made or last is not made[-1]:
            made.append(last)
        last["thoughtSignature"] = SEAL.make(*bearer(last))
    return made


def grounding(parts: list[Node], plan: Plan) -> Node | None:
    """Citations in the form of this API, in bytes of the part."""
    chunks: list[Node] = []
    supports: list[Node] = []
    place, cursor = 0, 0
    for piece in plan.pieces:
        if piece.kind != "text" or not piece.text:
            continue
        while parts[place].get("thought") or piece.text not in parts[place].get("text", "")[cursor:]:
            place, cursor = place + 1, 0
        said = parts[place]["text"]
        start = said.index(piece.text, cursor)
        cursor = start + len(piece.text)
        ends = {"startIndex": len(said[:start].encode()), "endIndex": len(said[:cursor].encode())}
        segment = {"partIndex": place, **ends, "text": piece.text}
        for url, title in piece.cites:
            shown = {key: value for key, value in segment.items() if value != 0}  # a proto has no zeros
            supports.append({"segment": shown, "groundingChunkIndices": [len(chunks)]})
            chunks.append({"web": {"uri": url, "title": title}})
    return {"groundingChunks": chunks, "groundingSupports": supports, "webSearchQueries": ["echo"]} if chunks else None


def usage(facts: Facts, plan: Plan) -> Node:
    """The counts; thoughts are apart from the candidates' text."""
    used = counts(facts, plan)
    made: Node = {"promptTokenCount": used.input, "candidatesTokenCount": used.output - used.reasoning,
                  "totalTokenCount": used.total,
                  "promptTokensDetails": [{"modality": "TEXT", "tokenCount": used.input}]}  # fmt: skip
    if used.reasoning:
        made["thoughtsTokenCount"] = used.reasoning
    if used.cached:
        made["cachedContentTokenCount"] = used.cached
        made["cacheTokensDetails"] = [{"modality": "TEXT", "tokenCount": used.cached}]
    return made


def candidate(facts: Facts, plan: Plan, stamp: Stamp, index: int) -> Node:
    """One candidate."""
    made: Node = {"content": {"role": "model", "parts": parts_of(facts, plan, stamp, index, False)},
                  "finishReason": FINISH.get(plan.finish, "STOP"), "index": index}  # fmt: skip
    return _ended(made, plan, made["content"]["parts"])


def _ended(made: Node, plan: Plan, parts: list[Node]) -> Node:
    refusal = next((piece.text for piece in plan.pieces if piece.kind == "refusal"), None)
    if refusal is not None:
        made["finishMessage"] = refusal
    found = grounding(parts, plan)
    if found is not None:
        made["groundingMetadata"] = found
    if not made["content"].get("parts"):
        made["content"] = {"role": "model"}
    return made


def _count(facts: Facts) -> int:
    return int(camel(camel(facts.body).get("generationConfig") or {}).get("candidateCount") or 1)


def answer(facts: Facts, plan: Plan, stamp: Stamp) -> Node:
    """The answer in one piece."""
    return {"candidates": [candidate(facts, plan, stamp, n) for n in range(_count(facts))],
            "usageMetadata": usage(facts, plan), "modelVersion": stamp.model, "responseId": stamp.id("")}  # fmt: skip


def frames(facts: Facts, plan: Plan, stamp: Stamp) -> Iterator[Frame]:
    """The same answer in chunks; each is a response of its own, the last one has the finish reason."""
    base = {"modelVersion": stamp.model, "responseId": stamp.id("")}
    counted = usage(facts, plan)
    running = {key: value for key, value in counted.items() if key == "promptTokenCount"}
    running["totalTokenCount"] = counted["promptTokenCount"]
    for index in range(_count(facts)):
        parts = parts_of(facts, plan, stamp, index, True)
        for part in parts:
            cut = [{**part, "text": token} for token in tokens(part["text"])] if part.get("text") else [part]
            for each in cut:
                one = {"content": {"role": "model", "parts": [each]}, "index": index}
                yield None, {"candidates": [one], "usageMetadata": running, **base}
        last: Node = {"content": {"role": "model", "parts": [{"text": ""}]}, "index": index,
                      "finishReason": FINISH.get(plan.finish, "STOP")}  # fmt: skip
        if plan.finish == "refusal":
            last["content"] = {}
        yield None, {"candidates": [_ended(last, plan, parts)], "usageMetadata": counted, **base}


def failed(error: Refused, stamp: Stamp) -> Iterator[Frame]:
    """The end of a stream that fails."""
    yield None, error_body(PROTOCOL, error, "")


def encode(frame: Frame) -> bytes:
    """A frame on the wire: no name, no comment, no terminator; the SDK takes nothing else."""
    return b"data: " + json.dumps(frame[1], ensure_ascii=False, separators=(",", ":")).encode() + b"\r\n\r\n"
