"""What each wire accepts of a history: a second statement of it, independent of `Rules`."""

from __future__ import annotations

import re
from typing import Any

Node = dict[str, Any]
CALLS = ("function_call", "custom_tool_call")


# ---- what the targets accept ----------------------------------------------------------------------------------------


def accepted(wire: Node, protocol: str) -> None:
    """Raise where a provider of the protocol would answer 400."""
    VALIDATORS[protocol](wire)


def paired_in_order(calls: list[Any], results: list[Any], last: bool) -> None:
    """The results of a step are those of its calls, all of them; none yet where the conversation ends."""
    assert len(set(calls)) == len(calls), "ids of one step differ"
    if results or not last:
        assert sorted(map(str, results)) == sorted(map(str, calls)), (calls, results)


def check_messages(wire: Node) -> None:
    messages = wire["messages"]
    assert messages and messages[0]["role"] != "system"
    joined: list[tuple[str, list[Node]]] = []
    for place, message in enumerate(messages):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if type(content) is str else content
        assert blocks, "content is not empty"
        if message["role"] == "system":
            before = messages[place - 1]["role"]
            behind = messages[place + 1]["role"] if place + 1 < len(messages) else "assistant"
            assert before in ("user", "system") and behind in ("assistant", "system")
            continue
        if joined and joined[-1][0] == message["role"]:
            joined[-1][1].extend(blocks)
        else:
            joined.append((message["role"], [*blocks]))
        for block in blocks:
            inner = block.get("content") if block["type"] == "tool_result" else None
            for text in [block, *(inner if type(inner) is list else ())]:
                assert text["type"] != "text" or text["text"].strip(), "texts are not blank"
    for place, (role, blocks) in enumerate(joined):
        if role == "assistant":
            calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
            assert all(re.fullmatch("[a-zA-Z0-9_-]+", call_id) for call_id in calls)
            behind = joined[place + 1][1] if place + 1 < len(joined) else []
            leading = 0
            while leading < len(behind) and behind[leading]["type"] == "tool_result":
                leading += 1
            paired_in_order(calls, [block["tool_use_id"] for block in behind[:leading]], not behind)
            assert all(block["type"] != "tool_result" for block in behind[leading:]), "results come first"
        elif place == 0:
            assert all(block["type"] != "tool_result" for block in blocks), "a result has its call"
    role, blocks = joined[-1]
    if role == "assistant" and blocks[-1]["type"] == "text":
        assert blocks[-1]["text"] == blocks[-1]["text"].rstrip()


def check_chat(wire: Node) -> None:
    messages = wire["messages"]
    assert messages
    place = 0
    while place < len(messages):
        message = messages[place]
        assert message["role"] != "tool", "a result stands behind its call"
        assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", message.get("name", "x"))
        place += 1
        calls = [call["id"] for call in message.get("tool_calls") or ()]
        results = []
        while calls and place < len(messages) and messages[place]["role"] == "tool":
            results.append(messages[place]["tool_call_id"])
            place += 1
        if calls:
            paired_in_order(calls, results, all(each["role"] == "assistant" for each in messages[place:]))


def check_responses(wire: Node) -> None:
    items = wire["input"]
    assert items
    calls = [item["call_id"] for item in items if item.get("type") in CALLS]
    assert len(set(calls)) == len(calls) and all(len(call_id) <= 64 for call_id in calls)
    said: set[str] = set()
    answered: set[str] = set()
    for item in items:
        if item.get("type") in CALLS:
            said.add(item["call_id"])
        elif str(item.get("type")).endswith("_output") and item.get("call_id"):
            assert item["call_id"] in said - answered, "a result has one call, and stands behind it"
            answered.add(item["call_id"])
    for place, item in enumerate(items):
        if item.get("type") in CALLS and item["call_id"] not in answered:
            rest = items[place:]
            assert all(each.get("type") in CALLS or each.get("role") == "assistant" for each in rest)
            break


def check_contents(wire: Node) -> None:
    contents = wire["contents"]
    assert contents
    for place, content in enumerate(contents):
        parts = content["parts"]
        assert parts and all(part.get("text") != "" for part in parts)
        calls = [part["functionCall"].get("id") for part in parts if "functionCall" in part]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        assert not results or (content["role"] == "user" and len(results) == len(parts)), "results stand alone"
        before = contents[place - 1]["parts"] if place else []
        if calls:
            assert place and contents[place - 1]["role"] == "user", "a call follows the user or results"
            behind = contents[place + 1]["parts"] if place + 1 < len(contents) else []
            answers = [part["functionResponse"].get("id") for part in behind if "functionResponse" in part]
            assert answers == calls or (not behind and not answers), "as many results as calls, in their order"
        if results:
            asked = [part["functionCall"] for part in before if "functionCall" in part]
            assert [call["name"] for call in asked] == [result["name"] for result in results]
    last = contents[-1]
    assert last["role"] == "user" or any("functionCall" in part for part in last["parts"])


def check_steps(wire: Node) -> None:
    steps = wire["input"]
    assert steps
    calls = [step["id"] for step in steps if step["type"] == "function_call"]
    assert len(set(calls)) == len(calls)
    results = [step["call_id"] for step in steps if step["type"] == "function_result"]
    assert len(set(results)) == len(results) and set(results) <= set(calls)
    for place, step in enumerate(steps):
        if step["type"] == "function_call" and step["id"] not in results:
            assert all(each["type"] in ("function_call", "model_output", "thought") for each in steps[place:])
            break
    else:
        assert steps[-1]["type"] != "model_output"


def check_converse(wire: Node) -> None:
    from oracles.amazon_converse import history

    history(wire)


VALIDATORS = {
    "amazon-converse": check_converse,
    "anthropic-messages": check_messages,
    "openai-chat": check_chat,
    "openai-responses": check_responses,
    "google-generate-content": check_contents,
    "google-interactions": check_steps,
}
