"""Converse against botocore: its service model, serializer and parsers, for requests and whole responses."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

pytest.importorskip("botocore", reason="the extra amazon is not installed")

from botocore.parsers import create_parser
from botocore.serialize import create_serializer

import unified_llm as ul
from botocore_wire import shape_of
from corpus import fixtures
from oracles.amazon_converse import MODEL, Refused, check, decoded
from unified_llm import suite
from unified_llm.engine.registry import adapter

CONVERSE = "amazon-converse"
OTHERS = [name for name in ul.protocols() if name != CONVERSE]
# Requests in which no user says a word.
NOTHING_SAID = ("empty_string_input", "function_result_forms")

# ---- what is declared, and what is read -----------------------------------------------------------------------------


def members(shape: Any, seen: dict[str, set[str]]) -> dict[str, set[str]]:
    """The members of all structures below a shape, by the structure's name."""
    if shape.type_name == "list":
        members(shape.member, seen)
    elif shape.type_name == "map":
        members(shape.value, seen)
    elif shape.type_name == "structure" and not shape.metadata.get("document") and shape.name not in seen:
        seen[shape.name] = set(shape.members)
        for each in shape.members.values():
            members(each, seen)
    return seen


def used(value: Any, shape: Any, found: dict[str, set[str]]) -> None:
    """The members that a document has, by the structure's name."""
    if shape.type_name == "structure" and not shape.metadata.get("document") and isinstance(value, dict):
        for key in value.keys() & shape.members.keys():
            found.setdefault(shape.name, set()).add(key)
            used(value[key], shape.members[key], found)
    elif shape.type_name == "list" and isinstance(value, list):
        for each in value:
            used(each, shape.member, found)
    elif shape.type_name == "map" and isinstance(value, dict):
        for each in value.values():
            used(each, shape.value, found)


def test_every_member_of_the_service_model_is_in_a_fixture() -> None:
    """So that the law of completeness is about all of them. What a guardrail finds is kept whole."""
    declared: dict[str, set[str]] = {}
    found: dict[str, set[str]] = {}
    for operation, kind in (("Converse", "request"), ("ConverseStream", "request"), ("Converse", "response")):
        shape = shape_of(operation, "input_shape" if kind == "request" else "output_shape")
        members(shape, declared)
        for record in fixtures(CONVERSE, kind):
            used(record["body"], shape, found)
    events = shape_of("ConverseStream").members["stream"]
    members(events, declared)
    for record in fixtures(CONVERSE, "stream"):
        for each in record["events"]:
            used({each["event"]: each["data"]}, events, found)
    kept = {"ConverseRequest": {"modelId"}, "ConverseStreamRequest": {"modelId"}, "ConverseStreamOutput": set()}
    missing = {
        name: left
        for name, keys in declared.items()
        if not name.startswith(("Guardrail", "Applied")) or name.startswith(("GuardrailConv", "GuardrailConf"))
        if (left := keys - found.get(name, set()) - kept.get(name, set()))
    }
    assert missing == {
        "ConverseStreamOutput": {"internalServerException", "validationException", "serviceUnavailableException"},
        "InternalServerException": {"message"},
        "ValidationException": {"message"},
        "ServiceUnavailableException": {"message"},
    }


@pytest.mark.parametrize("kind", ["request", "response"])
def test_fixtures_are_valid_by_the_service_model(kind: str) -> None:
    shape = shape_of("ConverseStream", "input_shape") if kind == "request" else shape_of("Converse")
    for record in fixtures(CONVERSE, kind):
        if record["id"].endswith(("oddities", "something_new")):
            continue
        decoded(record["body"], shape)


def test_the_path_has_the_model_and_the_streaming() -> None:
    body = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    for name in ("amazon.nova-pro-v1:0", "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.a.b-v1:0"):
        for verb in ("converse", "converse-stream"):
            http = {"path": f"model/{name.replace('/', '%2F').replace(':', '%3A')}/{verb}"}
            done = ul.convert(body, source=CONVERSE, target=CONVERSE, http=http)
            assert (done.value, done.http) == (body, {"method": "POST", "path": http["path"]})
            chat = ul.convert(body, source=CONVERSE, target="openai-chat", http=http).value
            assert chat["model"] == name and chat.get("stream", False) is (verb == "converse-stream")


def test_a_count_is_asked_for_a_part_of_a_request() -> None:
    inner = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "system": [{"text": "S"}]}
    body = {"input": {"converse": {**inner, "additionalModelRequestFields": {"a": 1}}}}
    http = {"path": "model/m/count-tokens"}
    for kind, given in (("count_tokens_request", body), ("count_tokens_response", {"inputTokens": 7, "more": 1})):
        done = ul.convert(given, source=CONVERSE, target=CONVERSE, kind=kind, http=http)
        assert done.value == given and not done.losses
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "system": "S"}
    done = ul.convert(asked, source="anthropic-messages", target=CONVERSE, kind="count_tokens_request")
    assert done.value == {"input": {"converse": inner}} and done.http["path"] == "model/m/count-tokens"
    counted = ul.convert({"inputTokens": 7}, source=CONVERSE, target="anthropic-messages", kind="count_tokens_response")
    assert counted.value == {"input_tokens": 7}


# ---- what is written ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", OTHERS)
def test_requests_of_others_are_valid(source: str) -> None:
    """By the service model, its limits, and the rules of the guide for conversations."""
    failures = []
    for record in fixtures(source, "request"):
        done = suite.outcome(record, CONVERSE)
        if done.error is None and done.value.get("messages") and not record["id"].endswith(NOTHING_SAID):
            try:
                check(done.value, "Converse", "amazon.nova-pro-v1:0")
            except Refused as refused:
                failures.append((record["id"], str(refused)))
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.parametrize("source", OTHERS)
def test_responses_of_others_are_parsed(source: str) -> None:
    parser, shape = create_parser("rest-json"), shape_of("Converse")
    for record in fixtures(source, "response"):
        done = suite.outcome(record, CONVERSE)
        assert done.error is None
        if "output" not in done.value:
            continue
        raw = {"status_code": 200, "headers": {}, "body": json.dumps(done.value).encode()}
        parsed = parser.parse(raw, shape)
        del parsed["ResponseMetadata"]
        assert parsed == decoded(done.value, shape), record["id"]
        assert {"output", "stopReason", "usage", "metrics"} <= parsed.keys()


def test_what_botocore_sends_comes_back_the_same() -> None:
    """The body that its serializer writes, through the canonical form."""
    serializer = create_serializer("rest-json")
    operation = MODEL.operation_model("ConverseStream")
    for record in fixtures(CONVERSE, "request"):
        if record["id"].endswith("oddities"):
            continue
        params = {**decoded(record["body"], operation.input_shape), "modelId": "amazon.nova-pro-v1:0"}
        request = serializer.serialize_to_request(params, operation)
        http = {"path": request["url_path"].lstrip("/")}
        done = ul.convert(request["body"], source=CONVERSE, target=CONVERSE, http=http)
        assert done.value == json.loads(request["body"]) == record["body"], record["id"]
        assert done.http["path"] == http["path"]


# ---- tools, reasoning, media ----------------------------------------------------------------------------------------


def test_tools_are_declared_where_a_history_has_calls() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    asked = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "4"},
        ],
    }
    done = ul.convert(asked, source="openai-chat", target=CONVERSE)
    assert [each["toolSpec"]["name"] for each in done.value["toolConfig"]["tools"]] == ["look_up"]
    assert ("/toolConfig", "added") in [(loss.path, loss.fate) for loss in done.losses]


def test_reasoning_is_asked_for_as_the_model_takes_it() -> None:
    asked = {"model": "m", "input": "Hi", "reasoning": {"effort": "high"}, "max_output_tokens": 30_000}

    def written(model: str) -> Any:
        value = ul.convert(asked, source="openai-responses", target=CONVERSE, model=model).value
        return value.get("outputConfig"), value.get("additionalModelRequestFields")

    budget = {"thinking": {"type": "enabled", "budget_tokens": 16384}}
    assert written("us.anthropic.claude-sonnet-4-5-20250929-v1:0") == (None, budget)
    assert written("anthropic.claude-opus-4-7") == ({"effort": "high"}, {"thinking": {"type": "adaptive"}})
    assert written("meta.llama3-1-70b-instruct-v1:0") == (None, None)


@pytest.mark.parametrize(("budget", "effort"), [(1_024, "low"), (8_000, "medium"), (30_000, "high"), (-1, None)])
def test_a_budget_is_an_effort_at_a_model_that_takes_none(budget: int, effort: str | None) -> None:
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Why?"}]}],
        "generationConfig": {"thinkingConfig": {"thinkingBudget": budget}},
    }
    done = ul.convert(body, source="google-generate-content", target=CONVERSE, model="anthropic.claude-opus-4-7")
    assert done.value.get("outputConfig") == (effort and {"effort": effort})
    assert done.value["additionalModelRequestFields"] == {"thinking": {"type": "adaptive"}}
    fates = {loss.path: loss.fate for loss in done.losses}
    assert fates["/generationConfig/thinkingConfig/thinkingBudget"] == "approximated"


def test_reasoning_of_another_provider_reaches_no_provider_and_returns_to_its_own() -> None:
    """A client of Converse over Messages: the signature travels in an envelope in the field that it echoes."""
    said = [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "text", "text": "Hello"}]
    answer = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": said,
              "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    more = {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}}
    asked = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], **more}
    first = ul.convert(asked, source=CONVERSE, target="anthropic-messages", model="claude-sonnet-4-5")
    shown = ul.convert(
        answer, source="anthropic-messages", target=CONVERSE, kind="response", exchange=first.exchange
    ).value["output"]["message"]
    inner = shown["content"][0]["reasoningContent"]["reasoningText"]
    assert inner["text"] == "Hm." and base64.b64decode(inner["signature"], validate=True)
    history = {"messages": [*asked["messages"], shown, {"role": "user", "content": [{"text": "Go on"}]}], **more}
    back = ul.convert(history, source=CONVERSE, target="anthropic-messages", model="claude-sonnet-4-5").value
    assert back["messages"][1]["content"] == said
    away = ul.convert(history, source=CONVERSE, target="openai-chat").value
    assert "c2ln" not in json.dumps(away) and inner["signature"] not in json.dumps(away)


def test_documents_have_names_that_the_api_takes() -> None:
    pdf = "data:application/pdf;base64,JVBERg=="
    files = [{"type": "input_file", "filename": name, "file_data": pdf} for name in ("a.b_c.pdf", "a.b_c.pdf")]
    asked = {"model": "m", "input": [{"role": "user", "content": [{"type": "input_text", "text": "Read"}, *files]}]}
    done = ul.convert(asked, source="openai-responses", target=CONVERSE)
    names = [block["document"]["name"] for block in done.value["messages"][0]["content"][1:]]
    assert names == ["a-b-c", "a-b-c (2)"]


def test_the_adapter_speaks_of_no_field_twice() -> None:
    found = adapter(CONVERSE)
    assert not {*found.refuses} & {key for mapping in found.mappings for key in mapping.writes}
    assert suite.unclassified_types(CONVERSE) == []


def test_a_document_that_is_text_is_sent_as_text() -> None:
    """Bedrock names no format for JSON; Messages gets it as plain text too."""
    part = {"inlineData": {"mimeType": "application/json", "data": "e30="}}
    body = {"contents": [{"role": "user", "parts": [part, {"text": "q"}]}]}
    done = ul.convert(body, source="google-generate-content", target="amazon-converse", model="m")
    document = done.value["messages"][0]["content"][0]["document"]
    assert (document["format"], document["source"]) == ("txt", {"bytes": "e30="})
    fates = {loss.path: (loss.fate, loss.detail) for loss in done.losses}
    assert fates["/contents/0/parts/0"] == ("approximated", "sent as plain text")
    other = {"inlineData": {"mimeType": "application/zip", "data": "UEsDBA=="}}
    lost = ul.convert(
        {"contents": [{"role": "user", "parts": [other, {"text": "q"}]}]},
        source="google-generate-content", target="amazon-converse", model="m",
    )  # fmt: skip
    assert [loss.fate for loss in lost.losses] == ["lost"]


def test_a_cited_text_in_pieces_is_one_text_elsewhere() -> None:
    cited = {"content": [{"text": "It "}, {"text": "rains."}], "citations": [{"location": {"web": {"url": "u"}}}]}
    for block in (cited, {**cited, "citations": []}):
        content = [{"text": "Look. "}, {"citationsContent": block}]
        answer = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "end_turn"}
        assert ul.convert(answer, source=CONVERSE, target=CONVERSE, kind="response").value == answer
        done = ul.convert(answer, source=CONVERSE, target="openai-chat", kind="response")
        assert done.value["choices"][0]["message"]["content"] == "Look. It rains."
        assert "lost" not in {loss.fate for loss in done.losses}
        changed: Any = suite.canonical(answer, CONVERSE, "response")
        changed["output"][0]["content"][1]["text"] = "Snow."
        written = ul.write(changed, CONVERSE, "response").value["output"]["message"]["content"][1]
        assert written["citationsContent"]["content"] == [{"text": "Snow."}]


@pytest.mark.parametrize("repair", ["auto", "always"])
def test_a_turn_of_nothing_but_thoughts_of_another_provider_leaves_no_message(repair: Any) -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    answer = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [thought]}
    shown = ul.convert(answer, source="anthropic-messages", target=CONVERSE, kind="response", secret="s").value
    said = [{"role": "user", "content": [{"text": text}]} for text in ("One.", "Two.")]
    body = {"messages": [said[0], shown["output"]["message"], said[1]]}
    done = ul.convert(body, source=CONVERSE, target=CONVERSE, model="amazon.nova-pro-v1:0", secret="s", repair=repair)
    assert done.value == {"messages": [{"role": "user", "content": [{"text": "One."}, {"text": "Two."}]}]}
    assert "/messages/1/content/0" in {loss.path for loss in done.losses if loss.fate == "lost"}


def test_roles_alternate_in_a_repaired_history_of_its_own() -> None:
    call = {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}
    turns = [("user", {"text": "q"}), ("assistant", call), ("assistant", {"text": "a"}), ("user", {"text": "Go on."})]
    tools = [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]
    body = {"messages": [{"role": role, "content": [block]} for role, block in turns], "toolConfig": {"tools": tools}}
    done = ul.convert(body, source=CONVERSE, target=CONVERSE, model="amazon.nova-pro-v1:0", repair="always")
    check(done.value, "Converse", "amazon.nova-pro-v1:0")


@pytest.mark.parametrize(
    "target", ["google-generate-content", "google-interactions", "openai-chat", "anthropic-messages"]
)
def test_no_client_gets_what_the_service_executed(target: str) -> None:
    ran = {"toolUseId": "t1", "name": "nova_grounding", "input": {"q": 1}, "type": "server_tool_use"}
    gave = {"toolUseId": "t1", "content": [{"text": "found"}], "status": "success", "type": "nova_grounding_result"}
    message = {"role": "assistant", "content": [{"toolUse": ran}, {"toolResult": gave}, {"text": "Hi"}]}
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    answer = {"output": {"message": message}, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}
    shown = str(ul.convert(answer, source="amazon-converse", target=target, kind="response").value)
    assert "Hi" in shown and "nova_grounding" not in shown and "t1" not in shown
    asked = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "q"}]}, message]}
    sent = str(ul.convert(asked, source="amazon-converse", target=target, model="m").value)
    assert "Hi" in sent and "nova_grounding" not in sent and "t1" not in sent


@pytest.mark.parametrize("odd", [[], "m", None, {"role": "user"}, {"role": "user", "content": "Hi"}])
def test_only_messages_of_blocks_are_joined_in_a_repaired_history(odd: Any) -> None:
    body = {
        "messages": [
            {"role": "user", "content": [{"text": "One."}]},
            odd,
            {"role": "user", "content": [{"text": "Two."}]},
        ]
    }
    done = ul.convert(body, source=CONVERSE, target=CONVERSE, model="amazon.nova-pro-v1:0", repair="always")
    assert odd in done.value["messages"]


@pytest.mark.parametrize(
    "more",
    [
        {"inferenceConfig": {}}, {"serviceTier": {}}, {"outputConfig": {}}, {"toolConfig": {}},
        {"additionalModelRequestFields": {}}, {"additionalModelRequestFields": {"inferenceConfig": {}, "top_k": 1}},
    ],
)  # fmt: skip
def test_empty_objects_stay(more: dict[str, Any]) -> None:
    body = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], **more}
    assert ul.convert(body, source=CONVERSE, target=CONVERSE).value == body
    if "serviceTier" in more:
        message = {"role": "assistant", "content": [{"text": "Hi"}]}
        answer = {"output": {"message": message}, "stopReason": "end_turn", **more}
        assert ul.convert(answer, source=CONVERSE, target=CONVERSE, kind="response").value == answer
