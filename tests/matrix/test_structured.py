"""Answers that fit a schema: as the SDKs take one, and by their own helpers for classes."""

from __future__ import annotations

import json
from typing import Any, Literal

import jsonschema
import pydantic
import pytest

from matrix.loopback import Loopback, surfaces, upstreams
from sdk_surfaces import Chat, Contents, Messages, Responses, Surface

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "place": {"$ref": "#/$defs/place"},
        "sky": {"type": "string", "enum": ["clear", "grey"]},
        "hours": {"type": "array", "items": {"type": "integer"}},
        "wind": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    },
    "required": ["place", "sky", "hours", "wind"],
    "additionalProperties": False,
    "$defs": {
        "place": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "inhabited": {"type": "boolean"}},
            "required": ["name", "inhabited"],
            "additionalProperties": False,
        }
    },
}


@surfaces
@upstreams
@pytest.mark.parametrize("mode", ["plain", "async stream"])
def test_an_answer_fits_the_schema(house: Loopback, surface: type[Surface], protocol: str, mode: str) -> None:
    talk = house.talk(surface, protocol)
    talk.sdk.want(SCHEMA)
    talk.sdk.ask("How is it in Oslo?")
    said = talk.call(mode)
    jsonschema.validate(json.loads(said.text), SCHEMA)
    assert "place" in json.dumps(house.seen[0].body), "the schema arrives as one: nothing is asked for in prose"


class Place(pydantic.BaseModel):
    name: str
    inhabited: bool


class Weather(pydantic.BaseModel):
    place: Place
    sky: Literal["clear", "grey"]
    hours: list[int]
    wind: float | None


@upstreams
@pytest.mark.parametrize("surface", [Chat, Responses, Messages, Contents], ids=lambda each: each.protocol)
def test_the_sdks_own_helpers(house: Loopback, surface: type[Surface], protocol: str) -> None:
    talk = house.talk(surface, protocol)
    asked: list[Any] = [{"role": "user", "content": "How is it in Oslo?"}]
    found: Any
    if surface is Chat:
        sdk = talk.sdk.client(False)
        found = sdk.chat.completions.parse(model="m", messages=asked, response_format=Weather).choices[0].message.parsed
    elif surface is Responses:
        found = talk.sdk.client(False).responses.parse(model="m", input=asked, text_format=Weather).output_parsed
    elif surface is Messages:
        sdk = talk.sdk.client(False)
        found = sdk.messages.parse(model="m", max_tokens=999, messages=asked, output_format=Weather).parsed_output
    else:
        config = {"response_mime_type": "application/json", "response_schema": Weather}
        found = talk.sdk.client(False).models.generate_content(model="m", contents="How is it?", config=config).parsed
    assert isinstance(found, Weather)
