"""A strict server of Converse: it refuses what the service model and the user guide refuse, and writes its own frames.

Shapes are those of botocore's service model, with their patterns and limits; roles, pairs of calls and results, texts
and tools are checked as in the guide. It answers with what the user said last, or calls the first tool on offer.

https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-call.html
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any
from urllib.parse import unquote

import botocore.session
from botocore.validate import ParamValidator

from oracles.platforms import frame

Node = dict[str, Any]
MODEL = botocore.session.get_session().get_service_model("bedrock-runtime")
ROUTE = re.compile(r"/model/(?P<model>[^/]+)/(?P<verb>converse|converse-stream|count-tokens)")
OPERATIONS = {"converse": "Converse", "converse-stream": "ConverseStream", "count-tokens": "CountTokens"}
STATUS = {"ValidationException": 400, "AccessDeniedException": 403, "ResourceNotFoundException": 404}


class Refused(Exception):
    """A request that is refused, with the class of the exception."""

    def __init__(self, message: str, kind: str = "ValidationException") -> None:
        super().__init__(message)
        self.kind = kind


def decoded(value: Any, shape: Any, at: str = "") -> Any:
    """A JSON value as botocore's callers pass it: bytes for blobs. Raises `Refused` for an unknown member."""
    if shape.type_name == "structure" and not shape.metadata.get("document") and isinstance(value, dict):
        for key in value:
            if key not in shape.members:
                raise Refused(f"{at}/{key}: unknown member")
        return {key: decoded(each, shape.members[key], f"{at}/{key}") for key, each in value.items()}
    if shape.type_name == "list" and isinstance(value, list):
        return [decoded(each, shape.member, f"{at}/{place}") for place, each in enumerate(value)]
    if shape.type_name == "map" and isinstance(value, dict):
        return {key: decoded(each, shape.value, f"{at}/{key}") for key, each in value.items()}
    if shape.type_name == "blob" and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise Refused(f"{at}: not base64") from None
    return value


def strictly(value: Any, shape: Any, at: str = "") -> None:
    """What botocore's validator leaves to the service: enums, patterns, the most of a number, one member of a union."""
    meta = shape.metadata
    if shape.type_name == "structure" and not meta.get("document"):
        if getattr(shape, "is_tagged_union", False) and len(value) != 1:
            raise Refused(f"{at}: exactly one member of {shape.name} is required")
        for key, each in value.items():
            strictly(each, shape.members[key], f"{at}/{key}")
    elif shape.type_name == "list":
        for place, each in enumerate(value):
            strictly(each, shape.member, f"{at}/{place}")
    elif shape.type_name == "map":
        for key, each in value.items():
            strictly(each, shape.value, f"{at}/{key}")
    elif shape.type_name == "string":
        if shape.enum and value not in shape.enum:
            raise Refused(f"{at}: {value!r} is none of {shape.enum}")
        if "pattern" in meta and re.fullmatch(meta["pattern"], value) is None:
            raise Refused(f"{at}: {value!r} does not match {meta['pattern']}")
        if "max" in meta and len(value) > meta["max"]:
            raise Refused(f"{at}: too long")
    elif shape.type_name in ("integer", "float", "long") and "max" in meta and value > meta["max"]:
        raise Refused(f"{at}: {value} is too large")


def check(body: Node, operation: str, model: str) -> None:
    """Raises `Refused` for what the API refuses."""
    shape = MODEL.operation_model(operation).input_shape
    params = {**decoded(body, shape), "modelId": model}
    report = ParamValidator().validate(params, shape)
    if report.has_errors():
        raise Refused(report.generate_report())
    strictly(params, shape)
    if operation == "CountTokens":
        body = body["input"]["converse"]
    history(body)


def history(body: Node) -> None:
    """Rules of the guide for a conversation."""
    before, calls, spoken = "", set[str](), False
    for number, message in enumerate(body.get("messages") or ()):
        role, content, at = message["role"], message["content"], f"/messages/{number}"
        if not content:
            raise Refused(f"{at}: the content field is empty")
        if role == before:
            raise Refused(f"{at}: roles must alternate between user and assistant")
        if number == 0 and role != "user":
            raise Refused("a conversation must start with a user message")
        results = {block["toolResult"]["toolUseId"] for block in content if _is_result(block)}
        if calls - results or (role == "user" and results - calls):
            raise Refused(f"{at}: toolResult blocks must match the toolUse blocks of the message before")
        calls = {block["toolUse"]["toolUseId"] for block in content if "toolUse" in block and _is_ours(block)}
        spoken = spoken or bool(calls or results)
        for block in content:
            if "text" in block and not block["text"].strip():
                raise Refused(f"{at}: text content blocks must be non-empty")
            if role != "user" and ({"image", "document"} & block.keys()):
                raise Refused(f"{at}: images and documents are only for the role user")
            if "reasoningContent" in block and "reasoningText" in block["reasoningContent"]:
                if not block["reasoningContent"]["reasoningText"].get("signature"):
                    raise Refused(f"{at}: reasoning without its signature")
        if any("document" in block for block in content) and not any("text" in block for block in content):
            raise Refused(f"{at}: a text block is required beside a document")
        before = role
    if spoken and not (body.get("toolConfig") or {}).get("tools"):
        raise Refused("The toolConfig field must be defined when using toolUse and toolResult content blocks.")


def _is_ours(block: Node) -> bool:
    return "type" not in block["toolUse"]


def _is_result(block: Node) -> bool:
    return "toolResult" in block and "type" not in block["toolResult"]


class Converse:
    """The server: `handle` gives status, headers and body. `seen` are the requests that were taken."""

    def __init__(self, key: str = "a-key") -> None:
        self.key = key
        self.seen: list[tuple[str, str, Node]] = []

    def handle(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """One request; `path` is as it stands in the request line."""
        try:
            return self._answer(method, path, {name.lower(): value for name, value in headers.items()}, body)
        except Refused as refused:
            head = {"content-type": "application/json", "x-amzn-errortype": f"{refused.kind}:http://internal/"}
            return STATUS[refused.kind], head, json.dumps({"message": str(refused)}).encode()

    def _answer(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        found = ROUTE.fullmatch(path)
        if method != "POST" or found is None:
            raise Refused(f"no route {method} {path}", "ResourceNotFoundException")
        if headers.get("authorization") != f"Bearer {self.key}" and "aws4-hmac" not in str(headers).lower():
            raise Refused("no credentials", "AccessDeniedException")
        model, verb, node = unquote(found["model"]), found["verb"], json.loads(body)
        check(node, OPERATIONS[verb], model)
        self.seen.append((verb, model, node))
        if verb == "count-tokens":
            return 200, {"content-type": "application/json"}, json.dumps({"inputTokens": 7}).encode()
        content, stop = self._content(node)
        usage = {"inputTokens": 7, "outputTokens": 2, "totalTokens": 9}
        if verb == "converse":
            answer = {
                "output": {"message": {"role": "assistant", "content": content}},
                "stopReason": stop,
                "usage": usage,
                "metrics": {"latencyMs": 5},
            }
            return 200, {"content-type": "application/json"}, json.dumps(answer).encode()
        data = b"".join(frames(content, stop, usage))
        return 200, {"content-type": "application/vnd.amazon.eventstream"}, data

    def _content(self, node: Node) -> tuple[list[Node], str]:
        last = node["messages"][-1]["content"]
        results = [block["toolResult"] for block in last if "toolResult" in block]
        tools = [tool["toolSpec"] for tool in (node.get("toolConfig") or {}).get("tools", ()) if "toolSpec" in tool]
        thinks = (node.get("additionalModelRequestFields") or {}).get("thinking")
        thoughts = [{"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}] if thinks else []
        if tools and not results:
            call = {"toolUseId": "t1", "name": tools[0]["name"], "input": {"city": "Oslo"}}
            return [*thoughts, {"toolUse": call}], "tool_use"
        if results:
            words = " ".join(str(each.get("text", each.get("json"))) for each in results[0]["content"])
        else:
            words = " ".join(block["text"] for block in last if "text" in block)
        return [*thoughts, {"text": words}], "end_turn"


def frames(content: list[Node], stop: str, usage: Node) -> list[bytes]:
    """The frames of a message, padded as the service pads them."""
    out = [event("messageStart", {"p": "abc", "role": "assistant"})]
    for index, block in enumerate(content):
        if "toolUse" in block:
            call = block["toolUse"]
            start = {"toolUse": {"toolUseId": call["toolUseId"], "name": call["name"]}}
            out.append(event("contentBlockStart", {"contentBlockIndex": index, "p": "ab", "start": start}))
            text = json.dumps(call["input"])
            deltas: list[Node] = [{"toolUse": {"input": part}} for part in (text[:5], text[5:])]
        elif "reasoningContent" in block:
            inner = block["reasoningContent"]["reasoningText"]
            deltas = [{"reasoningContent": {key: inner[key]}} for key in ("text", "signature")]
        else:
            deltas = [{"text": part} for part in re.findall(r"\s*\S+", block["text"])]
        out += [event("contentBlockDelta", {"contentBlockIndex": index, "delta": each, "p": "abcd"}) for each in deltas]
        out.append(event("contentBlockStop", {"contentBlockIndex": index, "p": "abcde"}))
    out.append(event("messageStop", {"p": "a", "stopReason": stop}))
    out.append(event("metadata", {"metrics": {"latencyMs": 5}, "p": "ab", "usage": usage}))
    return out


def event(kind: str, data: Node) -> bytes:
    """An event of a stream as its frame."""
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return frame(headers, json.dumps(data).encode())


def failure(kind: str, message: str) -> bytes:
    """An exception inside a stream."""
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, json.dumps({"message": message}).encode())
