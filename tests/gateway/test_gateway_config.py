"""The configuration file: what is refused, in which words, and the reference page that is generated from the models."""

from __future__ import annotations

import asyncio
import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from typer.testing import CliRunner

import _gateway
from unified_llm.cli import app
from unified_llm.client.upstreams.options import FIELDS
from unified_llm.gateway.app import Gateway
from unified_llm.gateway.command import announcement
from unified_llm.gateway.configuration.config import Config, ConfigError, StateSettings, UpstreamSettings, load
from unified_llm.gateway.state.database import async_url, make_engine

ROOT = Path(__file__).parents[2]
WHOLE = """
[gateway]
listen = "127.0.0.1:9000"
max_body = "8MB"
providers = ["local", "google"]

[upstreams.claude]
model = "anthropic/claude-opus-4-7"
key_env = "CLAUDE_KEY"

[upstreams.vllm]
base_url = "http://127.0.0.1:9/v1"

[models]
fast = ["vllm/small", "claude"]
best = "claude"
"gpt-*" = { to = ["vllm/{model}"], on_loss = { "reasoning.*" = "raise" } }

[keys.blue]
sha256 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
models = "fast"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "gateway.toml"
    path.write_text(text)
    return path


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["gateway", *arguments])
    return done.exit_code, done.stdout, done.stderr


def test_a_file_with_a_byte_order_mark(tmp_path: Path) -> None:
    """As editors on Windows write it."""
    path = tmp_path / "gateway.toml"
    path.write_bytes(b"\xef\xbb\xbf[gateway]\r\nlisten = '127.0.0.1:9000'\r\n")
    assert load(path).gateway.port == 9000


def test_a_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("CLAUDE_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(variable, "x")
    found = load(written(tmp_path, WHOLE))
    assert found.gateway.port == 9000 and found.gateway.max_body == 8_000_000
    assert found.models["best"].to == ["claude"] and found.models["gpt-*"].on_loss == {"reasoning.*": "raise"}
    assert found.keys["blue"].models == ["fast"] and found.upstreams["claude"].key_env == ["CLAUDE_KEY"]
    code, out, err = run("check", "--config", str(tmp_path / "gateway.toml"))
    assert (code, err) == (0, "")
    assert "claude: anthropic/claude-opus-4-7" in out and "fast: vllm/small, claude" in out and "1 keys" in out


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[gateway]\nlisten = 8787", "gateway.listen: input should be a valid string, got 8787"),
        ("[gateway]\nlisten = 'localhost'", "gateway.listen: must be host:port"),
        ("[gateway]\nmax_body = '32 lots'", "gateway.max_body: must be a number of bytes, or a size such as '32MB'"),
        ("[gateway]\nmax_paralel = 1", "gateway.max_paralel: unknown field; did you mean 'max_parallel'?"),
        ("[gatway]", "gatway: unknown field; did you mean 'gateway'?"),
        ("[upstreams.a]\nmodel = 'openai/x'\napi_key = 'sk-secret'", "upstreams.a.api_key: unknown field; secrets are"),
        ("[upstreams.a]\nmodel = 'openai/x'\nkey_env = 'sk-secret'", "upstreams.a.key_env.0: must be the name of"),
        ("[upstreams.a]\nmodel = 'openai/x'\nauth = 'gcp'", "upstreams.a.auth: unknown login; choose one of"),
        ("[upstreams.a]\nmodel = 'openai/x'\nauth = 'google'\nkey_env = 'KEY'", "auth and key_env exclude each other"),
        ("[upstreams.a]\nmodel = 'openai/x'\naudience = 'x'", "audience needs auth"),
        ("[upstreams.a]\nmodle = 'x'", "upstreams.a.modle: unknown field; did you mean 'model'?"),
        ("[upstreams.a]\nscope = 'x'", "[upstreams.a]: set model ="),
        ("[upstreams.a]\nmodel = 'opennai/x'", "[upstreams.a]: "),
        ("[upstreams.'a/b']\nmodel = 'openai/x'", "upstreams.a/b: a name contains only"),
        ("[models]\nfast = []", "models.fast.to: list should have at least 1 item"),
        ("[models]\nfast = { too = 'x' }", "models.fast.too: unknown field; did you mean 'to'?"),
        ("[models]\nfast = 'gogle/x'", "models.fast: unknown upstream 'gogle'; did you mean 'google'?"),
        ("[models]\nf = {to='google/x', on_loss={'*'='rise'}}", "models.f.on_loss.*: input should be 'ignore'"),
        ("[models]\nf = {to='google/x', on_loss={'samplin.*'='raise'}}", "models.f.on_loss: 'samplin.*' matches no "
         "capability; did you mean 'sampling.*'?"),
        ("[upstreams.a]\nbase_url = 'http://h/v1'\nprotocol = 'openai-chatt'", "upstreams.a.protocol: unknown protocol "
         "'openai-chatt'; did you mean"),
        ("[upstreams.a]\nbase_url = 'http://[h/v1'", "[upstreams.a]: base_url: not a valid URL"),
        ("[upstreams.a]\nbase_url = 'http://h:99999/v1'", "[upstreams.a]: base_url: not a valid URL"),
        ("[state]\nkeep = '40000d'", "state.keep: input should be less than or equal to 3153600000"),
        ("[state]\nkeep = 1e300", "state.keep: input should be less than or equal to 3153600000"),
        ("[state]\nurl = 'postgresql://u:secret@h:port/db'", "state.url: not a database URL; use sqlite:///FILE or"),
        ("[keys.a]\nsha256 = 'ulk_secret'", "keys.a.sha256: must be 64 hexadecimal digits"),
        ("[keys.a]", "keys.a.sha256: required field is missing"),
        ("[gateway]\nlisten = '0.0.0.0:80'", "gateway.listen: 0.0.0.0 is not a loopback address and there is no key"),
        ("[gateway]\norigins = ['example.com']", "gateway.origins.0: must be an origin"),
        ("[gateway]\nproviders = ['gogle']", "gateway.providers: "),
        ("[gateway", "not valid TOML"),
        ("[state]\nkeep = 'for ever'", "state.keep: must be a number of seconds, or a duration such as '30d'"),
        ("[state]\nsync = 'never'", "state.sync: input should be 'normal' or 'full'"),
        ("[state]\nurl_env = 'postgresql://me:secret@host/db'", "state.url_env: must be the name of an environment"),
        ("[state]\nurl = 'mysql://host/db'", "state.url: mysql is not supported; use sqlite or postgresql"),
        ("[state]\nurl = 'gateway.db'", "state.url: not a database URL; use sqlite:///FILE"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_path(tmp_path: Path, text: str, problem: str) -> None:
    if "gateway]" not in text:
        text = "[gateway]\nproviders = ['google']\n" + text
    code, out, err = run("check", "--config", str(written(tmp_path, text)))
    assert (code, out) == (2, "") and problem in err, err
    assert "secret" not in err.replace("secrets are", "").replace("the secret itself", "")


def test_all_problems_at_once(tmp_path: Path) -> None:
    text = WHOLE.replace("9000", "x").replace("fast =", "fast = 1 #").replace("models = ", "modles = ")
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, text))
    assert len(caught.value.problems) == 3 and all("gateway.toml: " in each for each in caught.value.problems)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    code, _, err = run("check", "--config", str(tmp_path / "none.toml"))
    assert code == 2 and "No such file" in err


def test_two_names_for_one_key() -> None:
    keys = {name: {"sha256": "b" * 64} for name in ("one", "two")}
    assert list(Config.model_validate({"keys": keys}).problems()) == ["keys.two.sha256: the same key as keys.one"]


def test_upstreams_are_those_of_the_client() -> None:
    assert set(UpstreamSettings.model_fields) == FIELDS


def test_another_address_is_checked_too() -> None:
    assert Config().listening("[::1]:0").gateway.host == "::1"
    with pytest.raises(ConfigError, match="no key"):
        Config().listening("0.0.0.0:80")
    assert run("--listen", "0.0.0.0:80")[0] == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[gateway]\nproviders = ["qqqqqqqq"]', "gateway.providers: no provider 'qqqqqqqq'; `unified-llm models "
         "--providers` lists them"),
        ('[upstreams.a]\nmodel = "qqqqqqqq/x"', "[upstreams.a]: no provider 'qqqqqqqq'; `unified-llm models "
         "--providers` lists them; for another set base_url"),
        ('[upstreams.a]\nmodel = "groq/"\nprotocol = "anthropic-messages"',
         "[upstreams.a]: no known endpoint for provider groq in anthropic-messages; set protocol and base_url"),
        ('[upstreams.a]\nmodel = "azure/x"', "[upstreams.a]: https://{resource}.openai.azure.com/openai/v1 needs "
         "resource: set variables.resource, or set AZURE_RESOURCE_NAME"),
        ('[upstreams.a]\nbase_url = "localhost:80"',
         "[upstreams.a]: base_url: 'localhost:80' has no scheme; did you mean 'http://localhost:80'?"),
    ],
)  # fmt: skip
def test_advice_is_in_the_words_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, problem: str
) -> None:
    """They were those of Python: `pass base_url=`."""
    monkeypatch.delenv("AZURE_RESOURCE_NAME", raising=False)
    path = written(tmp_path, text)
    code, _, err = run("check", "--config", str(path))
    assert (code, err.replace(f"{path}: ", "")) == (2, f"unified-llm: {problem}\n")


@pytest.mark.parametrize("command", [("check",), ()])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "[telemetry]\nlog = '/no/such/dir/x.log'",
            "telemetry.log: /no/such/dir/x.log: No such file or directory; name",
        ),
        ("[telemetry]\nlog = '/'", "telemetry.log: /: Is a directory; name a file"),
        ('[telemetry]\nlog = "a\\u0000"', "telemetry.log: a\\x00: "),
        (
            "[state]\nurl = 'sqlite://gateway.db'",
            "state.url: two slashes are followed by a host, which SQLite does not",
        ),
        ("[state]\nurl = 'postgresql://h/db?sslcert=x'", "state.url: the parameter 'sslcert' is not supported; known:"),
        ("[state]\nurl = 'postgresql://h/db?sslmode=on'", "state.url: sslmode must be one of disable, allow, prefer"),
        ("[state]\nurl = 'postgresql://h/db?connect_timeout=x'", "state.url: connect_timeout must be a number of"),
        ("[state]\nurl = 'postgresql://h/db?sslmode=allow&ssl=require'", "state.url: ssl is given twice"),
    ],
)
def test_what_cannot_be_opened_is_one_line(tmp_path: Path, text: str, problem: str, command: tuple[str, ...]) -> None:
    path = written(tmp_path, f"[gateway]\nlisten = '127.0.0.1:0'\nproviders = ['local']\n{text}")
    code, out, err = run("--config", str(path), *command)
    assert (code, out) == (2, "") and err.startswith(f"unified-llm: {problem}") and err.count("\n") == 1, err


def test_a_log_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"telemetry\.log: .*No such file"):
        Gateway(Config.model_validate({"telemetry": {"log": str(tmp_path / "no" / "x.log")}}))


def test_parameters_of_libpq_reach_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[dict[str, Any]] = []

    async def connect(**arguments: Any) -> Any:
        got.append(arguments)
        raise ConnectionRefusedError

    monkeypatch.setattr(asyncpg, "connect", connect)

    async def main() -> None:
        for query in ("", "?sslmode=require&connect_timeout=7", "?ssl=verify-full&host=/run/postgresql"):
            url = f"postgresql://root@localhost/db{query}"
            engine = make_engine(async_url(url), StateSettings(url=url))
            with pytest.raises(ConnectionRefusedError):
                await engine.connect()
            await engine.dispose()

    asyncio.run(main())
    assert [each.get("ssl") for each in got] == [None, "require", "verify-full"]
    assert [each["timeout"] for each in got] == [5.0, 7.0, 5.0]
    assert [each["host"] for each in got] == ["localhost", "localhost", "/run/postgresql"]
    assert not any({"sslmode", "connect_timeout"} & {*each} for each in got)


@pytest.mark.parametrize("option", ["--config", "-c"])
def test_options_before_the_command_count(tmp_path: Path, option: str) -> None:
    path = str(written(tmp_path, WHOLE))
    assert run(option, path, "check") == run("check", option, path)
    assert "fast: vllm/small, claude" in run(option, path, "check")[1]
    assert run(option, str(tmp_path / "none.toml"), "check")[0] == 2
    assert "listen     127.0.0.1:7" in run("--listen", "127.0.0.1:7", option, path, "check")[1]
    assert run("--listen", "127.0.0.1:7", "check") == run("check", "--listen", "127.0.0.1:7")
    code, out, err = run(option, path, "check", "--config", path)
    assert (code, out) == (2, "") and "--config is given twice" in err


@pytest.mark.parametrize("command", [("key", "new", "blue"), ("import", "x.yaml")])
@pytest.mark.parametrize(("option", "value"), [("--config", "none.toml"), ("--listen", "127.0.0.1:7")])
def test_options_without_a_meaning_are_refused(command: tuple[str, ...], option: str, value: str) -> None:
    code, out, err = run(option, value, *command)
    assert (code, out) == (2, "") and f"{option} has no meaning for `gateway {command[0]}`" in err


def test_the_secret_comes_from_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "[gateway]\nproviders = ['local']\nsecret_env = 'GATEWAY_SECRET'")
    code, _, err = run("check", "--config", str(path))
    assert code == 2 and "gateway.secret_env: the variable GATEWAY_SECRET is not set" in err
    monkeypatch.setenv("GATEWAY_SECRET", "s3cret")
    assert run("check", "--config", str(path))[0] == 0
    one, other = (asyncio.run(Gateway(load(path)).secret()) for _ in range(2))
    assert one.verify(other.sign(b"x"), b"x")


def test_a_new_key() -> None:
    """The lines for the file are on stdout, and the key on stderr: one can be added to a file, the other be kept."""
    code, out, err = run("key", "new", "blue")
    assert code == 0 and out.startswith('\n[keys.blue]\nsha256 = "') and out.count("\n") == 3
    assert err.startswith("ulk_") and err.count("\n") == 1
    digest = hashlib.sha256(err.strip().encode()).hexdigest()
    assert tomllib.loads(f"[keys.red]\nadmin = true{out}")["keys"]["blue"]["sha256"] == digest


def test_every_client_is_pointed_at_the_gateway() -> None:
    lines = "\n".join(announcement("http://127.0.0.1:1", keyed=False))
    for name in (
        "OPENAI_BASE_URL=http://127.0.0.1:1/v1",
        "ANTHROPIC_BASE_URL=http://127.0.0.1:1\n",
        "GOOGLE_GEMINI_BASE_URL=",
    ):
        assert f"export {name}" in lines
    assert "YOUR_GATEWAY_KEY" in "\n".join(announcement("http://x", keyed=True))


def test_the_reference_is_current() -> None:
    page = ROOT / "docs" / "gateway-configuration.md"
    assert _gateway.renewed(page) == page.read_text("utf-8"), "run: python docs/_gateway.py"
    assert "`max_parallel`" in page.read_text("utf-8")


def test_the_page_has_the_versions_of_the_agent_clis_that_are_run() -> None:
    pinned = json.loads((ROOT / "tests" / "agent_clis" / "package.json").read_text("utf-8"))["dependencies"]
    page = (ROOT / "docs" / "gateway.md").read_text("utf-8")
    rows = [line.split(" | ")[1] for line in page.splitlines() if line.startswith(("| Codex | 0", "| Claude Code | ",
            "| gemini-cli | ", "| opencode | ", "| GitHub Copilot CLI | "))]  # fmt: skip
    assert sorted(rows) == sorted(pinned.values())


@pytest.mark.parametrize("name", ["blue", "a b", "a.b", 'a"b', "é"])
def test_the_lines_of_a_new_key_are_toml(name: str) -> None:
    code, out, _ = run("key", "new", name)
    assert code == 0 and list(tomllib.loads(out)["keys"]) == [name]


@pytest.mark.parametrize("name", ["", "a\nb"])
def test_a_key_that_cannot_have_its_name(name: str) -> None:
    code, out, err = run("key", "new", name)
    assert (code, out) == (2, "") and "cannot be the name of a key" in err
