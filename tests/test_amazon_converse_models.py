"""What models take on Converse, by their profiles: Nova, Llama and Claude."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from oracles.amazon_converse import check
from unified_llm.models import profile
from unified_llm_anthropic.messages.passes.demands import DEMANDS

CONVERSE = "amazon-converse"
NOVA, NOVA_2, MICRO = "eu.amazon.nova-pro-v1:0", "global.amazon.nova-2-lite-v1:0", "amazon.nova-micro-v1:0"
LLAMA, SMALL, SCOUT = (
    "us.meta.llama3-1-70b-instruct-v1:0",
    "meta.llama3-2-3b-instruct-v1:0",
    "us.meta.llama4-scout-17b-instruct-v1:0",
)
CLAUDE = "jp.anthropic.claude-sonnet-4-5-20250929-v1:0"
CANADA, GOVERNMENT = "ca.amazon.nova-lite-v1:0", "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0"
TOOL = {"type": "function", "name": "look_up", "parameters": {"type": "object", "properties": {}}, "strict": False}


def sent(model: str, **body: Any) -> tuple[Any, dict[str, tuple[str, str]]]:
    done = ul.convert({"model": "m", "input": "Hi", **body}, source="openai-responses", target=CONVERSE, model=model)
    return done.value, {loss.path: (loss.fate, loss.detail) for loss in done.losses if loss.side == "source"}


@pytest.mark.parametrize("model", [NOVA, NOVA_2, MICRO, LLAMA, SMALL, SCOUT, CLAUDE, CANADA, GOVERNMENT])
def test_models_are_known_in_their_regions_and_versions(model: str) -> None:
    assert profile(model, CONVERSE).known
    assert profile(f"arn:aws:bedrock:eu-west-1:123456789012:inference-profile/{model}").known
    assert not profile(f"mars.{model}").known


@pytest.mark.parametrize(
    ("effort", "word"), [("minimal", "low"), ("low", "low"), ("medium", "medium"), ("max", "high")]
)
def test_nova_takes_effort_in_a_field_of_its_own(effort: str, word: str) -> None:
    more = {"max_output_tokens": 900, "temperature": 0.5, "top_p": 0.4}
    value, losses = sent(NOVA_2, reasoning={"effort": effort}, **more)
    assert value["additionalModelRequestFields"] == {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": word}}
    assert "outputConfig" not in value
    limits = {"maxTokens": 900, "temperature": 0.5, "topP": 0.4}
    assert value.get("inferenceConfig") == (None if word == "high" else limits)
    assert [losses[f"/{key}"][0] for key in more if word == "high"] == (["lost"] * 3 if word == "high" else [])
    assert losses.get("/reasoning/effort", ("", ""))[0] == ("" if effort == word else "approximated")


def test_novas_effort_is_read_and_written_back() -> None:
    config = {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "medium"}, "topK": 3}
    body = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "additionalModelRequestFields": config}
    assert ul.convert(body, source=CONVERSE, target=CONVERSE).value == body
    chat = ul.convert(body, source=CONVERSE, target="openai-chat", model="gpt-5")
    assert chat.value["reasoning_effort"] == "medium"
    canonical = ul.read(body, CONVERSE, "request").model_dump(exclude_unset=True)
    canonical["reasoning"]["effort"] = "low"
    config["reasoningConfig"] = {"type": "enabled", "maxReasoningEffort": "low"}
    assert ul.write(canonical, CONVERSE, "request").value == body


@pytest.mark.parametrize("model", [NOVA, LLAMA, SCOUT])
def test_models_that_do_not_think_get_no_field_for_it(model: str) -> None:
    value, losses = sent(model, reasoning={"effort": "high"})
    assert value == {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    assert losses["/reasoning/effort"] == ("lost", "the model does not think")


def test_who_takes_tools_and_a_choice_of_them() -> None:
    spec = {"name": "look_up", "inputSchema": {"json": {"type": "object", "properties": {}}}, "strict": False}
    choice = {"type": "function", "name": "look_up"}
    for model, wanted in (
        (NOVA, {"tool": {"name": "look_up"}}),
        (CLAUDE, {"tool": {"name": "look_up"}}),
        (LLAMA, None),
    ):
        value, losses = sent(model, tools=[TOOL], tool_choice=choice)
        assert value["toolConfig"] == {"tools": [{"toolSpec": spec}], **({"toolChoice": wanted} if wanted else {})}
        assert losses.get("/tool_choice/type", ("",))[0] == ("" if wanted else "lost")
    value, losses = sent(LLAMA, tools=[TOOL], tool_choice="auto")
    assert value["toolConfig"]["toolChoice"] == {"auto": {}} and "/tool_choice" not in losses
    value, losses = sent(SMALL, tools=[TOOL], tool_choice="required")
    assert "toolConfig" not in value
    assert losses["/tools/0"] == losses["/tool_choice"] == ("lost", "the model takes no tools")


def test_who_takes_media() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,aGk="}
    file = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}
    content = [{"type": "input_text", "text": "Look"}, image, file]
    call = {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "It"}, image]}
    asked = [{"role": "user", "content": content}, call, result]
    for model, user, inside in (
        (NOVA, ["text", "image", "document"], ["text", "image"]),
        (CLAUDE, ["text", "image", "document"], ["text", "image"]),
        (SCOUT, ["text", "image", "document"], ["text", "image"]),
        (LLAMA, ["text", "document"], ["text"]),
        (MICRO, ["text"], ["text"]),
    ):
        value, losses = sent(model, input=asked, tools=[TOOL])
        messages = value["messages"]
        assert [next(iter(block)) for block in messages[0]["content"]] == user, model
        assert [next(iter(block)) for block in messages[2]["content"][0]["toolResult"]["content"]] == inside, model
        assert ("/input/0/content/1" in losses) is ("image" not in user)
        assert ("/input/2/output/1" in losses) is ("image" not in inside)


@pytest.mark.parametrize("model", [CLAUDE, "anthropic.claude-opus-4-7", "anthropic.claude-3-5-sonnet-20240620-v1:0"])
def test_claude_takes_no_audio_and_no_video(model: str) -> None:
    blobs = [{"inlineData": {"mimeType": kind, "data": "aGk="}} for kind in ("audio/wav", "video/mp4")]
    body = {"contents": [{"role": "user", "parts": [{"text": "Look"}, *blobs]}]}
    done = ul.convert(body, source="google-generate-content", target=CONVERSE, model=model)
    assert done.value["messages"][0]["content"] == [{"text": "Look"}]
    assert {(loss.path, loss.capability, loss.fate, loss.detail) for loss in done.losses} == {
        ("/contents/0/parts/1", "audio.input", "lost", "the model takes no audio"),
        ("/contents/0/parts/2", "video.input", "lost", "the model takes no video"),
    }


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        (CLAUDE, {"top_k": 5}),
        (NOVA, {"inferenceConfig": {"topK": 5}}),
        (LLAMA, None),
        ("anthropic.claude-opus-4-7", None),
    ],
)
def test_top_k_is_sent_in_the_field_of_the_model(model: str, fields: Any) -> None:
    body = {"generationConfig": {"topK": 5}, "contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    done = ul.convert(body, source="google-generate-content", target=CONVERSE, model=model)
    assert done.value.get("additionalModelRequestFields") == fields
    assert [(loss.path, loss.fate) for loss in done.losses] == ([] if fields else [("/generationConfig/topK", "lost")])


def test_top_k_goes_where_claude_thinks() -> None:
    body = {"model": "m", "max_tokens": 3000, "top_k": 5, "messages": [{"role": "user", "content": "Hi"}]}
    body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    done = ul.convert(body, source="anthropic-messages", target=CONVERSE, model=CLAUDE)
    assert done.value["additionalModelRequestFields"] == {"thinking": body["thinking"]}
    assert [(loss.path, loss.detail) for loss in done.losses] == [("/top_k", "no sampling beside thinking")]


@pytest.mark.parametrize("fields", [{"top_k": 5, "x": 1}, {"inferenceConfig": {"topK": 5, "x": 1}}])
def test_top_k_is_read_from_the_fields_of_models(fields: dict[str, Any]) -> None:
    body = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "additionalModelRequestFields": fields}
    assert ul.convert(body, source=CONVERSE, target=CONVERSE).value == body
    done = ul.convert(body, source=CONVERSE, target="google-generate-content")
    assert done.value["generationConfig"] == {"topK": 5}
    assert [loss.path.rpartition("/")[2] for loss in done.losses] == ["x"]
    canonical = ul.read(body, CONVERSE, "request").model_dump(exclude_unset=True)
    canonical["top_k"] = 6
    assert str(ul.write(canonical, CONVERSE, "request").value) == str(body).replace("5", "6")


@pytest.mark.parametrize("rest", [{}, {"x": 1}])
def test_thinking_is_read_from_the_other_name_that_bedrock_takes_for_it(rest: dict[str, Any]) -> None:
    """Bedrock takes `reasoning_config` for Claude's `thinking`, and clients send it."""
    thinking = {"type": "enabled", "budget_tokens": 2048}
    fields = {"reasoning_config": {**thinking, **rest}}
    body = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "additionalModelRequestFields": fields}
    assert ul.convert(body, source=CONVERSE, target=CONVERSE).value == body
    done = ul.convert(body, source=CONVERSE, target="anthropic-messages", model="claude-sonnet-4-5")
    assert done.value["thinking"] == thinking
    both = {**body, "additionalModelRequestFields": {**fields, "thinking": thinking}}
    assert ul.convert(both, source=CONVERSE, target=CONVERSE).value == both
    canonical = ul.read(body, CONVERSE, "request").model_dump(exclude_unset=True)
    canonical["reasoning"]["budget_tokens"] = 4096
    assert str(ul.write(canonical, CONVERSE, "request").value) == str(body).replace("2048", "4096")


def test_a_limit_is_the_most_of_the_model() -> None:
    value, losses = sent(CLAUDE, max_output_tokens=70_000)
    assert value["inferenceConfig"] == {"maxTokens": 64_000}
    assert losses["/max_output_tokens"] == ("approximated", "64000 is the most of this model")
    assert sent(LLAMA, max_output_tokens=70_000)[0]["inferenceConfig"] == {"maxTokens": 70_000}


@pytest.mark.parametrize(
    ("model", "ends"),
    [
        ("us.anthropic.claude-opus-4-7-v1:0", "user"), ("anthropic.claude-sonnet-4-6", "user"),
        ("amazon.nova-2-lite-v1:0", "user"), ("anthropic.claude-haiku-4-5-20251001-v1:0", "assistant"),
        ("amazon.nova-pro-v1:0", "assistant"),
    ],
)  # fmt: skip
def test_a_model_that_continues_no_message_of_its_own_is_asked_to_go_on(model: str, ends: str) -> None:
    """Claude from 4.6 on refuses a conversation that ends with the assistant, at Bedrock as at its own API."""
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a "}]}
    done = ul.convert(body, source="openai-chat", target=CONVERSE, model=model)
    assert done.value["messages"][-1]["role"] == ends
    if ends == "user":
        assert "/messages/1/content" in {loss.path for loss in done.losses if loss.fate == "approximated"}
    elif "claude" in model:
        assert done.value["messages"][-1]["content"] == [{"text": "a"}]
    own = {"messages": [{"role": role, "content": [{"text": "x"}]} for role in ("user", "assistant")]}
    assert ul.convert(own, source=CONVERSE, target=CONVERSE, model=model).value == own


@pytest.mark.parametrize("model", DEMANDS.models)
def test_claude_continues_its_own_message_on_bedrock_where_it_does_at_anthropic(model: str) -> None:
    """Both adapters have a list of the models that do not."""
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    ends = []
    for name, target in ((model, "anthropic-messages"), (f"us.anthropic.{model}-v1:0", CONVERSE)):
        done = ul.convert({"model": name, "messages": turns}, source="openai-chat", target=target)
        ends.append(done.value["messages"][-1]["role"])
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("model", "added"),
    [
        ("anthropic.claude-sonnet-4-6", {"type": "adaptive"}),
        ("anthropic.claude-opus-4-5-20251101-v1:0", {"type": "enabled", "budget_tokens": 1024}),
    ],
)
def test_thinking_that_only_the_effort_implies_is_reported_as_added(model: str, added: dict[str, Any]) -> None:
    """At Messages, whose report has it too, an effort alone does not switch thinking on."""
    body = {"model": "m", "max_tokens": 9000, "output_config": {"effort": "low"}, "messages": []}
    body["messages"] = [{"role": "user", "content": "Hi"}]
    done = ul.convert(body, source="anthropic-messages", target=CONVERSE, model=model)
    assert done.value["additionalModelRequestFields"] == {"thinking": added}
    place = "/additionalModelRequestFields/thinking/"
    assert {loss.path for loss in done.losses if loss.fate == "added"} == {place + key for key in added}


@pytest.mark.parametrize("fields", [{}, {"thinking": {"type": "adaptive"}}])
def test_an_effort_among_the_fields_of_the_model_is_read(fields: dict[str, Any]) -> None:
    """Clients send what Messages has (`output_config.effort`) in the fields that Converse passes on."""
    fields = {**fields, "output_config": {"effort": "high", "other": 1}}
    body = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "additionalModelRequestFields": fields}
    assert ul.convert(body, source=CONVERSE, target=CONVERSE).value == body
    done = ul.convert(body, source=CONVERSE, target="anthropic-messages", model="claude-sonnet-4-6")
    assert done.value["output_config"] == {"effort": "high"}
    lost = [loss.path for loss in done.losses if loss.fate == "lost"]
    assert lost == ["/additionalModelRequestFields/output_config/other"]


@pytest.mark.parametrize("more", [{}, {"effort": "high"}, {"other": 1}])
def test_a_format_among_the_fields_of_the_model_is_read(more: dict[str, Any]) -> None:
    """The AI SDK sends Claude what Messages has (`output_config.format`), not the `outputConfig` of Converse."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    schema["additionalProperties"] = False
    form = {"type": "json_schema", "schema": schema}
    fields = {"thinking": {"type": "adaptive"}, "output_config": {"format": form, **more}}
    body = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "additionalModelRequestFields": fields}
    assert ul.convert(body, source=CONVERSE, target=CONVERSE).value == body
    done = ul.convert(body, source=CONVERSE, target="anthropic-messages", model="claude-sonnet-4-6")
    assert done.value["output_config"]["format"] == form
    assert done.value["output_config"].get("effort") == more.get("effort")
    done = ul.convert(body, source=CONVERSE, target="openai-chat", model="gpt-5")
    assert done.value["response_format"]["json_schema"]["schema"] == schema
    lost = [loss.path for loss in done.losses if "output_config" in loss.path and loss.fate == "lost"]
    assert lost == [f"/additionalModelRequestFields/output_config/{key}" for key in more if key == "other"]


@pytest.mark.parametrize("form", [{"type": "json_schema", "schema": "{}"}, {"type": "other"}, {"schema": {}}, {}, 1])
def test_another_value_than_a_format_stays_among_the_fields(form: Any) -> None:
    body = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    body["additionalModelRequestFields"] = {"output_config": {"format": form}}
    assert ul.convert(body, source=CONVERSE, target=CONVERSE).value == body
    assert "response_format" not in ul.convert(body, source=CONVERSE, target="openai-chat", model="gpt-5").value


def test_the_format_of_converse_goes_before_one_among_the_fields() -> None:
    own = {"type": "json_schema", "structure": {"jsonSchema": {"name": "n", "schema": '{"type":"object"}'}}}
    other = {"type": "json_schema", "schema": {"type": "array"}}
    body = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "outputConfig": {"textFormat": own}}
    body["additionalModelRequestFields"] = {"output_config": {"format": other}}
    assert ul.convert(body, source=CONVERSE, target=CONVERSE).value == body
    done = ul.convert(body, source=CONVERSE, target="openai-chat", model="gpt-5")
    assert done.value["response_format"]["json_schema"]["name"] == "n"


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "anthropic-messages", "google-interactions"])
def test_the_type_of_a_plain_call_has_no_information(target: str) -> None:
    call = {"toolUseId": "t_1", "name": "f", "input": {}, "type": "tool_use"}
    message = {"role": "assistant", "content": [{"toolUse": call}]}
    body = {"output": {"message": message}, "stopReason": "tool_use"}
    done = ul.convert(body, source=CONVERSE, target=target, kind="response")
    assert not [loss for loss in done.losses if loss.path.endswith("/type")]
    call["type"] = "other_use"
    done = ul.convert(body, source=CONVERSE, target=target, kind="response")
    assert [loss.fate for loss in done.losses if loss.path.endswith("/toolUse/type")] == ["lost"]


GPT_OSS = "openai.gpt-oss-120b-1:0"


@pytest.mark.parametrize(
    ("effort", "word"), [("none", "low"), ("minimal", "low"), ("low", "low"), ("medium", "medium"), ("xhigh", "high")]
)
def test_the_open_models_of_openai_take_effort_as_a_word(effort: str, word: str) -> None:
    """https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-openai.html"""
    assert profile(GPT_OSS, CONVERSE).known
    wire, losses = sent(GPT_OSS, reasoning={"effort": effort})
    assert wire["additionalModelRequestFields"] == {"reasoning_effort": word}
    assert "outputConfig" not in wire
    assert losses == ({} if effort == word else {"/reasoning/effort": ("approximated", f"sent as effort {word!r}")})


def test_a_budget_is_an_effort_of_the_open_models_of_openai() -> None:
    body = {"model": "m", "max_tokens": 9000, "messages": [{"role": "user", "content": "Hi"}]}
    for thinking, word in (({"type": "enabled", "budget_tokens": 1024}, "low"), ({"type": "disabled"}, "low")):
        asked = {**body, "thinking": thinking}
        wire = ul.convert(asked, source="anthropic-messages", target=CONVERSE, model=GPT_OSS).value
        assert wire["additionalModelRequestFields"] == {"reasoning_effort": word}


def test_the_effort_of_the_open_models_of_openai_is_read() -> None:
    fields = {"reasoning_effort": "high", "seed": 1}
    body = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "additionalModelRequestFields": fields}
    assert ul.convert(body, source=CONVERSE, target=CONVERSE).value == body
    done = ul.convert(body, source=CONVERSE, target="openai-chat", model="gpt-oss-120b")
    assert done.value["reasoning_effort"] == "high"


SINGLE = {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}


@pytest.mark.parametrize("choice", [{}, {"tool_choice": "auto"}])
@pytest.mark.parametrize("model", [CLAUDE, "global.anthropic.claude-opus-4-8-v1"])
def test_claude_is_asked_for_one_call_at_a_time_in_its_own_words(model: str, choice: Any) -> None:
    """Beside a choice of Converse's own, or without tools, Bedrock refuses the field."""
    value, told = sent(model, tools=[TOOL], parallel_tool_calls=False, **choice)
    assert value["additionalModelRequestFields"] == SINGLE and "toolChoice" not in value["toolConfig"]
    assert "/parallel_tool_calls" not in told and "/tool_choice" not in told


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (CLAUDE, {"tools": [TOOL], "tool_choice": "required"}),
        (CLAUDE, {"tools": [TOOL], "tool_choice": {"type": "function", "name": "look_up"}}),
        (CLAUDE, {}),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", {"tools": [TOOL]}),
        (NOVA, {"tools": [TOOL]}),
    ],
)
def test_one_call_at_a_time_is_lost_where_the_field_is_refused(model: str, body: Any) -> None:
    value, told = sent(model, parallel_tool_calls=False, **body)
    assert "additionalModelRequestFields" not in value
    assert told["/parallel_tool_calls"][0] == "lost"


def test_one_call_at_a_time_is_read_and_written_back() -> None:
    tools = [{"toolSpec": {"name": "look_up", "inputSchema": {"json": {"type": "object", "properties": {}}}}}]
    body = {
        "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
        "toolConfig": {"tools": tools},
        "additionalModelRequestFields": SINGLE,
    }
    assert ul.convert(body, source=CONVERSE, target=CONVERSE).value == body
    for target, key, wanted in (
        ("openai-chat", "parallel_tool_calls", False),
        ("anthropic-messages", "tool_choice", SINGLE["tool_choice"]),
    ):
        done = ul.convert(body, source=CONVERSE, target=target, model="m")
        assert done.value[key] == wanted
        assert not [loss for loss in done.losses if loss.fate == "lost"]


@pytest.mark.parametrize(
    ("model", "stop", "left"),
    [
        (CLAUDE, ["\n", "END", ""], ["END"]),
        (NOVA, ["\n", "END", ""], ["\n", "END"]),
        (NOVA, [""], None),
        (CLAUDE, ["\n"], None),
        ("anthropic.claude-3-haiku-20240307-v1:0", ["\n", "END"], ["END"]),  # which does not think
    ],
)
def test_texts_that_stop_nothing_are_left_out_and_reported(model: str, stop: list[str], left: Any) -> None:
    """A stop sequence has at least one character, and for Anthropic's models one that is not white space."""
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}], "stop": stop}
    done = ul.convert(body, source="openai-chat", target="amazon-converse", model=model)
    assert done.value.get("inferenceConfig", {}).get("stopSequences") == left
    assert {loss.fate for loss in done.losses if loss.path.startswith("/stop")} == {"lost"}
    check(done.value, "Converse", model)
