"""No credential is shown that a server repeats in an error inside of an answer."""

from __future__ import annotations

import httpx2
import openai

import unified_llm as ul

KEY = "sk-0123456789abcdef0123456789"


def test_an_error_in_a_choice_shows_no_credential() -> None:
    error = {"code": 502, "message": f"upstream refused {KEY}"}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "finish_reason": "error", "error": error,
                         "message": {"role": "assistant", "content": "So far"}}]}  # fmt: skip
    inner = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, json=body)))
    upstream = ul.Upstream.of("http://localhost:9/v1", protocol="openai-chat", api_key=KEY, http_client=inner)
    client = openai.OpenAI(api_key="unused", http_client=ul.http_client(upstream), max_retries=0)
    answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])
    assert "upstream refused" in answer.to_json() and KEY not in answer.to_json()
