"""The official SDK drives our streams: its own iterators, sync and async, read the content of every other protocol's
stream.

In process, over a mock transport, so that the framing is judged with the events. The sent content is taken from the
stream's own protocol; the received one is what a user of the SDK sees.
"""

from __future__ import annotations

import asyncio
import functools
import json
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import httpx2
import pytest
from google import genai
from google.genai import types

import google_sdk  # noqa: F401 (each of its classes is made once)
import unified_llm as ul
from corpus import records, show
from unified_llm import suite

pytestmark = pytest.mark.long

GC = "google-generate-content"
IA = "google-interactions"
SOURCES = [protocol for protocol in ul.protocols() if protocol.partition("-")[0] in ("openai", "anthropic", "google")]
Node = dict[str, Any]


class Told(NamedTuple):
    """What matters of an answer: its text, its calls (name, arguments), and whether it failed."""

    text: str
    calls: list[tuple[Any, Any]]
    failed: bool


def said(events: list[Node], source: str) -> Told:
    """The content of a stream, by the collector of its own protocol."""
    try:
        response = ul.collect(ul.read_stream(events, source))
    except ul.UnifiedLLMError:
        return Told("", [], True)
    texts, calls = [], []
    for item in response.get("output") or ():
        if item["type"] == "message" and item.get("role", "assistant") == "assistant":
            content = item.get("content") or ()
            parts = [{"text": content}] if isinstance(content, str) else content
            texts += [part.get("text") or part.get("refusal") or "" for part in parts]
        elif item["type"] == "function_call" and item.get("executor") != "provider":
            calls.append((item["name"], arguments(item.get("arguments"))))
        elif item["type"] == "custom_tool_call":
            calls.append((item["name"], {"input": item["input"]}))
    failed = response.get("status") in ("failed", "cancelled") or isinstance(response.get("error"), dict)
    return Told("".join(texts), calls, failed)


def is_of_two_minds(events: list[Node], source: str) -> bool:
    """Whether a recording's deltas differ from its items, as in some that were redacted."""
    pieces: dict[int, str] = {}
    for event in ul.read_stream(events, source):
        if event["type"] == "response.function_call_arguments.delta":
            pieces[event["output_index"]] = pieces.get(event["output_index"], "") + event["delta"]
        elif event["type"] == "response.output_item.done" and event["output_index"] in pieces:
            if arguments(pieces[event["output_index"]]) != arguments(event["item"].get("arguments")):
                return True
    return False


def arguments(text: Any) -> Any:
    """Arguments as the object that Google's protocols demand."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {"_raw": text}
    return value if isinstance(value, dict) else {"_raw": text}


# ---- the two transports of the SDK ----------------------------------------------------------------------------------


class _Bytes:
    """The body of the next answer."""

    value = b""


def _answer(request: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=_Bytes.value)


async def _aanswer(request: httpx2.Request) -> httpx2.Response:
    return _answer(request)


@functools.cache
def client() -> genai.Client:
    options = types.HttpOptions(
        base_url="http://mock",
        httpx_client=httpx2.Client(transport=httpx2.MockTransport(_answer)),
        httpx_async_client=httpx2.AsyncClient(transport=httpx2.MockTransport(_aanswer)),
    )
    return genai.Client(api_key="none", http_options=options)


# What is to be continued is not requested again: the one answer of the mock would only be repeated.
ALONE = types.GenerateContentConfig(automatic_continuation=False)
ASK: Node = {"model": "m", "contents": "x", "config": ALONE}
CREATE: Node = {"model": "m", "input": "x", "stream": True, "automatic_continuation": False}


def chunks(body: bytes) -> list[Any]:
    _Bytes.value = body
    return list(client().models.generate_content_stream(**ASK))


async def achunks(body: bytes) -> list[Any]:
    _Bytes.value = body
    return [chunk async for chunk in await client().aio.models.generate_content_stream(**ASK)]


def steps(body: bytes) -> list[Any]:
    _Bytes.value = body
    return list(client().interactions.create(**CREATE))


async def asteps(body: bytes) -> list[Any]:
    _Bytes.value = body
    return [event async for event in await client().aio.interactions.create(**CREATE)]


def heard_chunks(found: list[types.GenerateContentResponse]) -> Told:
    """What a user of `generate_content_stream` sees."""
    candidates = [chunk.candidates[0] for chunk in found if chunk.candidates and not chunk.candidates[0].index]
    parts = [part for candidate in candidates for part in (candidate.content and candidate.content.parts) or ()]
    text = "".join(part.text or "" for part in parts if not part.thought)
    calls = [(part.function_call.name, part.function_call.args or {}) for part in parts if part.function_call]
    ends = {str(one.finish_reason.value) for one in candidates if one.finish_reason}
    return Told(text, calls, not ends <= {"STOP", "MAX_TOKENS", "FINISH_REASON_UNSPECIFIED"})


def heard_steps(found: list[Any]) -> Told:
    """What a user of `interactions.create(stream=True)` sees: the deltas of its steps."""
    texts: list[str] = []
    calls: dict[int, tuple[str, list[str]]] = {}
    spoken: set[int] = set()
    failed = False
    for event in found:
        kind = event.event_type
        if kind == "step.start" and event.step.type == "function_call":
            calls[event.index] = (event.step.name, [json.dumps(event.step.arguments)] if event.step.arguments else [])
        elif kind == "step.start" and event.step.type == "model_output":
            spoken.add(event.index)
            texts += [content.text for content in event.step.content or () if content.type == "text"]
        elif kind == "step.delta" and event.delta.type == "text" and event.index in spoken:
            texts.append(event.delta.text)
        elif kind == "step.delta" and event.delta.type == "arguments_delta":
            calls[event.index][1].append(event.delta.arguments)
        failed = failed or kind == "error"
        failed = failed or (kind == "interaction.completed" and event.interaction.status in ("failed", "cancelled"))
    return Told("".join(texts), [(name, arguments("".join(text))) for name, text in calls.values()], failed)


TRANSPORTS: dict[str, tuple[Callable[[bytes], Any], Callable[[bytes], Any], Callable[[list[Any]], Told]]] = {
    GC: (chunks, achunks, heard_chunks),
    IA: (steps, asteps, heard_steps),
}


@functools.cache
def spoken(source: str) -> list[tuple[Node, Told]]:
    """The streams of a protocol that agree, with the content of each."""
    told = [(record, said(record["events"], source)) for record in records(source, "stream")]
    return [each for each in told if each[1].failed or not is_of_two_minds(each[0]["events"], source)]


def heard_by(listen: Callable[[bytes], Any], body: bytes, heard: Callable[[list[Any]], Told]) -> Told:
    try:
        return heard(listen(body))
    except genai.errors.APIError:
        return Told("", [], True)


@pytest.mark.parametrize(
    ("source", "target"), [(source, target) for target in TRANSPORTS for source in SOURCES if source != target]
)
def test_the_sdk_hears_what_was_said(source: str, target: str) -> None:
    listen, alisten, heard = TRANSPORTS[target]
    failures = []
    with warnings.catch_warnings(), asyncio.Runner() as runner:
        warnings.filterwarnings("ignore", message="Interaction stopped before completion")
        warnings.filterwarnings("ignore", message=".* is not a valid ")
        ways = {"sync": listen, "async": lambda body: runner.run(alisten(body))}
        for number, (record, wanted) in enumerate(spoken(source)):
            body = b"".join(ul.translate_sse([suite.sse_bytes(record["events"])], source=source, target=target))
            # Recorded streams are long, and the iterators differ in how bytes are read: they take turns.
            for how in ways if record["vendor"] == "fixture" else [list(ways)[number % 2]]:
                got = heard_by(ways[how], body, heard)
                # A block is recognized by its reason, which is an answer too.
                if not got.failed if wanted.failed else got[:2] != wanted[:2]:
                    failures.append(suite.Failure(record["id"], "", f"{how}: {got} for {wanted}"))
    assert len(spoken(source)) > 20
    assert not failures, show(failures, "the SDK", len(spoken(source)))
