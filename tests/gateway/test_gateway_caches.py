"""Cached contents through the official SDK: kept for the tenant, put in front of requests, for every upstream."""

from __future__ import annotations

import base64
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google import genai
from google.genai import types

from gateway.serving import PROTOCOLS, House, Served
from gateway.test_gateway_files import GOOGLE, PDF, google_of, openai_of, within
from unified_llm.client.transports.report_headers import LOSSES
from unified_llm.foundation.secret import Secret
from unified_llm.gateway.access.callers import new_key
from unified_llm.gateway.state.file_references import References, _read

CONTENTS: Any = [
    types.UserContent("The first question."),
    types.ModelContent("The first answer."),
]
TOOL = types.Tool(
    function_declarations=[types.FunctionDeclaration(name="get_weather", parameters_json_schema={"type": "object"})]
)
PROMPT: Any = {"system_instruction": "Be brief.", "tools": [TOOL]}
MODEL = "google-generate-content"


def test_the_sdk_manages_caches(house: House, database: str) -> None:
    async def use(http: Any) -> None:
        caches = google_of(http).aio.caches
        made = await caches.create(
            model=MODEL, config={"contents": CONTENTS, "ttl": "600s", "display_name": "Mine", **PROMPT}
        )
        assert made.name is not None and made.expire_time is not None and made.create_time is not None
        assert (made.model, made.display_name) == (f"models/{MODEL}", "Mine")
        assert timedelta(seconds=599) < made.expire_time - made.create_time < timedelta(seconds=601)
        assert made.usage_metadata is not None and made.usage_metadata.total_token_count
        assert (await caches.get(name=made.name)) == made
        later = await caches.update(name=made.name, config={"ttl": "1200s"})
        assert later.expire_time is not None and later.expire_time > made.expire_time
        until = datetime.now(UTC) + timedelta(hours=2)
        later = await caches.update(name=made.name, config={"expire_time": until})
        assert later.expire_time is not None and abs(later.expire_time - until) < timedelta(seconds=2)
        other = await caches.create(model=MODEL, config={"contents": CONTENTS})
        assert other.expire_time is not None and other.create_time is not None
        assert other.expire_time - other.create_time == timedelta(hours=1), "the API's default"
        names = [each.name async for each in await caches.list(config={"page_size": 1})]
        assert names == [other.name, made.name], "two pages"
        await caches.delete(name=made.name)
        again = caches.update(name=made.name, config={"ttl": "1s"})
        for gone in (caches.get(name=made.name), caches.delete(name=made.name), again):
            with pytest.raises(genai.errors.ClientError) as caught:
                await gone
            assert caught.value.code == 404 and caught.value.status == "NOT_FOUND"
        assert (await openai_of(http).files.list()).data == [], "caches are no files"

    within(house, use, url=database)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("stream", [False, True])
def test_a_cached_prompt_gives_the_request_of_the_whole(house: House, protocol: str, stream: bool) -> None:
    async def use(http: Any) -> None:
        models, caches = google_of(http).aio.models, google_of(http).aio.caches
        call: Any = models.generate_content_stream if stream else models.generate_content
        cache = await caches.create(model=protocol, config={"contents": CONTENTS, **PROMPT})
        for config, contents in (
            ({"cached_content": cache.name}, "The second question."),
            (PROMPT, [*CONTENTS, types.UserContent("The second question.")]),
        ):
            found = await call(model=protocol, contents=contents, config={**config, "temperature": 0.5})
            texts = [each.text async for each in found] if stream else [found.text]
            assert "The second question." in "".join(texts)

    within(house, use, house.gateway())
    cached, whole = (seen.body for seen in house.seen)
    assert cached == whole and "cached" not in json.dumps(cached).lower()
    assert "The first answer." in json.dumps(cached) and "get_weather" in json.dumps(cached)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_call_in_the_cache_and_its_result_in_the_request_are_a_pair(house: House, protocol: str) -> None:
    gateway = house.gateway()
    text, call = {"text": "I look."}, {"functionCall": {"name": "f", "args": {}}}
    cached = [{"role": "user", "parts": [{"text": "One."}]}, {"role": "model", "parts": [text, call]}]
    result = {"functionResponse": {"name": "f", "response": {"result": "4"}}}
    request = [{"role": "user", "parts": [result, {"text": "And?"}]}]
    body: Any = {"model": f"models/{protocol}", "contents": cached}
    name = house.ask(gateway, "POST", "/v1beta/cachedContents", headers=GOOGLE, json=body).json()["name"]
    for contents, more in ((request, {"cachedContent": name}), ([*cached, *request], {})):
        asked = {"contents": contents, **more}
        done = house.ask(gateway, "POST", f"/v1beta/models/{protocol}:generateContent", headers=GOOGLE, json=asked)
        assert done.status_code == 200, done.text
    assert house.seen[0].body == house.seen[1].body


def test_the_last_content_of_a_cache_and_the_first_of_a_request_stay_apart(house: House) -> None:
    """Both are the first of their documents, and consist of several items."""
    one, other = (
        [{"role": "user", "parts": [{"text": word}, {"functionResponse": {"name": "f", "response": {}}}]}]
        for word in ("One.", "Two.")
    )
    references = References(house.gateway().turns.files, "request", Secret(b"x" * 32))
    references._is_loaded = True
    references._cached = _read(MODEL, "request", {"contents": one}, references.secret)
    body = {"contents": other, "cachedContent": "cachedContents/a"}
    assert references.put(body, MODEL, ()) == {"contents": [*one, *other]}


def test_what_was_done_is_reported(house: House) -> None:
    gateway = house.gateway()
    made = house.ask(gateway, "POST", "/v1beta/cachedContents", headers=GOOGLE, json={
        "model": "models/echo", "contents": [{"role": "user", "parts": [{"text": "One."}]}]})  # fmt: skip
    for spelling in ("cachedContent", "cached_content"):
        body = {"contents": [{"role": "user", "parts": [{"text": "Two."}]}], spelling: made.json()["name"]}
        headers = {**GOOGLE, "x-llm-upstream": MODEL}  # the same protocol and model: its bytes could go through
        done = house.ask(gateway, "POST", "/v1beta/models/echo:generateContent", json=body, headers=headers)
        assert done.status_code == 200, done.text
        told = json.loads(done.headers[LOSSES])
        assert ["/cachedContent", "cache.key", "emulated", "source"] in told["first"] and told["count"] >= 1
        assert "One." in json.dumps(house.seen[-1].body) and "cachedContents" not in json.dumps(house.seen[-1].body)
    counted = house.ask(gateway, "POST", "/v1beta/models/echo:countTokens", json=body, headers=headers)
    assert counted.status_code == 200
    spoken = {"model": "openai-chat", "input": "Two.", "cached_content": "cachedContents/none"}
    assert house.ask(gateway, "POST", "/v1beta/interactions", json=spoken, headers=GOOGLE).status_code == 404


def test_a_cache_may_contain_files_and_outlives_them(house: House) -> None:
    async def use(http: Any) -> None:
        client = google_of(http).aio
        file = await client.files.upload(file=io.BytesIO(PDF), config={"mime_type": "application/pdf"})
        contents: Any = [types.Content(role="user", parts=[types.Part.from_uri(
            file_uri=file.uri or "", mime_type="application/pdf")])]  # fmt: skip
        cache = await client.caches.create(model="anthropic-messages", config={"contents": contents})
        await client.files.delete(name=file.name or "")
        with pytest.raises(genai.errors.ClientError, match="not found"):
            await client.caches.create(model="anthropic-messages", config={"contents": contents})
        config: Any = {"cached_content": cache.name}
        await client.models.generate_content(model="anthropic-messages", contents="Read.", config=config)

    within(house, use, house.gateway())
    assert base64.b64encode(PDF).decode() in json.dumps(house.seen[-1].body)


@pytest.mark.parametrize(
    ("model", "more", "status", "said"),
    [
        ("openai-chat", {}, 400, "for model"),
        (MODEL, {"systemInstruction": {"parts": [{"text": "Be kind."}]}}, 400, "systemInstruction"),
        (MODEL, {"tools": [{"functionDeclarations": [{"name": "f"}]}]}, 400, "tools"),
        (MODEL, {"cachedContent": "cachedContents/unknown"}, 404, "unknown"),
    ],
)
def test_requests_that_do_not_fit_a_cache(house: House, model: str, more: Any, status: int, said: str) -> None:
    gateway = house.gateway()
    contents = [{"role": "user", "parts": [{"text": "One."}]}]
    body = {"model": f"models/{MODEL}", "contents": contents, "tools": [{"googleSearch": {}}]}
    made = house.ask(gateway, "POST", "/v1beta/cachedContents", headers=GOOGLE, json=body).json()
    asked = {"contents": contents, "cachedContent": made["name"], **more}
    done = house.ask(gateway, "POST", f"/v1beta/models/{model}:generateContent", headers=GOOGLE, json=asked)
    assert done.status_code == status and said in done.json()["error"]["message"] and not house.seen


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"contents": [{"role": "user", "parts": [{"text": "x"}]}]}, 400, "model"),
        ({"model": "models/m"}, 400, "empty"),
        ({"model": "models/m", "contents": "x"}, 400, "contents"),
        ({"model": "models/m", "contents": [], "ttl": "5"}, 400, "duration"),
        ({"model": "models/m", "contents": [], "expireTime": "2001-01-01T00:00:00Z"}, 400, "future"),
        ({"model": "models/m", "contents": [], "expireTime": "0001-01-01T00:00:00"}, 400, "future"),
        ({"model": "models/m", "contents": [{"role": "user", "parts": [{"text": "x" * 300}]}]}, 413, "200 bytes"),
    ],
)
def test_caches_that_cannot_be(house: House, body: Any, status: int, said: str) -> None:
    gateway = house.gateway(state={"url": "sqlite://", "max_file": 200})
    done = house.ask(gateway, "POST", "/v1beta/cachedContents", headers=GOOGLE, json=body)
    assert done.status_code == status and said in done.json()["error"]["message"]
    assert house.ask(gateway, "GET", "/v1beta/cachedContents", headers=GOOGLE).json() == {"cachedContents": []}


def test_tenants_never_meet(house: House, database: str) -> None:
    keys = {name: new_key() for name in ("blue", "red")}
    gateway = house.gateway(
        state={"url": database}, keys={name: {"sha256": digest} for name, (_, digest) in keys.items()}
    )
    blue, red = ({"x-goog-api-key": key} for key, _ in keys.values())
    contents = [{"role": "user", "parts": [{"text": "A secret of blue."}]}]
    body = {"model": f"models/{MODEL}", "contents": contents}
    name = house.ask(gateway, "POST", "/v1beta/cachedContents", headers=blue, json=body).json()["name"]
    used = {"contents": [{"role": "user", "parts": [{"text": "Tell."}]}], "cachedContent": name}
    path = f"/v1beta/models/{MODEL}:generateContent"
    assert house.ask(gateway, "POST", path, headers=blue, json=used).status_code == 200
    foreign = house.ask(gateway, "POST", path, headers=red, json=used)
    never = house.ask(gateway, "POST", path, headers=red, json={**used, "cachedContent": "cachedContents/never"})
    assert foreign.status_code == 404 and foreign.text.replace(name, "cachedContents/never") == never.text
    for method in ("GET", "PATCH", "DELETE"):
        assert house.ask(gateway, method, f"/v1beta/{name}", headers=red, json={"ttl": "5s"}).status_code == 404
    assert house.ask(gateway, "GET", "/v1beta/cachedContents", headers=red).json() == {"cachedContents": []}
    assert len(house.seen) == 1


def test_the_synchronous_sdk_over_a_server(served: Served, house: House) -> None:
    client = genai.Client(api_key="x", http_options={"base_url": served.url})
    cache = client.caches.create(model="openai-responses", config={"contents": CONTENTS, **PROMPT})
    assert cache.name in {each.name for each in client.caches.list()}
    config: Any = {"cached_content": cache.name}
    found = client.models.generate_content(model="openai-responses", contents="Two.", config=config)
    assert found.text and "The first question." in json.dumps(house.seen[-1].body)
    client.caches.delete(name=cache.name or "")
