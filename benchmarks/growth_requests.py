"""Canonical requests that grow in one respect: n messages, parts, calls, tools, ... (see `growth.py`)."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.growth_nodes import (
    MESSAGES,
    PNG,
    QUESTION,
    ROLES,
    Node,
    asks,
    cached,
    call,
    citation,
    message,
    pairs,
    reasoning,
    result,
    said,
    text,
    tool,
)  # fmt: skip


def schema(n: int, *kinds: str) -> Node:
    """A schema whose depth is n, made of these keywords in turn."""
    here: Node = {"type": "string", "minLength": 1}
    for i in range(n):
        kind = kinds[i % len(kinds)]
        if kind == "properties":
            here = {"type": "object", "properties": {"p": here}}
        elif kind == "items":
            here = {"type": "array", "items": here}
        else:
            here = {kind: [here, {"type": "object", "properties": {"b": {"type": "integer"}}}]}
    return here


REQUESTS: dict[str, Callable[[int], Node]] = {
    "messages": lambda n: asks(*(message(ROLES[i % 2], f"text {i}") for i in range(n))),
    "messages of parts": lambda n: asks(
        *(message(ROLES[i % 2], [(text, said)[i % 2](i)]) for i in range(n)),
    ),
    "user messages": lambda n: asks(*(message("user", f"text {i}") for i in range(n))),
    "assistant messages": lambda n: asks(QUESTION, *(message("assistant", f"text {i}") for i in range(n)), QUESTION),
    "empty messages": lambda n: asks(QUESTION, *(message(ROLES[i % 2], "") for i in range(n))),
    "system messages": lambda n: asks(*(message("system", f"text {i}") for i in range(n)), QUESTION),
    "interleaved system messages": lambda n: asks(
        *(message(("system", "user")[i % 2], f"text {i}") for i in range(n)),
    ),
    "interleaved developer messages": lambda n: asks(
        *(message(("user", "developer", "assistant")[i % 3], f"text {i}") for i in range(n)),
    ),
    "text parts": lambda n: asks(message("user", [text(i) for i in range(n)])),
    "assistant text parts": lambda n: asks(QUESTION, message("assistant", [said(i) for i in range(n)]), QUESTION),
    "empty parts": lambda n: asks(message("user", [{"type": "input_text", "text": "x" * (i % 2)} for i in range(n)])),
    "images": lambda n: asks(message("user", [{"type": "input_image", "image_url": PNG} for _ in range(n)])),
    "images in results": lambda n: asks(
        QUESTION,
        *(
            node
            for i in range(n)
            for node in (call(i), {**result(i), "output": [{"type": "input_image", "image_url": PNG}]})
        ),
    ),
    "audio": lambda n: asks(
        message("user", [{"type": "input_audio", "data": "UklGRg==", "format": "wav"} for _ in range(n)] + [text(0)])
    ),
    "files": lambda n: asks(
        message("user", [{"type": "input_file", "file_id": f"file_{i}"} for i in range(n)] + [text(0)])
    ),
    "cache breakpoints": lambda n: asks(message("user", [cached(i) for i in range(n)])),
    "messages with cache breakpoints": lambda n: asks(*(message("user", [cached(i)]) for i in range(n))),
    "results with cache breakpoints": lambda n: asks(
        QUESTION, *({**node, "cache": {"type": "ephemeral"}} for node in pairs(n))
    ),
    "answered calls": lambda n: asks(QUESTION, *pairs(n)),
    "answered calls with texts": lambda n: asks(
        QUESTION, *(node for i in range(n) for node in (message("assistant", f"t {i}"), call(i), result(i)))
    ),
    "unanswered calls": lambda n: asks(QUESTION, *map(call, range(n))),
    "unanswered calls in turns": lambda n: asks(*(node for i in range(n) for node in (QUESTION, call(i)))),
    "parallel calls": lambda n: asks(QUESTION, *map(call, range(n)), *map(result, range(n))),
    "parallel calls, results reversed": lambda n: asks(
        QUESTION, *map(call, range(n)), *map(result, reversed(range(n)))
    ),
    "results far away": lambda n: asks(QUESTION, *map(call, range(n)), QUESTION, *map(result, range(n))),
    "calls of one id": lambda n: asks(QUESTION, *(node for _ in range(n) for node in (call("x"), result("x")))),
    "parallel calls of one id": lambda n: asks(QUESTION, *[call("x")] * n, *[result("x")] * n),
    "unanswered calls of one id": lambda n: asks(QUESTION, *[call("x")] * n),
    "results without calls": lambda n: asks(QUESTION, *map(result, range(n))),
    "results before calls": lambda n: asks(QUESTION, *(node for i in range(n) for node in (result(i), call(i)))),
    "results twice": lambda n: asks(QUESTION, *(node for i in range(n) for node in (call(i), result(i), result(i)))),
    "calls with ids that are refused": lambda n: asks(
        QUESTION, *({**node, "call_id": "?é " * 30 + node["call_id"]} for node in pairs(n))
    ),
    "calls whose arguments are no JSON": lambda n: asks(
        QUESTION, *(node for i in range(n) for node in (call(i, "{"), result(i)))
    ),
    "calls of custom tools": lambda n: asks(
        QUESTION,
        *(
            node
            for i in range(n)
            for node in (
                {"type": "custom_tool_call", "call_id": f"c{i}", "name": "f", "input": "x"},
                {"type": "custom_tool_call_output", "call_id": f"c{i}", "output": "x"},
            )
        ),
    ),
    "web searches": lambda n: asks(
        QUESTION,
        *(
            {
                "type": "web_search_call",
                "id": f"ws_{i}",
                "status": "completed",
                "action": {"type": "search", "query": "q"},
            }
            for i in range(n)
        ),
        message("assistant", "found"),
        QUESTION,
    ),
    "reasoning": lambda n: asks(
        QUESTION, *(node for i in range(n) for node in (reasoning(i), message("assistant", "t"), QUESTION))
    ),
    "signed reasoning before calls": lambda n: asks(
        QUESTION, *(node for i in range(n) for node in (reasoning(i, MESSAGES), call(i), result(i)))
    ),
    "signed reasoning": lambda n: asks(
        QUESTION, *(reasoning(i, MESSAGES) for i in range(n)), message("assistant", "t"), QUESTION
    ),
    "references to items": lambda n: asks(
        QUESTION, *({"type": "item_reference", "id": f"msg_{i}"} for i in range(n)), QUESTION
    ),
    "unknown items": lambda n: asks(
        QUESTION, *({"type": "zz_item", "id": f"zz_{i}", "zz": i} for i in range(n)), QUESTION
    ),
    "citations": lambda n: asks(
        QUESTION,
        message("assistant", [{**said(0), "text": "quoted " * n, "annotations": [citation(i) for i in range(n)]}]),
        QUESTION,
    ),
    "instructions of parts": lambda n: asks(QUESTION, instructions=[text(i) for i in range(n)]),
    "tools": lambda n: asks(QUESTION, tools=[tool(i) for i in range(n)]),
    "tools with cache breakpoints": lambda n: asks(
        QUESTION, tools=[{**tool(i), "cache": {"type": "ephemeral"}} for i in range(n)]
    ),
    "tools of one name": lambda n: asks(QUESTION, tools=[tool(" x") for _ in range(n)]),
    "tools of long names": lambda n: asks(QUESTION, tools=[tool("x" * 130 + str(i)) for i in range(n)]),
    "tools whose names are refused": lambda n: asks(QUESTION, tools=[tool(f"bad name! {i}") for i in range(n)]),
    "calls of tools whose names are refused": lambda n: asks(
        QUESTION,
        *({**node, "name": f"bad name! {k // 2}"} for k, node in enumerate(pairs(n))),
        tools=[tool(f"bad name! {i}") for i in range(n)],
    ),
    "keywords of schemas": lambda n: asks(
        QUESTION, tools=[tool(i, pattern="a", format="x", minLength=3, zz=1) for i in range(n)]
    ),
    "properties of a schema": lambda n: asks(
        QUESTION,
        tools=[
            {
                "type": "function",
                "name": "f",
                "parameters": {
                    "type": "object",
                    "properties": {f"p{i}": {"type": ["string", "null"], "minLength": 1, "zz": 1} for i in range(n)},
                    "required": [f"p{i}" for i in range(n)],
                },
            }
        ],
    ),
    "alternatives of a schema": lambda n: asks(
        QUESTION,
        tools=[
            {
                "type": "function",
                "name": "f",
                "parameters": {"type": "object", "properties": {"p": {"anyOf": [{"const": i} for i in range(n)]}}},
            }
        ],
    ),
    "conjunctions of a schema": lambda n: asks(
        QUESTION,
        tools=[
            {
                "type": "function",
                "name": "f",
                "parameters": {
                    "type": "object",
                    "allOf": [{"type": "object", "properties": {f"p{i}": {"type": "string"}}} for i in range(n)],
                },
            }
        ],
    ),
    "values of an enum": lambda n: asks(QUESTION, tools=[tool(0, enum=[f"v{i}" for i in range(n)])]),
    "definitions of a schema": lambda n: asks(
        QUESTION,
        tools=[
            {
                "type": "function",
                "name": "f",
                "parameters": {
                    "type": "object",
                    "properties": {f"p{i}": {"$ref": f"#/$defs/d{i}"} for i in range(n)},
                    "$defs": {
                        f"d{i}": {"type": "object", "properties": {"a": {"$ref": f"#/$defs/d{i}"}}} for i in range(n)
                    },
                },
            }
        ],
    ),
    "schema of the answer": lambda n: asks(
        QUESTION,
        text={
            "format": {
                "type": "json_schema",
                "name": "f",
                "schema": {
                    "type": "object",
                    "properties": {f"p{i}": {"type": "string", "minLength": 1} for i in range(n)},
                },
            }
        },
    ),
    "metadata": lambda n: asks(QUESTION, metadata={f"k{i}": str(i) for i in range(n)}),
    "stop sequences": lambda n: asks(QUESTION, stop=[f"s{i}" for i in range(n)]),
    "unknown settings": lambda n: asks(QUESTION, **{f"zz{i}": i for i in range(n)}),
}

DEEP: dict[str, Callable[[int], Node]] = {
    f"depth of a schema: {' '.join(kinds)}": lambda n, kinds=kinds: {  # type: ignore[misc]
        **asks(QUESTION),
        "tools": [{"type": "function", "name": "f", "parameters": schema(n, "properties", *kinds)}],
    }
    for kinds in (("properties",), ("items",), ("anyOf",), ("allOf",))
}
