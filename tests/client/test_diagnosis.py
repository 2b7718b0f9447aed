"""Errors that a person can act on: which request it was, what the provider said, what to do about common mistakes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.asking import no_waiting, openai, refusal  # noqa: F401 (a fixture, of every test here)
from unified_llm.client.upstreams.credentials import KeyAuth
from upstreams import CHAT, CHAT_STREAM, Canned, frames, streamed

NEVER = ul.Retry.never()
MISSING = refusal(404, {"detail": "Not Found"})


def failing(canned: Canned, stream: bool = False) -> ul.APIError:
    with pytest.raises(ul.APIError) as caught, ul.Client(canned.upstream, retry=NEVER) as client:
        found: Any = client.responses.create(input="Hi", stream=stream or None)
        for _ in found if stream else ():
            pass
    return caught.value


FAILURES: dict[str, Callable[[], httpx2.Response]] = {
    "status": refusal(400, openai("invalid_request_error", None)),
    "empty": lambda: httpx2.Response(500),
    "page": lambda: httpx2.Response(200, html="<html><title>Welcome</title></html>"),
    "error in a 200": lambda: httpx2.Response(200, json=openai("server_error", None)),
    "no answer": lambda: httpx2.Response(200, json={}),
    "stream, error first": lambda: streamed(*frames(openai("server_error", None))),
    "stream, error later": lambda: streamed(CHAT_STREAM[0], *frames(openai("server_error", None))),
    "stream, broken": lambda: streamed(CHAT_STREAM[0], httpx2.ReadError("gone")),
    "stream, cut": lambda: streamed(CHAT_STREAM[0]),
    "stream, garbled": lambda: streamed(CHAT_STREAM[0], b'data: {"x\n\n'),
    "refused": lambda: (_ for _ in ()).throw(httpx2.ConnectError("refused")),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_every_error_names_its_request(failure: str) -> None:
    canned = Canned(FAILURES[failure], query={"key": "a-secret-of-mine"})
    error = failing(canned, "stream" in failure)
    assert (error.method, error.url) == ("POST", "http://up/v1/chat/completions")
    assert "POST http://up/v1/chat/completions" in str(error) and "a-secret" not in str(error)
    assert (f"HTTP {error.status}" in str(error)) == (error.status is not None)


def test_an_error_in_an_event_loop_names_its_request_too() -> None:
    async def run() -> None:
        async with ul.AsyncClient(Canned(MISSING).upstream, retry=NEVER) as client:
            await client.responses.create(input="Hi")

    with pytest.raises(ul.NotFoundError, match=r"HTTP 404, POST http://up/v1/chat/completions"):
        asyncio.run(run())


def test_clients_of_others_are_told_no_url() -> None:
    """The upstream's URL is for who configured it: not in hops, nor in the error of a surface."""
    first, second = Canned(MISSING, base_url="http://inside/v1"), Canned(CHAT)
    with ul.http_client([first.upstream, second.upstream]) as http:
        answer = http.post("http://x/v1/chat/completions", json={"model": "m", "messages": []})
    assert "Not Found" in answer.headers["x-unified-llm-hops"] and "inside" not in str(answer.headers)
    with ul.http_client(first.upstream) as http:
        assert "inside" not in http.post("http://x/v1/messages", json={"model": "m", "max_tokens": 1}).text


@pytest.mark.parametrize("body", [
    {"detail": "Not Found"}, {"message": "Not Found"}, {"error": "Not Found"}, {"detail": [{"msg": "Not Found"}]},
])  # fmt: skip
def test_the_words_of_any_server_are_shown(body: Any) -> None:
    assert "Not Found" in str(failing(Canned(refusal(404, body))))


# ---- common mistakes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "base", "meant"), [
    ("openai-chat", "http://localhost:8000", "http://localhost:8000/v1"),
    ("openai-chat", "http://localhost:8000/", "http://localhost:8000/v1"),
    ("openai-responses", "http://localhost:8000/api", "http://localhost:8000/api/v1"),
    ("openai-chat", "http://localhost:8000/v1/chat/completions", "http://localhost:8000/v1"),
    ("openai-responses", "http://localhost:8000/v1/responses", "http://localhost:8000/v1"),
])  # fmt: skip
def test_a_base_url_that_is_not_one(protocol: str, base: str, meant: str) -> None:
    error = failing(Canned(MISSING, protocol=protocol, base_url=base, provider=None))
    assert f"base_url={meant!r}" in error.hint and error.hint in str(error)


@pytest.mark.parametrize("name", ["openai/gpt-oss-20b", "meta-llama/Llama-3.1-8B"])
def test_a_model_of_ones_own_server_that_is_named_as_a_provider_s(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ul.AuthenticationError, match="no API key") as caught:
        ul.Client(base_url="http://localhost:8000/v1").responses.create(model=name, input="Hi")
    assert f"{name!r}, pass its URL as upstream= and not as base_url=" in caught.value.hint
    with pytest.raises(ul.AuthenticationError) as caught:
        ul.Client().responses.create(model="openai/gpt-5.5", input="Hi")
    assert not caught.value.hint and "pass api_key= to Client() or http_client()" in str(caught.value)


@pytest.mark.parametrize("base", ["http://localhost:8000/v1", "http://localhost:8000/openai/v1beta"])
def test_a_base_url_that_is_right_gets_no_such_hint(base: str) -> None:
    assert "base_url" not in failing(Canned(MISSING, base_url=base, provider=None)).hint


@pytest.mark.parametrize("given", ["localhost:8000/v1", "127.0.0.1:8000", "gpu.example:8000/v1", "localhost"])
def test_a_url_without_a_scheme(given: str) -> None:
    with pytest.raises(ul.InvalidBody, match=rf"has no scheme; did you mean 'http://{given}'"):
        ul.Upstream.of(given)
    with pytest.raises(ul.InvalidBody, match="has no scheme"):
        ul.Upstream.of("openai/m", base_url=given)


def test_a_server_that_is_not_there() -> None:
    error = failing(Canned(httpx2.ConnectError("refused"), base_url="http://localhost:8000/v1", provider=None))
    assert "http://localhost:8000/v1/" in str(error) and "check that the server is running" in error.hint


@pytest.mark.parametrize(("provider", "key", "hint"), [
    ("anthropic", "sk-proj-0123456789", "looks like one of openai"),
    ("openai", "sk-ant-0123456789", "looks like one of anthropic"),
    ("openai", "AIza0123456789abc", "looks like one of google"),
    ("openai", "sk-proj-0123456789", "check the key in OPENAI_API_KEY"),
    ("openai", "unknown-0123456789", "check the key in OPENAI_API_KEY"),
])  # fmt: skip
def test_a_key_of_another_provider(provider: str, key: str, hint: str) -> None:
    canned = Canned(refusal(401, openai("x", "invalid_api_key")), provider=provider,
                    auth=KeyAuth("authorization", "Bearer {key}", key))  # fmt: skip
    error = failing(canned)
    assert hint in error.hint and key not in str(error)


def test_a_model_of_another_provider() -> None:
    canned = Canned(refusal(404, openai("invalid_request_error", "model_not_found")), model="claude-opus-4-7",
                    provider="openai", base_url="https://api.openai.com/v1")  # fmt: skip
    assert "use model='anthropic/claude-opus-4-7'" in failing(canned).hint


def test_a_model_without_a_provider() -> None:
    with pytest.raises(ul.InvalidBody, match=r"/model: 'gpt-5' has no provider prefix; use 'openai/gpt-5'"):
        ul.Client().responses.create(model="gpt-5", input="Hi")
    with pytest.raises(ul.UnifiedLLMError, match="no model given"):
        ul.Client().responses.create(input="Hi")


@pytest.mark.parametrize(("argument", "hint"), [
    ("text_format", r"responses\.parse\(\)"),
    ("system_prompt", "'instructions'"),
    ("max_tokens", "'max_output_tokens'"),
    ("temprature", "'temperature'"),
    ("max_retries", r"Client\(max_retries="),
    ("zzz", "extra_body"),
])  # fmt: skip
def test_an_unknown_argument(argument: str, hint: str) -> None:
    given: dict[str, Any] = {argument: 1}
    with pytest.raises(TypeError, match=f"unknown argument '{argument}'; .*{hint}"):
        ul.Client().responses.create(model="local/echo", input="Hi", **given)


def test_no_private_name_is_in_the_error_of_an_unknown_setting() -> None:
    with pytest.raises(TypeError, match=r"^Client\.__init__\(\) got an unexpected"):
        ul.Client(foo=1)  # type: ignore[call-arg]


def test_a_name_that_is_like_nothing_gets_no_suggestion() -> None:
    with pytest.raises(ul.UnknownProvider) as caught:
        ul.Client().responses.create(model="foo/x", input="Hi")
    assert caught.value.suggestions == []


def test_what_a_setting_may_be_is_said() -> None:
    with pytest.raises(ul.InvalidBody, match=r"/temperature: .*valid number"):
        ul.Client().responses.create(model="local/echo", input="Hi", temperature="hot")  # type: ignore[arg-type]


@pytest.mark.parametrize("server", ["http://user:a-secret-of-mine@127.0.0.1:9/mcp?key=a-secret-of-mine", ["/no/such"]])
def test_an_mcp_server_that_is_not_there(server: Any) -> None:
    pytest.importorskip("mcp")
    from unified_llm.client.tools.mcp import ToolServer

    with pytest.raises(ul.APIConnectionError, match="no connection to the MCP server") as caught, ToolServer(server):
        pass
    assert "a-secret" not in str(caught.value) and json.dumps(caught.value.error) and sys.exc_info()[0] is None
