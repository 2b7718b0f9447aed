"""The canonical response of a plan, and the canonical events it comes in when it is streamed.

Ids, signatures and token counts follow from the request alone, so that the same request gets the same response.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from unified_llm import decompose
from unified_llm_local.echo.facts import Facts, Node
from unified_llm_local.echo.plan import Piece, Plan, tokens

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""An image of one pixel."""
WAV = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAgD4AAAB9AAACABAAZGF0YQgAAAAAAAAAAAAAAA=="
"""Audio of four silent samples."""
MARK = b"\x0a\x04echo\x12\x10"
"""What every signature begins with."""
SIGNING = {
    "amazon-converse": ("signature", "redacted", False),
    "anthropic-messages": ("signature", "redacted", False),
    "google-generate-content": ("thought_signature", "thought_signature", True),
    "google-interactions": ("signature", "signature", False),
    "openai-responses": ("encrypted_content", "encrypted_content", False),
}
"""What opaque data is called in a protocol: that of shown reasoning, of hidden, and whether the item behind has it."""
CHOICES = 128
"""Choices that one response has at most."""
FINISH = {"calls": "tool_calls", "filter": "safety", "sequence": "stop_sequence"}
STATUS = {"length": "incomplete", "filter": "incomplete"}


@dataclass(frozen=True)
class Stamp:
    """What a response is stamped with: a digest of its request, the time, the model, and the protocol of the client."""

    digest: str
    now: int
    model: str
    protocol: str

    def id(self, prefix: str, *place: Any) -> str:
        """An id for what stands at `place` in the response."""
        return prefix + digest_of(self.digest, prefix, *place)[:24]

    def signature(self, hidden: bool, *place: Any) -> Node:
        """The opaque data of the reasoning at `place`, as its own protocol returns it."""
        data = base64.b64encode(MARK + bytes.fromhex(digest_of(self.digest, "signature", *place))).decode()
        return {"kind": SIGNING[self.protocol][hidden], "data": data, "origin": {"protocol": self.protocol}}


def digest_of(*values: Any) -> str:
    """A hexadecimal digest of JSON values; keys in any order give the same."""
    return sha256(json.dumps(values, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def response(facts: Facts, plan: Plan, stamp: Stamp, prefix: str = "resp_") -> Node:
    """The response to a request; `prefix` begins its id."""
    request, finish = facts.request, _finish(plan)
    count = request.get("n")
    count = min(count, CHOICES) if isinstance(count, int) else 1
    outputs = [_output(facts, plan, stamp, choice) for choice in range(max(1, count))]
    made = {**opening(stamp, STATUS.get(plan.finish, "completed"), prefix), "finish": finish, "output": outputs[0]}
    if len(outputs) > 1:
        others = enumerate(outputs[1:], 1)
        made["choices"] = [{"index": index, "output": output, "finish": finish} for index, output in others]
    if made["status"] == "completed":
        made["completed_at"] = stamp.now
    made["usage"] = _usage(facts, plan, len(outputs))
    return made


def opening(stamp: Stamp, status: str, prefix: str = "resp_") -> Node:
    """The response before there is an answer."""
    return {"id": stamp.id(prefix), "created_at": stamp.now, "model": stamp.model, "status": status, "output": []}


def _finish(plan: Plan) -> Node:
    reason = FINISH.get(plan.finish, plan.finish)
    return {"reason": reason, "detail": plan.stop} if reason == "stop_sequence" else {"reason": reason}


def _output(facts: Facts, plan: Plan, stamp: Stamp, choice: int) -> list[Node]:
    """The items of one choice. Consecutive texts and media are one message."""
    made: list[Node] = []
    for place, piece in enumerate(plan.pieces):
        at = (choice, place)
        if piece.kind == "reasoning":
            summary = [] if piece.hidden else [{"type": "summary_text", "text": piece.text}]
            signed = {"opaque": [stamp.signature(piece.hidden, *at)]} if stamp.protocol in SIGNING else {}
            made.append({"id": stamp.id("rs_", *at), "type": "reasoning", "summary": summary, **signed})
        elif piece.kind == "call":
            made.append(_call(piece, stamp, at))
        else:
            if not made or made[-1]["type"] != "message":
                head = {"id": stamp.id("msg_", *at), "type": "message", "status": "completed", "role": "assistant"}
                made.append({**head, "content": []})
            parts = made[-1]["content"]
            gap = " " if piece.kind == "text" and parts and parts[-1]["type"] == "output_text" else ""
            parts.append(_part(piece, gap, stamp, at, "top_logprobs" in facts.request))
    if SIGNING.get(stamp.protocol, ("", "", False))[2]:
        _signed_behind(made, stamp)
    if plan.finish in STATUS and made:
        made[-1]["status"] = "incomplete"
    return made


def _signed_behind(made: list[Node], stamp: Stamp) -> None:
    """Move signatures to the call, or else to the last part, that follows the reasoning."""
    pieces = [piece for item in made for piece in item.pop("opaque", ())]
    if not pieces:
        return
    call = next((item for item in made if item["type"].endswith("_call")), None)
    if call is None and made[-1]["type"] != "message":
        end = {"id": stamp.id("msg_", "end"), "type": "message", "status": "completed", "role": "assistant"}
        made.append({**end, "content": [{"type": "output_text", "text": "", "annotations": []}]})
    (call if call is not None else made[-1]["content"][-1])["opaque"] = pieces[:1]


def _call(piece: Piece, stamp: Stamp, at: tuple[int, int]) -> Node:
    assert piece.tool is not None
    raw = piece.tool.raw
    said = {"input": piece.text} if raw else {"arguments": piece.json}
    kind, prefix = ("custom_tool_call", "ctc_") if raw else ("function_call", "fc_")
    space = {"namespace": piece.tool.namespace} if piece.tool.namespace else {}
    ids = {"id": stamp.id(prefix, *at), "call_id": stamp.id("call_", *at)}
    return {**ids, "type": kind, "status": "completed", "name": piece.tool.name, **said, **space}


def _part(piece: Piece, gap: str, stamp: Stamp, at: tuple[int, int], logged: bool) -> Node:
    if piece.kind == "refusal":
        return {"type": "refusal", "refusal": piece.text}
    if piece.kind == "image":
        return {"type": "output_image", "media_type": "image/png", "image_url": f"data:image/png;base64,{PNG}"}
    if piece.kind == "audio":
        sound = {"media_type": "audio/wav", "format": "wav", "data": WAV, "transcript": "A tone."}
        return {"type": "output_audio", "id": stamp.id("audio_", *at), **sound, "expires_at": stamp.now + 3600}
    text = gap + piece.text
    cites = [{"type": "url_citation", "url": url, "title": title, "start_index": len(gap), "end_index": len(text)}
             for url, title in piece.cites]  # fmt: skip
    logs = {"logprobs": [_logprob(each) for each in tokens(text)]} if logged else {}
    return {"type": "output_text", "text": text, "annotations": cites, **logs}


def _logprob(token: str) -> Node:
    return {"token": token, "logprob": -0.1, "bytes": list(token.encode()), "top_logprobs": []}


def _usage(facts: Facts, plan: Plan, choices: int) -> Node:
    """Tokens: `input` includes the cached ones, `output` those of reasoning; `[[usage]]` overrides each."""
    given = plan.usage
    thought = given.get("reasoning", sum(len(tokens(p.text)) for p in plan.pieces if p.kind == "reasoning"))
    said = sum(len(tokens(p.text)) + (len(tokens(p.json)) if p.kind == "call" else 0)
               for p in plan.pieces if p.kind != "reasoning")  # fmt: skip
    cached, written = given.get("cached", 0), given.get("cache_write", 0)
    read = max(given.get("input", size(facts.request)), cached + written)
    made = max(given.get("output", said + thought), thought) * choices
    details = {"cached_tokens": cached, "cache_write_tokens": written}
    return {"input_tokens": read, "input_tokens_details": details, "output_tokens": made,
            "output_tokens_details": {"reasoning_tokens": thought}, "total_tokens": read + made}  # fmt: skip


def size(request: Node) -> int:
    """About how many tokens a request is, streamed or not."""
    return len(json.dumps(plain(request), ensure_ascii=False)) // 4 + 1


def plain(request: Node) -> Node:
    """The request without what does not change its answer."""
    return {key: value for key, value in request.items() if key not in ("stream", "stream_options", "extra")}


def events(made: Node) -> Iterator[Node]:
    """The events of a response: texts come token by token, arguments a few characters at a time."""
    for event in decompose(made):
        delta = event.get("delta")
        if not isinstance(delta, str):
            yield event
            continue
        raw = event["type"].endswith(("arguments.delta", "input.delta"))
        pieces = [delta[at : at + 8] for at in range(0, len(delta), 8)] if raw else tokens(delta)
        logs = event.get("logprobs")
        for place, piece in enumerate(pieces):
            yield {**event, "delta": piece, **({"logprobs": logs[place : place + 1]} if logs else {})}
