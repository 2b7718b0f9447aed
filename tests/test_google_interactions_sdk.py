"""Google Interactions: the official SDK as judge of what we write, and of what the fixtures hold."""

from __future__ import annotations

import functools
import typing
import warnings
from collections.abc import Iterator
from typing import Any

import httpx2
import pydantic
import pytest
from google import genai
from google.genai._gaos.types import interactions as sdk

import google_sdk  # noqa: F401 (each of its classes is made once)
from corpus import fixtures, records, show
from sdk_types import members
from unified_llm import suite

IA = "google-interactions"
OTHERS = ("openai-chat", "openai-responses")


class _Bytes:
    value = b""


@functools.cache
def client() -> genai.Client:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=_Bytes.value)

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    options = genai.types.HttpOptions(base_url="http://mock", httpx_client=http)
    return genai.Client(api_key="none", http_options=options)


def sdk_events(events: list[dict[str, Any]]) -> list[Any]:
    """The events the SDK's own stream iterator gives for a stream of ours."""
    _Bytes.value = suite.sse_bytes(events)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Interaction stopped before completion")
        return list(client().interactions.create(model="m", input="x", stream=True, automatic_continuation=False))


@pytest.mark.parametrize("source", [IA, *OTHERS])
def test_the_sdk_iterates_our_streams(source: str) -> None:
    failures, examined = [], 0
    for record in records(source, "stream"):
        done = suite.outcome(record, IA)
        if done.error is not None or "unknown" in record["id"] or "legacy" in record["id"]:
            continue
        seen = sdk_events(done.value)
        wanted = [e["data"]["event_type"] for e in done.value if e["data"] != "[DONE]" and "event_type" in e["data"]]
        got = [event.event_type for event in seen if event.event_type != "UNKNOWN"]
        examined += 1
        if len(wanted) == len([e for e in done.value if e["data"] != "[DONE]"]) and got != wanted:
            failures.append(suite.Failure(record["id"], "", f"{got} for {wanted}"))
    assert examined > 10
    assert not failures, show(failures, "the SDK's iterator", examined)


@pytest.mark.parametrize("source", OTHERS)
@pytest.mark.parametrize(
    ("kind", "type_", "odd"),
    [
        ("response", sdk.Interaction, "function_call_output_item"),
        ("request", sdk.CreateModelInteraction, "item_function_call_output_by_name"),
    ],
)
def test_the_sdk_knows_what_we_write(kind: str, type_: Any, odd: str, source: str) -> None:
    adapter = pydantic.TypeAdapter(type_)
    examined = 0
    for record in records(source, kind):
        # (A server with one model of its own takes requests that name none, this API does not.)
        done = suite.outcome(record, IA, **({"model": "m"} if kind == "request" else {}))
        if done.error is None and odd not in record["id"]:
            adapter.validate_python(done.value)
            examined += 1
    assert examined > 20


LIVE = {*members(sdk.ClientEvent), *members(sdk.ServerEvent)} - {*members(sdk.InteractionSSEEvent)}
"""Messages of live interactions, realtime over a WebSocket: another API, which has types of this one in it."""


def structs() -> Iterator[tuple[type[pydantic.BaseModel], str]]:
    """The SDK's own classes of the wire, with the discriminator each has."""
    for name in dir(sdk):
        value = getattr(sdk, name)
        if not isinstance(value, type) or not issubclass(value, pydantic.BaseModel) or name.startswith("Unknown"):
            continue
        if value in LIVE:
            continue
        for key in ("type", "event_type"):
            field = value.model_fields.get(key)
            literals = typing.get_args(field.annotation) if field is not None else ()
            if len(literals) == 1 and isinstance(literals[0], str):
                yield value, literals[0]


def objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(inner)


def test_every_type_and_field_of_the_sdk_occurs_in_the_fixtures() -> None:
    seen: dict[str, set[str]] = {}
    for record in fixtures(IA):
        for node in objects(record.get("events", record.get("body"))):
            for key in ("type", "event_type"):
                if isinstance(node.get(key), str):
                    seen.setdefault(node[key], set()).update(node)
    declared: dict[str, set[str]] = {}
    for cls, literal in structs():
        names = {field.alias or name for name, field in cls.model_fields.items()}
        declared.setdefault(literal, set()).update(names)
    assert len(declared) > 60
    assert not {
        literal: names - seen.get(literal, set())
        for literal, names in declared.items()
        if names - seen.get(literal, set())
    }


@pytest.mark.parametrize(
    "cls", [sdk.CreateModelInteraction, sdk.CreateAgentInteraction, sdk.Interaction, sdk.GenerationConfig, sdk.Usage]
)
def test_every_field_of_a_document_occurs_in_the_fixtures(cls: type[pydantic.BaseModel]) -> None:
    made_by_the_sdk = {"output_text", "output_image", "output_audio", "output_video"}
    names = {field.alias or name for name, field in cls.model_fields.items()} - made_by_the_sdk
    used = {
        key for record in fixtures(IA) for node in objects(record.get("events", record.get("body"))) for key in node
    }
    assert not names - used
