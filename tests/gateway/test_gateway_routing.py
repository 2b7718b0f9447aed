"""From a model's name to upstreams, and the bytes that go through where nothing has to change."""

from __future__ import annotations

import base64
import json
import re
from typing import Any, NamedTuple

import httpx2
import pytest

from client.asking import openai, refusal
from gateway.background import begun, ended
from gateway.serving import House, config
from gateway.test_gateway_access import ROUTES
from unified_llm.client.transports import route_matching
from unified_llm.client.transports.route_matching import recognize
from unified_llm.gateway.access.callers import Key
from unified_llm.gateway.configuration.config import ConfigError
from unified_llm.gateway.responses.replies import Refusal
from unified_llm.gateway.upstreams.routing import Router, providers_with_keys
from upstreams import CHAT, CHAT_STREAM, MESSAGE, Canned, chunk, frames, streamed

ASKED = [{"role": "user", "content": "Hi"}]


def ask(
    house: House, gateway: Any, model: str = "m", path: str = "/v1/chat/completions", **more: Any
) -> httpx2.Response:
    headers = more.pop("headers", {})
    return house.ask(gateway, "POST", path, json={"model": model, "messages": ASKED, **more}, headers=headers)


def table(**models: Any) -> Router:
    upstreams = {name: Canned(CHAT, model=None).upstream for name in ("one", "two")}
    upstreams["fixed"] = Canned(CHAT, model="its-own").upstream
    return Router(config(models=models, gateway={"providers": ["local", "openai", "anthropic"]}), upstreams)


def test_a_client_is_advised_to_set_nothing_that_it_cannot() -> None:
    """It was advised to pass arguments of Python."""
    router = Router(config(gateway={"providers": ["sap-ai-core"]}), {})
    with pytest.raises(Refusal) as caught:
        router.resolve("sap-ai-core/x", Key(), None)
    assert (caught.value.status, str(caught.value)) == (404, "no protocol is known to serve sap-ai-core/x")


def test_a_client_whose_request_is_refused_is_shown_no_python(house: House) -> None:
    """It was advised to set `on_loss={...}`."""
    up = Canned(streamed, protocol="anthropic-messages", model="up")
    gateway = house.gateway({"up": up.upstream}, models={"up": {"to": ["up"], "on_loss": {"sampling.*": "raise"}}})
    body = {"model": "up", "messages": [{"role": "user", "content": "Hi"}], "n": 2}
    found = house.ask(gateway, "POST", "/v1/chat/completions", json=body)
    told = "/n: output.choices: n=2 is not supported: anthropic-messages returns one response; set n=1"
    assert (found.status_code, found.json()["error"]["message"]) == (400, told)


@pytest.mark.parametrize("way", ["passed through", "converted", "in the background"])
def test_a_client_learns_that_a_key_is_missing_and_of_no_argument(
    house: House, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """It was advised to pass `api_key=` to a class of Python."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    gateway = house.gateway(gateway={"providers": ["openai"]})
    path, model = "/v1/responses", "openai/gpt-5.5"
    if way == "converted":
        found = ask(house, gateway, model, "/v1/messages", max_tokens=9).json()
    elif way == "passed through":
        found = house.ask(gateway, "POST", path, json={"model": model, "input": "Hi"}).json()
    else:
        found = ended(house, gateway, path, begun(house, gateway, path, model)["id"])
    assert found["error"]["message"] == "no API key for openai; set OPENAI_API_KEY"


def routed(
    router: Router, model: str | None, key: Key | None = None, named: str | None = None
) -> list[tuple[Any, Any]]:
    found = router.resolve(model, key or Key(), named)
    return [(each.provider, each.model) for each in found.upstreams]


def test_names_lead_to_upstreams() -> None:
    router = table(fast=["one/small", "fixed"], **{"gpt-*": "two/{model}", "gpt-9*": ["one"], "*": "local/{model}"})
    assert routed(router, "fast") == [("canned", "small"), ("canned", "its-own")]
    assert routed(router, "gpt-5") == [("canned", "gpt-5")]
    assert routed(router, "gpt-9x") == [("canned", None)], "the longest pattern first"
    assert routed(router, "anything") == [("local", "anything")]
    assert routed(router, "x", named="fixed") == [("canned", "its-own")]
    assert routed(router, "two/x", named="two") == [("canned", "x")]
    plain = table()
    assert routed(plain, "two") == [("canned", None)]
    assert routed(plain, "fixed/other") == [("canned", "other")]
    assert routed(plain, "openai/gpt-5.5") == [("openai", "gpt-5.5")]
    assert routed(plain, "claude-opus-4-7") == [("anthropic", "claude-opus-4-7")], "a plain name, by the catalog"


@pytest.mark.parametrize(
    ("path", "model", "below"),
    [
        ("/v1beta/models/m:generateContent", "m", "models/m:generateContent"),
        ("/v1beta/models/a/b:generateContent", "a/b", "models/a/b:generateContent"),
        ("/v1beta/a/b:generateContent", "a/b", "a/b:generateContent"),
        ("/llm/v1/a/b:generateContent", "a/b", "a/b:generateContent"),
        ("/a/b:countTokens", "a/b", "a/b:countTokens"),
        ("/v1beta/tunedModels/t:generateContent", "t", "tunedModels/t:generateContent"),
    ],
)
def test_a_model_with_a_slash_stands_in_the_path_with_or_without_its_collection(
    path: str, model: str, below: str
) -> None:
    """The AI SDK leaves `models/` out where the name has a slash."""
    found = recognize("POST", path, {})
    assert found is not None and found.protocol == "google-generate-content"
    assert (found.names["model"], found.path) == (model, below)


@pytest.mark.parametrize("end", ["", ":generateContent", "/converse", "/converse/"])
@pytest.mark.parametrize("piece", ["/models/", "/models/a", "/model/", "/v1", "1", "/publishers/p/models/m"])
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_what_follows_a_model_is_looked_for_in_paths_that_end_with_it(
    method: str, piece: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From each place of a long path it would be looked for up to the end, before the key is checked."""
    searched: list[str] = []

    class Spied(NamedTuple):
        tail: str
        pattern: re.Pattern[str]

        def search(self, path: str) -> re.Match[str] | None:
            searched.append(self.tail)
            return self.pattern.search(path)

    def spied(route: str) -> tuple[str, Spied]:
        tail, pattern = pattern_of(route)
        return tail, Spied(tail, pattern)

    pattern_of = route_matching._pattern
    monkeypatch.setattr(route_matching, "_pattern", spied)
    path = "/v" + piece * 1_000 + end
    recognize(method, path, {})
    assert searched and all(path.rstrip("/").endswith(tail) for tail in searched)


def test_what_no_request_to_an_upstream_can_hold_is_refused(house: House) -> None:
    gateway = house.gateway()
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    path = "/v1beta/models/google-generate-content%2F..%2F..%2Ffiles:generateContent"
    reply = house.ask(gateway, "POST", path, json=body)
    assert reply.status_code == 400 and "cannot be part of a URL" in reply.text
    headers = {"anthropic-beta": "caf\xe9".encode("latin-1")}
    reply = ask(house, gateway, "anthropic-messages", "/v1/messages", headers=headers, max_tokens=9)
    assert reply.status_code == 400 and "anthropic-beta" in reply.text and not house.seen


@pytest.mark.parametrize("method", ["generateContent", "streamGenerateContent", "countTokens"])
def test_a_request_with_a_slash_in_its_path_is_answered(house: House, method: str) -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    reply = house.ask(house.gateway(), "POST", f"/v1beta/openai-chat/echo:{method}?alt=sse", json=body)
    assert reply.status_code == 200
    assert ("totalTokens" if method == "countTokens" else '"Hi"') in reply.text


@pytest.mark.parametrize(
    ("model", "named", "status", "message"),
    [
        ("nowhere/x", None, 404, "not found"),
        ("mystery", None, 404, "provider/model"),
        ("google/gemini-3-pro-preview", None, 404, "not found"),  # a provider that is not served here
        ("http://evil.example/v1", None, 404, "not found"),
        ("x", "http://evil.example", 404, "unknown upstream"),
        ("x", "onee", 404, "did you mean 'one'?"),
        (None, None, 400, "no model given"),
        (None, "local", 400, "no model given"),
    ],
)
def test_names_that_lead_nowhere(model: str | None, named: str | None, status: int, message: str) -> None:
    with pytest.raises(Refusal, match=message.replace("?", r"\?")) as caught:
        table().resolve(model, Key(), named)
    assert caught.value.status == status


def test_a_target_that_does_not_exist_is_told_at_the_start() -> None:
    with pytest.raises(ConfigError) as caught:
        table(fast=["onne/x"], slow=["{model}"])
    assert caught.value.problems == ["models.fast: unknown upstream 'onne'; did you mean 'one'?"]


@pytest.mark.parametrize(
    ("model", "key", "hint"),
    [
        ("fastt", {}, "; did you mean 'fast'?"),
        ("fixd", {}, "; did you mean 'fixed'?"),
        ("opnai/gpt-5.5", {}, "; did you mean 'openai'?"),
        ("onne/x", {}, "; did you mean 'one'?"),
        ("mistrl/x", {}, "; provider 'mistral' is not served: add it to gateway.providers"),
        ("zzz", {}, "; name it provider/model"),
        # No name that the key may not request, or whose targets it may not reach.
        ("fastt", {"models": ("fastt", "two/*")}, "; name it provider/model"),
        ("fastt", {"upstreams": ("two",)}, "; name it provider/model"),
        ("onne/x", {"upstreams": ("two",)}, ""),
    ],
)
def test_a_misspelled_model_has_the_nearest_name_that_the_key_may_use(model: str, key: Any, hint: str) -> None:
    router = table(fast=["one/small"])
    with pytest.raises(Refusal) as caught:
        router.resolve(model, Key(**key))
    assert (caught.value.status, str(caught.value)) == (404, f"model {model!r} not found{hint}")


def keyless(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("anthropic/claude-opus-4-7", "provider 'anthropic' is not served: set ANTHROPIC_API_KEY"),
        ("google/x", "provider 'google' is not served: set GEMINI_API_KEY"),
        ("claude-opus-4-7", "provider 'anthropic' is not served: set ANTHROPIC_API_KEY"),  # by the catalog
        ("ollama/qwen3", "provider 'ollama' is not served: add it to gateway.providers"),  # it needs no key
    ],
)
def test_a_provider_that_is_not_served_is_told_with_what_it_takes(
    monkeypatch: pytest.MonkeyPatch, model: str, hint: str
) -> None:
    keyless(monkeypatch)
    with pytest.raises(Refusal) as caught:
        Router(config()).resolve(model, Key())
    assert (caught.value.status, str(caught.value)) == (404, f"model {model!r} not found; {hint}")


def test_a_target_whose_provider_is_not_served_is_told_with_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    keyless(monkeypatch)
    with pytest.raises(ConfigError) as caught:
        Router(config(models={"claude-*": "anthropic/{model}"}))
    reason = "provider 'anthropic' is not served: set ANTHROPIC_API_KEY"
    assert caught.value.problems == [f"models.claude-*: unknown upstream 'anthropic'; {reason}"]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with pytest.raises(ConfigError) as caught:
        Router(config(models={"claude-*": "anthropic/{model}"}, gateway={"providers": ["local"]}))
    assert caught.value.problems[0].endswith("provider 'anthropic' is not served: add it to gateway.providers")


def test_providers_are_those_with_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keyless(monkeypatch)
    assert "local" in providers_with_keys() and "mistral" not in providers_with_keys()
    monkeypatch.setenv("MISTRAL_API_KEY", "k")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    found = providers_with_keys()
    assert found.index("openai") < found.index("mistral")


def test_fallbacks_in_their_order(house: House) -> None:
    down = Canned(httpx2.Response(503, json={"error": {"message": "busy"}}))
    gone = Canned(httpx2.ConnectError("refused"))
    good = Canned(MESSAGE, protocol="anthropic-messages", base_url="http://other")
    gateway = house.gateway(
        {"down": down.upstream, "gone": gone.upstream, "good": good.upstream}, models={"m": ["down", "gone", "good"]}
    )
    done = ask(house, gateway)
    assert done.json()["choices"][0]["message"]["content"] == "Hello" and done.json()["model"] == "m"
    hops = json.loads(done.headers["x-unified-llm-hops"])
    assert hops["count"] == 2 and done.headers["x-unified-llm-upstream"] == "canned/up-1"
    assert [len(each.seen) for each in (down, gone, good)] == [1, 1, 1]
    only = ask(house, gateway, headers={"x-llm-upstream": "gone"})
    assert only.status_code == 502 and only.json()["error"]["message"]
    assert len(good.seen) == 1


def test_levels_of_a_route(house: House) -> None:
    good = Canned(MESSAGE, protocol="anthropic-messages")
    route = {"to": ["good"], "on_loss": {"sampling.*": "raise"}}
    gateway = house.gateway({"good": good.upstream}, models={"m": route})
    done = ask(house, gateway, seed=7)
    assert done.status_code == 400 and "sampling.seed" in done.text and not good.seen
    assert ask(house, gateway).status_code == 200


def test_what_was_lost_is_in_a_header(house: House) -> None:
    gateway = house.gateway({"m": Canned(MESSAGE, protocol="anthropic-messages").upstream})
    found = json.loads(ask(house, gateway, seed=7).headers["x-unified-llm-losses"])
    assert ["/seed", "sampling.seed", "lost", "source"] in found["first"]


# ---- the same protocol on both sides --------------------------------------------------------------------------------

ODD = b'{"messages":[ {"content":"Hi", "role":"user", "x":1.0} ],\n "model" : "up-1", "mystery":{"b":null,"a":[1e3]}%s}'
ANSWER = b'{"id":"c",  "object":"chat.completion","created":1,"model":"up-1-2026","choices":[],"mystery":null}'


def raw(house: House, gateway: Any, body: bytes, **headers: str) -> httpx2.Response:
    return house.ask(
        gateway, "POST", "/v1/chat/completions", content=body, headers={"content-type": "application/json", **headers}
    )


def test_bytes_go_through_both_ways(house: House) -> None:
    said = Canned(lambda: httpx2.Response(200, content=ANSWER, headers={"content-type": "application/json"}))
    gateway = house.gateway({"up-1": said.upstream})
    done = raw(house, gateway, ODD % b"", **{"openai-organization": "org-x", "user-agent": "q"})
    assert done.content == ANSWER and said.seen[0].content == ODD % b""
    assert json.loads(done.headers["x-unified-llm-losses"]) == {"count": 0, "first": []}
    assert "openai-organization" not in said.seen[0].headers, "of the client's own account"


def test_versions_and_betas_go_with_the_bytes(house: House) -> None:
    said = Canned(MESSAGE, protocol="anthropic-messages", base_url="http://up", model=None)
    gateway = house.gateway({"claude": said.upstream}, models={"claude-up": ["claude/claude-up"]})
    body = b'{"model": "claude-up",  "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}'
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "anthropic-beta": "a-1,b-2"}
    done = house.ask(gateway, "POST", "/v1/messages?beta=true", content=body, headers=headers)
    (seen,) = said.seen
    assert done.json() == MESSAGE and seen.content == body
    assert (seen.headers["anthropic-version"], seen.headers["anthropic-beta"]) == ("2023-06-01", "a-1,b-2")


def test_a_stream_goes_through_as_it_is(house: House) -> None:
    said = Canned(lambda: streamed(*CHAT_STREAM, b": bye\n\n"))
    done = raw(house, house.gateway({"up-1": said.upstream}), ODD % b',"stream":true')
    assert (
        done.content == b"".join((*CHAT_STREAM, b": bye\n\n")) and done.headers["content-type"] == "text/event-stream"
    )


def test_a_stream_that_breaks_off_ends_in_an_error(house: House) -> None:
    said = Canned(lambda: streamed(*frames(chunk({"role": "assistant", "content": "Hel"})), httpx2.ReadError("gone")))
    done = raw(house, house.gateway({"up-1": said.upstream}), ODD % b',"stream":true')
    events = [json.loads(each[6:]) for each in done.text.split("\n\n") if each.startswith("data: {")]
    assert "connection closed" in events[-1]["error"]["message"] and "[DONE]" not in done.text
    assert said.bodies[0].closed


def test_an_error_of_the_upstream_keeps_its_words(house: House) -> None:
    document = {"error": {"message": "too much", "type": "rate", "code": "slow", "param": None}}
    said = Canned(lambda: httpx2.Response(429, json=document, headers={"retry-after": "7"}))
    done = raw(house, house.gateway({"up-1": said.upstream}), ODD % b"")
    assert (done.status_code, done.json(), done.headers["retry-after"]) == (429, document, "7")
    assert len(said.seen) == 1
    gone = Canned(httpx2.ConnectError("refused"))
    assert raw(house, house.gateway({"up-1": gone.upstream}), ODD % b"").status_code == 502
    slow = Canned(httpx2.ReadTimeout("slow"))
    assert raw(house, house.gateway({"up-1": slow.upstream}), ODD % b"").status_code == 504


def test_a_refused_history_is_repaired_and_sent_once_more(house: House) -> None:
    def answer() -> httpx2.Response:
        whole = all(each.get("content") != "" for each in said.sent[-1]["messages"])
        refusal = {"error": {"message": "empty", "type": "invalid_request_error"}}
        return httpx2.Response(200, json=CHAT) if whole else httpx2.Response(400, json=refusal)

    said = Canned(answer)
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    broken = [*ASKED, {"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "user", "content": "well?"}]
    body = json.dumps({"model": "up-1", "messages": broken}).encode()
    done = raw(house, house.gateway({"up-1": said.upstream}), body)
    assert len(said.seen) > 1 and said.seen[0].content == body
    assert said.sent[-1]["messages"] != broken, "with a result for the call"
    assert done.status_code in (200, 400)


@pytest.mark.parametrize("what", ["fallback", "alias", "fields", "stored", "envelope"])
def test_what_has_to_change_is_converted(house: House, what: str) -> None:
    protocol = "openai-responses" if what == "stored" else "openai-chat"
    said = Canned(CHAT, protocol=protocol, fixed={"x": 1} if what == "fields" else {})
    to = ["up", "up"] if what == "fallback" else ["up"]
    gateway = house.gateway({"up": said.upstream}, models={"alias" if what == "alias" else "up-1": to})
    if what == "stored":
        body = b'{"input":"Hi",  "model":"up-1"}'
        house.ask(gateway, "POST", "/v1/responses", content=body, headers={"content-type": "application/json"})
    else:
        body = (ODD % b"").replace(b"up-1", b"alias") if what == "alias" else ODD % b""
        if what == "envelope":  # what another provider signed has to be opened, and kept from this one
            body = ODD % (b',"y":"%s"' % base64.b64encode(b"unified_llm:...."))
        raw(house, gateway, body)
    assert said.seen[0].content != body and json.loads(said.seen[0].content)["model"] == "up-1"


@pytest.mark.parametrize("surface", ["openai-chat", "anthropic-messages"])
def test_an_error_of_an_upstream_names_it_and_one_of_the_gateway_does_not(house: House, surface: str) -> None:
    up = Canned(refusal(401, openai("invalid_request_error", "invalid_api_key")), model="m")
    gateway = house.gateway({"one": up.upstream})
    body = {"model": "one", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    found = house.ask(gateway, "POST", ROUTES[surface], json=body)
    assert found.status_code == 401
    assert found.headers["x-unified-llm-upstream"] == "canned/m"
    assert found.headers["x-unified-llm-protocol"] == "openai-chat"
    found = house.ask(gateway, "POST", ROUTES[surface], json={**body, "model": "two"})
    assert found.status_code == 404 and "x-unified-llm-upstream" not in found.headers
