"""The pytest plugin, in projects of its own: each test writes one, runs pytest in it, and reads what it printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from unified_llm.engine.registry import protocols

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "drift"
LOCK = "capabilities.lock.json"


class Project:
    """A folder with tests; `run` gives the exit code and the output of pytest there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str) -> Project:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return self

    def run(self, *arguments: str) -> tuple[int, str]:
        # The plugin is named, and found by itself only where the package is installed: .ci/run does that.
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
        environment.pop("PYTEST_ADDOPTS", None)
        plugin = ["-p", "unified_llm.drift.plugin", "-p", "no:cacheprovider", "-W", "error"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *plugin, "--color=no", *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path).write("pytest.ini", "[pytest]\naddopts = --strict-markers\n")


@pytest.fixture
def example(tmp_path: Path) -> Project:
    shutil.copytree(EXAMPLE, tmp_path / "drift", ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    return Project(tmp_path / "drift")


def outcomes(text: str) -> dict[str, int]:
    return {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|xfailed|xpassed|error)", text)}


# ---- the example ----------------------------------------------------------------------------------------------------


def test_the_example_passes_and_fails_when_its_lock_claims_more_than_is_carried(example: Project) -> None:
    code, text = example.run("--unified-llm-drift")
    assert code == 0, text
    assert outcomes(text)["passed"] >= 13
    lock = json.loads((example.folder / LOCK).read_text())
    cells = lock["cells"]["openai-chat -> google-generate-content"]["request"]
    assert cells["tools.strict"] == "lost"
    cells["tools.strict"] = "native"
    example.write(LOCK, json.dumps(lock))
    code, text = example.run("--unified-llm-drift")
    assert code == 1
    assert outcomes(text)["failed"] == 1
    assert "openai-chat -> google-generate-content  tools.strict  request: native -> lost" in text
    assert "regressions: 1" in text
    assert example.run()[0] == 0, "without the option the lock is not looked at"


# ---- the lock -------------------------------------------------------------------------------------------------------

WATCH = json.dumps(
    {
        "version": 1,
        "watch": [{"source": "openai-chat", "target": "openai-responses", "capabilities": ["sampling.*"]}],
        "cells": {"openai-chat -> openai-responses": {"request": {"sampling.temperature": "native"}}},
    }
)
BROKEN = """
from unified_llm.engine.registry import adapter

kinds = adapter("openai-responses").kinds
write = kinds["request"].write

def broken(c, w):
    value = write(c, w)
    value.pop("temperature", None)
    return value

kinds["request"] = kinds["request"]._replace(write=broken)
"""


def test_a_broken_adapter_is_caught_by_pair_capability_and_fate(project: Project) -> None:
    project.write(LOCK, WATCH)
    assert project.run("--unified-llm-update")[0] == 0
    assert project.run("--unified-llm-drift")[0] == 0
    project.write("conftest.py", BROKEN)
    code, text = project.run("--unified-llm-drift")
    assert code == 1
    assert "openai-chat -> openai-responses  sampling.temperature  request: native -> silent" in text
    assert "Traceback" not in text


def test_what_is_new_and_what_is_better_is_told_too(project: Project) -> None:
    project.write(LOCK, WATCH.replace('"native"', '"lost"'))
    code, text = project.run("--unified-llm-drift")
    assert code == 1
    assert "improvements: 1" in text
    assert "sampling.temperature  request: lost -> native" in text
    assert "new: 4" in text
    code, text = project.run("--unified-llm-update", "-rP")
    assert code == 0
    assert "lost -> native" in text
    assert json.loads((project.folder / LOCK).read_text())["watch"] == json.loads(WATCH)["watch"]


def test_a_lock_may_stand_elsewhere(project: Project) -> None:
    project.write("locks/ours.json", WATCH)
    project.write("pytest.ini", "[pytest]\nunified_llm_lock = locks/ours.json\n")
    assert project.run("--unified-llm-update")[0] == 0
    assert project.run("--unified-llm-drift")[0] == 0
    code, text = project.run("--unified-llm-drift", "--unified-llm-lock", "nowhere.json")
    assert code == 1
    assert "nowhere.json is not there; pytest --unified-llm-update writes" in text


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "Expecting"),
        (WATCH.replace("openai-responses", "carrier-pigeon"), "carrier-pigeon"),
        (WATCH.replace("sampling.*", "sampler.*"), "'sampler.*' matches no capability"),
        (WATCH.replace("sampling.*", "tool.*"), "'tool.*' matches no capability; did you mean 'tools.*'?"),
    ],
)
@pytest.mark.parametrize("option", ["--unified-llm-drift", "--unified-llm-update"])
def test_an_unreadable_lock_fails_with_the_reason(project: Project, content: str, reason: str, option: str) -> None:
    code, text = project.write(LOCK, content).run(option)
    assert code == 1
    assert reason in text
    assert "Traceback" not in text and "INTERNALERROR" not in text


# ---- marks ----------------------------------------------------------------------------------------------------------

MARKS = """
import pytest

@pytest.mark.unified_llm_survives("sampling.temperature", "tools.*", source="openai-chat", target="openai-responses")
def test_carried(): pass

@pytest.mark.unified_llm_survives("sampling.seed", source="openai-chat", target="openai-responses")
def test_lost(): pass

@pytest.mark.unified_llm_survives(
    "reasoning.budget", source="anthropic-messages", target="openai-chat", fates=["native"]
)
def test_only_close(): pass

@pytest.mark.unified_llm_survives("reasoning.budget", source="anthropic-messages", target="openai-chat")
def test_close_will_do(): pass

@pytest.mark.unified_llm_survives("output.verbosity", source="anthropic-messages", target="openai-chat")
def test_not_said_by_the_source(): pass

@pytest.mark.unified_llm_survives(
    "reasoning.signature", source="anthropic-messages", target="openai-chat", kind="response"
)
def test_parked(): pass

@pytest.mark.unified_llm_never("openai-responses", reason="no seed there")
@pytest.mark.unified_llm_survives("sampling.seed", source="openai-chat", target="openai-responses")
def test_known_gap(): pass

@pytest.mark.unified_llm_notyet("openai-responses")
@pytest.mark.unified_llm_survives("sampling.temperature", source="openai-chat", target="openai-responses")
def test_gap_that_is_closed(): pass

@pytest.mark.unified_llm_notimpl("google-*")
@pytest.mark.parametrize("target", ["google-interactions", "openai-responses"])
def test_a_gap_of_one_target(target):
    assert target == "openai-responses"

@pytest.mark.unified_llm_notimpl("google-*", raises=KeyError)
@pytest.mark.parametrize("target", ["google-interactions"])
def test_a_gap_of_another_kind(target):
    assert False, "not the failure that was announced"
"""


def test_marks(project: Project) -> None:
    code, text = project.write("test_marks.py", MARKS).run("-rA")
    assert code == 1
    found = {name: word for word, name in re.findall(r"^(\w+) test_marks.py::([\w\[\]-]+)", text, re.MULTILINE)}
    assert found == {
        "test_carried": "PASSED",
        "test_lost": "FAILED",
        "test_only_close": "FAILED",
        "test_close_will_do": "PASSED",
        "test_not_said_by_the_source": "FAILED",
        "test_parked": "PASSED",
        "test_known_gap": "XFAIL",
        "test_gap_that_is_closed": "FAILED",
        "test_a_gap_of_one_target[google-interactions]": "XFAIL",
        "test_a_gap_of_one_target[openai-responses]": "PASSED",
        "test_a_gap_of_another_kind[google-interactions]": "FAILED",
    }
    assert "openai-chat -> openai-responses, request: lost\n  sampling.seed: lost" in text
    assert "output.verbosity: the source cannot express it" in text
    assert "unified_llm_never: no seed there" in text
    assert "[XPASS(strict)] unified_llm_notyet" in text


GAP_MISTAKES = """
import pytest

@pytest.mark.unified_llm_never("anthropic-messages")
def test_without_a_target(): assert False

@pytest.mark.unified_llm_never("antropic-messages")
@pytest.mark.parametrize("target", ["anthropic-messages"])
def test_misspelled(target): assert False

@pytest.mark.unified_llm_never
def test_every_target(): assert False

@pytest.mark.unified_llm_never("openai-chat:groq")
@pytest.mark.parametrize("target", ["openai-chat:groq"])
def test_a_dialect(target): assert False
"""


def test_a_gap_that_can_never_match_is_an_error(project: Project) -> None:
    code, text = project.write("test_gaps.py", GAP_MISTAKES).run("-rA")
    assert (code, outcomes(text)) == (1, {"failed": 2, "xfailed": 2})
    assert "test_without_a_target" in text and "the test has no target protocol; use the fixture" in text
    assert "'antropic-messages' matches no protocol; did you mean 'anthropic-messages'?" in text


def test_the_marks_are_listed_in_sentences(project: Project) -> None:
    code, text = project.run("--markers")
    listed = re.findall(r"^@pytest\.mark\.(unified_llm_\w+)\((.*?)\): (.+)$", text, re.MULTILINE)
    assert code == 0 and {name for name, _, _ in listed} == {
        "unified_llm_survives", "unified_llm_notimpl", "unified_llm_notyet", "unified_llm_never"
    }  # fmt: skip
    assert all(meaning.startswith(("fail unless ", "expect a failure on ")) for _, _, meaning in listed)
    assert not re.search(r"^@pytest\.mark\.(survives|never|notyet|notimpl)\b", text, re.MULTILINE)


MISTAKEN = {
    '"input.image", source="openai-chat", target="openai-responses"': "did you mean image.input?",
    '"image.input", source="openai-chat"': "needs all of these",
    'source="openai-chat", target="openai-responses"': "needs all of these",
    '"usage.*", source="openai-chat", target="openai-responses"': "no probe of it in a request",
    '"image.input", source="openai-chat", target="openai-responses", fate=["native"]': "unknown argument 'fate'",
    '"image.input", source="openai-chat", target="openai-responses", fates=["nativ"]': "unknown fate 'nativ'",
    '"image.input", source="openai-chat", target="openai-responses", fates="native"': "pass fates=['native']",
    '"image.input", source="openai-chat", target="openai-responses", kind="reqest"': "unknown kind 'reqest'",
    '"image.input", source="openai-chat", target="openai-respones"': "did you mean openai-responses?",
    '"image.input", source="openai-chat", target="*"': "target='*' must be one protocol",
}


def test_a_mistaken_mark_is_an_error_and_no_pass(project: Project) -> None:
    tests = [
        f"@pytest.mark.unified_llm_survives({mark})\ndef test_{index}(): pass\n" for index, mark in enumerate(MISTAKEN)
    ]
    code, text = project.write("test_it.py", "import pytest\n" + "".join(tests)).run()
    assert (code, outcomes(text)) == (1, {"failed": len(MISTAKEN)})
    for reason in MISTAKEN.values():
        assert reason in text
    assert text.count("UsageError: ") >= len(MISTAKEN)


# ---- fixtures -------------------------------------------------------------------------------------------------------

REPORT = """
import pytest

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
BODY = {"model": "m", "seed": 7, "messages": [{"role": "user", "content": [IMAGE]}]}

def test_survival(conversion_report):
    report = conversion_report(BODY, source="openai-chat", target="anthropic-messages")
    assert report.survives("image.input")
    assert not report.survives("sampling.*")
    assert [loss.path for loss in report.lost("sampling.seed")] == ["/seed"]
    assert report.value["messages"][0]["content"][0]["type"] == "image"

def test_a_misspelled_capability_raises(conversion_report):
    report = conversion_report(BODY, source="openai-chat", target="anthropic-messages")
    with pytest.raises(ValueError, match="did you mean image.input"):
        report.survives("input.image")
    with pytest.raises(TypeError):
        report.survives()

def test_a_misspelled_capability_raises_over_an_upstream(unified_llm_upstream):
    assert unified_llm_upstream.survives("tools.*", "image.*") and unified_llm_upstream.survives("*")
    with pytest.raises(ValueError, match="did you mean image.input"):
        unified_llm_upstream.survives("input.image")

def test_a_failure_shows_what_was_lost(conversion_report):
    assert conversion_report(BODY, source="openai-chat", target="anthropic-messages").survives("sampling.seed")
"""


def test_the_report_of_a_payload(project: Project) -> None:
    code, text = project.write("test_report.py", REPORT).run()
    assert (code, outcomes(text)) == (1, {"failed": 1, "passed": 2 + len(protocols())})
    assert "openai-chat -> anthropic-messages, request" in text
    assert "/seed sampling.seed lost" in text
    assert re.search(r"^-+ unified_llm: openai-chat -> anthropic-messages, request -+$", text, re.MULTILINE)
    assert re.search(r"^medium +/seed +sampling.seed +lost +\S", text, re.MULTILINE)


def test_a_failure_over_an_upstream_shows_its_losses(project: Project) -> None:
    project.write(
        "test_it.py",
        "import openai\n"
        "def test_it(unified_llm_upstream):\n"
        "    with unified_llm_upstream.http_client() as http:\n"
        "        client = openai.OpenAI(http_client=http, api_key='-')\n"
        "        client.chat.completions.create(model='m', seed=7, messages=[{'role': 'user', 'content': 'Hi'}])\n"
        "    assert unified_llm_upstream.survives('sampling.seed')\n",
    )
    project.write("pytest.ini", "[pytest]\nunified_llm_protocols = anthropic-messages\n")
    code, text = project.run()
    assert (code, outcomes(text)) == (1, {"failed": 1})
    assert "unified_llm: requests to anthropic-messages and responses" in text
    assert re.search(r"^medium +/seed +sampling.seed +lost +\S", text, re.MULTILINE)


def test_the_upstream_stands_for_the_protocols_that_are_asked_for(project: Project) -> None:
    project.write("test_it.py", "def test_it(unified_llm_upstream): assert unified_llm_upstream.protocol\n")
    code, text = project.run("-v")
    assert (code, outcomes(text)) == (0, {"passed": 6})
    project.write("pytest.ini", "[pytest]\nunified_llm_protocols = openai-chat:groq anthropic-messages\n")
    code, text = project.run("-v")
    assert (code, outcomes(text)) == (0, {"passed": 2})
    assert "test_it[openai-chat:groq]" in text


def test_the_plugin_costs_nothing_where_it_is_not_used(project: Project) -> None:
    project.write(
        "test_it.py",
        "import sys\n"
        "def test_it():\n"
        "    heavy = {'pydantic', 'httpx2', 'unified_llm_openai', 'unified_llm.drift.observe'} & {*sys.modules}\n"
        "    assert not heavy\n",
    )
    code, text = project.run()
    assert code == 0, text
