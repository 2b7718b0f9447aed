"""Answers that are larger than what a server holds back at once, to clients that do not read them."""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

import httpx2
import pytest

import unified_llm as ul
from gateway.serving import House, Served
from waiting import until

JSON = {"content-type": "application/json"}
SIZE = 16_000_000  # more than the buffers of a connection hold
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def answering(protocol: str) -> ul.Upstream:
    message = {"role": "assistant", "content": "x" * SIZE}
    value = {
        "id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }  # fmt: skip
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(lambda request: httpx2.Response(200, json=value)))
    return ul.Upstream(protocol=protocol, model="m", base_url="http://upstream.test/v1", async_http_client=client)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_a_response_that_is_not_read_is_under_way(house: House, path: str) -> None:
    """It left `max_parallel` before it was sent: any number of such responses could be in memory."""
    settings = {"listen": "127.0.0.1:0", "max_parallel": 1}
    gateway = house.gateway({"a": answering("openai-chat")}, gateway=settings, models={"m": "a"})
    house.gateways.remove(gateway)
    body = json.dumps({**CHAT, "max_tokens": 5}).encode()
    with Served(gateway) as served:
        host, port = urlsplit(served.url).hostname, urlsplit(served.url).port
        with socket.create_connection((host, port)) as idle:
            head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            idle.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            idle.recv(1)  # the response has begun
            refused = httpx2.post(f"{served.url}/v1/chat/completions", content=body, headers=JSON, timeout=60)
            assert refused.status_code == 429 and gateway.busy == 1
            left = SIZE
            while left > 0:
                left -= len(idle.recv(1 << 20))
        until(lambda: gateway.busy == 0)
        assert (
            httpx2.post(f"{served.url}/v1/chat/completions", content=body, headers=JSON, timeout=60).status_code == 200
        )
    assert gateway.busy == 0
