"""botocore's client as its users use it, above an HTTP client of this library: one more surface beside the SDKs."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

import botocore.session
from botocore.awsrequest import AWSResponse
from botocore.config import Config

from sdk_surfaces import NAME, PARAMETERS, Node, Said, SDKCall, Surface

__all__ = ["Converse", "folded"]


@functools.cache
def _session() -> Any:
    return botocore.session.get_session()


class _Body:
    """The body of a response, as botocore reads it."""

    def __init__(self, response: Any) -> None:
        self.response = response

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield from self.response.iter_bytes()

    def read(self, *_: Any) -> bytes:
        return bytes(self.response.read())

    def close(self) -> None:
        self.response.close()


class Converse(Surface):
    """botocore has no asynchronous client."""

    protocol = "amazon-converse"

    def user(self, text: str) -> Node:
        return {"role": "user", "content": [{"text": text}]}

    def client(self, async_: bool) -> Any:
        assert not async_
        client = _session().create_client(
            "bedrock-runtime", region_name="eu-west-1", config=Config(retries={"max_attempts": 0}),
            aws_access_key_id="a", aws_secret_access_key="b",
        )  # fmt: skip
        client.meta.events.register("before-send.bedrock-runtime", self._send)
        return client

    def _send(self, request: Any, **_: Any) -> Any:
        headers = {"content-type": "application/json"}
        asked = self.http.build_request("POST", request.url, content=request.body, headers=headers)
        found = self.http.send(asked, stream=True)
        return AWSResponse(request.url, found.status_code, dict(found.headers), _Body(found))

    def call(self, stream: bool = False, **more: Any) -> Said:
        client, asked = self.client(False), {**self.arguments(stream), **more}
        if stream:
            self.head = client.converse_stream(**asked)
            return self.take([*self.head["stream"]])
        self.head = client.converse(**asked)
        return self.take({key: value for key, value in self.head.items() if key != "ResponseMetadata"})

    def take(self, found: Any) -> Said:
        self.events = found if isinstance(found, list) else []
        return self.said(folded(found) if isinstance(found, list) else found)

    def arguments(self, stream: bool) -> Node:
        tool = {"toolSpec": {"name": NAME, "inputSchema": {"json": PARAMETERS}}}
        return {"modelId": self.alias, "messages": self.history, "toolConfig": {"tools": [tool]}, **self.settings}

    def said(self, answer: Node) -> Said:
        message = answer["output"]["message"]
        self.history.append(message)
        found = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        calls = [SDKCall(each["toolUseId"], each["name"], each["input"]) for each in found]
        return Said("".join(block.get("text", "") for block in message["content"]), calls, None, answer)

    def give(self, call: SDKCall, result: str) -> None:
        block = {"toolResult": {"toolUseId": call.id, "content": [{"text": result}]}}
        if self.history[-1]["role"] == "user":
            self.history[-1]["content"].append(block)
        else:
            self.history.append({"role": "user", "content": [block]})


def folded(events: list[Node]) -> Node:
    """The answer that the events of a stream amount to, as users of botocore put it together."""
    blocks: dict[int, Node] = {}
    answer: Node = {}
    for kind, data in (next(iter(each.items())) for each in events):
        if kind in ("messageStop", "metadata"):
            answer.update(data)
        if "contentBlockIndex" not in data:
            continue
        block = blocks.setdefault(data["contentBlockIndex"], {})
        if kind == "contentBlockStart":
            block["toolUse"] = {**data["start"]["toolUse"], "input": ""}
        elif kind == "contentBlockDelta":
            _add(block, data["delta"])
        elif "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
    content = [blocks[index] for index in sorted(blocks)]
    return {**answer, "output": {"message": {"role": "assistant", "content": content}}}


def _add(block: Node, delta: Node) -> None:
    ((key, value),) = delta.items()
    if key == "text":
        block["text"] = block.get("text", "") + value
    elif key == "toolUse":
        block["toolUse"]["input"] += value["input"]
    elif "redactedContent" in value:
        block["reasoningContent"] = value
    else:
        inner = block.setdefault("reasoningContent", {}).setdefault("reasoningText", {"text": ""})
        for name, text in value.items():
            inner[name] = inner.get(name, "") + text
