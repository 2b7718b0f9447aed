"""The files of `examples/deploy` agree with each other, with the command line and with the package."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from unified_llm.cli import app
from unified_llm.gateway.configuration.config import Config

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "examples" / "deploy"
SETTINGS = Config.model_validate(tomllib.loads((DEPLOY / "gateway.toml").read_text()))
CONTAINER = (DEPLOY / "Containerfile").read_text()
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICE = (DEPLOY / "unified-llm-gateway.service").read_text()


def test_the_configuration_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GATEWAY_SECRET"):
        monkeypatch.setenv(name, "made-up")
    monkeypatch.setenv("DATABASE_URL", "sqlite://")
    done = CliRunner().invoke(app, ["gateway", "check", "--config", str(DEPLOY / "gateway.toml")])
    assert done.exit_code == 0, done.output


def test_the_variables_of_the_configuration_are_set_by_compose() -> None:
    names = {SETTINGS.gateway.secret_env, SETTINGS.state.url_env}
    for service in ("gateway-1", "gateway-2"):
        assert names <= COMPOSE["services"][service]["environment"].keys()


def test_every_manager_waits_longer_than_open_requests_may_take() -> None:
    patience = [
        int(re.search(r"TimeoutStopSec=(\d+)", SERVICE)[1]),  # type: ignore[index]
        int(re.search(r"--timeout (\d+)`", CONTAINER)[1]),  # type: ignore[index]
        *(int(COMPOSE["services"][name]["stop_grace_period"].rstrip("s")) for name in ("gateway-1", "gateway-2")),
    ]
    assert min(patience) > SETTINGS.gateway.graceful


def test_the_container_is_made_of_what_is_there() -> None:
    port = str(SETTINGS.gateway.port)
    assert f"EXPOSE {port}" in CONTAINER and f"127.0.0.1:{port}/health/live" in CONTAINER
    for line in re.findall(r"^COPY (?!--from)(.+)$", CONTAINER, re.MULTILINE):
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists(), source
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for named in re.findall(r"\[([a-z,]+)\]\"", CONTAINER + SERVICE):
        assert set(named.split(",")) <= known.keys()


def test_the_commands_of_the_service_exist() -> None:
    commands = [shlex.split(line) for line in re.findall(r"^Exec\w+=(/opt.*)$", SERVICE, re.MULTILINE)]
    assert len(commands) == 2
    for _, *arguments in commands:
        flags = [each for each in arguments if each.startswith("--")]
        words = arguments[: arguments.index(flags[0])]
        shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"})
        assert shown.exit_code == 0 and all(flag in shown.output for flag in flags), shown.output
