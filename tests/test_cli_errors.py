"""Errors of the command line: every command ends with one line of the same form on stderr, and with a documented code.

0 done, 1 drift found, 2 bad input or usage, 3 a loss at level `raise`, 4 a provider failed.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import unified_llm as ul
from client.commandline import run
from unified_llm.cli import app
from unified_llm.client.sending.advice import advice
from unified_llm.foundation.command_words import Options

MESSAGE = {"role": "user", "content": "[[error 400]]"}
REQUEST = json.dumps({"model": "local/echo", "messages": [MESSAGE]})
SEEDED = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}], "seed": 7})
ACROSS = ("--from", "openai-chat", "--to", "openai-responses")

# The arguments of a command that fails, what it reads, its exit code, and the reason in part.
FAILING: dict[str, tuple[tuple[tuple[str, ...], str, int, str], ...]] = {
    "convert": (
        ((*ACROSS,), "{", 2, "not JSON"),
        ((*ACROSS, "no/such/file"), "", 2, "no/such/file: No such file"),
        ((*ACROSS, "--quiet", "--on-loss", "raise"), SEEDED, 3, "1 loss at level 'raise'"),
    ),
    "preview": (((*ACROSS,), "{", 2, "not JSON"),),
    "protocols": ((("--nope",), "", 2, "No such option"),),
    "models": ((("no/such",), "", 2, "no provider 'no'"),),
    "chat": (
        (("--model", "nowhere/x", "Hi"), "", 2, "no provider 'nowhere'"),
        (("[[error 400]]",), "", 4, "InvalidRequestError: "),
        ((), "[[error 400]]\nnot said any more\n", 4, "InvalidRequestError: "),
        (("--tools", "no/such/file"), "", 2, "no/such/file: No such file"),
    ),
    "run": (
        (("--model", "local/echo"), REQUEST, 4, "InvalidRequestError: "),
        (("--model", "nowhere/x"), REQUEST, 2, "no provider 'nowhere'"),
        (("--model", "local/echo", "--protocol", "openai-responses", "--on-loss", "raise"), SEEDED, 3, "level 'raise'"),
    ),
    "matrix": ((("--fate", "gone"), "", 2, "'gone' is not a fate"),),
    "drift lock": ((("no/such/file",), "", 2, "no/such/file: No such file"),),
    "drift sdk": ((("morse",), "", 2, "'morse'"),),
    "gateway": ((("--config", "no/such/file"), "", 2, "no/such/file: No such file"),),
    "gateway check": ((("--config", "no/such/file"), "", 2, "no/such/file: No such file"),),
    "gateway import": ((("no/such/file",), "", 2, "no/such/file: No such file"),),
    "gateway spend": ((("--url", "http://127.0.0.1:1"), "", 2, "http://127.0.0.1:1/spend: "),),
    "gateway key new": ((("--nope",), "", 2, "No such option"),),
}


def commands(found: Any, name: str = "") -> Iterator[str]:
    """The names of all commands, and of the groups that do something without one."""
    below = getattr(found, "commands", None)
    if below is None or (name and found.invoke_without_command):
        yield name
    for word, each in (below or {}).items():
        yield from commands(each, f"{name} {word}".strip())


def test_every_command_is_tried() -> None:
    assert set(commands(typer.main.get_command(app))) == set(FAILING)


def assert_one_form(out: str, err: str, reason: str) -> None:
    assert out == "" and err.count("\n") == 1, err
    assert err.startswith("unified-llm: ") and reason in err


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "reason"),
    [
        pytest.param((*name.split(), *arguments), *rest, id=f"{name}-{number}")
        for name, cases in FAILING.items()
        for number, (arguments, *rest) in enumerate(cases)
    ],
)
def test_an_error_is_one_line_of_one_form(
    arguments: tuple[str, ...], stdin: str, code: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found, out, err = run(*arguments, stdin=stdin)
    assert found == code, err
    assert_one_form(out, err, reason)


def test_an_address_in_use_is_an_error_like_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        # A process of its own: what the gateway has opened by then is closed with it.
        command = [sys.executable, "-m", "unified_llm", "gateway", "--listen", listen]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert_one_form(done.stdout, done.stderr, f"{listen}: ")


def test_a_file_that_is_not_json_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"model": ', "utf-8")
    for command in ("convert", "preview"):
        for name, given in ((str(broken), {}), ("-", {"stdin": "{"})):
            code, out, err = run(command, *ACROSS, name, **given)
            where = "standard input" if name == "-" else name
            assert (code, out) == (2, "") and err.startswith(f"unified-llm: {where}: not JSON: "), err


def test_a_pattern_with_another_sign_than_an_equals_sign_has_no_level() -> None:
    code, _, err = run("convert", *ACROSS, "--on-loss", "sampling.*:raise", stdin=SEEDED)
    assert code == 2 and "'sampling.*:raise' has no level; write GLOB=LEVEL" in err


def test_lines_are_converted_each_and_one_that_fails_stops_no_other() -> None:
    """JSONL, as logs are kept; the losses have the index of the line in their path."""
    lines = "\n".join((SEEDED, "{", "", SEEDED)) + "\n"
    code, out, err = run("convert", *ACROSS, "--lines", "--json-losses", "-", stdin=lines)
    assert code == 2 and [json.loads(each)["input"][0]["content"] for each in out.splitlines()] == ["Hi", "Hi"]
    first, *rest = err.splitlines()
    assert first.startswith("unified-llm: line 2: (the whole body): not JSON")
    assert [each["path"] for each in json.loads(rest[0]) if each["fate"] == "lost"] == ["/0/seed", "/3/seed"]


def test_a_line_with_a_loss_at_level_raise_is_left_out() -> None:
    plain = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
    code, out, err = run("convert", *ACROSS, "--lines", "--on-loss", "raise", stdin=f"{SEEDED}\n{plain}\n")
    assert code == 3 and len(out.splitlines()) == 1 and "line 1: 1 loss at level 'raise'" in err


def test_several_documents_without_the_option_are_told_of_it() -> None:
    code, _, err = run("convert", *ACROSS, stdin=f"{SEEDED}\n{SEEDED}\n")
    assert code == 2 and err.rstrip().endswith("pass --lines for one document a line")
    for more in (("--kind", "stream"), ("--trace", "-")):
        assert run("convert", *ACROSS, "--lines", *more, stdin=SEEDED)[0] == 2


# What is Python in a text: `name=`, `name()`, `{'name': ...}`, `Name(...)`.
PYTHON = re.compile(r"\b[a-z_]+=(?=$|[\s'\",;)])|\w\((?:\)|\.\.\.|\w+=)|\{'")
HI = ("--quiet", "--from", "openai-chat")
ASKED = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]})


@pytest.mark.parametrize(
    ("arguments", "stdin", "told"),
    [
        (("chat", "-m", "openai/gpt-5.5", "Hi"), "", "no API key for openai; set OPENAI_API_KEY (POST "),
        (("run", *HI, "-m", "openai/gpt-5.5"), ASKED, "no API key for openai; set OPENAI_API_KEY (POST "),
        (("chat", "-m", "gpt-5.5", "Hi"), "", "use 'openai/gpt-5.5', or pass --base-url"),
        (("chat", "-m", "openai", "Hi"), "", "is a provider, not a model; use 'openai/MODEL'"),
        (("chat", "-m", "qqqqqqqq/x", "Hi"), "", "for another pass --base-url"),
        (("run", *HI, "-m", "qqqqqqqq/x"), ASKED, "for another pass --base-url"),
        (("run", *HI), ASKED, "--model provider/model"),
        (("chat", "-m", "anthropic/claude-opus-4-7", "--protocol", "openai-responses", "Hi"), "",
         "pass --base-url to use it anyway"),
        (("chat", "--effort", "hgh", "Hi"), "", "--effort: unknown effort 'hgh'; did you mean 'high'?"),
        (("chat", "[[error 429]]"), "", "try again later"),
        (("chat", "[[error 401]]"), "", "key"),
        (("convert", *ACROSS, "--quiet", "--on-loss", "raise"), SEEDED, "change --on-loss or the target"),
        (("convert", "--from", "openai-chat", "--to", "anthropic-messages", "--kind", "response"), ASKED,
         "pass --kind request"),
        (("convert", "--from", "openai-chat", "--to", "anthropic-messages"),
         json.dumps({**json.loads(ASKED), "n": 2}), "--on-loss output.choices=ignore"),
    ],
)  # fmt: skip
def test_advice_is_in_the_words_of_the_command_line(
    arguments: tuple[str, ...], stdin: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    code, _, err = run(*arguments, stdin=stdin)
    assert code and told in err, err
    assert not PYTHON.search(err), err


def words_of(name: str) -> Options:
    return Options(typer.main.get_command(app).commands[name].params)  # type: ignore[attr-defined]


def test_what_a_provider_wrote_is_not_changed() -> None:
    error: ul.APIError = ul.RateLimitError("pass protocol= or base_url=, or pass api_key=", status=429, provider="p")
    upstream = ul.Upstream(protocol="openai-chat", base_url="http://localhost:8000/v1")
    error.hint = advice(error, upstream, "m", "request")
    written = "p: pass protocol= or base_url=, or pass api_key= (HTTP 429); try again later"
    assert error.in_words(words_of("chat")) == written
    assert str(error) == f"{written}, or name fallbacks in models="
    error = ul.APIConnectionError("refused", provider="localhost", error={"code": "connection_failed"})
    error.hint = advice(error, upstream, "m", "request")
    running = "localhost: refused; check that the server is running and that --base-url is right"
    assert error.in_words(words_of("chat")) == running


def test_a_timeout_names_the_option_for_streams_where_a_command_has_it() -> None:
    error = ul.APITimeoutError("timed out", error={"type": "timeout", "code": "timeout"})
    upstream = ul.Upstream(protocol="openai-chat", base_url="http://localhost:8000/v1")
    error.hint = advice(error, upstream, "m", "request")
    assert str(error) == "timed out; raise timeout=, or use stream=True"
    assert error.in_words(words_of("run")) == "timed out; use --stream"
    assert error.in_words(words_of("chat")) == "timed out"


@pytest.mark.parametrize(
    ("arguments", "stdin", "told"),
    [
        # Each named an option that this command does not have, or what Python has.
        (("models", "no/such"), "", "no provider 'no'; `unified-llm models --providers` lists them"),
        (("preview", *ACROSS), f"{SEEDED}\n{SEEDED}\n", "standard input: not JSON: Extra data: line 2 column 1 "
         f"(char {len(SEEDED) + 1})"),
        (("convert", *ACROSS), '"Hi"', "standard input: openai-chat requires a JSON object, got a string"),
        (("convert", *ACROSS, "--on-loss", "shout"), SEEDED,
         "--on-loss: unknown level 'shout'; choose one of ignore, warn, raise"),
        (("chat", "--base-url", "localhost:80", "-m", "x", "Hi"), "",
         "--base-url: 'localhost:80' has no scheme; did you mean 'http://localhost:80'?"),
        (("chat", "-m", "azure/x", "Hi"), "",
         "https://{resource}.openai.azure.com/openai/v1 needs resource: set AZURE_RESOURCE_NAME"),
        (("chat", "-m", "sap-ai-core/x", "Hi"), "",
         "no protocol is known to serve sap-ai-core/x; pass --protocol and --base-url"),
        (("chat", "-m", "openai", "Hi"), "", "--model: 'openai' is a provider, not a model; use 'openai/MODEL'"),
    ],
)  # fmt: skip
def test_a_command_names_no_option_of_another_one(
    arguments: tuple[str, ...], stdin: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_RESOURCE_NAME", raising=False)
    code, _, err = run(*arguments, stdin=stdin)
    assert (code, err) == (2, f"unified-llm: {told}\n")


def test_a_run_that_reaches_its_limit_names_no_argument() -> None:
    @ul.tool
    def now() -> str:
        return "noon"

    with pytest.raises(ul.ToolLoopLimitError) as caught:
        ul.Client().responses.run(model="local/echo", input="[[call now]]", tools=[now], max_turns=1)
    assert str(caught.value) == "no final response after max_turns=1; raise it or continue from error.result"
    assert caught.value.in_words(words_of("chat")) == "no final response after 1 turn"


def test_a_command_without_kinds_names_the_kind_of_a_body_alone() -> None:
    answer = {"object": "chat.completion", "choices": [{}]}
    with pytest.raises(ul.InvalidBody) as caught:
        ul.convert(answer, source="openai-chat", target="openai-responses")
    assert caught.value.in_words(words_of("run")) == "/object: the body is of kind 'response', not 'request'"
    both = "/object: the body is of kind 'response', but --kind request was passed; pass --kind response"
    assert caught.value.in_words(words_of("convert")) == both
