"""Nothing Google's SDK declares is unclassified: each key of each type is in a fixture, and each is mapped or native.

Read off the installed SDK, type by type: a new version with a new type or key fails here until a fixture has it, and
then until the adapter classifies it. What the SDK declares and never sends is listed with its reason.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import pytest
from google.genai import types
from google.genai._gaos.types import interactions as sdk

import unified_llm as ul
from corpus import fixtures
from sdk_types import fields, is_struct, members
from unified_llm.engine.registry import adapter
from unified_llm.suite.outcome import canonical

GC = "google-generate-content"
IA = "google-interactions"
Node = dict[str, Any]

REQUEST: dict[str, Any] = {
    "contents": list[types.Content],
    "systemInstruction": types.Content,
    "tools": list[types.Tool],
    "toolConfig": types.ToolConfig,
    "safetySettings": list[types.SafetySetting],
    "generationConfig": types.GenerationConfig,
    "modelArmorConfig": types.ModelArmorConfig,
}
"""The SDK has no type for the body of a generateContent request, whose settings it takes in one flat object."""

INTERACTIONS: dict[str, Any] = {
    "request": sdk.CreateModelInteraction | sdk.CreateAgentInteraction,
    "response": sdk.Interaction,
    "stream": fields(sdk.InteractionSSEStreamEvent)["data"].annotation,
}

LOCAL: dict[str, list[str]] = {
    "the SDK adds it to what came": [
        "GenerateContentResponse.sdkHttpResponse",
        "GenerateContentResponse.automaticFunctionCallingHistory",
        "GenerateContentResponse.parsed",
        "Interaction.output_audio",
        "Interaction.output_image",
        "Interaction.output_text",
        "Interaction.output_video",
    ],
    "the Live API alone has it": [
        "GenerationConfig.enableAffectiveDialog",
        "GenerationConfig.translationConfig",
        "TranslationConfig.echoTargetLanguage",
        "TranslationConfig.targetLanguageCode",
    ],
}
"""Declared, and not on the wire of these two APIs."""
NEVER = {entry for entries in LOCAL.values() for entry in entries}


def structs(annotation: Any, known: set[Any] | None = None) -> Iterator[Any]:
    """Every type that is reachable from one."""
    seen = set() if known is None else known
    for option in members(annotation):
        if not is_struct(option):
            for argument in get_args(option):
                yield from structs(argument, seen)
        elif option not in seen:
            seen.add(option)
            yield option
            for field in fields(option).values():
                yield from structs(field.annotation, seen)


def declared(root: Any) -> set[str]:
    """Every key of every type that is reachable, as `Type.key`."""
    found = set()
    for struct in structs(root):
        # What the SDK calls unknown stands for types of the future; a response of HTTP is none of the wire's.
        if not struct.__name__.startswith("Unknown") and struct is not types.HttpResponse:
            found |= {f"{struct.__name__}.{key}" for key in fields(struct)}
    return found - NEVER


def used(value: Any, annotation: Any) -> Iterator[str]:
    """The declared keys that a document has; of a union, those of the member that fits best."""
    options = members(annotation)
    if isinstance(value, list):
        for option in options:
            if get_origin(option) is list:
                for inner in value:
                    yield from used(inner, get_args(option)[0])
    elif isinstance(value, dict):
        fitting = [option for option in options if is_struct(option)]
        if fitting:
            best = max(fitting, key=lambda option: fit(value, option))
            for key, field in fields(best).items():
                if key in value:
                    yield f"{best.__name__}.{key}"
                    yield from used(value[key], field.annotation)
        for option in options:
            if get_origin(option) is dict:
                for inner in value.values():
                    yield from used(inner, get_args(option)[1])


def fit(value: Node, struct: Any) -> tuple[bool, int]:
    """How well an object fits a type: by the word that distinguishes types, then by the keys they share."""
    told = all(
        value.get(key) in get_args(fields(struct)[key].annotation)
        for key in ("type", "event_type")
        if key in fields(struct) and get_origin(fields(struct)[key].annotation) is Literal
    )
    return told, len(value.keys() & fields(struct).keys())


@functools.cache
def seen(protocol: str) -> frozenset[str]:
    """The declared keys that the fixtures of a protocol have. A type is read by the same pairs wherever it stands."""
    found: set[str] = set()
    for record in fixtures(protocol):
        kind = record["kind"]
        for document in [event["data"] for event in record["events"]] if kind == "stream" else [record["body"]]:
            if not isinstance(document, dict) or kind == "error":
                continue
            if protocol == IA:
                found.update(used(document, INTERACTIONS[kind]))
            elif kind == "request":
                for key, annotation in REQUEST.items():
                    found.update(used(document.get(key), annotation))
            else:
                found.update(used(document, types.GenerateContentResponse))
    return frozenset(found)


@pytest.mark.parametrize("key", REQUEST)
def test_every_key_of_a_generate_content_request_is_in_a_fixture(key: str) -> None:
    wanted = declared(REQUEST[key])
    assert wanted
    assert not sorted(wanted - seen(GC))


def test_every_key_of_a_generate_content_response_is_in_a_fixture() -> None:
    wanted = declared(types.GenerateContentResponse)
    assert len(wanted) > 150
    assert not sorted(wanted - seen(GC))


@pytest.mark.parametrize("kind", INTERACTIONS)
def test_every_key_of_an_interaction_is_in_a_fixture(kind: str) -> None:
    wanted = declared(INTERACTIONS[kind])
    assert len(wanted) > 150
    assert not sorted(wanted - seen(IA))


# ---- what reading leaves behind -------------------------------------------------------------------------------------

READ_INTO = frozenset(
    """generationConfig toolConfig functionCallingConfig retrievalConfig safetySettings systemInstruction tools contents
    candidates content parts promptFeedback usageMetadata citationMetadata citations citationSources groundingMetadata
    groundingChunks web retrievedContext maps placeAnswerSources image groundingSupports segment searchEntryPoint
    urlContextMetadata urlMetadata logprobsResult thinkingConfig speechConfig voiceConfig imageConfig
    inlineData fileData functionCall functionResponse functionDeclarations executableCode codeExecutionResult
    googleSearch mcpServers streamableHttpTransport videoMetadata mediaResolution audioTranscription
    generation_config response_format interaction step delta usage content_part""".split()
)
"""Objects whose keys are taken one by one, so that what is left of them has to be named key by key."""
OPEN = ("unknown", "wrong", "odd", "legacy", "with_more", "extra", "old_keys", "empty")
"""Fixtures of undeclared keys, by a word in their names."""
STRANGE = frozenset(("hologram", "note", "trace", "what"))
"""Undeclared keys, in fixtures that are otherwise usual."""


def left(value: Any, protocol: str) -> Iterator[tuple[str, ...]]:
    """The paths, in the terms of the wire, of everything that a reader kept for its own protocol alone."""
    if isinstance(value, list):
        for inner in value:
            yield from left(inner, protocol)
    elif isinstance(value, dict):
        drawer = (value.get("extra") or {}).get(protocol) or {}
        for slot in ("rest", "turn"):
            yield from leaves(drawer.get(slot), ())
        for key, inner in value.items():
            if key != "extra":
                yield from left(inner, protocol)


def leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The paths down to what is not read into."""
    if isinstance(value, list):
        for inner in value:
            yield from leaves(inner, path)
    elif isinstance(value, dict) and (not path or path[-1] in READ_INTO):
        for key, inner in value.items():
            if inner not in (None, {}, []):
                yield from leaves(inner, (*path, key))
    elif path:
        yield path


@pytest.mark.parametrize(("protocol", "kind"), [(p, k) for p in (GC, IA) for k in ("request", "response", "stream")])
def test_what_reading_leaves_is_named_key_by_key(protocol: str, kind: str) -> None:
    natives = adapter(protocol).natives
    unnamed, examined = set(), 0
    for record in fixtures(protocol, kind):
        if any(word in record["id"] for word in OPEN):
            continue
        if kind == "stream":
            read: Any = list(ul.read_stream(record["events"], protocol))
        else:
            read = canonical(record["body"], protocol, kind)
        examined += 1
        for path in left(read, protocol):
            if path[-1] not in STRANGE and not any(".".join(path[start:]) in natives for start in range(len(path))):
                unnamed.add((record["id"].rpartition("/")[2], ".".join(path)))
    assert examined > 20
    assert not sorted(unnamed)
