"""What a client keeps of a stream: the answer that it will send back, by surface.

The official openai and anthropic SDKs accumulate for themselves. Google's clients append what comes: the parts of
generateContent's chunks (texts that follow each other joined, as its CLI does), and the steps of an interaction.
"""

from __future__ import annotations

import copy
import json
from typing import Any

from anthropic._models import construct_type
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import RawMessageStreamEvent

from sdk_streams import final_chat, final_response

Node = dict[str, Any]
Events = list[Node]


def chat(events: Events) -> Node:
    return final_chat(events)


def responses(events: Events) -> Node:
    """By the openai SDK's helper, which supports one end only; for another end its last event has all."""
    for event in events:
        if event["data"].get("type") in ("response.incomplete", "response.failed"):
            answer: Node = event["data"]["response"]
            return answer
    return final_response(events)


def messages(events: Events) -> Node:
    """By the anthropic SDK's own accumulator."""
    snapshot = None
    texts: dict[int, bytes] = {}
    for event in events:
        if isinstance(event["data"], dict) and event["data"].get("type") not in ("ping", "error"):
            made: Any = construct_type(type_=RawMessageStreamEvent, value=event["data"])
            snapshot = accumulate_event(event=made, current_snapshot=snapshot, json_bufs=texts)
    # The SDK builds models unvalidated, and then warns that what it does not declare is there.
    return {} if snapshot is None else snapshot.model_dump(mode="json", exclude_unset=True, warnings=False)


def contents(events: Events) -> Node:
    """The parts of a generateContent stream, by candidate."""
    candidates: dict[int, list[Node]] = {}
    for event in events:
        for candidate in event["data"].get("candidates") or ():
            parts = candidates.setdefault(candidate.get("index", 0), [])
            for part in (candidate.get("content") or {}).get("parts") or ():
                if parts and _plain(part) and _plain(parts[-1]):
                    parts[-1] = {**parts[-1], "text": parts[-1]["text"] + part["text"]}
                else:
                    parts.append(part)
    return {"candidates": [{"content": {"role": "model", "parts": candidates[index]}} for index in sorted(candidates)]}


def _plain(part: Node) -> bool:
    return part.keys() == {"text"}


def steps(events: Events) -> Node:
    """The steps of an interaction's stream, each built up from its deltas."""
    found: dict[int, Node] = {}
    arguments: dict[int, str] = {}
    for event in events:
        data = event["data"]
        if not isinstance(data, dict):
            continue
        if data.get("event_type") == "step.start":
            found[data["index"]] = copy.deepcopy(data["step"])  # the events stay what they are
        elif data.get("event_type") == "step.delta":
            _build(found[data["index"]], data["delta"], data["index"], arguments)
    for index, text in arguments.items():
        found[index]["arguments"] = json.loads(text or "{}")
    return {"steps": [found[index] for index in sorted(found)]}


def _build(step: Node, delta: Node, index: int, arguments: dict[int, str]) -> None:
    kind = delta.get("type")
    if kind == "arguments_delta":
        arguments[index] = arguments.get(index, "") + delta["arguments"]
    elif kind == "thought_signature":
        step["signature"] = delta["signature"]
    elif kind == "thought_summary":
        step.setdefault("summary", []).append(delta["content"])
    elif kind == "text":
        content = step.setdefault("content", [])
        if content and content[-1].get("type") == "text" and "annotations" not in delta:
            content[-1] = {**content[-1], "text": content[-1].get("text", "") + delta.get("text", "")}
        else:
            content.append(delta)
    elif step.get("type") in ("model_output", "user_input"):
        step.setdefault("content", []).append(delta)
    else:
        step.update({key: value for key, value in delta.items() if key != "type"})


def blocks(events: Events) -> Node:
    """The message of a stream of Converse, as its clients put it together: blocks by their index."""
    found: dict[int, Node] = {}
    arguments: dict[int, str] = {}
    for event in events:
        data = event["data"]
        if event["event"] == "contentBlockStart":
            found[data["contentBlockIndex"]] = copy.deepcopy(data["start"])
        elif event["event"] == "contentBlockDelta":
            index = data["contentBlockIndex"]
            ((key, value),) = data["delta"].items()
            _block(found.setdefault(index, {}), key, value, index, arguments)
    for index, block in found.items():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(arguments.get(index) or "{}")
        if "citations" in block:
            found[index] = {"citationsContent": {"content": [{"text": block["text"]}], "citations": block["citations"]}}
    return {"output": {"message": {"role": "assistant", "content": [found[index] for index in sorted(found)]}}}


def _block(block: Node, key: str, value: Any, index: int, arguments: dict[int, str]) -> None:
    if key == "text":
        block["text"] = block.get("text", "") + value
    elif key == "toolUse":
        arguments[index] = arguments.get(index, "") + value["input"]
    elif key == "citation":
        block.setdefault("citations", []).append(value)
        block.setdefault("text", "")
    elif key == "toolResult":
        block["toolResult"].setdefault("content", []).extend(value)
    elif key == "image":
        block["image"].update(value)
    elif "redactedContent" in value:
        block["reasoningContent"] = value
    else:
        inner = block.setdefault("reasoningContent", {}).setdefault("reasoningText", {"text": ""})
        inner["text"] += value.get("text", "")
        inner.update({"signature": value["signature"]} if "signature" in value else {})


FOLDS = {
    "openai-chat": chat,
    "openai-responses": responses,
    "anthropic-messages": messages,
    "google-generate-content": contents,
    "google-interactions": steps,
    "amazon-converse": blocks,
}
