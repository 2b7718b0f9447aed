"""Our own table of providers and protocols: well formed, sourced, and consistent with seed facts and the catalog."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from models.catalogs import SNAPSHOT
from unified_llm.engine.registry import adapter
from unified_llm.models import provider_table
from unified_llm.models.catalog import Catalog
from unified_llm.models.endpoints import provider, providers
from unified_llm.models.provider_table import table
from unified_llm.types._tables import CAPABILITY

pytestmark = pytest.mark.usefixtures("own_catalog")
ROWS = sorted(table())
RETURNS = {"", "sealed", "field-sealed", "items", "field", "tags", "none"}


# ---- the table is well formed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_the_table(name: str) -> None:
    row = provider(name)
    assert row.known and row.endpoints, "a row without endpoints says nothing"
    assert row.sources, "where does it come from?"
    assert row.local or row.listed, "neither the user's own server nor in the catalog: is the name right?"
    assert row.key_env or row.note, "how does one log in?"
    for each in row.endpoints:
        assert each.protocol in ul.protocols()
        assert each.base_url.startswith("http") and not each.base_url.endswith("/")
        assert each.reasoning in RETURNS and each.state in {"", "kept", "none"}
        assert each.status in {"", "beta", "deprecated"}
        assert len(each.auth) in (0, 2)
        unknown = set(each.cannot) - set(CAPABILITY["request"])
        assert not unknown, "`cannot` names canonical request fields"
        names = {part.partition("}")[0] for part in each.base_url.split("{")[1:]}
        assert names <= set(each.variables), "a variable that nothing fills"


def test_the_table_is_dated() -> None:
    assert provider_table.data()["checked"] >= "2026-11-21"


@pytest.mark.parametrize("name", ROWS)
def test_two_endpoints_of_one_protocol_serve_different_models(name: str) -> None:
    row = provider(name)
    for model in SNAPSHOT.raw.get(row.id, {"models": {"any": {}}})["models"]:
        served = [each.protocol for each in row.serving(model)]
        assert len(served) == len(set(served)), f"{model}: {served}"


@pytest.mark.parametrize("name", ROWS)
def test_a_target_is_one_that_conversions_know(name: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    for each in provider(name).endpoints:
        assert ul.convert(body, source="openai-chat", target=each.target).value


def test_aliases_are_no_names_of_others() -> None:
    assert not set(provider_table.aliases()) & ({*SNAPSHOT.raw, *table()})


# ---- who serves what ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "responses"),
    [
        ("openai", True),
        ("azure", True),
        ("xai", True),
        ("openrouter", True),
        ("huggingface", True),  # beta; in February 2026 it had none
        ("groq", True),
        ("deepseek", True),
        ("google", False),
        ("anthropic", False),
        ("mistral", False),
        ("cerebras", False),
        ("togetherai", False),
        ("zai", False),
    ],
)
def test_who_serves_responses(name: str, responses: bool) -> None:
    assert ("openai-responses" in provider(name).protocols) is responses


def test_gemini_is_served_by_its_own_protocols() -> None:
    assert provider("google").protocols[:2] == ("google-interactions", "google-generate-content")


@pytest.mark.parametrize(
    ("name", "model", "protocols"),
    [
        ("openai", "gpt-5.5", ["openai-responses", "openai-chat"]),
        ("openai", "gpt-5-pro", ["openai-responses"]),
        ("openai", "o3-deep-research", ["openai-responses"]),
        ("openai", "gpt-4o-audio-preview", ["openai-chat"]),
        ("openai", "text-embedding-3-small", []),
        ("azure", "claude-opus-4-6", ["anthropic-messages"]),
        ("azure", "gpt-5", ["openai-responses", "openai-chat"]),
        ("azure", "deepseek-v3.2", ["openai-chat"]),
        ("google-vertex", "gemini-3-pro-preview", ["google-generate-content", "google-interactions"]),
        ("google-vertex", "claude-opus-4-7@default", ["anthropic-messages"]),
        ("google-vertex", "zai-org/glm-5-maas", ["openai-chat"]),
        ("amazon-bedrock", "anthropic.claude-opus-4-7", ["anthropic-messages", "amazon-converse"]),
        ("amazon-bedrock", "us.anthropic.claude-opus-4-7", ["anthropic-messages", "amazon-converse"]),
        ("amazon-bedrock", "openai.gpt-oss-120b-1:0", ["openai-responses", "openai-chat"]),
        ("amazon-bedrock", "amazon.nova-pro-v1:0", ["amazon-converse"]),
        ("github-copilot", "gpt-4o", ["openai-chat"]),
        ("github-copilot", "gpt-5.3-codex", ["openai-responses"]),
        ("github-copilot", "gpt-5-mini", ["openai-responses", "openai-chat"]),
        ("github-copilot", "claude-opus-4.7", ["anthropic-messages", "openai-chat"]),
    ],
)
def test_which_protocols_serve_a_model(name: str, model: str, protocols: list[str]) -> None:
    assert [each.protocol for each in provider(name, model=model).serving(model)] == protocols


def test_providers_by_protocol() -> None:
    assert [each.id for each in providers(protocol="google-interactions")] == [
        "google",
        "google-vertex",
        "google-vertex-anthropic",
        "local",
    ]
    assert {"openai", "vllm", "baseten"} <= {each.id for each in providers()}


def test_an_unknown_provider_comes_with_near_ones() -> None:
    with pytest.raises(ul.UnknownProvider, match=r"did you mean .*mistral") as error:
        provider("mistrl")
    assert error.value.suggestions[0] == "mistral"


# ---- URLs, keys -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "model", "stream", "url"),
    [
        ("openai", "gpt-5.5", False, "https://api.openai.com/v1/responses"),
        ("anthropic", "claude-opus-4-7", True, "https://api.anthropic.com/v1/messages"),
        ("minimax", "MiniMax-M2.5", False, "https://api.minimax.io/anthropic/v1/messages"),
        ("minimax-cn", "MiniMax-M2.5", False, "https://api.minimaxi.com/anthropic/v1/messages"),
        ("zai-coding-plan", "glm-5", False, "https://api.z.ai/api/coding/paas/v4/chat/completions"),
        ("moonshotai-cn", "kimi-k2.5", False, "https://api.moonshot.cn/v1/responses"),
        ("ollama-cloud", "gpt-oss:20b", False, "https://ollama.com/v1/chat/completions"),
        ("google", "gemini-3-pro-preview", False, "https://generativelanguage.googleapis.com/v1beta/interactions"),
    ],
)
def test_the_url_of_a_request(name: str, model: str, stream: bool, url: str) -> None:
    assert provider(name).serving(model)[0].url(model, stream=stream) == url


def test_urls_with_the_model_in_their_path() -> None:
    base = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-preview"
    native = provider("google").endpoints[1]
    assert native.url("gemini-3-pro-preview") == f"{base}:generateContent"
    assert native.url("gemini-3-pro-preview", stream=True) == f"{base}:streamGenerateContent"
    (endpoint,) = provider("google-vertex").serving("claude-opus-4-7@default")
    place = "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1/publishers/anthropic/models/"
    url = endpoint.url("claude-opus-4-7@default", stream=True, project="p", location="europe-west1")
    assert url == f"{place}claude-opus-4-7@default:streamRawPredict"


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("europe-west1", "europe-west1-aiplatform.googleapis.com"),
        ("global", "aiplatform.googleapis.com"),
        ("us", "aiplatform.us.rep.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
    ],
)
def test_hosts_that_are_named_otherwise(location: str, host: str) -> None:
    url = provider("vertex").endpoints[0].url("m", project="p", location=location)
    assert url.startswith(f"https://{host}/v1/projects/p/locations/{location}/publishers/google/")


def test_variables_of_a_url_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = provider("azure").endpoints[0]
    monkeypatch.delenv("AZURE_RESOURCE_NAME", raising=False)
    with pytest.raises(ValueError, match="set AZURE_RESOURCE_NAME"):
        endpoint.url("d")
    monkeypatch.setenv("AZURE_RESOURCE_NAME", "mine")
    assert endpoint.url("d") == "https://mine.openai.azure.com/openai/v1/responses"
    assert endpoint.url("d", resource="theirs").startswith("https://theirs.")


def test_a_key_is_the_first_variable_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in provider("google").key_env:
        monkeypatch.delenv(name, raising=False)
    assert provider("google").key() is None
    monkeypatch.setenv("GOOGLE_API_KEY", "second")
    assert provider("google").key() == "second"
    monkeypatch.setenv("GEMINI_API_KEY", "first")
    assert provider("google").key() == "first"


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("openai", "authorization"),
        ("anthropic", "x-api-key"),
        ("azure", "api-key"),
        ("google", "x-goog-api-key"),
    ],
)
def test_the_header_of_a_key(name: str, header: str) -> None:
    assert provider(name).endpoints[0].auth[0] == header
    assert header in {known for known, _ in adapter(provider(name).endpoints[0].protocol).auth}


# ---- what the catalog implies -------------------------------------------------------------------------------------


def entry(npm: str, api: str | None, **models: Any) -> Catalog:
    listed = {name: {"id": name, **more} for name, more in models.items()}
    row = {"id": "acme", "name": "Acme", "env": ["ACME_HOST", "ACME_KEY"], "npm": npm, "doc": "d", "models": listed}
    return Catalog({"acme": row | ({} if api is None else {"api": api})}, "a test")


@pytest.mark.parametrize(
    ("npm", "api", "protocol", "url"),
    [
        ("@ai-sdk/openai-compatible", "https://a.example/v1/", "openai-chat", "https://a.example/v1/chat/completions"),
        ("@ai-sdk/openai", "https://a.example/v1", "openai-responses", "https://a.example/v1/responses"),
        # This client's URLs end in what the protocol's own route begins with.
        ("@ai-sdk/anthropic", "https://a.example/x/v1", "anthropic-messages", "https://a.example/x/v1/messages"),
    ],
)
def test_a_provider_without_a_row_serves_what_its_package_implies(npm: str, api: str, protocol: str, url: str) -> None:
    found = provider("acme", known=entry(npm, api, m={}))
    (endpoint,) = found.endpoints
    assert (endpoint.protocol, endpoint.url("m"), found.known) == (protocol, url, False)
    assert found.key_env == ("ACME_KEY",)


def test_a_model_may_override_what_its_provider_implies() -> None:
    override = {"npm": "@ai-sdk/anthropic", "api": "https://a.example/anthropic/v1"}
    shaped = {"npm": "@ai-sdk/openai", "shape": "completions"}
    known = entry("@ai-sdk/openai", "https://a.example/v1", plain={}, c={"provider": override}, s={"provider": shaped})
    found = {name: provider("acme", model=name, known=known).endpoints[0] for name in ("plain", "c", "s")}
    assert {name: each.protocol for name, each in found.items()} == {
        "plain": "openai-responses",
        "c": "anthropic-messages",
        "s": "openai-chat",
    }
    assert found["c"].base_url == "https://a.example/anthropic"


def test_variables_in_the_catalogs_urls_are_named() -> None:
    known = entry("@ai-sdk/openai-compatible", "https://${ACME_HOST}/v1", m={})
    (endpoint,) = provider("acme", known=known).endpoints
    assert endpoint.url("m", ACME_HOST="h.example") == "https://h.example/v1/chat/completions"
    with pytest.raises(ValueError, match="ACME_HOST"):
        endpoint.url("m")


@pytest.mark.parametrize(("npm", "api"), [("@ai-sdk/cohere", None), ("some-package", "https://a.example")])
def test_a_package_that_implies_nothing_serves_nothing_known(npm: str, api: str | None) -> None:
    assert provider("acme", known=entry(npm, api, m={})).endpoints == ()


@pytest.mark.parametrize(
    ("model", "host"),
    [
        ("anthropic.claude-opus-4-7", "bedrock-mantle"),
        ("eu.anthropic.claude-opus-4-7", "bedrock-runtime"),
        ("anthropic.claude-haiku-4-5-20251001-v1:0", "bedrock-runtime"),
        ("arn:aws:bedrock:eu-west-1:1:application-inference-profile/x", "bedrock-runtime"),
    ],
)
def test_inference_profiles_are_at_another_host(model: str, host: str) -> None:
    endpoint, converse = provider("bedrock").serving(model)
    assert converse.protocol == "amazon-converse"
    assert endpoint.base_url.startswith(f"https://{host}.")
