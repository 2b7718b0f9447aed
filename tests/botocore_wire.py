"""What botocore declares of Converse, how it reads its frames, and a server behind an upstream of this library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
from botocore.eventstream import EventStream, EventStreamBuffer
from botocore.parsers import EventStreamJSONParser

import unified_llm as ul
from oracles.amazon_converse import MODEL, event
from oracles.platforms import frame


def shape_of(operation: str, side: str = "output_shape") -> Any:
    return getattr(MODEL.operation_model(operation), side)


class Raw:
    """A response as botocore's event streams read it."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def stream(self) -> Iterator[bytes]:
        yield from (self.data[at : at + 100] for at in range(0, len(self.data), 100))

    def close(self) -> None:
        pass


def read_by_botocore(data: bytes) -> list[dict[str, Any]]:
    shape = shape_of("ConverseStream").members["stream"]
    return list(EventStream(Raw(data), shape, EventStreamJSONParser(), "ConverseStream"))


def unframed(data: bytes) -> Iterator[tuple[dict[str, Any], Any]]:
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    for each in buffer:
        yield each.headers, json.loads(each.payload)


def framed(wire: dict[str, Any]) -> bytes:
    if wire["event"].endswith("Exception"):
        headers = {":exception-type": wire["event"], ":content-type": "application/json"}
        return frame({**headers, ":message-type": "exception"}, json.dumps(wire["data"]).encode())
    return event(wire["event"], wire["data"])


def at(server: Any, **given: Any) -> ul.Upstream:
    def answer(request: httpx2.Request) -> httpx2.Response:
        path = request.url.raw_path.decode()
        status, headers, body = server.handle(request.method, path, dict(request.headers), request.content)
        return httpx2.Response(status, headers=headers, content=body)

    transport = httpx2.MockTransport(answer)
    return ul.Upstream.of(
        "amazon-bedrock/amazon.nova-pro-v1:0",
        variables={"region": "eu-west-1"},
        http_client=httpx2.Client(transport=transport),
        async_http_client=httpx2.AsyncClient(transport=transport),
        **{"api_key": "a-key", **given},
    )
