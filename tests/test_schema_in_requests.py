"""Schemas and names in requests: lowered to what each target accepts, recorded where they stood, remembered.

Expected values are those of the traps and of the providers' documents. The laws at the end: what a target accepts comes
through as it is, and names never collide.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import unified_llm as ul
from unified_llm.engine.adapter import Surface
from unified_llm.engine.registry import split
from unified_llm.passes import tool_schemas as fitting
from unified_llm.passes.schemas import NameRule, fit_name, lower
from unified_llm.passes.tool_schemas import fits, fitted_names

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
CONTENT, INTERACTIONS, OPENAPI = "google-generate-content", "google-interactions", "google-generate-content:openapi"
TARGETS = (CHAT, RESPONSES, MESSAGES, CONTENT, INTERACTIONS)
Node = dict[str, Any]


def request(*schemas: Any, name: str = "f", **settings: Any) -> Node:
    """A Responses request with a tool for each schema."""
    tools = [
        {"type": "function", "name": name if i == 0 else f"{name}{i}", "parameters": schema, "strict": False}
        for i, schema in enumerate(schemas)
    ]
    return {"model": "m", "input": "q", "tools": tools, **settings}


def sent(target: str, *schemas: Any, source: str = RESPONSES, **settings: Any) -> ul.Converted:
    return ul.convert(request(*schemas, **settings), source=source, target=target)


def declared(done: ul.Converted, target: str) -> list[Node]:
    """The functions of a request as their surface declares them."""
    tools = done.value["tools"]
    if target.startswith(CONTENT):
        return [function for tool in tools for function in tool.get("functionDeclarations", [])]
    return [tool["function"] for tool in tools] if target == CHAT else list(tools)


def schema_of(tool: Node) -> Any:
    keys = ("parameters", "input_schema", "parametersJsonSchema")
    return next((tool[key] for key in keys if key in tool), None)


def told(done: ul.Converted, below: str = "/tools") -> dict[str, str]:
    """The fates below a path, but for the flag `strict`, which some targets have no word for."""
    losses = [loss for loss in done.losses if loss.side == "source" and not loss.path.endswith("/strict")]
    return {loss.path: loss.fate for loss in losses if loss.path.startswith(below)}


# ---- what each target accepts ---------------------------------------------------------------------------------------

FOREIGN = {
    "type": "object",
    "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}},
    "$schema": "x",
}


@pytest.mark.parametrize("target", [CONTENT, INTERACTIONS])
def test_trap_089_json_schema_without_its_dialect(target: str) -> None:
    done = sent(target, FOREIGN)
    assert schema_of(declared(done, target)[0]) == {"type": "object", "properties": FOREIGN["properties"]}
    assert told(done) == {"/tools/0/parameters/$schema": "lost"}


def test_trap_089_the_older_subset_one_entry_a_keyword() -> None:
    done = sent(OPENAPI, FOREIGN)
    assert declared(done, OPENAPI)[0]["parameters"] == {
        "type": "OBJECT",
        "properties": {"m": {"type": "OBJECT", "description": 'additionalProperties: {"type":"string"}'}},
    }
    assert told(done) == {
        "/tools/0/parameters/$schema": "lost",
        "/tools/0/parameters/properties/m/additionalProperties": "approximated",
    }


@pytest.mark.parametrize("target", [CHAT, MESSAGES])
def test_trap_089_elsewhere_all_of_it_is_sent(target: str) -> None:
    assert schema_of(declared(sent(target, FOREIGN), target)[0]) == FOREIGN


@pytest.mark.parametrize("target", [CHAT, MESSAGES, CONTENT, OPENAPI, INTERACTIONS])
def test_trap_092_a_root_reference_shows_its_parameters(target: str) -> None:
    inner = {"type": "object", "properties": {"a": {"type": "integer"}}}
    done = sent(target, {"$ref": "#/$defs/Input", "$defs": {"Input": inner}})
    properties = schema_of(declared(done, target)[0])["properties"]
    assert [(name, schema["type"].lower()) for name, schema in properties.items()] == [("a", "integer")]


def test_trap_093_null_in_the_older_subset() -> None:
    either = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    listed = {"type": ["string", "null"]}
    done = sent(OPENAPI, {"type": "object", "properties": {"a": either, "b": listed}})
    properties = declared(done, OPENAPI)[0]["parameters"]["properties"]
    assert properties == {name: {"type": "STRING", "nullable": True} for name in ("a", "b")}
    assert told(done) == {}


def test_trap_094_constants_and_trap_095_numbers() -> None:
    choice = {"anyOf": [{"const": "md"}, {"const": "json"}]}
    number = {"type": "integer", "enum": [60, 1440]}
    done = sent(OPENAPI, {"type": "object", "properties": {"c": choice, "n": number}})
    assert declared(done, OPENAPI)[0]["parameters"]["properties"] == {
        "c": {"type": "STRING", "enum": ["md", "json"]},
        "n": {"type": "INTEGER", "description": "Allowed values: 60, 1440"},
    }
    assert told(done)["/tools/0/parameters/properties/n/enum"] == "approximated"


@pytest.mark.parametrize("target", [CONTENT, INTERACTIONS, OPENAPI])
@pytest.mark.parametrize("bound", [2**53 + 1, 2**64, 10**30])
def test_a_number_keeps_its_value_in_a_schema_that_changes(target: str, bound: int) -> None:
    """The keyword beside it is one that none of these takes; 64 bits are not where integers end."""
    number = {"type": "integer", "maximum": bound}
    given = {"type": "object", "properties": {"n": number, "s": {"type": "string", "pattern": "^x", "$comment": "c"}}}
    done = sent(target, given)
    assert any("/tools/0/parameters" in loss.path for loss in done.losses)
    told = json.dumps(done.value)
    assert f'"maximum": {bound}' in told or f"maximum: {bound}" in told


def test_trap_097_an_empty_required_list_is_left_out() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": []}
    assert "required" not in declared(sent(INTERACTIONS, schema), INTERACTIONS)[0]["parameters"]
    assert "required" not in declared(sent(CONTENT, schema), CONTENT)[0]["parametersJsonSchema"]


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object", "properties": {}}])
def test_trap_098_a_tool_without_parameters(parameters: Any) -> None:
    assert "parameters" not in declared(sent(OPENAPI, parameters), OPENAPI)[0] or parameters is None
    assert declared(sent(MESSAGES, parameters), MESSAGES)[0]["input_schema"] == {"type": "object", "properties": {}}


AB = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    "required": ["a"],
}


def test_trap_100_strict_is_demanded_only_where_it_was_said() -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [], "tools": [{"name": "f", "input_schema": AB}]}
    loose = ul.convert(body, source=MESSAGES, target=RESPONSES)
    assert loose.value["tools"] == [{"type": "function", "name": "f", "parameters": AB, "strict": False}]
    body["tools"] = [{"name": "f", "input_schema": AB, "strict": True}]
    strict = ul.convert(body, source=MESSAGES, target=RESPONSES)
    assert strict.value["tools"][0]["parameters"] == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert told(strict) == {
        "/tools/0/input_schema": "approximated",
        "/tools/0/input_schema/properties/b": "approximated",
    }


def test_output_formats_are_bound_as_far_as_the_target_can() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maxLength": 3}}}
    format_ = {"type": "json_schema", "name": "out", "schema": schema}
    done = ul.convert({"model": "m", "input": "q", "text": {"format": format_}}, source=RESPONSES, target=MESSAGES)
    assert done.value["output_config"]["format"]["schema"] == {
        "type": "object",
        "properties": {"n": {"type": "integer", "description": "minimum: 1\n\nmaxLength: 3"}},
        "additionalProperties": False,
    }
    assert told(done, "/text/format/schema") == {
        "/text/format/schema": "approximated",
        "/text/format/schema/properties/n/minimum": "approximated",
        "/text/format/schema/properties/n/maxLength": "approximated",
    }
    assert done.exchange is not None and done.exchange.settings["text"]["format"]["schema"] == schema


def test_paths_are_those_of_the_callers_document() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": FOREIGN}}
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "q"}],
        "tools": [tool],
        "response_format": {"type": "json_schema", "json_schema": {"name": "o", "schema": FOREIGN}},
    }
    done = ul.convert(body, source=CHAT, target=CONTENT)
    assert told(done) == {"/tools/0/function/parameters/$schema": "lost"}
    assert told(done, "/response_format/json_schema/schema") == {"/response_format/json_schema/schema/$schema": "lost"}
    flags = {"type": "object", "properties": {name: {"type": "boolean", "default": False} for name in "ab"}}
    tool["function"]["parameters"] = flags
    done = ul.convert(body, source=CHAT, target=CONTENT)
    assert told(done) == {f"/tools/0/function/parameters/properties/{name}/default": "approximated" for name in "ab"}
    written = ul.write(request(FOREIGN), CONTENT)
    assert told(written)["/tools/0/parameters/$schema"] == "lost"


def test_a_dialect_has_a_word_of_its_own() -> None:
    assert schema_of(declared(sent("openai-chat:moonshot", FOREIGN), CHAT)[0]) == {
        "type": "object",
        "properties": FOREIGN["properties"],
    }


@pytest.mark.parametrize("target", TARGETS)
def test_the_same_protocol_is_never_lowered(target: str) -> None:
    odd = {"type": "array", "$schema": "x", "items": {"not": {"const": 1}}, "x-own": 1}
    [body] = [ul.write(request({"type": "object", "properties": {}}), target).value]
    tool = declared(ul.Converted(body, ul.Losses()), target)[0]
    for key in ("parameters", "input_schema", "parametersJsonSchema"):
        if key in tool:
            tool[key] = odd
    tool["name"] = "a name.with everything"
    assert ul.convert(copy.deepcopy(body), source=target, target=target).value == body


def test_what_both_dialects_demand_was_met_by_the_client() -> None:
    tool = {"type": "function", "function": {"name": "a b", "parameters": {"type": "array"}}}
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}], "tools": [tool]}
    assert ul.convert(body, source=CHAT, target="openai-chat:vllm").value["tools"] == [tool]


def test_lowering_can_be_left_out_and_asked_for() -> None:
    left = ul.convert(request(FOREIGN), source=RESPONSES, target=CONTENT, repair="never")
    assert "$schema" in declared(left, CONTENT)[0]["parametersJsonSchema"]
    asked = ul.convert(request({"type": "array"}), source=RESPONSES, target=RESPONSES, repair="always")
    assert asked.value["tools"][0]["parameters"]["type"] == "object"


# ---- names ----------------------------------------------------------------------------------------------------------

LONG = "mcp__" + "very_long_" * 9


def conversation(*names: str) -> Node:
    items: list[Node] = [{"type": "message", "role": "user", "content": "q"}]
    for number, name in enumerate(names):
        call = {"type": "function_call", "call_id": f"c{number}", "name": name, "arguments": "{}"}
        items += [call, {"type": "function_call_output", "call_id": f"c{number}", "output": "r"}]
    tools = [{"type": "function", "name": name, "parameters": AB, "strict": False} for name in names]
    allowed = {
        "type": "allowed_tools",
        "mode": "auto",
        "tools": [{"type": "function", "name": name} for name in names],
    }
    return {"model": "m", "input": items, "tools": tools, "tool_choice": allowed}


@pytest.mark.parametrize("target", [CHAT, MESSAGES])
def test_trap_060_one_alias_everywhere(target: str) -> None:
    done = ul.convert(conversation(LONG, "a.b", "fine"), source=RESPONSES, target=target)
    names = [tool["name"] for tool in declared(done, target)]
    assert len(set(names)) == 3 and names[2] == "fine" and all(len(name) <= 64 for name in names)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") for name in names)
    text = str(done.value)
    assert LONG not in text and "a.b" not in text
    for name in names[:2]:
        assert text.count(repr(name)) >= 2
    assert done.exchange is not None and done.exchange.names == dict(zip(names[:2], (LONG, "a.b")))
    paths = told(done, "")
    for number in (0, 1):
        assert paths[f"/tools/{number}/name"] == paths[f"/input/{2 * number + 1}/name"] == "approximated"
        assert paths[f"/tool_choice/tools/{number}/name"] == "approximated"
    assert "/tools/2/name" not in paths


def test_trap_060_names_that_fit_there_stay() -> None:
    done = ul.convert(conversation("a.b:c", "x" * 100), source=RESPONSES, target=CONTENT)
    assert [tool["name"] for tool in declared(done, CONTENT)] == ["a.b:c", "x" * 100]
    assert done.exchange is not None and done.exchange.names == {}


def test_an_alias_is_the_same_while_a_conversation_grows() -> None:
    short, long = conversation("a.b"), conversation("a.b", "c.d")
    one, two = (ul.convert(body, source=RESPONSES, target=MESSAGES).value for body in (short, long))
    assert one["messages"][1]["content"][0]["name"] == two["messages"][1]["content"][0]["name"]


RULES = (
    NameRule("A-Za-z0-9_-", "A-Za-z0-9_-", 64),
    NameRule("A-Za-z_", "A-Za-z0-9_.:-", 128),
    NameRule("a-z", "a-z0-9_", 20),
)


@given(st.lists(st.text(max_size=90), unique=True, max_size=6), st.sampled_from(RULES))
def test_names_never_collide(names: list[str], rule: NameRule) -> None:
    # The aliases themselves are names that a caller may have chosen.
    names = list(dict.fromkeys([*names, *(fit_name(name, rule) for name in names)]))
    renamed = fitted_names(tuple(names), rule)
    final = [renamed.get(name, name) for name in names]
    assert len(set(final)) == len(names)
    assert all(fits(name, rule) for name in final)
    assert all(not fits(name, rule) for name in renamed)


# ---- the laws -------------------------------------------------------------------------------------------------------

KINDS = st.sampled_from(["string", "integer", "number", "boolean"])
PLAIN = st.recursive(
    st.builds(lambda kind: {"type": kind}, KINDS) | st.just({"type": "string", "enum": ["a", "b"]}),
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1).map(
            lambda found: {
                "type": "object",
                "properties": found,
                "required": sorted(found),
                "additionalProperties": False,
            }
        ),
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["x", "y"]), PLAIN, min_size=1), st.sampled_from(TARGETS), st.booleans())
def test_what_is_accepted_everywhere_comes_through_as_it_is(properties: Node, target: str, strict: bool) -> None:
    required = sorted(properties)
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    body = request(schema)
    body["tools"][0]["strict"] = strict
    body["text"] = {"format": {"type": "json_schema", "name": "o", "schema": schema, "strict": strict}}
    done = ul.convert(body, source="openai-responses:vllm", target=target)
    assert schema_of(declared(done, target)[0]) == schema
    assert not [loss for loss in done.losses if "/parameters" in loss.path or "/schema" in loss.path]
    assert done.exchange is not None and not done.exchange.tools and not done.exchange.output


@pytest.mark.parametrize("target", [*TARGETS, OPENAPI, "openai-responses:open-responses", "openai-chat:moonshot"])
def test_what_was_lowered_is_accepted(target: str) -> None:
    adapter, dialect = split(target)
    odd = {
        "type": ["object", "null"],
        "properties": {"a": {"oneOf": [{"const": 1}, {"$ref": "#/$defs/D"}]}, "b c": True, "d": {"type": "object"}},
        "patternProperties": {"^x": {}},
        "$defs": {"D": {"type": "array", "items": {"$ref": "#/$defs/D"}}},
    }
    for profile in {profile for profile in Surface(adapter, dialect).accepts(fitting._USES) if profile is not None}:
        once = lower(odd, profile).schema
        assert lower(once, profile).schema == once


def test_a_list_of_tools_is_looked_at_once() -> None:
    fitting._remembered.cache_clear()
    body = request(FOREIGN, AB)
    first, second = (ul.convert(copy.deepcopy(body), source=RESPONSES, target=CONTENT) for _ in range(2))
    assert first.value == second.value and first.losses == second.losses
    info = fitting._remembered.cache_info()
    assert (info.misses, info.hits) == (1, 1) and info.maxsize is not None
    declared(first, CONTENT)[0]["parametersJsonSchema"]["properties"].clear()
    assert ul.convert(body, source=RESPONSES, target=CONTENT).value == second.value


@pytest.mark.parametrize("target", [MESSAGES, CONTENT, INTERACTIONS, OPENAPI])
@pytest.mark.parametrize(
    ("own", "sent"),
    [({}, "A city."), ({"description": "A city."}, "A city."), ({"description": "Big."}, "A city.\n\nBig.")],
)
def test_a_description_of_a_format_is_in_its_schema(target: str, own: Node, sent: str) -> None:
    """ag2 takes it out of the schema and sends it beside; the model is to see it."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], **own}
    format_ = {"name": "City", "description": "A city.", "schema": {**schema, "additionalProperties": False}}
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}],
            "response_format": {"type": "json_schema", "json_schema": format_}}  # fmt: skip
    done = ul.convert(body, source=CHAT, target=target)
    config = done.value.get("generationConfig") or done.value.get("output_config") or done.value["response_format"]
    made = config.get("format", config)
    made = next(made[key] for key in ("schema", "responseJsonSchema", "responseSchema") if key in made)
    assert made["description"] == sent
    assert ("/response_format/json_schema/description", "approximated") in {(one.path, one.fate) for one in done.losses}
