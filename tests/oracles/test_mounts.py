"""How an oracle is reached: each door gives the same bytes; none imports anything of the library."""

from __future__ import annotations

import ast
import asyncio
import json
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import mounts
from oracles.surfaces import (
    CHAT,
    CONTENT,
    HEADERS,
    MESSAGES,
    PROTOCOLS,
    TOOLS,
    Node,
    answer,
    client,
    path,
    post,
    request,
    said,
    stream,
)
from waiting import until

every = pytest.mark.parametrize("protocol", PROTOCOLS)
HERE = pathlib.Path(__file__).parent
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-5, 5),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(
            ("user", "assistant", "tool", "text", "function", "function_call", "reasoning", "message", "x", "")
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                (
                    "role",
                    "content",
                    "type",
                    "text",
                    "id",
                    "call_id",
                    "name",
                    "tools",
                    "parts",
                    "input",
                    "function",
                    "arguments",
                    "tool_calls",
                    "tool_call_id",
                    "tool_use_id",
                    "summary",
                    "thinking",
                    "signature",
                    "source",
                    "functionCall",
                    "functionResponse",
                    "result",
                    "output",
                    "schema",
                    "format",
                    "parameters",
                    "input_schema",
                    "properties",
                )
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


MODULES = [file for file in HERE.glob("*.py") if not file.name.startswith("test_")]


ALSO = {"amazon_converse.py": ("botocore",)}
"""What an oracle may import beside the standard library: the service model of AWS is part of botocore."""


def test_oracles_import_nothing_of_the_library() -> None:
    for file in MODULES:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert not node.level, f"{file.name}: a relative import"
                names = [node.module or ""]
            for name in names:
                root = name.partition(".")[0]
                known = root in ("oracles", "h11", "httpx2") or root in sys.stdlib_module_names
                assert known or root in ALSO.get(file.name, ()), f"{file.name}: {name}"


def test_oracles_load_nothing_of_the_library() -> None:
    """What `importlib` brings in is seen as well: every module is imported and every mount is made."""
    names = ", ".join(f"oracles.{file.stem}" for file in MODULES)
    code = (
        f"import sys, {names}\nfrom oracles import mounts\nmounts.transport(mounts.Oracle())\n"
        "with mounts.serve(mounts.Oracle()): pass\n"
        "print([name for name in sys.modules if name.startswith('unified_llm')])\n"
    )
    assert run(code) == "[]\n"


@every
def test_the_same_request_gets_the_same_bytes(protocol: str) -> None:
    body = request(protocol, "[[reason Hm.]] One. [[call *]]", TOOLS)
    replies = [post(protocol, body, mounts.Oracle()) for _ in range(2)]
    assert replies[0].content == replies[1].content and replies[0].headers == replies[1].headers
    assert post(protocol, request(protocol, "Two.", TOOLS)).content != replies[0].content
    assert stream(protocol, body, mounts.Oracle()) == stream(protocol, body, mounts.Oracle())


def test_a_clock_may_be_given() -> None:
    assert answer(CHAT, request(CHAT, "Hi."), mounts.Oracle())["created"] == 1_700_000_000
    assert answer(CHAT, request(CHAT, "Hi."), mounts.Oracle(clock=lambda: 5.5))["created"] == 5


@every
@given(
    st.dictionaries(
        st.sampled_from(
            (
                "model",
                "messages",
                "contents",
                "input",
                "max_tokens",
                "tools",
                "tool_choice",
                "text",
                "reasoning",
                "thinking",
                "system",
                "instructions",
                "generationConfig",
                "stop",
                "response_format",
                "output_config",
                "toolConfig",
                "generation_config",
            )
        ),
        JSON,
        max_size=5,
    )
)
def test_any_json_gets_an_answer_or_a_refusal(protocol: str, body: Node) -> None:
    plain = request(protocol, "Hi.")
    for sent in (body, {**plain, **body}):
        response = post(protocol, sent)
        assert response.status_code in (200, 400, 404), response.text
        if response.status_code != 200:
            assert response.json()["error"]["message"]


@every
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b'{"a": NaN}', b'{"a": "\\ud800"}', b"\xff"])
def test_a_body_that_is_not_a_json_object(protocol: str, body: bytes) -> None:
    with client() as http:
        response = http.post(path(protocol), content=body, headers=HEADERS.get(protocol))
    assert response.status_code == 400 and response.json()["error"]["message"]


@pytest.mark.parametrize("prefix", ["", "/v1", "/v1beta", "/openai/v1", "/proxy/x/v1"])
def test_whatever_comes_before_a_path(prefix: str) -> None:
    with client() as http:
        assert http.post(f"{prefix}/chat/completions", json=request(CHAT, "Hi.")).status_code == 200
        assert http.post(f"{prefix}/models/pub/echo:generateContent", json=request(CONTENT, "Hi.")).status_code == 200
        place = f"{prefix}/projects/p/locations/l/publishers/google/models/echo%3AgenerateContent"
        assert http.post(place, json=request(CONTENT, "Hi.")).status_code == 200


def test_paths_and_methods_that_are_not_there() -> None:
    with client() as http:
        assert http.post("/v1/embeddings", json={}).status_code == 404
        assert http.get("/v1/chat/completions").status_code == 405
        assert http.head("/").status_code == 200
        assert (
            http.post("/v1/messages", json=request(MESSAGES, "Hi."))
            .json()["error"]["message"]
            .startswith("anthropic-version")
        )


def test_models_in_three_shapes() -> None:
    with client() as http:
        assert http.get("/v1/models").json()["object"] == "list"
        assert http.get("/v1/models", headers={"anthropic-version": "2023-06-01"}).json()["has_more"] is False
        assert http.get("/v1beta/models").json()["models"][0]["name"] == "models/echo"
        assert http.get("/v1/models/echo", headers={"x-goog-api-key": "k"}).json()["name"] == "models/echo"


def test_a_stream_as_a_json_array() -> None:
    with client() as http:
        response = http.post("/v1beta/models/echo:streamGenerateContent", json=request(CONTENT, "a b"))
    chunks = response.json()
    assert response.headers["content-type"] == "application/json"
    assert "".join(chunk["candidates"][0]["content"]["parts"][0]["text"] for chunk in chunks) == "a b"


@every
def test_how_an_answer_ended(protocol: str) -> None:
    service = mounts.Oracle()

    def run(text: str, read: int | None = None) -> str:
        body = request(protocol, text) if protocol == CONTENT else {**request(protocol, text), "stream": True}
        with (
            client(service) as http,
            http.stream("POST", path(protocol, True), json=body, headers=HEADERS.get(protocol)) as got,
        ):
            parts: Iterator[bytes] = got.iter_raw()
            for _ in range(read or 0):
                next(parts)
            if read is None:
                list(parts)
        return service.seen[-1].ended

    assert run("a b c") == "done"
    assert run("a b c", read=2) == "closed"
    assert run("a b c [[break after 2 quietly]]") == "done"
    with pytest.raises(httpx2.RemoteProtocolError):
        run("a b c [[break after 2]]")
    assert service.seen[-1].ended == "cut" and service.seen[-1].protocol == protocol


# ---- other doors


async def through_asgi(protocol: str, body: Node) -> tuple[int, list[bytes]]:
    sent: list[Any] = []
    where, _, query = path(protocol, True).partition("?")
    scope = {
        "type": "http",
        "method": "POST",
        "path": where,
        "query_string": query.encode(),
        "headers": [(k.encode(), v.encode()) for k, v in HEADERS.get(protocol, {}).items()],
    }
    data = json.dumps(body).encode()
    messages = [
        {"type": "http.request", "body": data[:9], "more_body": True},
        {"type": "http.request", "body": data[9:]},
    ]

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    await mounts.Oracle()(scope, receive, send)
    assert sent[0]["type"] == "http.response.start" and sent[-1]["more_body"] is False
    return sent[0]["status"], [message["body"] for message in sent[1:-1]]


@every
def test_asgi_says_the_same(protocol: str) -> None:
    body = request(protocol, "a b") if protocol == CONTENT else {**request(protocol, "a b"), "stream": True}
    with (
        client() as http,
        http.stream("POST", path(protocol, True), json=body, headers=HEADERS.get(protocol)) as response,
    ):
        wanted = list(response.iter_raw())
    assert asyncio.run(through_asgi(protocol, body)) == (200, wanted)
    with pytest.raises(ConnectionError):
        asyncio.run(through_asgi(CHAT, {**request(CHAT, "a b [[break after 1]]"), "stream": True}))


def test_asgi_starts_and_ends() -> None:
    sent: list[str] = []
    messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    asyncio.run(mounts.Oracle()({"type": "lifespan"}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_a_server_on_a_unix_socket(tmp_path: pathlib.Path) -> None:
    service = mounts.Oracle()
    with mounts.serve(service, uds=str(tmp_path / "s")) as server:
        with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(tmp_path / "s")), base_url=server.url) as http:
            for protocol in PROTOCOLS:  # one connection for all
                response = http.post(path(protocol), json=request(protocol, "Hi."), headers=HEADERS.get(protocol))
                assert said(protocol, response.json()) == "Hi."
            with pytest.raises(httpx2.RemoteProtocolError):
                http.post(path(CHAT), json={**request(CHAT, "a b c [[break after 1]]"), "stream": True})
            with http.stream(
                "POST", path(CHAT), json={**request(CHAT, "[[repeat 20000]] [[slow 5]] a b"), "stream": True}
            ) as got:
                next(got.iter_raw())
                assert service.seen[-1].ended == "open"  # all of it takes minutes
        until(lambda: service.seen[-1].ended != "open")
        assert service.seen[-1].ended == "closed"  # the client's going is noticed
    server.close()


def run(code: str) -> str:
    """What a program of its own prints."""
    root = str(HERE.parent)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env={"PYTHONPATH": root}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_server_on_this_machine() -> None:
    code = (
        "import httpx2\nfrom oracles import mounts\n"
        "with mounts.serve(mounts.Oracle()) as server, httpx2.Client(base_url=server.url, trust_env=False) as http:\n"
        "    body = {'model': 'echo', 'messages': [{'role': 'user', 'content': 'Hi.'}]}\n"
        "    print(http.post('/v1/chat/completions', json=body).json()['choices'][0]['message']['content'])\n"
    )
    assert run(code) == "Hi.\n"


def test_a_server_where_listening_is_forbidden(tmp_path: pathlib.Path) -> None:
    with pytest.raises(OSError):
        mounts.serve(mounts.Oracle(), uds=str(tmp_path / "no" / "such"))
