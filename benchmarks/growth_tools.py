"""Requests whose items change tools, schemas of many conjunctions, and envelopes by the dozen, growing (`growth.py`).

Each entry is a name, how the input of size n is made, and the operation over it. Unlike the shapes of `growth_requests`
these are of one protocol, or of some other that a client does not write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import unified_llm as ul
from benchmarks.growth_nodes import PROTOCOLS, QUESTION, Node, answer, answered, asks, said, tool

__all__ = ["tools"]

Entry = tuple[str, Callable[[int], Any], Callable[[Any], object]]
CHAT, RESPONSES, MESSAGES, GENERATE, INTERACTIONS = PROTOCOLS


def _group(name: str, *members: Node) -> Node:
    return {"type": "namespace", "name": name, "description": "A group.", "tools": [*members]}


def _found(*members: Node) -> Node:
    return {"type": "tool_search_output", "execution": "server", "status": "completed", "tools": [*members]}


def _changed(n: int) -> Node:
    """As many tools as items that take them away by name."""
    removed = ({"type": "tool_change", "action": "remove", "name": f"tool_{i}"} for i in range(n))
    return asks(QUESTION, *removed, tools=[tool(i) for i in range(n)])


def _narrowed(n: int) -> Node:
    """One server, of whose tools one after another is taken away."""
    server: Node = {"type": "mcp", "server_label": "s", "server_url": "https://mcp.example.com/"}
    gone = ({"type": "tool_change", "action": "remove", "server_label": "s", "name": f"t{i}"} for i in range(n))
    return asks(QUESTION, *gone, tools=[{**server, "allowed_tools": [f"t{i}" for i in range(n + 1)]}])


def _chosen(n: int) -> Node:
    allowed = [{"type": "function", "name": f"tool_{i}"} for i in range(n)]
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [*allowed, *[{"type": "namespace", "name": "g"}] * n]}
    return asks(QUESTION, tools=[_group("g", *map(tool, range(n)))], tool_choice=choice)


def _conjunction(*branches: Node) -> Node:
    schema = {"type": "object", "properties": {"p": {"allOf": [*branches]}}}
    return asks(QUESTION, tools=[{"type": "function", "name": "f", "parameters": schema}])


def _hoisted(n: int) -> Node:
    """References to what stands among the properties."""
    targets = {f"p{i}": {"type": "object", "properties": {"a": {"type": "string"}}} for i in range(n)}
    references = {f"r{i}": {"$ref": f"#/properties/p{i}"} for i in range(n)}
    schema = {"type": "object", "properties": {**targets, **references}}
    return asks(QUESTION, tools=[{"type": "function", "name": "f", "parameters": schema}])


SHAPES: dict[str, Callable[[int], Node]] = {
    "tools added by items": lambda n: asks(
        QUESTION,
        *({"type": "additional_tools", "role": "developer", "tools": [tool(f"late_{i}")]} for i in range(n)),
        tools=[tool(i) for i in range(n)],
    ),
    "tools declared anew by items": lambda n: asks(
        QUESTION,
        *({"type": "additional_tools", "role": "developer", "tools": [tool(i)]} for i in range(n)),
        tools=[tool(i, minLength=1) for i in range(n)],
    ),
    "tools of a namespace found one by one": lambda n: asks(
        QUESTION, *(_found(_group("g", tool(f"late_{i}"))) for i in range(n)), tools=[_group("g", tool("first"))]
    ),
    "tools found again": lambda n: asks(
        QUESTION, *(_found(tool(i)) for i in range(n)), tools=[tool(i) for i in range(n)]
    ),
    "tools removed by items": _changed,
    "tools of a server removed by items": _narrowed,
    "namespaces": lambda n: asks(QUESTION, tools=[_group(f"g{i}", tool("x")) for i in range(n)]),
    "joined names in a choice": _chosen,
    "conjunctions of keywords": lambda n: _conjunction(*({f"zz{i}": i} for i in range(n))),
    "conjunctions of enums": lambda n: _conjunction(
        {"enum": [f"v{i}" for i in range(n)]}, *({"enum": [f"w{i}"]} for i in range(n))
    ),
    "conjunctions of tuples": lambda n: _conjunction(
        {"type": "array", "prefixItems": [{"type": "string"}] * n}, *({"prefixItems": []} for _ in range(n))
    ),
    "references to properties": _hoisted,
}


SECRET = "of a benchmark"


def _carriers(n: int, secret: str | None, edited: bool) -> Node:
    """One answer without end, with an envelope behind each text of it; `edited` texts are not what it was made for."""
    item: Node = {"type": "code_interpreter_call", "code": "1", "container_id": "c", "status": "completed"}
    items: list[Node] = []
    for i in range(n):
        text = said(i, opaque=[{"kind": "signature", "data": f"s{i:07}", "origin": {"protocol": GENERATE}}])
        made = ul.write(answer({**item, "id": f"ci_{i}"}, answered(text)), GENERATE, "response").value
        shown = ul.convert(made, source=GENERATE, target=RESPONSES, kind="response", secret=secret).value
        kept = [each for each in shown["output"] if each["type"] in ("message", "reasoning")]
        if edited:
            kept[0] = {**kept[0], "content": [{"type": "output_text", "text": "edited", "annotations": []}]}
        items += kept
    return {"model": "m", "input": [{"role": "user", "content": "q"}, *items, {"role": "user", "content": "go"}]}


def _back(secret: str | None) -> Callable[[Any], object]:
    return lambda body: ul.convert(body, source=RESPONSES, target=GENERATE, secret=secret).losses


def _frame(i: int, **more: Any) -> Node:
    candidate = {"content": {"role": "model", "parts": [{"text": "a"}]}, "index": 0, **more}
    return {"event": None, "data": {"candidates": [candidate], "responseId": "r", "modelVersion": "m"}}


def _chunk(delta: Node, finish: str | None = None, **more: Any) -> Node:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, **more}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return {"event": None, "data": body}


_TOKEN = {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}
_PART = {"token": "\\xf0", "logprob": -0.5, "bytes": [240], "top_logprobs": []}  # a piece of a character
STREAMS: dict[str, tuple[str, Callable[[int], list[Node]]]] = {
    "probabilities of frames": (
        GENERATE,
        lambda n: [
            *(_frame(i, logprobsResult={"chosenCandidates": [{"token": "a", "logProbability": -i}]}) for i in range(n)),
            _frame(n, finishReason="STOP"),
        ],
    ),
    "citations of frames": (
        GENERATE,
        lambda n: [
            *(_frame(i, citationMetadata={"citationSources": [{"uri": f"https://e.com/{i}"}]}) for i in range(n)),
            _frame(n, finishReason="STOP"),
        ],
    ),
    "probabilities of reasoning": (
        CHAT,
        lambda n: [
            *(_chunk({"reasoning_content": "a"}, logprobs={"content": [_TOKEN], "zz": [i]}) for i in range(n)),
            _chunk({"content": "b"}),
            _chunk({}, "stop"),
            {"event": None, "data": "[DONE]"},
        ],
    ),
    "unknown lists": (
        CHAT,
        lambda n: [
            *(_chunk({"content": "a", "zz": [{"index": i, "a": "b"}]}) for i in range(n)),
            _chunk({}, "stop"),
            {"event": None, "data": "[DONE]"},
        ],
    ),
    "unknown lists in an object": (
        CHAT,
        lambda n: [
            *(_chunk({"content": "a", "zz": {"l": [{"index": i, "a": "b"}]}}) for i in range(n)),
            _chunk({}, "stop"),
            {"event": None, "data": "[DONE]"},
        ],
    ),
    "probabilities of pieces of characters": (
        CHAT,
        lambda n: [
            *(_chunk({"content": "a"}, logprobs={"content": [_TOKEN if i % 4 else _PART]}) for i in range(n)),
            _chunk({}, "stop"),
            {"event": None, "data": "[DONE]"},
        ],
    ),
    "reasoning details": (
        CHAT,
        lambda n: [
            *(
                _chunk({"reasoning_details": [{"type": "reasoning.text", "index": i, "text": "a"}]})
                for i in range(n)
            ),
            _chunk({}, "stop"),
            {"event": None, "data": "[DONE]"},
        ],
    ),
}  # fmt: skip


def _streamed(source: str, target: str) -> Callable[[list[Node]], object]:
    def run(frames: list[Node]) -> object:
        stream = ul.convert_stream(frames, source=source, target=target)
        return len(list(stream)), len(stream.losses)

    return run


def tools() -> Iterator[Entry]:
    for shape, build in SHAPES.items():
        for target in (CHAT, MESSAGES, GENERATE):
            yield (
                f"write: {shape}: {target}",
                build,
                lambda node, target=target: ul.write(node, target, model="gpt-5.4").losses,
            )
    for shape, (source, frames) in STREAMS.items():
        for target in (RESPONSES, MESSAGES, GENERATE):
            yield f"stream: {shape}: {source} > {target}", frames, _streamed(source, target)
    for name, secret in (("signed", SECRET), ("unsigned", None)):
        for how, edited in (("as they were", False), ("edited", True)):
            yield (
                f"envelopes, back: many in one answer, {name}, {how}: {RESPONSES} < {GENERATE}",
                lambda n, secret=secret, edited=edited: _carriers(n, secret, edited),
                _back(secret),
            )
