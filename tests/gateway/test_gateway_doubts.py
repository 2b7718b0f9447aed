"""What is probably a mistake in a valid configuration is a warning, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from unified_llm.gateway.command import gateway
from unified_llm.gateway.configuration.config import load
from unified_llm.gateway.likely_mistakes import doubts
from unified_llm.gateway.server import Server
from unified_llm.gateway.upstreams.routing import Router

SHA = "0" * 64
HEAD = "[gateway]\nproviders = ['local']\n"


def doubted(folder: Path, text: str) -> list[str]:
    path = folder / "gateway.toml"
    path.write_text(text, "utf-8")
    config = load(path)
    return list(doubts(config, Router.load(config, path)))


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        (
            f"{HEAD}[upstreams.u]\nmodel = 'openai/m'\nkey_env = 'UNSET_A'",
            "upstreams.u.key_env: UNSET_A is not set; requests are sent without an API key",
        ),
        (
            f"{HEAD}[upstreams.u]\nmodel = 'openai/m'\nkey_env = ['UNSET_A', 'UNSET_B']",
            "upstreams.u.key_env: UNSET_A, UNSET_B are not set; requests are sent without an API key",
        ),
        ("[gateway]\nproviders = ['anthropic']", "gateway.providers: anthropic has no API key; set ANTHROPIC_API_KEY"),
        (
            f"{HEAD}[upstreams.u]\nbase_url = 'http://api.example.com/v1'",
            "upstreams.u.base_url: http:// to a public address: prompts and API keys are sent unencrypted",
        ),
        (
            f"{HEAD}[upstreams.u]\nbase_url = 'http://8.8.8.8/v1'",
            "upstreams.u.base_url: http:// to a public address: prompts and API keys are sent unencrypted",
        ),
        (
            f"{HEAD}[keys.k]\nsha256 = '{SHA}'\nupstreams = ['locl*']",
            "keys.k.upstreams: 'locl*' matches no upstream and no provider",
        ),
        (
            f"[gateway]\nproviders = ['vertex']\n[keys.k]\nsha256 = '{SHA}'\nupstreams = ['vertex']",
            "keys.k.upstreams: 'vertex' matches no upstream and no provider; the provider is named 'google-vertex'",
        ),
        (
            "[gateway]\nproviders = ['anthropic', 'anthropic']",
            "gateway.providers: anthropic has no API key; set ANTHROPIC_API_KEY",
        ),
        (
            f"{HEAD}[upstreams.u]\nmodel = 'anthropic/claude-x'\nbase_url = 'http://localhost'",
            "upstreams.u.model: 'anthropic/claude-x' is sent as it is, in Chat Completions; for the API of "
            "anthropic at this URL set provider = 'anthropic', protocol = 'anthropic-messages' "
            "and model = 'claude-x', else set protocol",
        ),
        (
            f"{HEAD}[upstreams.u]\nmodel = 'anthropic/claude-opus-4-7'",
            "upstreams.u: anthropic has no API key; set ANTHROPIC_API_KEY",
        ),
        (
            f"{HEAD}[upstreams.u]\nmodel = 'gpt-4o'\nbase_url = 'http://localhost/v1'\n"
            f"[keys.k]\nsha256 = '{SHA}'\nbudget = '5 USD/day'",
            "keys.k.budget: no price for u: requests for them are refused, or go to other targets; "
            "set price (0 is free), or gateway.unlisted",
        ),
        (
            f"{HEAD}[upstreams.u]\nmodel = 'azure/our-deployment'\nvariables = {{ resource = 'r' }}\nauth = 'azure'\n"
            f"[upstreams.p]\nmodel = 'openai/gpt-4o'\nauth = 'azure'\n"
            f"[keys.k]\nsha256 = '{SHA}'\nbudget = '5 USD/day'",
            "keys.k.budget: no price for u: requests for them are refused, or go to other targets; "
            "set price (0 is free), or gateway.unlisted",
        ),
        (
            f"{HEAD}[models]\nfast = 'local/echo'\n[keys.k]\nsha256 = '{SHA}'\nmodels = ['fats']",
            "keys.k.models: 'fats' is neither in [models] nor an upstream nor a known model",
        ),
    ],
)
def test_a_doubt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, doubt: str) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert doubted(tmp_path, text) == [doubt]


def test_what_may_be_meant_is_not_doubted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SET", "x")
    urls = ("https://api.example.com/v1", "http://localhost:8000/v1", "http://vllm:8000/v1", "http://10.0.0.7/v1",
            "http://vllm.models.svc.cluster.local/v1", "http://[fd00::1]/v1", "http://vllm.models.svc/v1",
            "http://gpu.home.arpa/v1", "http://gpu.localdomain/v1")  # fmt: skip
    rows = "".join(f"[upstreams.u{n}]\nbase_url = '{url}'\n" for n, url in enumerate(urls))
    rows += "[upstreams.keyed]\nmodel = 'openai/m'\nkey_env = ['UNSET', 'SET']\n"
    models = "[models]\nfast = 'local/echo'\n'team-*' = 'u0/*'\n"
    names = "models = ['fast', 'u1', 'team-a', 'no*', 'any/model', 'local/*']\nupstreams = ['u*', 'local']"
    rows += "[upstreams.priced]\nmodel = 'gpt-4o'\nprovider = 'openai'\nbase_url = 'http://localhost/v1'\n"
    rows += "[upstreams.proxied]\nmodel = 'anthropic/x'\nprotocol = 'openai-chat'\nbase_url = 'http://localhost/v1'\n"
    rows += "[upstreams.router]\nmodel = 'anthropic/x'\nbase_url = 'https://openrouter.ai/api/v1'\nkey_env = 'SET'\n"
    rows += "[upstreams.plain]\nmodel = 'meta-llama/x'\nbase_url = 'http://localhost/v1'\n"
    budget = "budget = '5 USD/day'"
    assert doubted(tmp_path, f"{HEAD}{rows}{models}[keys.k]\nsha256 = '{SHA}'\n{names}\n") == []
    paid = f"[keys.k]\nsha256 = '{SHA}'\n{budget}\nupstreams = ['u1', 'priced']"
    (doubt,) = doubted(tmp_path, f"{HEAD}{rows}{models}{paid}")
    assert doubt.startswith("keys.k.budget: no price for u1/*: ")


def test_check_prints_doubts_and_succeeds(tmp_path: Path) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text(f"{HEAD}[upstreams.u]\nmodel = 'openai/m'\nkey_env = 'UNSET_A'", "utf-8")
    found = CliRunner().invoke(gateway, ["check", "--config", str(path)])
    assert found.exit_code == 0 and "upstream   u: openai/m" in found.stdout
    assert found.stderr == "warning: upstreams.u.key_env: UNSET_A is not set; requests are sent without an API key\n"


def test_the_start_prints_doubts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "gateway.toml"
    head = "[gateway]\nproviders = ['local']\nlisten = '127.0.0.1:0'\n[state]\nurl = 'sqlite://'\n"
    text = f"{head}[keys.k]\nsha256 = '{SHA}'\n"
    path.write_text(f"{text}upstreams = ['locl']", "utf-8")
    monkeypatch.setattr(Server, "run", lambda self: None)
    found = CliRunner().invoke(gateway, ["--config", str(path)])
    assert found.stderr == "warning: keys.k.upstreams: 'locl' matches no upstream and no provider\n"
