"""Mistakes that people make in a first program, and the messages with the fix."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from client.asking import openai, refusal
from unified_llm.client.upstreams.credentials import KeyAuth
from upstreams import CHAT, Canned

NEVER = ul.Retry.never()


def failing(canned: Canned, **given: Any) -> ul.APIError:
    with pytest.raises(ul.APIError) as caught:
        ul.Client(canned.upstream, retry=NEVER).responses.create(**{"input": "Hi", **given})
    return caught.value


@pytest.mark.parametrize(("ref", "hint"), [
    ("http:/host/v1", "has no scheme; did you mean 'http://host/v1'?"),
    ("https:host/v1", "has no scheme; did you mean 'https://host/v1'?"),
    ("htp://host/v1", "the scheme 'htp' is not supported; use 'http://' or 'https://'"),
    ("ftp://user:a-secret-of-mine@host/v1", "the scheme 'ftp' is not supported"),
    ("openai:gpt-5.5", "use 'openai/gpt-5.5'"),
    ("openrouter:openai/gpt-5.5", "use 'openrouter/openai/gpt-5.5'"),
])  # fmt: skip
def test_a_reference_in_another_spelling(ref: str, hint: str) -> None:
    with pytest.raises(ul.InvalidBody) as caught:
        ul.Upstream.of(ref)
    assert hint in str(caught.value) and "a-secret" not in str(caught.value)


def test_a_base_url_with_a_scheme_that_http_has_not() -> None:
    with pytest.raises(ul.InvalidBody, match="the scheme 'htp' is not supported"):
        ul.Upstream.of("openai/m", base_url="htp://host/v1")


def test_a_model_with_a_colon_in_a_call() -> None:
    with pytest.raises(ul.InvalidBody, match=r"/model: 'openai' is a provider, not a model; use 'openai/MODEL', or"):
        ul.Client().responses.create(model="openai", input="Hi")
    with pytest.raises(ul.InvalidBody, match=r"/model: 'openai:gpt-5.5' has no provider prefix; use 'openai/gpt-5.5'"):
        ul.Client().responses.create(model="openai:gpt-5.5", input="Hi")
    with pytest.raises(ul.InvalidBody, match=r"use 'provider/qwen3:8b'"):
        ul.Client().responses.create(model="qwen3:8b", input="Hi")


@pytest.mark.parametrize(("name", "provider"), [
    ("vertex_ai", "google-vertex"), ("together_ai", "togetherai"), ("fireworks_ai", "fireworks-ai"),
    ("gemini", "google"), ("bedrock", "amazon-bedrock"), ("moonshot", "moonshotai"), ("dashscope", "alibaba"),
])  # fmt: skip
def test_the_names_that_litellm_has_for_providers(name: str, provider: str) -> None:
    assert ul.models.provider(name).id == provider


@pytest.mark.parametrize("make", [ul.Upstream.of, ul.http_client])
def test_an_option_that_no_upstream_has(make: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="unknown argument 'headrs'; did you mean 'headers'"):
        make("openai/gpt-5.5", headrs={})
    with pytest.raises(TypeError, match=r"unknown argument 'zzz'; it is neither an option nor a field"):
        make("openai/gpt-5.5", zzz=1)


@pytest.mark.parametrize("make", [ul.image, ul.file])
@pytest.mark.parametrize("given", [3, None, object(), ["a.png"]], ids=["int", "None", "object", "list"])
def test_a_medium_that_is_none(make: Callable[..., Any], given: Any) -> None:
    with pytest.raises(ul.InvalidArgument, match="should be bytes, a path or a URL, not"):
        make(given)


def test_an_image_of_a_library() -> None:
    class Drawing:
        def _repr_png_(self) -> bytes:
            return b"\x89PNG"

    assert ul.image(Drawing(), detail="low") == {
        "type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "low"
    }  # fmt: skip


@pytest.mark.parametrize(("status", "error", "hint"), [
    (429, openai("rate_limit_exceeded", None), "try again later, or name fallbacks in models="),
    (429, openai("insufficient_quota", "insufficient_quota"), "check the plan and the billing of the account"),
    (503, openai("server_error", None), "try again later, or name fallbacks in models="),
    (500, openai("server_error", None), "try again later, or name fallbacks in models="),
    (504, openai("server_error", None), "try again later, or name fallbacks in models="),
    (403, openai("x", None), "check that the key may use this model"),
    (400, openai("invalid_request_error", "context_length_exceeded"), "shorten the input, or use a model with"),
    (400, openai("invalid_request_error", "content_filter"), "change the input"),
    (401, openai("x", "invalid_api_key"), "check the key passed as api_key="),
])  # fmt: skip
def test_every_class_of_error_says_what_to_do(status: int, error: Any, hint: str) -> None:
    found = failing(Canned(refusal(status, error), provider=None, auth=KeyAuth("authorization", "Bearer {key}", "k-1")))
    assert hint in found.hint, (type(found), found.hint)
    assert str(found).endswith(found.hint) and f"HTTP {status}, POST http://up/v1/chat/completions" in str(found)


def test_a_provider_that_wants_more_patience_than_there_is() -> None:
    canned = Canned(refusal(429, openai("rate_limit_exceeded", None), retry_after="120"))
    assert "wait 120 s, or name fallbacks in models=" in failing(canned).hint


def test_a_page_that_is_not_json() -> None:
    page = Canned(lambda: httpx2.Response(200, html="<html><title>Log in</title></html>"), provider=None)
    assert "check base_url" in failing(page).hint


def test_a_server_without_tls() -> None:
    reason = "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)"
    canned = Canned(httpx2.ConnectError(reason), base_url="https://localhost:8000/v1", provider=None)
    assert "use base_url='http://localhost:8000/v1'" in failing(canned).hint


def test_a_proxy_without_tls_is_not_the_server_s_url() -> None:
    reason = "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)"
    canned = Canned(httpx2.ConnectError(reason), base_url="http://localhost:8000/v1", provider=None)
    assert "httphttp" not in failing(canned).hint
    upper = Canned(httpx2.ConnectError(reason), base_url="HTTPS://localhost:8000/v1", provider=None)
    assert "use base_url='http://localhost:8000/v1'" in failing(upper).hint


def test_a_provider_that_is_not_reached() -> None:
    canned = Canned(httpx2.ConnectError("no route"), base_url="https://api.openai.com/v1", provider="openai")
    assert "check the network connection and the proxy settings" in failing(canned).hint


def test_a_key_with_its_scheme() -> None:
    login = KeyAuth("authorization", "Bearer {key}", "Bearer sk-0123456789")
    error = failing(Canned(refusal(401, openai("x", "invalid_api_key")), provider="openai", auth=login))
    assert "pass the key without 'Bearer '" in error.hint and "0123456789" not in str(error)


def test_a_missing_key_is_told_once() -> None:
    with pytest.raises(ul.AuthenticationError) as caught:
        ul.Client(model="openai/gpt-5.5", api_key="").responses.create(input="Hi")
    assert str(caught.value).count("OPENAI_API_KEY") == 1


def test_a_response_that_is_not_stored_gets_no_hint_about_models() -> None:
    client = ul.Client(model="local/echo", protocol="google-interactions")
    with pytest.raises(ul.NotFoundError) as caught:
        client.responses.create(input="Hi", previous_response_id="interaction_1")
    assert "models.list" not in caught.value.hint and "previous=" in caught.value.hint


def test_a_response_that_openai_does_not_have() -> None:
    with pytest.raises(ul.InvalidRequestError) as caught:
        ul.Client(model="local/echo:openai-responses").responses.create(input="Hi", previous_response_id="resp_1")
    assert "previous=<the result>" in caught.value.hint


@pytest.mark.parametrize("made", [ul.ToolServer, ul.AsyncToolServer])
@pytest.mark.parametrize("server", [5, None, "", [], b"x"])
def test_what_cannot_be_a_server_of_tools(made: Any, server: Any) -> None:
    with pytest.raises(ul.InvalidArgument, match="server= should be a URL, a command as a list of words"):
        made(server)


def test_retries_as_the_official_sdks_name_them() -> None:
    failing_once = refusal(503, openai("server_error", None), retry_after_ms="1")
    for retries, requests in ((0, 1), (1, 2)):
        canned = Canned(failing_once, failing_once, CHAT)
        with pytest.raises(ul.OverloadedError):
            ul.Client(canned.upstream, max_retries=retries).responses.create(input="Hi")
        assert len(canned.seen) == requests
    assert ul.Client(Canned(CHAT).upstream, max_retries=2)._core.retry == ul.Retry()


def test_retries_given_twice() -> None:
    with pytest.raises(ul.InvalidArgument, match=r"pass retry= or max_retries=, not both"):
        ul.Client(model="local/echo", retry=NEVER, max_retries=1)
    with pytest.raises(ul.InvalidArgument, match="max_retries= should be a whole number of at least 0, not -1"):
        ul.AsyncClient(model="local/echo", max_retries=-1)


def test_a_client_shows_what_it_is_set_up_for() -> None:
    assert repr(ul.Client()) == "Client()"
    assert repr(ul.Client(model="local/echo")) == "Client(model='local/echo')"
    shown = repr(ul.AsyncClient("openai", model="gpt-5.5", models=["local/echo"], api_key="sk-0123456789"))
    assert shown == "AsyncClient('openai', model='gpt-5.5', models=('local/echo',))"
    shown = repr(ul.Client("http://user:a-secret-of-mine@host/v1?key=another-secret"))
    assert "secret" not in shown and "http://host/v1" in shown


@pytest.mark.parametrize("server", [ul.ToolServer(["/no/such"]), ul.AsyncToolServer("http://127.0.0.1:9/mcp")])
def test_a_server_of_tools_that_is_not_connected(server: Any) -> None:
    with pytest.raises(
        ul.InvalidArgument, match=r"is not connected; use it in a block: (async )?with \w+\(\.\.\.\) as"
    ):
        ul.Client(model="local/echo").responses.create(input="Hi", tools=[server])


@pytest.mark.parametrize("data", ["data: {}\n\n", b"data: {}\n\n", bytearray(b"x")])
def test_bytes_in_the_place_of_their_iterable(data: Any) -> None:
    with pytest.raises(ul.InvalidArgument, match=r"takes an iterable of bytes, not \w+; pass \[data\]"):
        list(ul.translate_sse(data, source="openai-chat", target="anthropic-messages"))


def test_a_loss_is_explained_by_its_capability() -> None:
    loss = ul.Loss("/seed", "sampling.seed", "lost", "why")
    losses = ul.Losses([loss])
    assert losses.explain(loss) == losses.explain("sampling.seed")
    with pytest.raises(ul.InvalidArgument, match="takes the name of a capability, or a loss; not int"):
        losses.explain(5)  # type: ignore[arg-type]


class Database:
    pass


def search(text: str, database: Database) -> str:
    return text


def test_a_tool_with_an_argument_that_no_model_can_give() -> None:
    with pytest.raises(ul.InvalidBody, match=r"/tools/0: search.*no model can give database, a Database; use a type"):
        ul.Client().responses.run(model="local/echo", input="Hi", tools=[search])


def test_a_tool_with_an_argument_that_has_no_schema() -> None:
    def each(items: list[str], then: Callable[[str], str]) -> None: ...

    each.__annotations__["then"] = Callable[[str], str]
    with pytest.raises(ul.InvalidBody, match=r"/tools/0: each\(\): no model can give then, a Callable; use a type"):
        ul.Client().responses.run(model="local/echo", input="Hi", tools=[each])


def test_a_result_asked_for_after_the_stream_failed_is_the_same_error() -> None:
    stream = ul.Client(model="local/echo", max_retries=0).responses.create(input="[[break after 6]] a b c", stream=True)
    with pytest.raises(ul.StreamInterruptedError) as first:
        list(stream)
    with pytest.raises(ul.StreamInterruptedError) as second:
        stream.get_final_response()
    assert second.value is first.value


def test_a_result_after_the_stream_was_closed_is_a_typed_error() -> None:
    client = ul.Client(model="local/echo")
    with client.responses.create(input="One two three.", stream=True) as events:
        next(events)
    with pytest.raises(ul.StreamInterruptedError, match=r"closed before its end.*\.partial"):
        events.get_final_response()
    with client.responses.run(input="One two three.", tools=[], stream=True) as run:
        next(run)
    with pytest.raises(ul.StreamInterruptedError, match="closed, or failed, before its end"):
        run.get_final_result()

    async def main() -> None:
        async with ul.AsyncClient(model="local/echo") as client:
            async with await client.responses.run(input="One two three.", tools=[], stream=True) as run:
                await anext(run)
            with pytest.raises(ul.StreamInterruptedError, match="closed, or failed, before its end"):
                await run.get_final_result()

    asyncio.run(main())
