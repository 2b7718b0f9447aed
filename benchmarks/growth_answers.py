"""Canonical responses, and streams of canonical events or chunks, that grow in one respect (see `growth.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import unified_llm as ul
from benchmarks.growth_nodes import MESSAGES, Node, answer, answered, call, citation, reasoning, said

ANSWERS: dict[str, Callable[[int], Node]] = {
    "messages": lambda n: answer(*(answered(said(i)) for i in range(n))),
    "text parts": lambda n: answer(answered(*(said(i) for i in range(n)))),
    "calls": lambda n: answer(*map(call, range(n))),
    "calls of one id": lambda n: answer(*[call("x")] * n),
    "reasoning and texts": lambda n: answer(*(node for i in range(n) for node in (reasoning(i), answered(said(i))))),
    "signed reasoning": lambda n: answer(*(node for i in range(n) for node in (reasoning(i, MESSAGES), call(i)))),
    "citations": lambda n: answer(
        answered({**said(0), "text": "quoted " * n, "annotations": [citation(i) for i in range(n)]})
    ),
    "cited parts": lambda n: answer(answered(*(said(i, annotations=[citation(0)]) for i in range(n)))),
    "probabilities": lambda n: answer(
        answered(said(0, logprobs=[{"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}] * n))
    ),
    "web searches": lambda n: answer(
        *(
            {
                "type": "web_search_call",
                "id": f"ws_{i}",
                "status": "completed",
                "action": {"type": "search", "query": "q"},
            }
            for i in range(n)
        )
    ),
    "choices": lambda n: answer(
        answered(said(0)),
        choices=[{"index": i, "output": [answered(said(i))], "finish": {"reason": "stop"}} for i in range(1, n + 1)],
    ),
    "unknown items": lambda n: answer(*({"type": "zz_item", "id": f"zz_{i}", "zz": i} for i in range(n))),
}


# --- canonical events -----------------------------------------------------------------------------------------------


def _opened() -> Iterator[Node]:
    yield {"type": "response.created", "response": {"id": "r", "status": "in_progress", "model": "m", "output": []}}


def _closed(*items: Node) -> Node:
    return {"type": "response.completed", "response": answer(*items)}


def deltas(n: int) -> Iterator[Node]:
    yield from _opened()
    at = {"output_index": 0, "content_index": 0}
    item = answered({"type": "output_text", "text": "word " * n})
    yield {"type": "response.output_item.added", "output_index": 0, "item": answered()}
    yield {"type": "response.content_part.added", **at, "part": {"type": "output_text", "text": ""}}
    for _ in range(n):
        yield {"type": "response.output_text.delta", **at, "delta": "word "}
    yield {"type": "response.output_text.done", **at, "text": "word " * n}
    yield {"type": "response.content_part.done", **at, "part": item["content"][0]}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield _closed(item)


def _thought_deltas(n: int) -> Iterator[Node]:
    yield from _opened()
    at = {"output_index": 0, "content_index": 0}
    item: Node = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "word " * n}]}
    yield {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}}
    yield {"type": "response.content_part.added", **at, "part": {"type": "reasoning_text", "text": ""}}
    for _ in range(n):
        yield {"type": "response.reasoning_text.delta", **at, "delta": "word "}
    yield {"type": "response.reasoning_text.done", **at, "text": "word " * n}
    yield {"type": "response.content_part.done", **at, "part": item["content"][0]}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield _closed(item)


def _argument_deltas(n: int, calls: int = 1) -> Iterator[Node]:
    """Deltas of the arguments of calls that are open at the same time, in turn."""
    yield from _opened()
    items = [call(k, '{"a": "' + "x" * (n // calls) + '"}') for k in range(calls)]
    for k, item in enumerate(items):
        yield {"type": "response.output_item.added", "output_index": k, "item": {**item, "arguments": ""}}
    for piece in ('{"a": "', *["x"] * (n // calls), '"}'):
        for k in range(calls):
            yield {"type": "response.function_call_arguments.delta", "output_index": k, "delta": piece}
    for k, item in enumerate(items):
        yield {"type": "response.function_call_arguments.done", "output_index": k, "arguments": item["arguments"]}
        yield {"type": "response.output_item.done", "output_index": k, "item": item}
    yield _closed(*items)


def _decomposed(shape: str) -> Callable[[int], Iterator[Node]]:
    return lambda n: ul.decompose(ANSWERS[shape](n))


STREAMS: dict[str, Callable[[int], Iterator[Node]]] = {
    "text deltas": deltas,
    "reasoning deltas": _thought_deltas,
    "argument deltas": _argument_deltas,
    "argument deltas of four calls": lambda n: _argument_deltas(n, 4),
    **{shape: _decomposed(shape) for shape in ANSWERS if shape != "unknown items"},
}


def _chunk(delta: Node, finish: str | None = None, **more: Any) -> Node:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}
    return {"event": None, "data": body}


_DONE = {"event": None, "data": "[DONE]"}


def _alternating(n: int) -> list[Node]:
    deltas = ({"reasoning_content": f"thought {i} "} if i % 2 == 0 else {"content": f"text {i} "} for i in range(n))
    return [*map(_chunk, deltas), _chunk({}, "stop"), _DONE]


def _interleaved_calls(n: int) -> list[Node]:
    """The chunks of many calls, each in three chunks; the finish comes at the end."""
    chunks = []
    for i in range(n):
        named = {"index": i, "id": f"call_{i}", "type": "function", "function": {"name": "f", "arguments": ""}}
        chunks.append(_chunk({"tool_calls": [named]}))
        chunks += [_chunk({"tool_calls": [{"index": i, "function": {"arguments": text}}]}) for text in ("{", "}")]
    return [*chunks, _chunk({}, "tool_calls"), _DONE]


def _calls_in_turn(n: int) -> list[Node]:
    """The chunks of eight calls that are written side by side."""
    chunks = []
    for i in range(8):
        named = {"index": i, "id": f"call_{i}", "type": "function", "function": {"name": "f", "arguments": ""}}
        chunks.append(_chunk({"tool_calls": [named]}))
    chunks += [_chunk({"tool_calls": [{"index": i % 8, "function": {"arguments": "1"}}]}) for i in range(n)]
    return [*chunks, _chunk({}, "tool_calls"), _DONE]


CHAT_STREAMS: dict[str, Callable[[int], list[Node]]] = {
    "reasoning and text in turn": _alternating,
    "calls in three chunks": _interleaved_calls,
    "calls side by side": _calls_in_turn,
    "probabilities": lambda n: [
        *(
            {"event": None, "data": {**_chunk({"content": "a"})["data"], "choices": [{
                "index": 0, "delta": {"content": "a"}, "finish_reason": None,
                "logprobs": {"content": [{"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}]},
            }]}}
            for _ in range(n)
        ),
        _chunk({}, "stop"), _DONE,
    ],
}  # fmt: skip
