"""Reasoning state that clients drop: given back by any node and after a restart, to its tenant, until it is deleted."""

from __future__ import annotations

import json
from typing import Any

import pytest
import sqlalchemy as sa

from gateway.background import begun, ended
from gateway.serving import House
from gateway.strict_client import RESPONSES
from unified_llm.gateway.access.callers import new_key
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.state.database import vault
from unified_llm.gateway.state.vault import Continuity

ASKED = "[[reason Hm.]] [[call get_weather city=Oslo]] [[then]] Rain."
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
CHAT_TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}
TOOL = {"type": "function", "name": "get_weather", "parameters": SCHEMA}
WEATHER = {"name": "get_weather", "arguments": '{"city":"Oslo"}'}
CHAT = "/v1/chat/completions"
UPSTREAMS = pytest.mark.parametrize("upstream", ["anthropic-messages", "google-generate-content"])


def chat(house: House, gateway: Gateway, upstream: str, messages: list[Any], stream: bool, **options: Any) -> Any:
    body = {"model": upstream, "messages": messages, "tools": [CHAT_TOOL], "stream": stream}
    done = house.ask(gateway, "POST", CHAT, json=body, **options)
    assert done.status_code == 200, done.text
    if not stream:
        return done.json()["choices"][0]["message"]
    calls: dict[int, Any] = {}
    for line in done.text.split("\n"):
        if line.startswith("data: {"):
            for choice in json.loads(line[6:])["choices"]:
                for each in choice["delta"].get("tool_calls", ()):
                    call = calls.setdefault(each["index"], {"function": {"name": "", "arguments": ""}})
                    call["id"] = each.get("id") or call["id"]
                    for name, text in each.get("function", {}).items():
                        call["function"][name] += text or ""
    return {"tool_calls": list(calls.values())}


def dropped(first: Any) -> list[Any]:
    """The conversation as a client sends it back that keeps nothing but what Chat Completions has always had."""
    calls = [
        {"id": each["id"], "type": "function", "function": {k: each["function"][k] for k in ("name", "arguments")}}
        for each in first["tool_calls"]
    ]
    return [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": calls[0]["id"], "content": "rain"},
    ]


def has_state(house: House) -> bool:
    """Whether the upstream got a signature of its own back, and not what Google wants in the place of one."""
    said = json.dumps(house.seen[-1].body)
    return "ignature" in said and "skip_thought_signature_validator" not in said


def entries(house: House, gateway: Gateway) -> int:
    async def counted() -> int:
        async with gateway.store.connection() as connection:
            return int((await connection.execute(sa.select(sa.func.count()).select_from(vault))).scalar_one())

    return house.run(counted())


@UPSTREAMS
@pytest.mark.parametrize("stream", [False, True])
def test_another_node_gives_back_what_a_client_dropped(
    house: House, upstream: str, stream: bool, database: str
) -> None:
    one, other = (house.gateway(state={"url": database}) for _ in range(2))
    first = chat(house, one, upstream, [{"role": "user", "content": ASKED}], stream)
    assert entries(house, other) >= 1
    house.run(one.aclose())
    chat(house, other, upstream, dropped(first), stream)
    assert has_state(house)
    changed = dropped(first)
    changed[0]["content"] += " Please."
    chat(house, other, upstream, changed, stream)
    assert not has_state(house), "of another conversation"


@pytest.mark.parametrize("kept", ["all", "first", "last", "none"])
def test_what_a_client_keeps_of_several_signatures_is_not_taken_for_all(house: House, kept: str) -> None:
    """The SDK of OpenAI for JavaScript keeps the last value that an undeclared field has in a stream."""
    gateway, upstream = house.gateway(), "google-interactions"
    prompt = {"role": "user", "content": "[[reason Hm.]] Looking. [[call get_weather city=Oslo]] [[then]] Rain."}
    body = {"model": upstream, "messages": [prompt], "tools": [CHAT_TOOL], "stream": True}
    streamed = house.ask(gateway, "POST", CHAT, json=body).text
    frames = [json.loads(line[6:]) for line in streamed.split("\n") if line.startswith("data: {")]
    deltas = [choice["delta"] for frame in frames for choice in frame["choices"]]
    details = [entry for each in deltas for entry in each.get("reasoning_details") or ()]
    (call,) = [each["tool_calls"][0]["id"] for each in deltas if each.get("tool_calls", [{}])[0].get("id")]
    messages = [prompt, *dropped({"tool_calls": [{"id": call, "function": WEATHER}]})[1:]]
    some = {"all": details, "first": details[:1], "last": details[-1:], "none": []}[kept]
    messages[1] |= {"content": "Looking.", **({"reasoning_details": some} if some else {})}
    chat(house, gateway, upstream, messages, True)
    signed = [step["type"] for step in house.seen[-1].body["input"] if "signature" in step]
    assert len(details) == 2 and signed == ["thought", "thought"]


def test_tenants_have_vaults_of_their_own(house: House, database: str) -> None:
    (mine, digest), (theirs, another), (rotated, third) = new_key(), new_key(), new_key()
    keys = {"blue": {"sha256": digest}, "red": {"sha256": another}, "blue2": {"sha256": third, "tenant": "blue"}}
    one, other = (house.gateway(keys=keys, state={"url": database}) for _ in range(2))
    asked = [{"role": "user", "content": ASKED}]
    first = chat(house, one, "anthropic-messages", asked, False, headers={"x-api-key": mine})
    for gateway in (one, other):
        for key, has in ((theirs, False), (rotated, True)):
            chat(house, gateway, "anthropic-messages", dropped(first), False, headers={"x-api-key": key})
            assert has_state(house) == has


@pytest.mark.parametrize("background", [False, True])
def test_deleting_a_response_deletes_what_it_left_in_the_vault(house: House, background: bool, database: str) -> None:
    one, other = (house.gateway(state={"url": database}) for _ in range(2))
    body = {"model": "anthropic-messages", "input": ASKED, "tools": [TOOL]}
    assert house.ask(one, "POST", RESPONSES, json={**body, "store": False}).status_code == 200
    assert entries(house, one) == 0, "store: false keeps nothing"
    if background:
        house.run(one.runs.start())
        made = begun(house, one, RESPONSES, "anthropic-messages", ASKED, tools=[TOOL])
        made = ended(house, one, RESPONSES, made["id"])
    else:
        made = house.ask(one, "POST", RESPONSES, json=body).json()
    assert entries(house, one) >= 1
    (call,) = [each for each in made["output"] if each["type"] == "function_call"]
    said = {name: call[name] for name in ("type", "call_id", "name", "arguments")}
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}
    again = {**body, "input": [{"role": "user", "content": ASKED}, said, result], "store": False}
    for gateway in (one, other):
        assert house.ask(gateway, "POST", RESPONSES, json=again).status_code == 200
        assert has_state(house)
    assert house.ask(one, "DELETE", f"{RESPONSES}/{made['id']}").status_code == 200
    assert entries(house, one) == 0
    assert house.ask(one, "POST", RESPONSES, json=again).status_code == 200
    assert not has_state(house)


def test_what_no_node_has_is_looked_for_once(house: House, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = house.gateway(state={"url": database})
    fetched: list[int] = []
    fetch = Continuity.fetch

    async def counted(self: Any, tenant: str, keys: list[str]) -> bool:
        fetched.append(len(keys))
        return await fetch(self, tenant, keys)

    monkeypatch.setattr(Continuity, "fetch", counted)
    unknown = dropped({"tool_calls": [{"id": "call_1", "function": {"name": "get_weather", "arguments": "{}"}}]})
    chat(house, gateway, "anthropic-messages", unknown, False)
    assert not fetched, "the table is empty"
    chat(house, gateway, "anthropic-messages", [{"role": "user", "content": ASKED}], False)
    for _ in range(3):
        chat(house, gateway, "anthropic-messages", unknown, False)
    assert len(fetched) == 1


def test_another_node_keeps_the_ids_of_calls_that_a_client_drops_over_other_upstreams(
    house: House, database: str
) -> None:
    """Thinking is bound to the ids of its calls, which clients of generateContent may leave out."""
    one, other = (house.gateway(state={"url": database}) for _ in range(2))
    prompt = {
        "role": "user",
        "parts": [{"text": "[[reason Hm.]] Looking. [[call get_weather city=Oslo]] [[then]] Rain."}],
    }
    thinking = {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": 2000}}
    body = {"tools": [{"functionDeclarations": [{"name": "get_weather", "parameters": SCHEMA}]}]}

    def generated(gateway: Gateway, upstream: str, contents: list[Any]) -> Any:
        path = f"/v1beta/models/{upstream}:generateContent"
        done = house.ask(gateway, "POST", path, json={**body, "contents": contents, "generationConfig": thinking})
        assert done.status_code == 200, done.text
        return done.json()["candidates"][0]["content"]

    said = generated(one, "anthropic-messages", [prompt])
    (own,) = [part["functionCall"].pop("id") for part in said["parts"] if "functionCall" in part]
    house.run(one.aclose())
    result = {"functionResponse": {"name": "get_weather", "response": {"output": "rain"}}}
    contents = [prompt, said, {"role": "user", "parts": [result]}]
    for upstream in ("openai-responses", "anthropic-messages"):
        generated(other, upstream, contents)
    blocks = house.seen[-1].body["messages"][1]["content"]
    assert [block["id"] for block in blocks if block["type"] == "tool_use"] == [own]
