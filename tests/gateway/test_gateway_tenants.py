"""Tenants never meet: reasoning state, stored responses, runs and the request log; a rotated key keeps all of it.

Files and cached contents have such tests beside their own (`test_gateway_file_use.py`, `test_gateway_caches.py`).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.serving import House
from sealed import opaque
from unified_llm.gateway.access.callers import new_key
from unified_llm.gateway.app import Gateway

Headers = dict[str, str]
GOOGLE = {"x-goog-api-client": "tests"}


def of_two(house: House, **state: Any) -> tuple[Gateway, Headers, Headers, Headers]:
    """A gateway, and the keys of tenant blue, its successor, and tenant red."""
    keys = {name: new_key() for name in ("blue", "blue2", "red")}
    tables = {name: {"sha256": digest, "tenant": name.removesuffix("2")} for name, (_, digest) in keys.items()}
    log = {"log": "logging"}
    gateway = house.gateway(state={"url": "sqlite://", **state}, keys=tables, telemetry=log)
    blue, rotated, red = ({"authorization": f"Bearer {key}"} for key, _ in keys.values())
    return gateway, blue, rotated, red


def test_reasoning_state_is_restored_for_its_tenant_alone(house: House) -> None:
    """A client that sends back nothing but texts and calls gets its signatures from the vault."""
    gateway, blue, rotated, red = of_two(house)
    ask = {"role": "user", "content": "[[reason Hm.]] [[call get_weather city=Oslo]] [[then]] It is: [[results]]"}
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": parameters}}]

    def said(headers: Headers, *messages: Any) -> Any:
        body = {"model": "anthropic-messages", "messages": messages, "tools": tools, "reasoning_effort": "low"}
        done = house.ask(gateway, "POST", "/v1/chat/completions", json=body, headers=headers)
        assert done.status_code == 200, done.text
        return done.json()["choices"][0]["message"]

    call = said(blue, ask)["tool_calls"][0]
    plain = {key: call[key] for key in ("id", "type", "function")}
    history = (ask, {"role": "assistant", "content": None, "tool_calls": [plain]},
               {"role": "tool", "tool_call_id": call["id"], "content": "4 degrees"})  # fmt: skip
    for headers, restored in ((red, False), (blue, True), (rotated, True), (red, False)):
        said(headers, *history)
        assert bool(list(opaque(house.seen[-1].body))) == restored, headers


def test_the_log_is_the_administrators_and_has_no_secret_of_an_upload(house: House) -> None:
    gateway, blue, _, red = of_two(house)
    start = {**blue, "x-goog-upload-protocol": "resumable", "x-goog-upload-command": "start",
             "x-goog-upload-header-content-length": "1"}  # fmt: skip
    url = house.ask(gateway, "POST", "/upload/v1beta/files", headers=start, json={}).headers["x-goog-upload-url"]
    last = {"x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "0"}
    assert house.ask(gateway, "POST", url, headers=last, content=b"x").status_code == 200
    body = {"model": "models/openai-chat", "contents": [{"role": "user", "parts": [{"text": "A secret of blue."}]}]}
    name = house.ask(gateway, "POST", "/v1beta/cachedContents", headers={**blue, **GOOGLE}, json=body).json()["name"]
    asked = {"contents": body["contents"], "cachedContent": name}
    path = "/v1beta/models/openai-chat:generateContent"
    assert house.ask(gateway, "POST", path, headers={**blue, **GOOGLE}, json=asked).status_code == 200
    for headers in (blue, red):
        assert house.ask(gateway, "GET", "/requests", headers=headers).status_code == 403
    lines = [json.loads(each) for each in gateway.recorder.kept]
    assert [each["tenant"] for each in lines[:2]] == ["blue", "blue"], "the URL of an upload stands for its tenant"
    assert url.partition("upload_id=")[2].partition("&")[0] not in str(lines) and "A secret" not in str(lines)
    assert any(each.get("losses", {}).get("cache.key") == 1 for each in lines)


@pytest.mark.parametrize("path", ["/v1/responses", "/v1beta/interactions"])
@pytest.mark.parametrize("background", [False, True])
def test_stored_responses_are_their_tenants(house: House, path: str, background: bool, database: str) -> None:
    gateway, blue, rotated, red = of_two(house, url=database)
    body = {"model": "openai-chat", "input": "A secret of blue.", "store": True, "background": background}
    id_ = house.ask(gateway, "POST", path, json=body, headers=blue).json()["id"]
    previous = "previous_response_id" if path.endswith("responses") else "previous_interaction_id"
    following = {"model": "openai-chat", "input": "Go on.", previous: id_}

    def ids(headers: Headers, id_: str) -> list[tuple[int, str]]:
        done = [
            house.ask(gateway, "GET", f"{path}/{id_}", headers=headers),
            house.ask(gateway, "GET", f"{path}/{id_}?stream=true", headers=headers),
            house.ask(gateway, "POST", f"{path}/{id_}/cancel", headers=headers),
            house.ask(gateway, "DELETE", f"{path}/{id_}", headers=headers),
            house.ask(gateway, "POST", path, json={**following, previous: id_}, headers=headers),
        ]
        return [(each.status_code, each.text.replace(id_, "ID")) for each in done]

    foreign = ids(red, id_)
    continued = 400 if path.endswith("responses") else 404
    assert [status for status, _ in foreign] == [404] * 4 + [continued] and "secret" not in str(foreign)
    assert foreign == ids(red, f"{id_[:-4]}0000"), "as one that never was"
    assert house.ask(gateway, "GET", f"{path}/{id_}", headers=rotated).status_code == 200
    done = house.ask(gateway, "POST", path, json=following, headers=rotated)
    while done.status_code == continued and background:  # not before the run has ended
        done = house.ask(gateway, "POST", path, json=following, headers=rotated)
    assert done.status_code == 200 and "A secret of blue." in json.dumps(house.seen[-1].body)
    assert house.ask(gateway, "DELETE", f"{path}/{id_}", headers=rotated).status_code == 200
