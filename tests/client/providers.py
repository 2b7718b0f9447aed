"""Upstreams that answer inside the tests: the oracles in memory, and canned HTTP answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2

import unified_llm as ul
from oracles import mounts
from oracles.service import Service

# Where each protocol's routes begin on the oracles.
ROOTS = {
    "anthropic-messages": "http://echo",
    "google-generate-content": "http://echo/v1beta",
    "google-interactions": "http://echo/v1beta",
    "openai-chat": "http://echo/v1",
    "openai-responses": "http://echo/v1",
}
PROTOCOLS = sorted(ROOTS)


def upstream(protocol: str, service: Service | None = None, **changes: Any) -> ul.Upstream:
    """An oracle as a provider of its own for each protocol; signatures of one mean nothing to another."""
    transport = mounts.transport(service or mounts.Oracle())
    given = {"model": "echo", "provider": f"echo-{protocol}", **changes}
    return ul.Upstream(
        protocol=protocol,
        base_url=ROOTS[protocol],
        http_client=httpx2.Client(transport=transport),
        async_http_client=httpx2.AsyncClient(transport=transport),
        **given,
    )


class Canned:
    """An upstream that returns the given answers, in their order, and remembers the requests."""

    def __init__(self, protocol: str, *answers: Any, **changes: Any) -> None:
        self.answers = list(answers)
        self.requests: list[httpx2.Request] = []
        transport = httpx2.MockTransport(self._answer)
        given = {"model": "m", "provider": "canned", **changes}
        self.upstream = ul.Upstream(
            protocol=protocol,
            base_url="http://canned/v1",
            http_client=httpx2.Client(transport=transport),
            async_http_client=httpx2.AsyncClient(transport=transport),
            **given,
        )

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.content) if request.content else None for request in self.requests]

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Callable):  # type: ignore[arg-type]
            answer = answer(request)
        if isinstance(answer, httpx2.Response):
            return answer
        if isinstance(answer, (list, Iterator)):
            frames = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in answer)
            return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=frames)
        return httpx2.Response(200, json=answer)


# ---- answers of the Responses wire, by hand (https://platform.openai.com/docs/api-reference/responses/object) --------


def response(*output: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "output": list(output),
        "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
        **fields,
    }


def message(text: str, id_: str = "msg_1") -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": id_, "role": "assistant", "status": "completed", "content": [part]}


def function_call(name: str, arguments: str, call_id: str = "call_1") -> dict[str, Any]:
    kind = {"type": "function_call", "id": f"fc_{call_id}", "status": "completed"}
    return {**kind, "call_id": call_id, "name": name, "arguments": arguments}


def stream(text: str, end: bool = True) -> list[dict[str, Any]]:
    whole = message(text)
    opening = response(status="in_progress", usage=None)
    part = {"type": "output_text", "text": "", "annotations": []}
    at = {"output_index": 0, "content_index": 0, "item_id": "msg_1"}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": opening},
        {"type": "response.output_item.added", "output_index": 0, "item": {**whole, "content": []}},
        {"type": "response.content_part.added", **at, "part": part},
        *({"type": "response.output_text.delta", **at, "delta": piece} for piece in text),
    ]
    if end:
        events += [
            {"type": "response.output_text.done", **at, "text": text},
            {"type": "response.content_part.done", **at, "part": whole["content"][0]},
            {"type": "response.output_item.done", "output_index": 0, "item": whole},
            {"type": "response.completed", "response": response(whole)},
        ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]
