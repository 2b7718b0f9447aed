"""`unified-llm chat` and `run` with the user's own server: which model is requested, and whether a key is shown."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from client.commandline import run


class Keyed(http.server.BaseHTTPRequestHandler):
    """A server that answers every client, and keeps what was shown to it."""

    shown: list[tuple[str, str | None]] = []

    def do_POST(self) -> None:
        message = {"role": "assistant", "content": "Hi"}
        head = {"id": "c", "created": 1, "model": "m"}
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.shown.append((asked["model"], self.headers["authorization"]))
        if asked.get("stream"):
            chunk = {**head, "object": "chat.completion.chunk"}
            told = [{**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": "stop"}]}]
            body = "".join(f"data: {json.dumps(each)}\n\n" for each in told) + "data: [DONE]\n\n"
        else:
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            body = json.dumps({**head, "object": "chat.completion", "choices": [choice]})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if asked.get("stream") else "application/json")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def keyed() -> Iterator[str]:
    Keyed.shown.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Keyed) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def test_the_key_of_a_server_of_ones_own_is_in_the_variable_that_is_named(
    keyed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-my-key")
    own, key = ("--base-url", keyed, "-m", "qwen3"), ("--api-key-env", "MY_KEY")
    body = '{"model": "another", "messages": [{"role": "user", "content": "Hi"}]}'
    told = [run("chat", *own, *key, "Hi"), run("run", *own, *key, stdin=body)]
    told += [run("chat", *own, "Hi"), run("run", *own, stdin=body)]
    assert [(code, out) for code, out, _ in told] == [(0, "Hi\n")] * 4
    assert Keyed.shown == [("qwen3", "Bearer sk-my-key")] * 2 + [("qwen3", None)] * 2
    assert "sk-my-key" not in "".join(err for _, _, err in told)


@pytest.mark.parametrize("name", ["mistral", "qwen", "openai", "openai/gpt-oss-20b", "Qwen/Qwen3-8B", "a/b/c:q4"])
@pytest.mark.parametrize("command", ["chat", "run"])
def test_a_model_of_ones_own_server_may_have_the_name_of_a_provider(
    command: str, name: str, keyed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    body = '{"model": "another", "messages": [{"role": "user", "content": "Hi"}]}'
    given = {"stdin": body} if command == "run" else {}
    code, out, err = run(command, "--base-url", keyed, "-m", name, *([] if given else ["Hi"]), **given)
    assert (code, out) == (0, "Hi\n"), err
    assert Keyed.shown == [(name, None)]


def test_a_model_in_the_request_is_one_of_the_server(keyed: str) -> None:
    body = '{"model": "openai/gpt-oss-20b", "messages": [{"role": "user", "content": "Hi"}]}'
    code, out, err = run("run", "--base-url", keyed, stdin=body)
    assert (code, out) == (0, "Hi\n"), err
    assert Keyed.shown == [("openai/gpt-oss-20b", None)]


def test_another_model_of_the_server_in_the_middle_of_a_conversation(keyed: str) -> None:
    code, _, err = run("chat", "--base-url", keyed, "-m", "org/one", stdin="Hi\n/model org/two\nHi\n")
    assert code == 0 and "the model is org/two" in err
    assert Keyed.shown == [("org/one", None), ("org/two", None)]


@pytest.mark.parametrize("command", ["chat", "run"])
def test_a_key_that_was_typed_is_not_repeated(command: str) -> None:
    own = ("-m", "m", "--base-url", "http://localhost:1")
    for arguments, said in ((own, "environment variable"), (("-m", "local/echo"), "--base-url")):
        code, out, err = run(command, *arguments, "--api-key-env", "sk-secret", stdin="{}")
        assert (code, out) == (2, "") and said in err and "sk-secret" not in err


def test_a_server_of_ones_own_wants_a_model() -> None:
    code, out, err = run("chat", "--base-url", "http://localhost:1", "Hi")
    assert (code, out) == (2, "") and "--model" in err
