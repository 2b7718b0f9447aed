"""The choice of a protocol: by data, by what would be lost, and with reasons."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from unified_llm.models import selection
from unified_llm.models.selection import ProtocolChoice, select

pytestmark = pytest.mark.usefixtures("own_catalog")


def chat(**more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **more}


# ---- without a request: the model decides ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ref", "protocol"),
    [
        # Models that reason go to Responses where it is offered.
        ("openai/gpt-5.5", "openai-responses"),
        ("azure/gpt-5", "openai-responses"),
        ("xai/grok-4.3", "openai-responses"),
        ("openrouter/anthropic/claude-opus-4.7", "openai-responses"),
        ("huggingface/MiniMaxAI/MiniMax-M2.1", "openai-responses"),
        ("deepseek/deepseek-v4-pro", "openai-responses"),
        ("groq/qwen/qwen3-32b", "openai-responses"),
        # To the vendor's own protocol where there is one.
        ("anthropic/claude-opus-4-7", "anthropic-messages"),
        ("google/gemini-3-pro-preview", "google-interactions"),
        ("google-vertex/gemini-3-pro-preview", "google-generate-content"),
        ("azure/claude-opus-4-6", "anthropic-messages"),
        # To Chat elsewhere.
        ("mistral/magistral-small", "openai-chat"),
        ("togetherai/zai-org/GLM-5", "openai-chat"),
        ("cerebras/gpt-oss-120b", "openai-chat"),
        ("zai/glm-5", "openai-chat"),
        ("baseten/moonshotai/Kimi-K2.5", "openai-chat"),
        # A beta gains a model nothing that does not reason.
        ("groq/llama-3.3-70b-versatile", "openai-chat"),
        # One model only, by the table and not by its name.
        ("github-copilot/gpt-4o", "openai-chat"),
        ("github-copilot/gpt-5.3-codex", "openai-responses"),
    ],
)
def test_the_protocol_for_a_model(ref: str, protocol: str) -> None:
    choice = select(ref)
    assert choice.protocol == protocol
    assert choice.model is not None or "baseten" in ref or "togetherai" in ref


def test_whether_a_model_reasons_changes_the_choice() -> None:
    assert select("huggingface", "some/model", reasoning=True).protocol == "openai-responses"
    assert select("huggingface", "some/model", reasoning=False).protocol == "openai-chat"


def test_a_model_the_catalog_does_not_list_may_have_a_profile() -> None:
    # The profile declares that it thinks; without that the two endpoints would weigh the same.
    choice = select("openai", "gpt-5.6-sol")
    assert choice.model is None
    assert [each.weight for each in choice.ranked] == [0, 8]
    assert "which the catalog does not list" in choice.explain()


# ---- with a request: what would be lost decides ---------------------------------------------------------------------


def test_a_request_that_one_protocol_cannot_carry_goes_to_another() -> None:
    # Sampling settings and stop sequences have no place in Responses, for a model that does not reason.
    body = chat(stop=["END"], seed=7, logit_bias={"1": -100}, presence_penalty=0.5)
    choice = select("openai/gpt-4o", request=body, source="openai-chat")
    assert choice.protocol == "openai-chat"
    assert not choice.losses
    (other,) = choice.ranked[1:]
    assert {loss.path for loss in other.losses if loss.fate == "lost"} >= {"/stop", "/seed"}
    assert select("openai/gpt-4o").protocol == "openai-responses"


def test_what_the_request_needs_can_outweigh_how_reasoning_returns() -> None:
    body = chat(stop=["END"], seed=7)
    choice = select("huggingface", "some/model", body, source="openai-chat", reasoning=True)
    assert (
        select("huggingface", "some/model", chat(), source="openai-chat", reasoning=True).protocol == "openai-responses"
    )
    # Responses has penalty 6 there, Chat 8; a stop sequence is 4 and a seed 2.
    assert [(each.endpoint.protocol, each.weight) for each in choice.ranked] == [
        ("openai-chat", 8),
        ("openai-responses", 12),
    ]


def test_every_endpoint_is_tried_in_its_dialect(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[str, str]] = []

    def write(body: Any, target: str, *, model: str) -> ul.Converted:
        tried.append((target, model))
        return ul.write(body, target, model=model)

    monkeypatch.setattr(selection, "write", write)
    select("deepseek/deepseek-v4-pro", request={"model": "m", "input": "Hi"})
    assert ("openai-chat:deepseek", "deepseek-v4-pro") in tried
    assert {target.partition(":")[0] for target, _ in tried} == {
        "openai-responses",
        "openai-chat",
        "anthropic-messages",
    }


def test_a_field_that_an_endpoint_refuses_speaks_against_it() -> None:
    def against(**more: Any) -> list[str]:
        request = {"model": "m", "input": "Hi", **more}
        choice = select("amazon-bedrock", "openai.gpt-5.5", request, reasoning=True)
        (native,) = [each for each in choice.ranked if each.endpoint.protocol == "openai-responses"]
        return [reason.text for reason in native.reasons]

    assert against(background=True) == ["state.background: background (requests are always synchronous)"]
    assert against(background=False) == against() == []


def test_a_canonical_request_needs_no_source() -> None:
    choice = select("openai/gpt-4o", request=ul.Request(model="m", input="Hi", stop=["END"]))
    assert choice.protocol == "openai-chat"
    assert choice.losses.survives("output.stop") and not choice.ranked[1].losses.survives("output.stop")


def test_a_loss_counts_once_for_each_capability() -> None:
    parts = [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}] * 3
    parts = [*parts, {"type": "text", "text": "What is said?"}]
    body = {"model": "m", "messages": [{"role": "user", "content": parts}]}
    choice = select("anthropic/claude-opus-4-7", request=body, source="openai-chat")
    native = next(each for each in choice.ranked if each.endpoint.protocol == "anthropic-messages")
    told = [reason for reason in native.reasons if reason.text.startswith("audio.input lost")]
    assert [reason.weight for reason in told] == [12]
    assert "3 times" in told[0].text


def test_what_is_only_said_beside_a_schema_weighs_less_than_the_schema() -> None:
    """Neither of a provider's own protocols has a name for the schema of an answer; its layer for others has."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    format_ = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}}
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "response_format": format_}
    choice = select("google", "gemini-3-pro-preview", body, source="openai-chat")
    assert choice.protocol.startswith("google-")
    # The name alone: that the schema is kept to, both do by default, which counts against neither (ADR 0027).
    assert [(reason.weight, "/name" in reason.text) for reason in choice.ranked[0].reasons] == [(0.5, True)]


def test_a_protocol_that_refuses_the_request_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*names: str) -> None:
        def preview(body: Any, *, target: str, **more: Any) -> ul.Losses:
            if target.partition(":")[0] in names:
                raise ul.CapabilityRefused("/messages", "native.item", "no such thing there")
            return ul.preview(body, target=target, **more)

        monkeypatch.setattr(selection, "preview", preview)

    refusing("openai-responses")
    choice = select("openai/gpt-5.5", request=chat(), source="openai-chat")
    assert (choice.protocol, choice.ranked[1].endpoint.protocol) == ("openai-chat", "openai-responses")
    assert "2. openai-responses: impossible, /messages: native.item: no such thing there" in choice.explain()
    refusing("openai-responses", "openai-chat")
    with pytest.raises(ul.CapabilityRefused, match="no protocol of openai can carry this request"):
        select("openai/gpt-5.5", request=chat(), source="openai-chat")


# ---- overrides ------------------------------------------------------------------------------------------------------


def test_a_protocol_can_be_forced() -> None:
    choice = select("openai/gpt-5.5", force_protocol="openai-chat")
    assert (choice.protocol, choice.forced) == ("openai-chat", True)
    assert "forced" in choice.explain()
    assert choice.endpoint.base_url == "https://api.openai.com/v1"


def test_forcing_overrules_which_models_an_endpoint_serves() -> None:
    assert select("openai/gpt-5-pro", force_protocol="openai-chat").protocol == "openai-chat"


@pytest.mark.parametrize(
    ("model", "host"), [("openai.gpt-5.5", "bedrock-runtime"), ("openai.gpt-oss-20b-1:0", "bedrock-mantle")]
)
def test_forcing_keeps_to_the_endpoint_that_serves_the_model(model: str, host: str) -> None:
    assert host in select("bedrock", model, force_protocol="openai-responses").endpoint.base_url


def test_forcing_what_is_not_offered_needs_a_url() -> None:
    with pytest.raises(ValueError, match=r"no known openai-responses endpoint for mistral; known: openai-chat"):
        select("mistral/mistral-small-latest", force_protocol="openai-responses")
    choice = select(
        "mistral/mistral-small-latest", force_protocol="openai-responses", base_url="https://mine.example/v1"
    )
    assert choice.endpoint.url("m") == "https://mine.example/v1/responses"


def test_any_server_works_from_a_url_and_a_protocol() -> None:
    choice = select("mine", "some-model", force_protocol="openai-chat:deepseek", base_url="http://10.0.0.1:9000/v1")
    assert (choice.target, choice.provider.id) == ("openai-chat:deepseek", "mine")
    assert choice.endpoint.auth == ("authorization", "Bearer {key}")
    assert choice.endpoint.url("some-model") == "http://10.0.0.1:9000/v1/chat/completions"


def test_forcing_a_protocol_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ul.UnknownProtocol):
        select("openai/gpt-5.5", force_protocol="openai-chatt")


# ---- mistakes and messages ------------------------------------------------------------------------------------------


def test_an_unknown_provider_is_an_error_and_an_unknown_model_is_none() -> None:
    with pytest.raises(ul.UnknownProvider, match="did you mean openai"):
        select("opnai/gpt-5.5")
    assert select("openai", "some-model-of-tomorrow").model is None


def test_a_model_must_be_named() -> None:
    with pytest.raises(ValueError, match="name a model"):
        select("openai")


@pytest.mark.parametrize("ref", ["cohere/command-a-03-2025", "openai/text-embedding-3-small"])
def test_where_no_protocol_is_known_the_way_out_is_named(ref: str) -> None:
    with pytest.raises(ValueError, match="force_protocol"):
        select(ref)


def test_the_choice_explains_itself() -> None:
    assert select("xai/grok-4.3").explain().splitlines()[:5] == [
        f"xai/grok-4.3: {select('xai/grok-4.3').target} at https://api.x.ai/v1",
        "  1. openai-responses: penalty 0, no known losses",
        "  2. openai-chat: penalty 14",
        "          8  reasoning does not return for the next turn",
        "          6  it is deprecated",
    ]


def test_the_choice_as_json() -> None:
    told = select("xai/grok-4.3").to_json()
    assert (told["provider"], told["model"], told["listed"], told["forced"]) == ("xai", "grok-4.3", True, False)
    assert [each["weight"] for each in told["ranked"]] == [0, 14, 17]


def test_the_choice_is_the_same_every_time() -> None:
    body = chat(stop=["END"], reasoning_effort="high", tools=[{"type": "function", "function": {"name": "f"}}])

    def chosen() -> ProtocolChoice:
        return select("openrouter/openai/gpt-5.5", request=body, source="openai-chat")

    assert chosen().to_json() == chosen().to_json()


@pytest.mark.parametrize(("model", "source", "protocol"), [
    ("local/echo", "anthropic-messages", "anthropic-messages"),
    ("local/echo", "google-generate-content", "google-generate-content"),
    ("google/gemini-3-pro-preview", "google-generate-content", "google-generate-content"),
    ("google/gemini-3-pro-preview", "google-interactions", "google-interactions"),
    ("google/gemini-3-pro-preview", "openai-responses", "google-interactions"),
    ("openai/gpt-4o", "openai-chat", "openai-chat"),
    ("openai/gpt-5.5", "openai-chat", "openai-responses"),  # where its reasoning returns
])  # fmt: skip
def test_of_what_is_as_good_the_protocol_of_the_request_is_chosen(model: str, source: str, protocol: str) -> None:
    name = model.partition("/")[2]
    request = ul.convert(
        {"model": name, "messages": [{"role": "user", "content": "Hi"}]}, source="openai-chat", target=source
    )
    assert select(model, request=request.value, source=source).protocol == protocol
