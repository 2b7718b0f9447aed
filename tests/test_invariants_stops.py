"""Why an answer ended means the same everywhere: a call is not a plain stop, and what did not go well is not a success.

The words of each wire are written here once more, from its reference, independent of the code: an answer is a
"stop", waits for "calls" of the client, or was "cut" (truncated, blocked, refused, paused, failed). The target's end
must be of the same class as the source's, for whole answers and for streams.
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from corpus import pairs, records, show

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
INTERACTIONS, GENERATE, CONVERSE = "google-interactions", "google-generate-content", "amazon-converse"
PROTOCOLS = (CHAT, RESPONSES, MESSAGES, INTERACTIONS, GENERATE, CONVERSE)
Node = dict[str, Any]

STOP, CALLS, CUT = "stop", "calls", "cut"
# Calls that a client executes besides functions; not every surface can wait for them.
_OTHERS = ("computer_call", "shell_call", "local_shell_call", "apply_patch_call", "mcp_approval_request")


def _open(items: list[Node], calls: tuple[str, ...], results: tuple[str, ...], key: str, answers: str) -> bool:
    answered = {item.get(answers) for item in items if item.get("type") in results}
    return any(item.get("type") in calls and item.get(key) not in answered for item in items)


def chat_ending(body: Node) -> str | None:
    """Servers send `stop` beside calls; the word counts for what is written (`said_ending`)."""
    if body.get("error"):
        return CUT
    choice = (body.get("choices") or [{}])[0]
    message = choice.get("message") or {}
    word = choice.get("finish_reason")
    calls = bool(message.get("tool_calls") or (message.get("function_call") or {}).get("name"))
    if word in ("stop", "tool_calls", "function_call", "end_turn", "STOP", "eos", "completed", "stop_sequence"):
        return CALLS if calls else CUT if message.get("refusal") and word == "stop" else STOP
    return CUT if word else None


def responses_ending(body: Node) -> str | None:
    status, output = body.get("status"), body.get("output") or []
    if status == "completed":
        parts = [part for item in output for part in item.get("content") or () if type(part) is dict]
        calls = ("function_call", "custom_tool_call")
        if _open(output, calls, tuple(f"{name}_output" for name in calls), "call_id", "call_id"):
            return CALLS
        if any(item.get("type") in _OTHERS for item in output):
            return None
        return CUT if any(part.get("type") == "refusal" for part in parts) else STOP
    return CUT if status in ("failed", "cancelled", "incomplete") else None


def messages_ending(body: Node) -> str | None:
    if body.get("type") == "error":
        return CUT
    word = body.get("stop_reason")
    known = {"end_turn": STOP, "stop_sequence": STOP, "tool_use": CALLS, None: None}
    return known.get(word, CUT)


def interactions_ending(body: Node) -> str | None:
    status, steps = body.get("status"), body.get("steps") or body.get("outputs") or []
    if status in ("completed", "requires_action"):
        return CALLS if _open(steps, ("function_call",), ("function_result",), "id", "call_id") else STOP
    return CUT if status in ("failed", "cancelled", "incomplete", "budget_exceeded", "requires_continuation") else None


def generate_ending(body: Node) -> str | None:
    if "error" in body or (body.get("promptFeedback") or {}).get("blockReason"):
        return CUT
    candidate = (body.get("candidates") or [{}])[0]
    parts = (candidate.get("content") or {}).get("parts") or []
    word = candidate.get("finishReason")
    if type(word) is not str:
        return None
    if word == "STOP":
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        answered = {result.get("id") or result.get("name") for result in results}  # without ids they pair by name
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        return CALLS if any((call.get("id") or call.get("name")) not in answered for call in calls) else STOP
    return CUT


def converse_ending(body: Node) -> str | None:
    """An error has a message in place of `output`; words besides these mean blocked, truncated or malformed output."""
    if "output" not in body and "message" in body:
        return CUT
    known = {"end_turn": STOP, "stop_sequence": STOP, "tool_use": CALLS, None: None}
    return known.get(body.get("stopReason"), CUT)


ENDING = {
    CHAT: chat_ending,
    RESPONSES: responses_ending,
    MESSAGES: messages_ending,
    INTERACTIONS: interactions_ending,
    GENERATE: generate_ending,
    CONVERSE: converse_ending,
}


def said_ending(protocol: str, body: Node) -> str | None:
    """The end of a converted answer, by its words alone: answered calls may stand beside a plain stop."""
    if protocol == CHAT and "choices" in body:
        word = body["choices"][0]["finish_reason"]
        refused = word == "stop" and body["choices"][0]["message"].get("refusal")
        return CUT if refused else {"stop": STOP, "tool_calls": CALLS}.get(word, CUT)
    if protocol == RESPONSES:
        body = {**body, "output": [item for item in body.get("output") or () if item.get("type") not in _OTHERS]}
    return ENDING[protocol](body)


def read_ending(protocol: str, body: Node) -> str | None:
    return ENDING[protocol](body)


def stream_ending(protocol: str, events: list[Node], ending: Any = read_ending) -> str | None:
    """The same of a stream: the end in its frames together. One without an end was cut."""
    datas = [event["data"] for event in events if type(event.get("data")) is dict]
    if protocol == RESPONSES:
        # What some recordings have after the first end is another answer.
        last = next((number for number, data in enumerate(datas) if data.get("type") in _ENDS), len(datas))
        datas = datas[: last + 1]
        ends = [data for data in datas if data.get("type") in _ENDS]
        if any(data.get("type") == "error" for data in datas) or not ends:
            return CUT
        items = [data["item"] for data in datas if data.get("type") == "response.output_item.done"]
        last = ends[-1]["response"]
        return ending(RESPONSES, {**last, "output": last.get("output") or items})
    if protocol == CONVERSE:
        # An exception is an event of its own. `messageStop` has the end; a stream without it was cut.
        failed = any(str(event.get("event")).endswith("Exception") for event in events)
        stops = [event["data"] for event in events if event.get("event") == "messageStop"]
        return ending(CONVERSE, stops[-1]) if stops and not failed else CUT
    if any(data.get("error") or data.get("type") == "error" for data in datas):
        return CUT
    if protocol == MESSAGES:
        if any(event.get("event") == "error" for event in events):
            return CUT
        stop = next((number for number, data in enumerate(datas) if data.get("type") == "message_stop"), len(datas))
        datas = datas[: stop + 1]
        words = [(data.get("delta") or {}).get("stop_reason") for data in datas if data.get("type") == "message_delta"]
        words += [(data.get("message") or {}).get("stop_reason") for data in datas]
        ended = any(data.get("type") == "message_stop" for data in datas)
        words = [word for word in words if word]
        return ending(MESSAGES, {"stop_reason": words[-1]}) if words and ended else CUT
    if protocol == INTERACTIONS:
        ends = [data["interaction"] for data in datas if type(data.get("interaction")) is dict]
        steps = [data.get(key) or {} for data in datas for key in ("step", "content", "delta")]
        said = [end["status"] for end in ends if end.get("status") not in (None, "in_progress", "queued")]
        said += [data["status"] for data in datas if data.get("event_type", "").endswith("status_update")]
        said = [word for word in said if word not in ("in_progress", "queued")]
        return ending(INTERACTIONS, {"status": said[-1], "steps": steps}) if said else CUT
    if protocol == CHAT:
        choices = [each for data in datas for each in data.get("choices") or () if not each.get("index")]
        deltas = [each.get("delta") or {} for each in choices]
        words = [each["finish_reason"] for each in choices if each.get("finish_reason")]
        message = {key: any(delta.get(key) for delta in deltas) for key in ("tool_calls", "refusal")}
        message["function_call"] = next((each["function_call"] for each in deltas if each.get("function_call")), None)
        if not words and any(event.get("data") == "[DONE]" for event in events):
            return None  # an orderly end of a server that has no word for it
        return ending(CHAT, {"choices": [{"message": message, "finish_reason": words[-1]}]}) if words else CUT
    candidates = [each for data in datas for each in data.get("candidates") or () if not each.get("index")]
    parts = [part for each in candidates for part in (each.get("content") or {}).get("parts") or ()]
    words = [each["finishReason"] for each in candidates if each.get("finishReason")]
    blocked = [data for data in datas if (data.get("promptFeedback") or {}).get("blockReason")]
    if blocked or not words:
        return CUT
    return ending(GENERATE, {"candidates": [{"content": {"parts": parts}, "finishReason": words[-1]}]})


_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


@pytest.mark.parametrize(("source", "target", "kind"), pairs("response"))
def test_an_answer_ends_alike(source: str, target: str, kind: str) -> None:
    failures, examined = [], 0
    for record in records(source, kind):
        said = ENDING[source](record["body"])
        if said is None:
            continue
        examined += 1
        done = ul.convert(record["body"], source=source, target=target, kind=kind)
        found = said_ending(target, done.value)
        if found != said:
            failures.append(f"{record['id']}: {said} became {found}")
    assert examined > 5
    assert not failures, show(failures, "an answer ends alike", examined)


@pytest.mark.parametrize(("source", "target", "kind"), pairs("stream"))
def test_a_stream_ends_alike(source: str, target: str, kind: str) -> None:
    failures, examined = [], 0
    for record in records(source, kind):
        said = stream_ending(source, record["events"])
        if said is None:
            continue
        examined += 1
        written = list(ul.convert_stream(record["events"], source=source, target=target))
        found = stream_ending(target, written, said_ending)
        if found != said:
            failures.append(f"{record['id']}: {said} became {found}")
    assert examined > 5
    assert not failures, show(failures, "a stream ends alike", examined)
