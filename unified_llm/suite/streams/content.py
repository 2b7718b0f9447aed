"""The law of what a client sees of a streamed response: the same as of the response in one piece.

`decomposing` compares the whole canonical responses, so its caller has to declare how a protocol's streams group their
content. Here only the content is compared, whatever message or part it is in, so that nothing has to be declared.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import unified_llm as ul

from ...engine.shared.answer_ends import answered_by_tools, has_failed
from ...foundation.json_codec import load_text
from ..outcome import Failure, Record, canonical, checked, returned
from ..walk import dumps

__all__ = ["streamed_content"]

_CALLS = ("function_call", "custom_tool_call")


def streamed_content(records: Iterable[Record], target: str) -> list[Failure]:
    """A response has the same text, reasoning, calls and finish reason as a stream of `target` and in one piece.

    Other records than responses are passed over. White space is not compared, because protocols join parts
    differently. Of a response with results of its own calls only the text and the reasoning are compared: a stream
    shows a call before its result is known. What has no end in one piece may have one as a stream. A response that
    failed has no content to compare.
    """
    failures = []
    for record in checked(records):
        if record["kind"] != "response":
            continue
        node = canonical(record["body"], record["protocol"], "response", record)
        if type(node) is not dict or has_failed(node) or node.get("status") in ("failed", "cancelled"):
            continue
        try:
            whole = _content(returned(ul.write(node, target, "response").value, target))
            streamed = _content(returned(list(ul.write_stream(ul.decompose(node), target)), target))
        except ul.UnifiedLLMError as error:
            failures.append(Failure(record["id"], "", f"raised {error!r}"))
            continue
        compared = ["text", "reasoning"]
        if not answered_by_tools(node.get("output") or ()):
            compared += ["calls", *(["finish reason"] if whole["finish reason"] is not None else [])]
        for key in compared:
            if whole[key] != streamed[key]:
                detail = f"the {key} is {dumps(streamed[key])} in a stream, and {dumps(whole[key])} in one piece"
                failures.append(Failure(record["id"], "", detail))
    return failures


def _content(response: Any) -> dict[str, Any]:
    text: list[str] = []
    reasoning: list[str] = []
    calls = []
    for item in response.get("output") or ():
        kind = item.get("type")
        if kind == "message" and item.get("role", "assistant") == "assistant":
            text += _texts(item.get("content"))
        elif kind == "reasoning":
            reasoning += [*_texts(item.get("summary")), *_texts(item.get("content"))]
        elif kind in _CALLS:
            calls.append([item.get("name"), _value(item.get("arguments", item.get("input")))])
    return {
        "text": _joined(text),
        "reasoning": _joined(reasoning),
        "calls": calls,
        "finish reason": (response.get("finish") or {}).get("reason"),
    }


def _texts(content: Any) -> list[str]:
    if type(content) is str:
        return [content]
    parts = [part for part in content or () if type(part) is dict]
    return [part.get("text") or part.get("refusal") or "" for part in parts]


def _joined(texts: list[Any]) -> str:
    return "".join("".join(each.split()) for each in texts if type(each) is str)


def _value(text: Any) -> Any:
    try:
        return load_text(text)
    except (TypeError, ValueError):
        return text
