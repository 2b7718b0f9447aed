"""Upstreams out of official SDKs' clients: their URLs, logins and platforms, in threads and event loops."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from google import genai
from google.oauth2.credentials import Credentials

import unified_llm as ul
from client.lines import Framed, Line, ask
from unified_llm.client.upstreams.upstream import Upstream
from upstreams import CHAT_STREAM, MESSAGE, streamed


def sdk_clients(line: Line) -> dict[str, tuple[Any, str, str]]:
    """A client of each kind, the URL its own requests go to, and its login."""
    http = {"http_client": line.http}
    return {
        "openai": (openai.OpenAI(api_key="k", **http), "https://api.openai.com/v1/responses", "Bearer k"),
        "azure": (
            openai.AzureOpenAI(api_key="k", api_version="1", azure_endpoint="https://r.openai.azure.com", **http),
            "https://r.openai.azure.com/openai/responses?api-version=1",
            "k",
        ),
        "azure-ad": (
            openai.AzureOpenAI(
                azure_ad_token_provider=lambda: "token", api_version="1", azure_endpoint="https://r.azure.com", **http
            ),
            "https://r.azure.com/openai/responses?api-version=1",
            "Bearer token",
        ),
        "compatible": (
            openai.OpenAI(api_key="k", base_url="http://localhost:8000/v1", **http),
            "http://localhost:8000/v1/chat/completions",
            "Bearer k",
        ),
        "anthropic": (anthropic.Anthropic(api_key="k", **http), "https://api.anthropic.com/v1/messages", "Bearer k"),
        "vertex": (
            anthropic.AnthropicVertex(region="eu", project_id="p", access_token="token", **http),
            "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu/publishers/anthropic/models/up:rawPredict",
            "Bearer token",
        ),
        "mantle": (
            anthropic.AnthropicBedrockMantle(api_key="k", aws_region="eu-1", **http),
            "https://bedrock-mantle.eu-1.api.aws/anthropic/v1/messages",
            "Bearer k",
        ),
        "genai-vertex": (
            genai.Client(
                vertexai=True,
                project="p",
                location="global",
                credentials=Credentials("token"),  # type: ignore[no-untyped-call]
                http_options={"httpx_client": line.http},  # type: ignore[arg-type]
            ),
            "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/publishers/google/models/up:generateContent",
            "Bearer token",
        ),
        "genai": (
            genai.Client(api_key="k", http_options={"httpx_client": line.http}),  # type: ignore[arg-type]
            "https://generativelanguage.googleapis.com/v1/models/up:generateContent",
            "k",
        ),
    }


@pytest.mark.parametrize(
    "kind",
    ["openai", "azure", "azure-ad", "compatible", "anthropic", "vertex", "mantle", "genai", "genai-vertex"],
)
def test_an_sdk_client_brings_its_url_and_its_login(kind: str) -> None:
    line = Line(lambda: httpx2.Response(429, json={"error": {"message": "slow"}}, headers={"retry-after": "3"}))
    client, url, login = sdk_clients(line)[kind]
    answer = ask(Upstream.from_sdk(client, model="up"))
    assert answer.status_code == 429 and answer.headers["retry-after"] == "3"
    (request,) = line.seen  # the SDK's own retries are off
    assert str(request.url) == url
    headers = ("authorization", "api-key", "x-api-key", "x-goog-api-key")
    assert [request.headers[each] for each in headers if each in request.headers] == [login]


def test_an_sdk_client_streams() -> None:
    line = Line(lambda: streamed(*CHAT_STREAM))
    client = openai.OpenAI(api_key="k", base_url="http://up/v1", http_client=line.http)
    with openai.OpenAI(api_key="x", http_client=ul.http_client(client)).responses.create(
        model="m", input="Hi", stream=True
    ) as stream:
        assert [event.delta for event in stream if event.type == "response.output_text.delta"] == ["Hel", "lo"]


def test_a_platform_that_frames_its_streams_otherwise_brings_the_decoder() -> None:
    class Decoder:
        def iter_bytes(self, chunks: Any) -> Any:
            for each in b"".join(chunks).split(b"|"):
                yield Framed(None, each.decode())

    class Platform(openai.OpenAI):
        def _make_sse_decoder(self) -> Any:
            return Decoder()

    inner = b"|".join(each.removeprefix(b"data: ").strip() for each in CHAT_STREAM)
    line = Line(lambda: streamed(inner, kind="application/vnd.amazon.eventstream"))
    client = Platform(api_key="k", base_url="http://up/v1", http_client=line.http)
    sdk = openai.OpenAI(api_key="x", http_client=ul.http_client(client))
    with sdk.chat.completions.create(model="m", messages=[], stream=True) as stream:
        assert [each.choices[0].delta.content for each in stream] == ["Hel", "lo"]


def test_an_asynchronous_sdk_client() -> None:
    async def run() -> None:
        for answers in ((MESSAGE,), (lambda: httpx2.Response(529, json={"error": {"message": "busy"}}),)):
            line = Line(*answers)
            client = anthropic.AsyncAnthropic(api_key="k", http_client=line.ahttp)
            sdk = openai.AsyncOpenAI(api_key="x", http_client=ul.async_http_client(client, model="up"), max_retries=0)
            call = sdk.responses.create(model="m", input="Hi")
            if answers[0] is MESSAGE:
                assert (await call).output_text == "Hello"
            else:
                with pytest.raises(openai.InternalServerError, match="busy"):
                    await call
            assert len(line.seen) == 1

    asyncio.run(run())


def test_the_kind_of_client_that_was_not_handed_in_says_so() -> None:
    upstream = Upstream.from_sdk(anthropic.AsyncAnthropic(api_key="k"), model="up")
    with pytest.raises(ul.InvalidArgument, match="no synchronous SDK client"):
        ask(upstream)
    with pytest.raises(ul.InvalidArgument, match="one synchronous"):
        Upstream.from_sdk(openai.OpenAI(api_key="k"), openai.OpenAI(api_key="k"))


def test_an_sdk_client_without_connection() -> None:
    def refuse() -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    client = openai.OpenAI(api_key="k", http_client=Line(refuse).http)
    with pytest.raises(httpx2.ConnectError, match="refused"):
        ask(Upstream.from_sdk(client, model="up"))


def test_an_unknown_object() -> None:
    with pytest.raises(ul.InvalidArgument, match=r"builtins\.object is not a client that an adapter supports"):
        Upstream.from_sdk(object())
