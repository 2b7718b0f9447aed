"""Another gateway's YAML file as one of ours: what becomes of it, what is left over, and that no key is shown."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from unified_llm.cli import app
from unified_llm.gateway.access.callers import Key
from unified_llm.gateway.configuration.config import ConfigError, load
from unified_llm.gateway.configuration.yaml_import import Imported, imported
from unified_llm.gateway.upstreams.routing import Router

# After https://docs.litellm.ai/docs/proxy/configs and .../reliability
WHOLE = """
model_list:
  - model_name: fast
    litellm_params:
      model: azure/fast-eu
      api_base: https://my-resource.openai.azure.com/
      api_key: "os.environ/AZURE_EU_KEY"
      api_version: "2024-10-21"
      rpm: 6
      timeout: 300
  - model_name: fast
    litellm_params:
      model: groq/llama-3.3-70b-versatile
      api_key: sk-literal-one
      rpm: 2
    model_info: {mode: chat}
  - model_name: best
    litellm_params: {model: anthropic/claude-opus-4-7, api_key: os.environ/ANTHROPIC_API_KEY}
  - model_name: plain
    litellm_params: {model: gpt-4o}
  - model_name: own
    litellm_params:
      model: hosted_vllm/qwen3
      api_base: http://me:hunter2@gpu:8000/v1
      api_key: sk-literal-two
      extra_headers: {x-secret: sk-literal-three}
  - model_name: "anthropic/*"
    litellm_params: {model: "anthropic/*"}
  - model_name: mystery
    litellm_params: {model: nowhere/x, api_key: sk-literal-four}
router_settings:
  routing_strategy: usage-based-routing
  cooldown_time: 60
  model_group_alias: {gpt-4: best, gone: nothing}
litellm_settings:
  fallbacks: [{fast: [best, own]}, {own: [missing]}]
  drop_params: true
general_settings:
  master_key: sk-literal-five
environment_variables: {REDIS_PASSWORD: sk-literal-six}
"""


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["gateway", *arguments])
    return done.exit_code, done.stdout, done.stderr


def one(**parameters: Any) -> Imported:
    return imported(yaml.safe_dump({"model_list": [{"model_name": "m", "litellm_params": parameters}]}))


def test_a_whole_file(tmp_path: Path) -> None:
    (tmp_path / "litellm.yaml").write_text(WHOLE)
    code, out, err = run("import", str(tmp_path / "litellm.yaml"))
    assert code == 0
    assert "literal" not in out + err and "hunter2" not in out + err
    assert tomllib.loads(out) == {
        "gateway": {"providers": ["anthropic", "openai"]},
        "upstreams": {
            "fast": {
                "variables": {"resource": "my-resource"},
                "key_env": "AZURE_EU_KEY",
                "timeout": 300,
                "model": "azure/fast-eu",
            },
            "fast-2": {"key_env": "FAST_API_KEY", "model": "groq/llama-3.3-70b-versatile"},
            "own": {"base_url": "http://gpu:8000/v1", "key_env": "OWN_API_KEY", "model": "qwen3"},
        },
        "models": {
            "fast": {
                "to": ["fast", "fast-2", "anthropic/claude-opus-4-7", "own"],
                "weights": [6, 2, 0, 0],
                "cooldown": 60.0,
            },
            "best": {"to": ["anthropic/claude-opus-4-7"], "cooldown": 60.0},
            "gpt-4": {"to": ["anthropic/claude-opus-4-7"], "cooldown": 60.0},
            "plain": {"to": ["openai/gpt-4o"], "cooldown": 60.0},
            "own": {"to": ["own"], "cooldown": 60.0},
            "anthropic/*": {"to": ["anthropic/*"], "cooldown": 60.0},
        },
    }
    for left in (
        "model_list[0].litellm_params.api_version",
        "model_list[1].model_info",
        "model_list[4].litellm_params.extra_headers",
        "model_list[4].litellm_params.api_base: user, password and query",
        "model_list[6].litellm_params.model: unknown provider 'nowhere'",
        "router_settings.routing_strategy",
        "router_settings.model_group_alias.gone",
        "litellm_settings.fallbacks.own",
        "litellm_settings.drop_params",
        "general_settings.master_key",
        "environment_variables.REDIS_PASSWORD",
    ):
        assert f"not imported: {left}" in err, left
    assert err.count("not imported: ") == 11
    assert "set FAST_API_KEY" in err and "set OWN_API_KEY" in err


def test_the_result_can_be_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "litellm.yaml").write_text(WHOLE)
    made = tmp_path / "gateway.toml"
    code, out, _ = run("import", str(tmp_path / "litellm.yaml"), "--output", str(made))
    assert (code, out) == (0, "")
    router = Router.load(load(made), made)
    found = router.resolve("anthropic/claude-x", Key()).upstreams
    assert [(each.provider, each.model) for each in found] == [("anthropic", "claude-x")]
    first = router.upstreams["fast"]
    assert first.origin == "https://my-resource.openai.azure.com" and first.model == "fast-eu"
    assert router.upstreams["own"].base_url == "http://gpu:8000/v1" and router.upstreams["own"].model == "qwen3"
    assert {each.label for each in router.resolve("fast", Key()).upstreams[:2]} == {"fast", "fast-2"}
    code, _, err = run("import", str(tmp_path / "litellm.yaml"), "--output", str(made))
    assert code == 2 and "exists" in err, "a file is never replaced"


def test_one_key_is_one_variable() -> None:
    rows = [{"model_name": f"m{i}", "litellm_params": {"model": "groq/x", "api_key": f"sk-{i // 2}"}} for i in range(4)]
    found = imported(yaml.safe_dump({"model_list": rows}))
    assert found.variables == ("M0_API_KEY", "M2_API_KEY")
    assert [each.key_env for each in found.config.upstreams.values()] == [["M0_API_KEY"], ["M2_API_KEY"]]
    assert found.config.models["m1"].to == ["m0"], "equal upstreams are one"


@pytest.mark.parametrize(
    ("parameters", "left"),
    [
        ({"model": "openai/x", "api_base": "os.environ/BASE"}, "api_base: a URL from a variable is not supported"),
        ({"model": "openai/x", "api_base": "not a url"}, "api_base: not a valid URL"),
        ({"model": "who-makes-this"}, "model: has no provider prefix"),
        ({"model": "openai/*"}, "model: more '*' than in model_name"),
        ({}, "model_name and litellm_params.model are required"),
    ],
)
def test_what_cannot_be_imported_is_named(parameters: Any, left: str) -> None:
    found = one(**parameters)
    assert left in found.left[0] and not found.config.models


def test_a_server_of_another_protocol() -> None:
    up = one(model="anthropic/x", api_base="http://inside:1/").config.upstreams["m"]
    assert (up.protocol, up.base_url, up.model) == ("anthropic-messages", "http://inside:1/", "x")
    assert one(model="openai/x", api_base="http://inside:1/v1").config.upstreams["m"].protocol is None
    for base, url in (("http://here:11434", "http://here:11434/v1"), ("http://here:11434/v1", "http://here:11434/v1")):
        assert one(model="ollama/x", api_base=base).config.upstreams["m"].base_url == url


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [sk-secret", "not valid YAML at line"),
        ("!!python/object/apply:os.system ['echo sk-secret']", "not valid YAML"),
        ("sk-secret", "model_list is missing"),
        ("model_list: sk-secret", "model_list is missing"),
        ("[" * 5_000, "YAML"),
    ],
)
def test_a_path_without_a_file(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        imported(text)
    assert "sk-secret" not in str(caught.value)
    (tmp_path / "x.yaml").write_text(text)
    code, out, err = run("import", str(tmp_path / "x.yaml"))
    assert (code, out) == (2, "") and problem in err


def test_names_keep_their_characters() -> None:
    text = yaml.safe_dump({"model_list": [{"model_name": 'a"\\\x7fé😀', "litellm_params": {"model": "groq/x"}}]})
    assert list(imported(text).config.models) == ['a"\\\x7fé😀']


def test_weights_and_rates_are_not_mixed() -> None:
    """LiteLLM's `rpm` is a number of requests, `weight` a share."""
    given = [("groq/a", {"rpm": 100}), ("mistral/b", {"weight": 2}), ("xai/c", {})]
    entries = [{"model_name": "m", "litellm_params": {"model": model, **more}} for model, more in given]
    assert imported(yaml.safe_dump({"model_list": entries})).config.models["m"].weights == [1, 2, 1]
    rates = [{**each, "litellm_params": {**each["litellm_params"], "weight": None}} for each in entries]
    assert imported(yaml.safe_dump({"model_list": rates})).config.models["m"].weights == [100, 1, 1]


@pytest.mark.parametrize(
    ("parameters", "row"),
    [
        (
            {"model": "bedrock/converse/us.amazon.nova-pro-v1:0", "aws_region_name": "us-west-2"},
            {"model": "amazon-bedrock/us.amazon.nova-pro-v1:0", "protocol": "amazon-converse", "auth": "aws",
             "variables": {"region": "us-west-2"}},
        ),
        (
            {"model": "bedrock/us-gov-west-1/anthropic.claude-v2"},
            {"model": "amazon-bedrock/anthropic.claude-v2", "auth": "aws", "variables": {"region": "us-gov-west-1"}},
        ),
        (
            {"model": "bedrock/invoke/anthropic.claude-v2", "api_key": "os.environ/AWS_BEARER_TOKEN_BEDROCK",
             "aws_region_name": "eu-west-1"},
            {"model": "amazon-bedrock/anthropic.claude-v2", "variables": {"region": "eu-west-1"}},
        ),
        (
            {"model": "azure/responses/gpt-5", "api_base": "https://r.cognitiveservices.azure.com/", "client_id": "c"},
            {"model": "azure/gpt-5", "protocol": "openai-responses", "auth": "azure", "variables": {"resource": "r"}},
        ),
        (
            {"model": "anthropic/x", "api_base": "https://inside", "api_key": "os.environ/ANTHROPIC_API_KEY"},
            {"model": "x", "base_url": "https://inside", "protocol": "anthropic-messages",
             "key_env": ["ANTHROPIC_API_KEY"]},
        ),
        ({"model": "litellm_proxy/gpt-4o", "api_base": "http://o:4000"}, {"model": "gpt-4o", "base_url": "http://o:4000"}),
        (
            {"model": "meta/llama", "custom_llm_provider": "openai", "api_base": "http://o:1/v1"},
            {"model": "meta/llama", "base_url": "http://o:1/v1"},
        ),
        ({"model": "openai/x", "api_base": "os.environ/THE_BASE"}, {"model": "x", "base_url": "http://in:1/v1"}),
    ],
)  # fmt: skip
def test_what_litellm_writes_into_a_model_and_where_its_credentials_go(
    monkeypatch: pytest.MonkeyPatch, parameters: Any, row: dict[str, Any]
) -> None:
    monkeypatch.setenv("THE_BASE", "http://in:1/v1")
    (made,) = one(**parameters).config.upstreams.values()
    assert made.model_dump(exclude_defaults=True) == row


def test_a_variable_that_is_not_set_is_named() -> None:
    (left,) = one(model="azure/x", api_base="os.environ/NOT_SET_HERE").left
    assert "NOT_SET_HERE" in left and "left out" in left
    (left, *_) = one(model="unheard/x", api_base="http://in:1/v1").left
    assert "unknown provider 'unheard'" in left and "Chat Completions" in left


def test_deployments_of_a_later_order_come_after_the_others() -> None:
    given = [("groq/a", {"order": 2}), ("mistral/b", {"order": 1, "rpm": 9}), ("xai/c", {"order": 1, "rpm": 3}),
             ("cerebras/d", {})]  # fmt: skip
    entries = [{"model_name": "m", "litellm_params": {"model": model, **more}} for model, more in given]
    found = imported(yaml.safe_dump({"model_list": entries}))
    route = found.config.models["m"]
    assert (
        route.to == ["mistral/b", "xai/c", "groq/a", "cerebras/d"] and route.weights == [9, 3, 0, 0] and not found.left
    )


@pytest.mark.parametrize("entries", [[{"rpm": 9}], [{"rpm": 9, "weight": 2}, {"weight": 1}]])
def test_a_rate_that_shares_nothing_is_named(entries: list[dict[str, Any]]) -> None:
    models = [{"model_name": "m", "litellm_params": {"model": f"groq/{n}", **e}} for n, e in enumerate(entries)]
    assert imported(yaml.safe_dump({"model_list": models})).left == ("model_list[0].litellm_params.rpm",)
