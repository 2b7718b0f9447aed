"""`unified-llm models`: what it prints, and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from client import commandline
from models.catalogs import DATA
from unified_llm.models import catalog


@pytest.fixture(autouse=True)
def _bundled(own_catalog: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def run(*arguments: str) -> tuple[int, str, str]:
    return commandline.run("models", *arguments)


def as_json(*arguments: str) -> Any:
    code, out, err = run(*arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_a_filter_lists_what_it_matches() -> None:
    code, out, err = run("opus 4-7", "--provider", "anthropic")
    assert code == 0
    (row,) = [line for line in out.splitlines() if "claude" in line]
    for told in ("anthropic/claude-opus-4-7", "1M", "128k", "text image pdf", " 5 ", " 25 ", "reasoning tools"):
        assert told in row
    assert "anthropic-messages openai-chat" in row
    assert err.startswith("1 models; catalog of 2026-05-21")


def test_it_runs_as_people_run_it() -> None:
    environment = {**os.environ, catalog.ENVIRONMENT: str(DATA / "models_dev.json.gz")}
    command = [sys.executable, "-m", "unified_llm", "models", "openai/gpt-5.5"]
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, b"") and b"922k input" in done.stdout


def test_a_name_shows_one_model() -> None:
    code, out, err = run("openai/gpt-5.5")
    assert (code, err) == (0, "")
    for told in (
        "922k input",
        "be given a temperature",
        "take audio",
        "input over 272000",
        "mode fast",
        "OPENAI_API_KEY",
    ):
        assert told in out
    assert "openai-responses" in out and "reasoning does not return for the next turn" in out


def test_a_model_that_nothing_here_serves_is_shown_all_the_same() -> None:
    code, out, _ = run("openai/text-embedding-3-small")
    assert code == 0
    assert "no known protocol serves it" in out


def test_json_is_whole() -> None:
    told = as_json("openai/gpt-5.5")
    assert told["model"]["cost"]["tiers"] == [
        {"tier": {"type": "context", "size": 272000}, "input": 10, "output": 45, "cache_read": 1}
    ]
    assert told["protocols"] == ["openai-responses", "openai-chat"]
    assert told["choice"]["ranked"][0]["protocol"] == "openai-responses"
    assert "be given a temperature" in told["unsupported"]
    listed = as_json("xai/grok-4*", "--reasoning")
    assert [each["ref"] for each in listed] == [
        "xai/grok-4.20-0309-reasoning",
        "xai/grok-4.20-multi-agent-0309",
        "xai/grok-4.3",
    ]
    assert all(each["reasoning"] for each in listed)


def test_filters() -> None:
    listed = as_json("--provider", "google", "--input", "audio", "--tools", "--protocol", "google-interactions")
    assert listed and all("audio" in each["modalities"]["input"] and each["tool_call"] for each in listed)
    assert all("google-interactions" in each["protocols"] for each in listed)
    assert as_json("--provider", "google", "--min-context", "2000000") == []


def test_a_long_list_says_how_long_it_is() -> None:
    code, out, err = run("--provider", "openrouter", "--limit", "2")
    assert code == 0
    assert sum("openrouter/" in line for line in out.splitlines()) == 2
    assert "2 shown (--limit 0 shows all)" in err


def test_providers() -> None:
    code, out, _ = run("--providers", "huggingface")
    assert code == 0
    assert "openai-responses" in out and "https://router.huggingface.co/v1" in out and "HF_TOKEN" in out
    code, out, err = run("--providers", "--limit", "3")
    assert code == 0 and out.count("model catalog") + out.count("provider table") == 3 and "3 shown" in err
    told = as_json("--providers", "--protocol", "google-interactions")
    assert [each["id"] for each in told] == ["google", "google-vertex", "google-vertex-anthropic", "local"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["openai/gpt-55"], "did you mean openai/gpt-5.5"),
        (["opnai/gpt-5.5"], "did you mean openai"),
        (["--provider", "mistrl"], "did you mean mistral"),
        (["no-model-is-called-this"], "no model"),
        (["--refresh", "no-such-file.json"], "no-such-file.json"),
        (["--save", "copy.json"], "--refresh"),
        (["--protocol", "openai-chatt"], "did you mean openai-chat"),
        (["--input", "smell"], "choose one of: text, image, audio, video, pdf"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(arguments: list[str], told: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("unified-llm: ") and told in err


def test_refresh_reads_a_file_and_keeps_a_copy(tmp_path: Path) -> None:
    source, copy = tmp_path / "new.json", tmp_path / "copy.json"
    entry = {"id": "m1", "name": "Model One", "limit": {"context": 1000, "output": 10}, "new_field": 1}
    source.write_text(json.dumps({"acme": {"id": "acme", "name": "Acme", "models": {"m1": entry}}}))
    told = as_json("--refresh", str(source), "--save", str(copy))
    assert [each["ref"] for each in told] == ["acme/m1"]
    assert json.loads(copy.read_text())["acme"]["models"]["m1"] == entry
