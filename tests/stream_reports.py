"""What is reported of frames, and the frames of a short stream."""

from __future__ import annotations

from typing import Any

import unified_llm as ul

Node = dict[str, Any]

PROTOCOLS = ["openai-chat", "openai-responses", "anthropic-messages", "google-interactions", "google-generate-content"]


def lost(frames: list[Node], source: str, target: str) -> set[str]:
    stream = ul.convert_stream(frames, source=source, target=target)
    assert list(stream)
    return {loss.path for loss in stream.losses if loss.fate == "lost"}


def others(protocol: str) -> list[str]:
    return [each for each in PROTOCOLS if each != protocol]


def named(*frames: Node) -> list[Node]:
    return [{"event": frame["type"], "data": frame} for frame in frames]


def plain(*frames: Node) -> list[Node]:
    return [{"event": None, "data": frame} for frame in frames]


MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
    "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
}  # fmt: skip


CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def chunk(delta: Node, finish: str | None = None, index: int = 0, **more: Any) -> Node:
    return {**CHUNK, "choices": [{"index": index, "delta": delta, "finish_reason": finish, **more}]}
