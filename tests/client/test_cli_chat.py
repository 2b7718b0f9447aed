"""`unified-llm chat` and `unified-llm run`, as people use them: typed, piped, and in files."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

import unified_llm as ul
from client.commandline import run
from client.providers import PROTOCOLS, Canned, stream, upstream
from unified_llm.client.cli.chat import Chat
from unified_llm.client.cli.commands import chat
from unified_llm.client.cli.detection import format_of

TOOLS = '''
import unified_llm as ul

@ul.tool
def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"21 degrees in {city}"
'''


def run_there(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
    """The same in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "unified_llm", *arguments],
        input=stdin.encode(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


# ---- chat -----------------------------------------------------------------------------------------------------------


def test_lines_that_are_piped_are_turns_and_only_answers_go_to_stdout() -> None:
    typed = "Good morning.\n\n[[reason let me see]] And you?\n/losses\n/quit\nnot this\n"
    code, out, err = run_there("chat", stdin=typed)
    assert (code, out) == (0, "Good morning.\nAnd you?\n")
    assert "[thinks] let me see\n" in err and "No losses." in err
    assert "\033" not in out + err


def test_a_prompt_takes_what_is_piped_along() -> None:
    assert run("chat", "In one word:", stdin="yes\nor no\n")[:2] == (0, "In one word:\n\nyes\nor no\n")


@pytest.mark.parametrize(
    ("encoding", "shown"), [("ascii", "h\\xe9 \\u2603"), ("cp1252", "hé \\u2603"), ("utf-8:strict", "hé ☃")]
)
def test_a_terminal_of_any_encoding_takes_and_shows_any_text(encoding: str, shown: str) -> None:
    for prompt in (["hé ☃"], []):
        done = subprocess.run(
            [sys.executable, "-m", "unified_llm", "chat", *prompt],
            input=b"\xff b\n",
            capture_output=True,
            check=False,
            timeout=60,
            env={**os.environ, "PYTHONIOENCODING": encoding},
        )
        assert (done.returncode, done.stderr) == (0, b""), done.stderr
        out = done.stdout.decode(encoding.partition(":")[0])
        assert " b" in out and (shown in out) == bool(prompt)


def test_tools_of_a_file_are_called_and_shown(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TOOLS)
    asked = "[[call get_weather city=Oslo]] [[then]] [[results]] Done.\n"
    code, out, err = run("chat", "--tools", str(tmp_path / "mine.py"), stdin=asked)
    assert code == 0 and "21 degrees in Oslo" in out and out.endswith("Done.\n")
    assert 'calls get_weather({"city":"Oslo"})' in err
    assert "get_weather gave 21 degrees in Oslo" in err


def test_a_file_without_tools_and_a_server_that_fails(tmp_path: Path) -> None:
    (tmp_path / "none.py").write_text("x = 1")
    code, out, err = run("chat", "--tools", str(tmp_path / "none.py"))
    assert (code, out) == (2, "") and "no tool" in err
    (tmp_path / "broken.py").write_text("x = 1\ndef (")
    code, out, err = run("chat", "--tools", str(tmp_path / "broken.py"))
    assert (code, out, err.count("\n")) == (2, "", 1) and "broken.py, line 2: SyntaxError" in err
    pytest.importorskip("mcp")
    code, out, err = run("chat", "--mcp", "no-such-command --x", "Hi")
    assert (code, out, err.count("\n")) == (4, "", 1) and "no connection to the MCP server no-such-command" in err
    code, out, err = run("chat", "--mcp", "'unclosed", "Hi")
    assert (code, out, err.count("\n")) == (2, "", 1) and "--mcp" in err
    code, out, err = run("chat", stdin="[[error 400]]\nnot said any more\n")
    assert (code, out) == (4, "") and "InvalidRequestError" in err


class Terminal:
    """A chat with two upstreams that can be named."""

    def __init__(self, **options: Any) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.chat = Chat(ul.Client(), "local/echo", out=self.out, err=self.err, **options)

    def type(self, *lines: str) -> str:
        for line in lines:
            self.chat.line(line)
        told = self.err.getvalue()
        self.err.truncate(0)
        self.err.seek(0)
        return told


def test_the_model_is_changed_on_the_way_and_the_conversation_moves_along() -> None:
    terminal = Terminal()
    terminal.type("[[reason deep]] One.")
    there = upstream("anthropic-messages")
    terminal.chat.model = there  # type: ignore[assignment]
    terminal.type("Two.")
    assert terminal.out.getvalue() == "One.\nTwo.\n"
    second = terminal.chat.runs[-1]
    assert [item.type for item in second.items] == ["message", "reasoning", "message", "message", "message"]
    assert second.final.upstream is there


def test_commands() -> None:
    terminal = Terminal()
    assert "/model" in terminal.type("/help")
    assert "no provider 'nowhere'" in terminal.type("/model nowhere/x")
    assert "no provider prefix; use 'provider/x'" in terminal.type("/model x")
    assert "local/echo" in terminal.type("/model")
    assert "Nothing was sent" in terminal.type("/losses") and "Nothing was sent" in terminal.type("/cost")
    assert "unknown command /helf;" in terminal.type("/helf")
    terminal.type("Hi.")
    assert " in, " in terminal.type("/cost")
    assert terminal.chat.line("/quit") is False
    terminal.type("/new")
    assert terminal.chat.runs == []


def test_a_path_is_not_a_command() -> None:
    terminal = Terminal()
    terminal.type("/etc/hosts is a file")
    assert terminal.out.getvalue() == "/etc/hosts is a file\n"


def test_files_go_with_the_next_line(tmp_path: Path) -> None:
    terminal = Terminal()
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert "[a.png is sent with the next line]" in terminal.type(f"/attach {tmp_path / 'a.png'}")
    terminal.type("What is this?", "And now?")
    assert terminal.out.getvalue() == "What is this? [image image/png]\nAnd now?\n"
    assert "no such file" in terminal.type("/attach /no/such.png")
    assert "requires the path" in terminal.type("/attach")


def test_the_conversation_is_saved(tmp_path: Path) -> None:
    terminal = Terminal()
    terminal.type("Hi.", f"/save {tmp_path / 'c.json'}")
    assert [item["role"] for item in json.loads((tmp_path / "c.json").read_text())] == ["user", "assistant"]


def test_what_is_lost_is_pointed_out() -> None:
    terminal = Terminal(options={"seed": 7, "stop": ["x"]})
    terminal.chat.model = Canned("openai-responses", stream("Hi")).upstream  # type: ignore[assignment]
    assert "[2 losses; /losses shows them]" in terminal.type("Hi")
    assert "sampling.seed" in terminal.type("/losses")


def test_a_turn_that_fails_is_told_and_forgotten() -> None:
    terminal = Terminal(color=True)
    terminal.type("One.")
    assert "InvalidRequestError" in terminal.type("[[error 400]]")
    assert terminal.chat.failed
    terminal.type("Two.")
    assert not terminal.chat.failed
    assert [item.role for item in terminal.chat.runs[-1].items] == ["user", "assistant"] * 2


def test_interrupting_an_answer_ends_the_turn_and_not_the_chat() -> None:
    class Interrupted(io.StringIO):
        def write(self, text: str) -> int:
            if "l" in text:
                raise KeyboardInterrupt
            return super().write(text)

    out, err = Interrupted(), io.StringIO()
    chat = Chat(ul.Client(), Canned("openai-responses", stream("Hello")).upstream, out=out, err=err)  # type: ignore[arg-type]
    assert chat.line("Hi") is True
    assert "interrupted" in err.getvalue() and chat.runs == []


# ---- run ------------------------------------------------------------------------------------------------------------

# The smallest requests of the five wires, and where their answers keep the text.
REQUESTS: dict[str, tuple[Any, Any]] = {
    "anthropic-messages": (
        {"model": "m", "max_tokens": 99, "system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}]},
        lambda answer: answer["content"][0]["text"],
    ),
    "google-generate-content": (
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
        lambda answer: answer["candidates"][0]["content"]["parts"][0]["text"],
    ),
    "google-interactions": (
        {"model": "m", "input": "Hi", "system_instruction": "Be brief."},
        lambda answer: answer["steps"][-1]["content"][0]["text"],
    ),
    "openai-chat": (
        {"model": "m", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]},
        lambda answer: answer["choices"][0]["message"]["content"],
    ),
    "openai-responses": (
        {"model": "m", "input": "Hi", "instructions": "Be brief."},
        lambda answer: answer["output"][0]["content"][0]["text"],
    ),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_request_is_of_the_protocol_that_understands_it(protocol: str) -> None:
    assert format_of(REQUESTS[protocol][0]) == protocol


# Fields that the SDK of one of two declares, and the reader of the other understands as another vendor's word.
# https://docs.claude.com/en/api/messages
@pytest.mark.parametrize("field", [{"thinking": {"type": "adaptive"}}, {"output_config": {"effort": "low"}}])
def test_a_request_that_two_understand_is_of_the_one_whose_sdk_declares_it(field: Any) -> None:
    body = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "Hi"}]}
    assert format_of({**body, **field}) == "anthropic-messages"
    assert format_of({**body, "n": 1}) == "openai-chat"


@pytest.mark.parametrize("body", [{}, [], 7, {"prompt": "Hi"}, {"messages": []}])
def test_what_is_of_no_protocol(body: Any) -> None:
    with pytest.raises(ul.InvalidBody, match="cannot detect the protocol"):
        format_of(body)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_request_in_any_format_is_answered_in_that_format(protocol: str, tmp_path: Path) -> None:
    body, text = REQUESTS[protocol]
    (tmp_path / "request.json").write_text(json.dumps(body))
    named = [str(tmp_path / "request.json"), "-m", "local/echo", "-q"]
    other = "anthropic-messages" if protocol != "anthropic-messages" else "openai-chat"
    code, out, err = run("run", *named, "--protocol", other)
    assert (code, out, err) == (0, "Hi\n", "")
    code, out, err = run("run", *named, "--protocol", other, "--json")
    assert code == 0 and text(json.loads(out)) == "Hi"


def test_a_stream_is_printed_as_it_comes_or_as_events() -> None:
    body = json.dumps({**REQUESTS["openai-chat"][0], "model": "local/echo", "stream": True})
    assert run("run", "-q", stdin=body)[:2] == (0, "Hi\n")
    code, out, _ = run("run", "-q", "--json", "--protocol", "google-generate-content", stdin=body)
    events = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and events[-1]["data"] == "[DONE]"
    pieces = [
        each["data"]["choices"][0]["delta"].get("content") or "" for each in events[:-1] if each["data"]["choices"]
    ]
    assert "".join(pieces) == "Hi"
    code, out, _ = run("run", "-q", "--json", "--no-stream", stdin=body)
    assert json.loads(out)["object"] == "chat.completion"


def test_who_reads_only_the_beginning_is_told_nothing(tmp_path: Path) -> None:
    (tmp_path / "long.json").write_text(json.dumps({"model": "m", "input": "[[repeat 9000]] word", "stream": True}))
    arguments = [
        sys.executable,
        "-m",
        "unified_llm",
        "run",
        str(tmp_path / "long.json"),
        "-m",
        "local/echo",
        "--json",
    ]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_losses_go_to_stderr_and_a_level_can_be_set() -> None:
    body = json.dumps({**REQUESTS["openai-chat"][0], "seed": 7})
    named = ["run", "-m", "local/echo", "--protocol", "openai-responses"]
    code, out, err = run(*named, stdin=body)
    assert (code, out) == (0, "Hi\n") and "/seed" in err
    code, out, err = run(*named, "--on-loss", "sampling.*=raise", stdin=body)
    assert (code, out) == (3, "") and "/seed" in err


@pytest.mark.parametrize(
    ("stdin", "more", "code", "told"),
    [
        ('{"model": "m", "input": "Hi"}', [], 2, "--model"),
        ('{"model": "m", "input": "Hi"}', ["-m", "nowhere/x"], 2, "nowhere"),
        ('{"model": "m", "input": "Hi"}', ["-m", "nowhere"], 2, "a model is named provider/model"),
        ("{", ["-m", "local/echo"], 2, "JSON"),
        ("Hello.", ["-m", "local/echo"], 2, "unified-llm chat takes plain text"),
        ("", ["-m", "local/echo"], 2, "a request is a JSON document"),
        ('{"input": "Hi"}', ["-m", "local/echo", "--on-loss", "seed=raise"], 2, "did you mean 'sampling.seed'?"),
        ('{"input": "Hi"}', ["-m", "local/echo", "--on-loss", "sampling=raise"], 2, "did you mean 'sampling.*'?"),
        ('{"input": "Hi"}', ["-m", "local/echo", "--on-loss", "x"], 2, "--on-loss: unknown level 'x'"),
        ('{"input": "[[error 400]]"}', ["-m", "local/echo"], 4, "InvalidRequestError"),
    ],
)
def test_what_goes_wrong_is_one_line(stdin: str, more: list[str], code: int, told: str) -> None:
    found, out, err = run("run", *more, stdin=stdin)
    assert (found, out) == (code, "")
    assert told in err and err.count("\n") == 1


def test_a_file_that_is_not_there() -> None:
    code, _, err = run("run", "nowhere.json", "-m", "local/echo")
    assert code == 2 and "nowhere.json: No such file or directory; unified-llm chat takes plain text" in err
    code, _, err = run("chat", "--tools", "nowhere.py", "Hi")
    assert code == 2 and err.endswith("nowhere.py: No such file or directory\n")


def test_what_had_to_be_said_besides_is_not_a_loss_to_a_reader_of_text() -> None:
    body = '{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}'
    asked = ["run", "-m", "local/echo", "--protocol", "openai-responses"]
    assert run(*asked, stdin=body) == (0, "Hi\n", "")  # `store: false` was added
    assert "/store" in run(*asked, "--json", stdin=body)[2]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("ending", "told"),
    [("[[error 503 after 2]]", "503"), ("[[break after 2]]", "connection closed"), ("[[break after 2 quietly]]", "")],
)
def test_a_stream_that_ends_badly_is_not_success(protocol: str, ending: str, told: str) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": f"One two three. {ending}"}]})
    for more in ([], ["--json"]):
        code, _, err = run("run", "-m", "local/echo", "--protocol", protocol, "--stream", "-q", *more, stdin=body)
        assert code == 4 and told in err and err.count("\n") == 1


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_what_is_not_text_is_told_beside_it(stream: str) -> None:
    def asked(text: str, **more: Any) -> tuple[int, str, str]:
        body = {"messages": [{"role": "user", "content": text}], **more}
        return run("run", "-m", "local/echo", stream, stdin=json.dumps(body))

    tool = {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}
    assert asked("[[call now]]", tools=[tool]) == (0, "\n", "[calls now({})]\n")
    assert asked("[[refuse I will not.]]") == (0, "I will not.\n", "")
    assert asked("One two [[stop length]]") == (0, "One\n", "[ended early: length]\n")


def test_the_model_may_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNIFIED_LLM_MODEL", "nowhere/x")
    code, out, err = run("chat", "Hi")
    assert (code, out) == (2, "") and "no provider 'nowhere'" in err


def test_a_question_that_fails_says_so_by_its_exit_code() -> None:
    code, out, err = run("chat", "[[error 500]] Hi")
    assert (code, out) == (4, "") and "ServerError" in err
    code, out, err = run("chat", "-m", "x", "--base-url", "localhost:9", "Hi")
    assert (code, out) == (2, "") and "did you mean 'http://localhost:9'?" in err


def test_one_question_on_a_terminal_has_an_exit_code_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    chat("Hi")
    with pytest.raises(typer.Exit) as ended:
        chat("[[error 500]] Hi")
    assert ended.value.exit_code == 4
