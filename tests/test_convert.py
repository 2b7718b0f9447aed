"""The front door: what goes in, what comes out, levels, errors. Expected values are written by hand."""

from __future__ import annotations

import copy
import dataclasses
import logging
import pickle
import subprocess
import sys
from typing import Any

import pytest

import unified_llm as ul

BODY: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "name": "ann", "content": [{"type": "text", "text": "hi", "strange": 1}]},
    ],
    "seed": 7,
    "temperature": 0.5,
}


def to_responses(body: Any, **options: Any) -> ul.Converted:
    return ul.convert(body, source="openai-chat", target="openai-responses", **options)


def test_losses_name_the_leaf_the_capability_and_the_fate() -> None:
    report = {(x.path, x.capability, x.fate, x.side) for x in to_responses(BODY).losses}
    assert report >= {
        ("/seed", "sampling.seed", "lost", "source"),
        ("/messages/1/name", "message.name", "lost", "source"),
        ("/messages/1/content/0/strange", "native.field", "lost", "source"),
    }


def test_the_callers_document_is_not_changed_and_not_shared() -> None:
    before = copy.deepcopy(BODY)
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    body = {**BODY, "tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}]}
    value = to_responses(body).value
    value["tools"][0]["parameters"]["properties"]["a"]["type"] = "changed"
    assert schema["properties"]["a"] == {"type": "string"}
    assert BODY == before


@pytest.mark.parametrize("form", ["bytes", "dict", "sdk"])
def test_bytes_dicts_and_sdk_objects_are_accepted(form: str) -> None:
    import json

    from openai.types.chat import ChatCompletion

    answer = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "yes", "refusal": None},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
    }
    body = {"bytes": json.dumps(answer).encode(), "dict": answer, "sdk": ChatCompletion.model_validate(answer)}[form]
    done = ul.convert(body, source="openai-chat", target="openai-chat", kind="response")
    assert done.value == answer


def test_preview_is_the_report_of_convert() -> None:
    assert ul.preview(BODY, source="openai-chat", target="openai-responses") == to_responses(BODY).losses
    assert (
        ul.preview(BODY, source="openai-chat", target="openai-responses", on_loss="raise") == to_responses(BODY).losses
    )


def test_level_raise_keeps_the_finished_result() -> None:
    with pytest.raises(ul.CapabilityLost) as caught:
        to_responses(BODY, on_loss={"sampling.*": "raise"})
    assert [loss.path for loss in caught.value.losses] == ["/seed"]
    assert caught.value.converted.value["model"] == "m"


def test_the_first_matching_pattern_wins_and_a_bare_glob_means_lost() -> None:
    to_responses(BODY, on_loss={"sampling.seed": "ignore", "message.*": "ignore", "native.*": "ignore", "*": "raise"})
    to_responses(BODY, on_loss={"*@approximated": "raise"})


def test_level_warn_is_one_record(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="unified_llm"):
        to_responses(BODY, on_loss="warn")
    assert len(caplog.records) == 1
    assert "/seed" in caplog.text


def test_misspelled_levels_are_refused_before_anything_happens() -> None:
    with pytest.raises(ValueError, match="shout"):
        to_responses(BODY, on_loss="shout")
    with pytest.raises(ValueError, match="mislaid"):
        to_responses(BODY, on_loss={"*@mislaid": "warn"})


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"{", ""),
        ([], ""),
        ({"model": "m"}, "/messages"),
        ({"messages": "hi"}, "/messages"),
        ({"messages": [], "seed": float("nan")}, "/seed"),
        ({"messages": [], "stop": {1, 2}}, "/stop"),
        ({"messages": [{1: 2}]}, "/messages/0"),
    ],
)
def test_impossible_input_is_an_invalid_body_with_its_path(body: Any, path: str) -> None:
    with pytest.raises(ul.InvalidBody) as caught:
        to_responses(body)
    assert caught.value.path == path
    assert caught.value.reason


def test_a_key_without_which_there_is_no_document_is_named() -> None:
    with pytest.raises(ul.InvalidBody) as caught:
        ul.convert({"id": "msg_1"}, source="anthropic-messages", target="openai-chat", kind="response")
    assert caught.value.reason == "not a document of anthropic-messages: 'content' is missing"


def test_unknown_protocols_dialects_and_kinds_say_what_there_is() -> None:
    with pytest.raises(ul.UnknownProtocol, match="openai-chat"):
        ul.convert(BODY, source="openai-chat", target="morse")
    with pytest.raises(ul.UnknownProtocol, match="klingon"):
        ul.convert(BODY, source="openai-chat:klingon", target="openai-chat")
    with pytest.raises(ValueError, match="poem"):
        ul.convert(BODY, source="openai-chat", target="openai-chat", kind="poem")


def test_numbers_keep_their_value() -> None:
    text = b'{"model":"m","messages":[{"role":"user","content":"x","big":123456789012345678901234567890,"f":1.0}]}'
    message = ul.convert(text, source="openai-chat", target="openai-chat").value["messages"][0]
    assert message["big"] == 123456789012345678901234567890
    assert isinstance(message["f"], float)
    done = ul.convert({"messages": [], "n": 2**70}, source="openai-chat", target="openai-chat")
    assert done.value["n"] == 2**70


def test_trap_180_lone_surrogates_become_a_replacement_character_and_are_reported() -> None:
    for body in (
        b'{"messages":[{"role":"user","content":"a\\ud83db"}]}',
        {"messages": [{"role": "user", "content": "a\ud83db"}]},
    ):
        done = ul.convert(body, source="openai-chat", target="openai-chat")
        assert done.value["messages"][0]["content"] == "a\ufffdb"
        assert [(x.path, x.fate) for x in done.losses] == [("/messages/0/content", "approximated")]
    paired = ul.convert(
        b'{"messages":[{"role":"user","content":"\\ud83c\\udf78"}]}', source="openai-chat", target="openai-chat"
    )
    assert paired.value["messages"][0]["content"] == "\U0001f378"
    assert not paired.losses


def test_the_same_input_gives_the_same_bytes() -> None:
    from unified_llm.foundation.json_codec import dump

    first, second = to_responses(BODY), to_responses(copy.deepcopy(BODY))
    assert dump(first.value) == dump(second.value)
    assert first.losses == second.losses


def test_an_exchange_is_the_same_whenever_it_is_asked_for() -> None:
    body = {**BODY, "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]}
    early, late = to_responses(body).exchange, to_responses(body)
    late.value["model"] = "other"
    late.value["input"].clear()
    late.value["input"].append({"type": "message"})
    late.value.pop("tools")
    assert late.exchange == early is not None
    assert late.exchange is late.exchange


def test_a_finished_conversion_is_a_value() -> None:
    done = to_responses(BODY)
    assert done == to_responses(BODY) and done != to_responses({**BODY, "seed": 8})
    assert pickle.loads(pickle.dumps(to_responses(BODY))) == done == copy.copy(to_responses(BODY))
    assert "exchange=Exchange(" in repr(to_responses(BODY))
    assert dataclasses.replace(to_responses(BODY), value=1).exchange == done.exchange
    assert ul.Converted(1, ul.Losses()).exchange is None and ul.Converted(1, ul.Losses()).http == {}
    with pytest.raises(dataclasses.FrozenInstanceError):
        done.value = 2  # type: ignore[misc]


def test_an_exchange_is_json_and_remembers_the_alias() -> None:
    exchange = to_responses(BODY, model="vendor/real").exchange
    assert exchange is not None
    assert (exchange.alias, exchange.model) == ("m", "vendor/real")
    assert ul.Exchange.from_json(exchange.to_json()) == exchange


def test_read_gives_objects_and_strict_refuses_what_is_ill_typed() -> None:
    request: Any = ul.read(BODY, "openai-chat")
    assert request.input[0].role == "system"
    assert request.seed == 7
    bad = {"input": [{"type": "function_call", "call_id": 5, "name": "f", "arguments": "{}"}]}
    item = ul.read(bad, "openai-responses").input[0]
    assert type(item).__name__ == "UnknownItem" and item.problems
    assert item.problems == ("/call_id: an integer, should be a string",)
    with pytest.raises(ul.InvalidBody, match="/input/0/call_id: an integer, should be a string"):
        ul.read(bad, "openai-responses", strict=True)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, 3]}]}, "/messages/0/content/1"),
        ({"messages": [{"role": "user", "content": "a"}, None]}, "/messages/1"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": 3}]}]}, "/messages/0/content/0"),
        ({"messages": [], "temperature": "hot"}, "/temperature"),
    ],
)
def test_strict_reading_names_the_place_of_what_is_ill_typed(body: dict[str, Any], path: str) -> None:
    ul.read(body, "openai-chat")
    with pytest.raises(ul.InvalidBody, match=f"^{path}: "):
        ul.read(body, "openai-chat", strict=True)


def test_a_list_element_that_is_not_an_object_goes_home_and_is_reported_to_others() -> None:
    body = {"messages": [None, {"role": "user", "content": [{"type": "text", "text": "a"}, None, 3]}]}
    assert ul.convert(body, source="openai-chat", target="openai-chat").value == body
    done = ul.convert(body, source="openai-chat", target="openai-responses")
    assert [loss.path for loss in done.losses if loss.fate == "lost"] == [
        "/messages/0",
        "/messages/1/content/1",
        "/messages/1/content/2",
    ]


def test_what_repair_took_out_is_named_where_the_caller_put_it() -> None:
    items = [
        {"type": "message", "role": "user", "content": "a"},
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "user", "content": "b", "name": "n"},
    ]
    done = ul.write({"model": "m", "input": items}, "openai-responses")
    assert [loss.path for loss in done.losses] == ["/input/1", "/input/2/name"]


def test_write_takes_objects_and_points_into_the_canonical_form() -> None:
    done = ul.write(ul.Request(model="m", input="Hi", seed=3), "openai-responses")
    assert done.value == {"model": "m", "input": "Hi"}
    assert [loss.path for loss in done.losses] == ["/seed"]


def test_to_sdk_of_a_vendor_that_validates() -> None:
    """All of it is an object, spelled as the SDK spells it, and keys of tomorrow are no reason to refuse the answer."""
    part = {"text": "Hi", "tomorrow": 1}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "tomorrow": {"a": 1}}
    body = {"candidates": [candidate], "modelVersion": "m", "tomorrow": [1]}
    answer = ul.to_sdk(body, "google-generate-content", "response")
    assert answer.text == "Hi" and answer.model_version == "m"
    steps = [{"type": "model_output", "content": [{"type": "text", "text": "Hi"}]}]
    whole = {"id": "i", "object": "interaction", "status": "completed", "model": "m", "steps": steps}
    interaction = ul.to_sdk(whole, "google-interactions", "response")
    assert interaction.steps[0].content[0].text == "Hi"


def test_what_is_passed_in_another_form_is_told_how() -> None:
    text = "openai-chat requires a JSON object, got a string; pass JSON text as bytes"
    with pytest.raises(ul.InvalidBody, match=text):
        ul.convert('{"messages": []}', source="openai-chat", target="openai-responses")
    with pytest.raises(TypeError, match=r"named by a string, .* not by NoneType"):
        ul.convert({"messages": []}, source=None, target="openai-responses")  # type: ignore[arg-type]


def test_to_sdk_gives_the_official_type() -> None:
    from openai.types.chat import ChatCompletion

    value = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "yes", "refusal": None},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
    }
    answer = ul.to_sdk(value, "openai-chat", "response")
    assert isinstance(answer, ChatCompletion)
    assert answer.choices[0].message.content == "yes"


def test_importing_the_package_imports_no_sdk_and_no_pydantic() -> None:
    heavy = {"pydantic", "httpx2", "openai", "anthropic", "google.genai"}
    code = f"import sys, unified_llm; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_question_about_no_capability_is_a_mistake() -> None:
    losses = ul.preview({"messages": [], "seed": 7}, source="openai-chat", target="anthropic-messages")
    assert losses.survives("tools.*") and not losses.survives("sampling.seed") and losses.survives("x.acme.mood")
    with pytest.raises(ValueError, match=r"'tols\.\*' matches no capability; did you mean 'tools\.\*'\?"):
        losses.survives("tols.*")
