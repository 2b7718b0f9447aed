"""The command line: exit codes, what goes to stdout, what to stderr. Two tests run it in a process, as people do."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import unified_llm as ul
from unified_llm.cli import app
from unified_llm.foundation.terminal import read_input

TRAFFIC = Path(__file__).parents[1] / "examples" / "traffic"
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "seed": 7}
CHUNK = {
    "id": "c",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
}


def run(*arguments: str, stdin: bytes = b"") -> tuple[int, bytes, str]:
    done = CliRunner().invoke(app, arguments, input=stdin)
    return done.exit_code, done.stdout_bytes, done.stderr


def started(*arguments: str, stdin: bytes = b"") -> tuple[int, bytes, str]:
    """The same in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "unified_llm", *arguments], input=stdin, capture_output=True, check=False
    )
    return done.returncode, done.stdout, done.stderr.decode()


def convert(*arguments: str, stdin: bytes) -> tuple[int, bytes, str]:
    return run("convert", "--from", "openai-chat", "--to", "openai-responses", *arguments, stdin=stdin)


def test_convert_writes_the_result_to_stdout_and_the_losses_to_stderr() -> None:
    code, out, err = convert(stdin=json.dumps(REQUEST).encode())
    assert code == 0
    assert json.loads(out)["input"] == [{"type": "message", "role": "user", "content": "hi"}]
    assert "/seed" in err and "sampling.seed" in err


def test_convert_reads_a_file_and_writes_json_losses(tmp_path: Path) -> None:
    report = tmp_path / "losses.json"
    code, out, err = convert(str(TRAFFIC / "agent.chat.json"), "--json-losses", str(report), "-q", stdin=b"")
    assert (code, err) == (0, "")
    assert json.loads(out)["model"] == "gpt-5.6"
    assert {"/seed", "/stop"} <= {loss["path"] for loss in json.loads(report.read_text())}


def test_convert_writes_a_certificate(tmp_path: Path) -> None:
    body, file = json.dumps(REQUEST).encode(), tmp_path / "trace.json"
    assert convert("--trace", str(file), "-q", stdin=body)[::2] == (0, "")
    told = {leaf["path"]: leaf for leaf in json.loads(file.read_text())["leaves"]}
    assert told["/model"]["to"] == ["/model"] and told["/seed"]["loss"] == "/seed"
    code, _, err = convert("--trace", "-", "-q", stdin=body)
    assert code == 0 and "/seed" in err and "(loss at /seed)" in err
    assert convert("--trace", str(tmp_path / "no" / "t"), "-q", stdin=body)[0] == 2
    code, _, err = convert("--trace", "-", "--kind", "stream", stdin=b'{"event": null, "data": {}}')
    assert (code, err) == (2, "unified-llm: --trace is for documents; a stream has no certificate\n")


def test_a_loss_at_level_raise_is_exit_3_and_names_it() -> None:
    code, out, err = convert("--on-loss", "sampling.*=raise", stdin=json.dumps(REQUEST).encode())
    assert code == 3
    assert out == b""
    assert "/seed" in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("stdin", "where"),
    [(b"{", "not JSON"), (b'{"model": "m"}', "/messages"), (b'{"model":"m","messages":[],"seed":NaN}', "NaN")],
)
def test_bad_input_is_exit_2_and_one_line_with_the_path(stdin: bytes, where: str) -> None:
    code, out, err = convert(stdin=stdin)
    assert (code, out) == (2, b"")
    assert len(err.splitlines()) == 1
    assert where in err


def test_a_process_ends_with_the_code_and_the_line() -> None:
    code, out, err = started("convert", "--from", "openai-chat", "--to", "openai-responses", stdin=b"{")
    assert (code, out, len(err.splitlines())) == (2, b"", 1)
    assert "not JSON" in err


def test_a_misspelled_level_and_an_unknown_protocol_are_exit_2() -> None:
    body = json.dumps(REQUEST).encode()
    code, _, err = convert("--on-loss", "shout", stdin=body)
    assert code == 2 and "shout" in err
    code, _, err = run("convert", "--from", "openai-chat", "--to", "morse", stdin=body)
    assert code == 2 and "morse" in err and "openai-chat" in err
    code, _, err = run("convert", "--from", "openai", "--to", "morse", stdin=body)
    assert code == 2 and "did you mean openai-chat or openai-responses?" in err
    code, _, err = run("convert", "--from", "openai-chat", "--to", "openai-chat:deepseekk", stdin=body)
    assert code == 2 and "did you mean deepseek?" in err


def test_nothing_to_read_and_nowhere_to_write_are_one_line(tmp_path: Path) -> None:
    assert convert(stdin=b" \n") == (2, b"", "unified-llm: standard input is empty\n")
    body, nowhere = json.dumps(REQUEST).encode(), str(tmp_path / "no" / "losses.json")
    code, _, err = convert("-q", "--json-losses", nowhere, stdin=body)
    assert (code, err) == (2, f"unified-llm: {nowhere}: No such file or directory\n")
    code, out, err = run(
        "preview", "--from", "openai-chat", "--to", "openai-responses", "--json-losses", nowhere, stdin=body
    )
    assert (code, out, err.count("\n")) == (2, b"", 1)


def test_a_level_that_is_none_is_not_left_out() -> None:
    code, _, err = convert("--on-loss", "sampling.*=ignore,tools.*", stdin=json.dumps(REQUEST).encode())
    assert code == 2 and "'tools.*' has no level" in err


def test_the_json_report_may_stand_where_the_table_does() -> None:
    body = json.dumps(REQUEST).encode()
    code, out, err = convert("--json-losses", "-", stdin=body)
    told = next(line for line in err.splitlines() if line.startswith("["))
    assert code == 0 and json.loads(out)["model"] == "m" and "/seed" in {loss["path"] for loss in json.loads(told)}
    code, out, _ = run("preview", "--from", "openai-chat", "--to", "openai-responses", "--json-losses", "-", stdin=body)
    assert (code, json.loads(out)) == (0, json.loads(told))


def test_a_request_that_is_of_another_protocol_is_doubted() -> None:
    body = json.dumps(REQUEST).encode()
    for command in ("convert", "preview"):
        _, _, err = run(command, "--from", "openai-responses", "--to", "anthropic-messages", stdin=body)
        assert "input looks like openai-chat; use --from openai-chat" in err
        _, _, err = run(command, "--from", "openai-chat", "--to", "anthropic-messages", stdin=body)
        assert "looks like" not in err


@pytest.mark.parametrize("source", ul.protocols())
def test_a_stream_that_is_of_another_protocol_is_doubted(source: str) -> None:
    body = (TRAFFIC / "answer.chat.sse").read_bytes()
    target = "openai-responses" if source == "anthropic-messages" else "anthropic-messages"
    for command in ("convert", "preview"):
        _, _, err = run(command, "--from", source, "--to", target, stdin=body)
        hint = "hint: input looks like openai-chat; use --from openai-chat"
        assert (hint in err, "looks like" in err) == (source != "openai-chat",) * 2


def test_raw_sse_in_is_raw_sse_out() -> None:
    file = str(TRAFFIC / "answer.chat.sse")
    code, out, _ = started("convert", "--from", "openai-chat", "--to", "openai-responses", file)
    assert code == 0
    assert out.startswith(b"event: response.created\ndata: ")
    assert b"event: response.completed\n" in out


def test_json_lines_of_a_stream_in_are_json_lines_out() -> None:
    lines = [{"event": None, "data": CHUNK}, {"event": None, "data": "[DONE]"}]
    code, out, _ = convert(stdin="\n".join(map(json.dumps, lines)).encode())
    assert code == 0
    events = [json.loads(line) for line in out.splitlines()]
    assert events[0]["event"] == "response.created"
    assert events[-1]["data"]["response"]["status"] == "completed"


def test_preview_prints_the_report_alone() -> None:
    code, out, _ = run(
        "preview", "--from", "openai-chat", "--to", "openai-responses", stdin=json.dumps(REQUEST).encode()
    )
    assert code == 0
    assert b"sampling.seed" in out
    assert b"hi" not in out


def test_protocols_lists_what_is_installed() -> None:
    code, out, _ = run("protocols")
    assert code == 0
    assert b"openai-chat" in out and b"openai-responses" in out


def test_preview_explains_each_capability_once() -> None:
    messages = [{"role": "user", "content": "Hi"}]
    body = json.dumps({"model": "m", "messages": messages, "logit_bias": {"1": 2}, "presence_penalty": 1, "seed": 7})
    asked = "preview", "--from", "openai-chat", "--to", "anthropic-messages"
    _, plain, _ = run(*asked, stdin=body.encode())
    code, out, _ = run(*asked, "--explain", stdin=body.encode())
    table, *explained = out.decode().split("\n\n")
    assert code == 0 and table == plain.decode().rstrip("\n") and "Instead:" not in table
    named = [each.partition(":")[0] for each in explained]
    assert named == ["sampling.penalties", "sampling.seed"], "nothing has to be done about what is added"
    seed = "sampling.seed: repeatable sampling\nlost at /seed: anthropic-messages has no seed\nInstead: set temperature"
    assert explained[1].startswith(seed)
    report = json.loads(run(*asked, "--explain", "--json-losses", "-", stdin=body.encode())[1])
    assert {row["capability"] for row in report} == {*named, "output.max_tokens"}


def test_preview_takes_a_model_and_levels() -> None:
    arguments = ("preview", "--from", "openai-chat", "--to", "anthropic-messages")
    thinking = {**REQUEST, "reasoning_effort": "high"}
    told = {
        run(*arguments, "--model", model, stdin=json.dumps(thinking).encode())[1]
        for model in ("claude-3-5-haiku-20241022", "m")
    }
    assert len(told) == 2
    code, out, err = run(*arguments, "--on-loss", "*@medium=raise", stdin=json.dumps(REQUEST).encode())
    assert code == 3 and b"/seed" in out and err.startswith("unified-llm: 1 loss at level 'raise': /seed (")
    assert run(*arguments, "--on-loss", "*@high=raise", stdin=json.dumps(REQUEST).encode())[0] == 0
    sse = f"data: {json.dumps({**CHUNK, 'system_fingerprint': 'f'})}\n\ndata: [DONE]\n\n".encode()
    code, out, err = run(*arguments, "--on-loss", "raise", stdin=sse)
    assert (code, err.count("\n")) == (3, 1) and b"/0/data/system_fingerprint" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("convert",), "Missing option '--from'"),
        (("nope",), "No such command 'nope'"),
        (("--nope",), "No such option: --nope"),
        (("drift", "lokc"), "No such command 'lokc'"),
        (("models", "--min-context", "x"), "Invalid value for '--min-context'"),
    ],
)
def test_errors_of_usage_look_like_all_others(arguments: tuple[str, ...], said: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (2, b"", 1)
    assert err.startswith(f"unified-llm: {said}") and err.endswith(" --help\n") and "; see " in err


def test_no_arguments_show_the_help() -> None:
    code, out, err = run("drift")
    assert code == 2 and "Usage: " in out.decode() + err and "unified-llm: " not in err


def test_a_person_who_has_to_type_the_input_is_told_so(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    class Typed(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    for stdin, told in ((Typed(io.BytesIO(b"{}")), True), (io.TextIOWrapper(io.BytesIO(b"{}")), False)):
        monkeypatch.setattr("sys.stdin", stdin)
        assert read_input("-") == b"{}"
        assert ("Ctrl-D" in capsys.readouterr().err) is told


def test_the_shell_can_complete_protocols() -> None:
    environment = {**os.environ, "_UNIFIED_LLM_COMPLETE": "complete_bash", "COMP_CWORD": "3"}
    done = subprocess.run(
        [sys.executable, "-c", "from unified_llm.cli import app; app(prog_name='unified-llm')"],
        env={**environment, "COMP_WORDS": "unified-llm convert --from openai"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["openai-chat", "openai-responses"]
    assert "--install-completion" in run("--help")[1].decode()


def test_piped_tables_are_columns_and_no_line_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out = run("models", "--provider", "openai", "--limit", "3")[1].decode()
    assert len(out.strip().split("\n")) == 4 and not {*out} & {*"│┃━"}


def test_tables_fit_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unified_llm.foundation.terminal.columns", lambda stream=None: 160)
    out = run("models", "gpt-5.5", "--provider", "openai", "--limit", "3")[1].decode()
    assert "│" in out and all(len(line) <= 160 for line in out.split("\n"))


@pytest.mark.parametrize("width", [80, 40])
def test_no_word_is_broken_where_the_terminal_is_too_narrow_for_a_table(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unified_llm.foundation.terminal.columns", lambda stream=None: width)
    out = run("models", "gpt-5.5", "--provider", "openai", "--limit", "3")[1].decode()
    assert all(len(line) <= width for line in out.split("\n")) and "│" not in out
    assert out.startswith("openai/gpt-5.5\n  context: 1.05M; max output: 128k;")
    assert "openai-responses" in out.split()
    told = run("matrix", "reasoning.*")[1].decode()
    assert all(len(line) <= width for line in told.split("\n"))
    assert "reasoning.visibility" in told.split() and "google-generate-content:" in told.split()


def test_facts_of_a_model_fit_the_terminal_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unified_llm.foundation.terminal.columns", lambda stream=None: 40)
    out = run("models", "openai/gpt-5.5")[1].decode().split("\nopenai/gpt-5.5: ")[0]  # the choice of protocol is prose
    assert all(len(line) <= 40 for line in out.split("\n"))
    assert out.startswith("GPT-5.5 (openai/gpt-5.5)\ndates\n  released ") and "$ per M tokens\n  in: 5; out: 30;" in out
