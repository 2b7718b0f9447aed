"""A whole block as the frames that a stream would have of it, and the names of events."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import ILL_TYPED
from unified_llm.foundation.json_codec import dump_text

__all__ = ["ARGUMENTS", "CITED", "EXCEPTIONS", "STOPS", "TEXTS", "TEXT_PARTS", "pieces"]

Node = dict[str, Any]

ARGUMENTS = "response.function_call_arguments.delta"
TEXTS = ("response.output_text.delta", "response.refusal.delta")
CITED = "response.output_text.annotation.added"
# The exceptions that a stream may hold; others are sent as the second.
EXCEPTIONS = frozenset(
    """internalServerException modelStreamErrorException validationException throttlingException
    serviceUnavailableException""".split()
)
TEXT_PARTS = frozenset(("output_text", "input_text", "text", "refusal"))
STOPS = ("stopReason", "additionalModelResponseFields")


def pieces(block: Any) -> list[tuple[Node | None, Node | None]]:
    """The start and the deltas of a block; nothing for one that a stream has no form for."""
    try:
        return _parted(block)
    except ILL_TYPED:
        return []


def _parted(block: Any) -> list[tuple[Node | None, Node | None]]:
    if "text" in block:
        return [(None, {"text": block["text"]})]
    if "citationsContent" in block:
        cited = block["citationsContent"]
        texts = [(None, {"text": each["text"]}) for each in cited["content"]]
        return [*texts, *((None, {"citation": each}) for each in cited.get("citations") or ())]
    if "reasoningContent" in block:
        inner = block["reasoningContent"]
        found = inner.get("reasoningText")
        if found is None:
            return [(None, {"reasoningContent": inner})]
        keys = [key for key in ("text", "signature") if found.get(key)]
        return [(None, {"reasoningContent": {key: found[key]}}) for key in keys]
    if "toolUse" in block:
        call = block["toolUse"]
        start = {key: call[key] for key in call if key != "input"}
        return [({"toolUse": start}, {"toolUse": {"input": dump_text(call["input"])}})]
    if "toolResult" in block:
        result = block["toolResult"]
        start = {key: result[key] for key in result if key != "content"}
        return [({"toolResult": start}, {"toolResult": result.get("content") or []})]
    if "image" in block:
        image = block["image"]
        start = {"format": image["format"]} if "format" in image else {}
        return [({"image": start}, {"image": {key: image[key] for key in image if key != "format"}})]
    return []
