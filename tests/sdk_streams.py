"""The official openai SDK as a reader of streams: the final object that its own helpers accumulate, in process.

The client gets its bytes from a mock transport, so that the framing is tested with the events.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Iterator
from typing import Any

import httpx2
import openai

from unified_llm import suite

Events = list[dict[str, Any]]


class _Bytes:
    """The body of the next answer."""

    value = b""


@functools.cache
def _client() -> openai.OpenAI:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=_Bytes.value)

    transport = httpx2.MockTransport(answer)
    return openai.OpenAI(api_key="none", base_url="http://mock/v1", http_client=httpx2.Client(transport=transport))


def final_chat(events: Events) -> dict[str, Any]:
    """The chat completion the SDK's helper makes of a stream."""
    _Bytes.value = suite.sse_bytes(events)
    with _lenient(), _client().chat.completions.stream(model="m", messages=[]) as stream:
        stream.until_done()
        # Not get_final_completion(), which raises for answers that were cut short by their length.
        whole = _plain(stream.current_completion_snapshot.to_dict(warnings=False))
    said = {key for event in events for choice in _choices(event) for key in choice.get("delta") or {}}
    beside: dict[int, dict[str, Any]] = {}
    for choice in (choice for event in events for choice in _choices(event)):
        told = {
            key: value for key, value in choice.items() if key not in ("delta", "logprobs") and value not in (None, {})
        }
        beside.setdefault(choice["index"], {}).update(told)
    for choice in whole["choices"]:
        # The helper leaves its own marks: the index of a call, and nulls for what no chunk had.
        choice["message"] = {key: value for key, value in choice["message"].items() if key in said}
        for call in choice["message"].get("tool_calls") or ():
            call.pop("index", None)
            if call.get("function", ...) is None:
                del call["function"]
        # What a choice has beside these it takes from the choice's first chunk alone.
        for key, value in beside.get(choice["index"], {}).items():
            choice[key] = choice.get(key) or value
    # It also forgets both of these again when a chunk follows without them.
    payloads = [event["data"] for event in events if isinstance(event["data"], dict)]
    for key in ("usage", "system_fingerprint"):
        said_last = [data[key] for data in payloads if data.get(key)]
        said_last += [data["x_groq"][key] for data in payloads if (data.get("x_groq") or {}).get(key)]
        whole.update({key: said_last[-1]} if said_last else {})
    # And what stands beside the choices of a later chunk only (how long it took, the tier) it never looks at.
    opened = next((number for number, data in enumerate(payloads) if data.get("choices")), 0)
    for data in payloads[opened:]:
        for key in data.keys() - {"choices", "usage", "obfuscation", "p"}:
            whole.setdefault(key, data[key])
    return whole


def judged_chat(events: Events) -> dict[str, Any] | None:
    """The same, None where there is none: it was made for other servers, and its assertions or its parser fail."""
    if is_no_judge(events):
        return None
    try:
        return final_chat(events)
    except (AssertionError, ValueError):
        return None


def final_response(events: Events) -> dict[str, Any]:
    """The response the SDK's helper makes of a stream; it raises for streams that do not complete."""
    _Bytes.value = suite.sse_bytes(events)
    with _lenient(), _client().responses.stream(model="m", input="") as stream:
        return _plain(stream.get_final_response().to_dict(warnings=False))


def followed_arguments(events: Events) -> dict[int, str]:
    """What the SDK's helper has joined of the arguments of each call, by its place, with the last piece."""
    _Bytes.value = suite.sse_bytes(events)
    with _lenient(), _client().responses.stream(model="m", input="") as stream:
        pieces = [event for event in stream if event.type == "response.function_call_arguments.delta"]
    return {piece.output_index: piece.snapshot for piece in pieces}


@contextlib.contextmanager
def _lenient() -> Iterator[None]:
    """The SDK builds models unvalidated and then warns, inside itself, that they do not serialize as declared."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
        yield


def settled(value: Any) -> Any:
    """With whole numbers as integers: the SDK's models make floats of integers on the wire (`created_at`)."""
    if isinstance(value, dict):
        return {key: settled(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [settled(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _plain(value: Any) -> Any:
    """Without what the helpers parse out of texts for the user."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items() if key not in ("parsed", "parsed_arguments")}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def forgets_order(events: Events) -> bool:
    """Whether a chat stream sends reasoning after text or text after calls: a whole message has no such order."""
    ranks = {"reasoning": 0, "reasoning_content": 0, "reasoning_details": 0, "content": 1, "tool_calls": 2}
    highest: dict[int, int] = {}
    for event in events:
        for choice in _choices(event):
            told = [rank for key, rank in ranks.items() if (choice.get("delta") or {}).get(key)]
            if told and min(told) < highest.get(choice["index"], 0):
                return True
            highest[choice["index"]] = max([highest.get(choice["index"], 0), *told])
    return False


def is_no_judge(events: Events) -> bool:
    """Whether the SDK's chat accumulator cannot judge of a stream, because it supports OpenAI's servers only.

    It joins what other servers repeat (role, id and name of a call, words of their own), so that a role
    reads "assistantassistant"; it skips chunks of another `object` and breaks down on content in lists and on calls
    without a number or numbered from 1.
    """
    if forgets_order(events):
        return True
    said: set[tuple[Any, ...]] = {(choice["index"], "calls", -1) for event in events for choice in _choices(event)}
    for event in events:
        data = event["data"]
        if isinstance(data, dict) and data.get("object") not in ("chat.completion.chunk", "", None):
            return True
        for choice in _choices(event):
            delta = choice.get("delta") or {}
            things: list[tuple[Any, ...]] = [(key,) for key, value in delta.items() if key not in _GROWING and value]
            for kind in ("tool_calls", "reasoning_details"):
                for entry in delta.get(kind) or ():
                    flat = {**entry, **(entry.get("function") or {})}
                    things += [
                        (kind, entry.get("index"), key) for key in ("id", "name", "format") if flat.get(key) is not None
                    ]
                    if "index" not in entry or (choice["index"], "calls", entry["index"] - 1) not in said:
                        return True
                    said.add((choice["index"], "calls", entry["index"]))
            if isinstance(delta.get("content"), list):
                return True
            if any((choice["index"], *thing) in said for thing in things):
                return True
            said.update((choice["index"], *thing) for thing in things)
    return False


_GROWING = frozenset(
    "content refusal reasoning reasoning_content reasoning_details tool_calls function_call audio annotations".split()
)


def _choices(event: dict[str, Any]) -> list[dict[str, Any]]:
    return (event["data"].get("choices") or []) if isinstance(event["data"], dict) else []
