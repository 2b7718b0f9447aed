"""Upstreams: from names, URLs, files and the environment; where requests go, with which login."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest

import unified_llm as ul
from client.lines import KEYS, PLACES, Line, ask
from unified_llm.client.upstreams.credentials import KeyAuth
from unified_llm.client.upstreams.references import join
from unified_llm.client.upstreams.upstream import Upstream
from upstreams import MESSAGE

# ---- by name --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "protocol", "url", "login"),
    [
        ("openai/gpt-5.5", None, "https://api.openai.com/v1/responses", ("authorization", "Bearer key-openai")),
        ("openai/gpt-4o", "openai-chat", "https://api.openai.com/v1/chat/completions",
         ("authorization", "Bearer key-openai")),
        ("anthropic/claude-opus-4-7", None, "https://api.anthropic.com/v1/messages", ("x-api-key", "key-anthropic")),
        ("google/gemini-3-pro", "google-generate-content",
         "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:generateContent",
         ("x-goog-api-key", "key-google")),
        ("google/gemini-3-pro", None, "https://generativelanguage.googleapis.com/v1beta/interactions",
         ("x-goog-api-key", "key-google")),
        ("azure/gpt-5.5", None, "https://res.openai.azure.com/openai/v1/responses", ("api-key", "key-azure")),
        ("xai/grok-4", None, "https://api.x.ai/v1/responses", ("authorization", "Bearer key-xai")),
        ("bedrock/anthropic.claude-opus-4-7", None, "https://bedrock-mantle.eu-1.api.aws/anthropic/v1/messages",
         ("authorization", "Bearer key-aws")),
        ("ollama/qwen3", None, "http://localhost:11434/v1/chat/completions", None),
    ],
)  # fmt: skip
def test_where_a_request_goes_and_who_it_says_it_is(
    name: str, protocol: str | None, url: str, login: tuple[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, key in KEYS.items():
        monkeypatch.setenv(variable, key)
    for variable in ("OLLAMA_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    line = Line(lambda: httpx2.Response(500, json={}))
    upstream = Upstream.of(name, protocol=protocol, variables=PLACES, http_client=line.http)
    ask(upstream)
    (request,) = line.seen
    assert str(request.url) == url
    sent = {
        header: value
        for header, value in request.headers.items()
        if value in dict.fromkeys(KEYS.values()) or "key-" in value
    }
    assert sent == (dict([login]) if login else {})
    assert not any(key in repr(upstream) for key in KEYS.values())


def test_a_platform_that_wants_the_model_in_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(MESSAGE, lambda: httpx2.Response(500, json={}))
    name = "vertex/claude-opus-4-7"
    upstream = Upstream.of(name, api_key=lambda: "short-lived", variables=PLACES, http_client=line.http)
    assert ask(upstream).json()["choices"][0]["message"]["content"] == "Hello"
    ask(upstream, stream=True)
    base = "https://aiplatform.googleapis.com/v1/projects/proj/locations/global/publishers/anthropic/models/"
    assert [str(each.url) for each in line.seen] == [
        f"{base}claude-opus-4-7:rawPredict",
        f"{base}claude-opus-4-7:streamRawPredict",
    ]
    assert line.body["anthropic_version"] == "vertex-2023-10-16" and "model" not in line.body
    assert line.seen[0].headers["authorization"] == "Bearer short-lived"


def test_a_request_decides_between_protocols() -> None:
    body = {"model": "m", "stop": ["END"], "messages": [{"role": "user", "content": "Hi"}]}
    assert Upstream.of("openai/gpt-4o", request=body, source="openai-chat").protocol == "openai-chat:openai"
    assert Upstream.of("openai/gpt-4o").protocol == "openai-responses:openai"


def test_names_that_are_none() -> None:
    with pytest.raises(ul.UnknownProvider):
        Upstream.of("nowhere/model")
    with pytest.raises(ul.UnknownProtocol):
        Upstream.of("openai/gpt-4o", protocol="no-protocol")
    with pytest.raises(ValueError, match="AZURE_RESOURCE_NAME"):
        Upstream.of("azure/gpt-5.5")


# ---- by URL ---------------------------------------------------------------------------------------------------------


def test_any_server_from_its_url_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-openai")
    line = Line()
    upstream = Upstream.of("http://localhost:8000/v1", model="qwen3", http_client=line.http)
    assert ask(upstream).json()["model"] == "m"
    assert str(line.seen[0].url) == "http://localhost:8000/v1/chat/completions" and line.body["model"] == "qwen3"
    assert "authorization" not in line.seen[0].headers, "a key is for its own provider"


def test_a_known_host_keeps_its_login_and_a_look_alike_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "key-groq")
    for url, expected in (
        ("https://api.groq.com/openai/v1", "Bearer key-groq"),
        ("http://api.groq.com/openai/v1", None),
        ("https://api.groq.com.evil.example/openai/v1", None),
    ):
        line = Line()
        ask(Upstream.of(url, protocol="openai-chat", model="m", http_client=line.http))
        assert line.seen[0].headers.get("authorization") == expected


def test_a_password_in_a_url_is_taken_out_of_it() -> None:
    line = Line()
    upstream = Upstream(protocol="openai-chat", base_url="http://me:pass-word@host/v1", http_client=line.http)
    assert "pass-word" not in repr(upstream) and "pass-word" not in upstream.name
    ask(upstream)
    assert line.seen[0].headers["authorization"].startswith("Basic ") and line.seen[0].url.userinfo == b""


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("http://h/v1", "chat/completions", "http://h/v1/chat/completions"),
        ("http://h", "v1/messages", "http://h/v1/messages"),
        ("http://h/v1/", "/v1/messages", "http://h/v1/messages"),
        ("http://h/a/v1", "v1/models", "http://h/a/v1/models"),
        ("http://v1", "v1/messages", "http://v1/v1/messages"),
        ("http://h/x/publishers/p", "publishers/p/models/m:go", "http://h/x/publishers/p/models/m:go"),
        ("http://h/v1?api-version=2", "responses", "http://h/v1/responses?api-version=2"),
    ],
)
def test_what_base_and_route_share_is_there_once(base: str, path: str, url: str) -> None:
    assert join(base, path) == url


# ---- files and the environment --------------------------------------------------------------------------------------

TOML = """
[upstreams.fast]
model = "anthropic/claude-haiku-4-5"
key_env = "TEAM_KEY"
defaults = { temperature = 0 }
timeout = 30

[upstreams.mine]
base_url = "http://localhost:8000/v1"
model = "qwen3"
headers = { x-team = "blue" }
"""


def test_a_file_of_upstreams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_KEY", "team-secret")
    file = tmp_path / "upstreams.toml"
    file.write_text(TOML)
    found = Upstream.load(file)
    assert list(found) == ["fast", "mine"]
    line = Line(MESSAGE)
    ask(found["fast"].with_(http_client=line.http))
    assert line.seen[0].headers["x-api-key"] == "team-secret" and line.body["temperature"] == 0
    assert line.seen[0].extensions["timeout"]["read"] == 30
    assert found["mine"].protocol == "openai-chat" and found["mine"].model == "qwen3"
    line = Line()
    ask(found["mine"].with_(http_client=line.http))
    assert line.seen[0].headers["x-team"] == "blue" and "authorization" not in line.seen[0].headers


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ('api_key = "sk-1"', "key_env"),
        ('modle = "openai/gpt-5"', "unknown key 'modle'"),
        ('protocol = "openai-chat"', "set model"),
        ('model = "nowhere/nothing"', "nowhere"),
    ],
)
def test_a_file_that_is_wrong_says_where(tmp_path: Path, row: str, told: str) -> None:
    file = tmp_path / "upstreams.toml"
    file.write_text(f"[upstreams.bad]\n{row}\n")
    with pytest.raises(ValueError, match=r"\[upstreams.bad\].*" + told) as caught:
        Upstream.load(file)
    assert "sk-1" not in str(caught.value)


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MODEL", "BASE_URL", "PROTOCOL", "API_KEY", "SCOPE"):
        monkeypatch.delenv(f"UNIFIED_LLM_{name}", raising=False)
    with pytest.raises(ValueError, match="UNIFIED_LLM_MODEL"):
        Upstream.from_env()
    monkeypatch.setenv("UNIFIED_LLM_MODEL", "anthropic/claude-opus-4-7")
    assert Upstream.from_env().protocol == "anthropic-messages"
    monkeypatch.setenv("UNIFIED_LLM_BASE_URL", "http://localhost:9000/v1")
    monkeypatch.setenv("UNIFIED_LLM_MODEL", "plain")
    monkeypatch.setenv("UNIFIED_LLM_API_KEY", "env-secret")
    line = Line()
    found = Upstream.from_env().with_(http_client=line.http)
    ask(found)
    assert (found.model, line.seen[0].headers["authorization"]) == ("plain", "Bearer env-secret")
    assert "env-secret" not in repr(found)


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"MODEL": "nobody/m"}, "for another set UNIFIED_LLM_BASE_URL"),
        ({"BASE_URL": "localhost:9000"}, "UNIFIED_LLM_BASE_URL: 'localhost:9000' has no scheme"),
        ({"BASE_URL": "ftp://x", "MODEL": "m"}, "UNIFIED_LLM_BASE_URL: the scheme 'ftp' is not supported"),
    ],
)
def test_what_is_wrong_in_the_environment_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], told: str
) -> None:
    for name in ("MODEL", "BASE_URL", "PROTOCOL", "API_KEY", "SCOPE"):
        monkeypatch.delenv(f"UNIFIED_LLM_{name}", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(f"UNIFIED_LLM_{name}", value)
    with pytest.raises(ul.InvalidArgument) as caught:
        Upstream.from_env()
    assert told in str(caught.value)
    assert "base_url" not in str(caught.value)


# ---- values ---------------------------------------------------------------------------------------------------------


def test_upstreams_are_values_and_credentials_stay_where_they_are() -> None:
    one = Upstream.of("http://localhost:8000/v1", model="m", api_key="secret")
    assert one == one.with_() and hash(one) == hash(one.with_()) and one != one.with_(model="n")
    assert "secret" not in repr(one) and "secret" not in repr(one.auth)
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be pickled"):
            copied(KeyAuth("x", "{key}", "secret"))


# ---- what an extra brings -------------------------------------------------------------------------------------------


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.auth", None)
    with pytest.raises(ImportError, match=r"unified-llm\[vertex\]"):
        ask(Upstream.of("vertex/claude-opus-4-7", variables=PLACES, http_client=Line(MESSAGE).http))
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.delitem(sys.modules, "unified_llm.client.transports.transport_httpx", raising=False)
    with pytest.raises(ImportError, match=r"unified-llm\[httpx\]"):
        ul.http_client("local/echo", library="httpx")


def test_importing_the_library_loads_no_http_library() -> None:
    code = "import sys, unified_llm; print([n for n in ('httpx2', 'httpx', 'openai', 'anyio') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_here())
    assert done.stdout.strip() == "[]"


def _here() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.mark.parametrize(("model", "url", "protocol"), [
    ("anthropic/claude-opus-4-7", "https://api.anthropic.com", "anthropic-messages"),
    ("anthropic/claude-opus-4-7", "https://api.anthropic.com/v1", "openai-chat:anthropic"),
    ("anthropic/claude-opus-4-7", "https://proxy.example", "anthropic-messages"),
    ("google/gemini-3-pro-preview", "https://generativelanguage.googleapis.com/v1beta/openai", "openai-chat:google"),
    ("google/gemini-3-pro-preview", "https://proxy.example/v1beta", "google-interactions"),
    ("openai/gpt-5.5", "https://api.openai.com/v1", "openai-responses:openai"),
    ("openai/gpt-5.5", "http://localhost:8000/v1", "openai-chat"),
    ("mistral/mistral-small-latest", "https://proxy.example/v1", "openai-chat:mistral"),
    ("deepseek/deepseek-chat", "https://proxy.example/v1", "openai-chat:deepseek"),
    ("openrouter/x/y", "https://proxy.example/v1", "openai-chat:openrouter"),
    ("mine/m", "http://localhost:8000/v1", "openai-chat"),
])  # fmt: skip
def test_a_provider_at_another_url_keeps_its_protocol(model: str, url: str, protocol: str) -> None:
    made = ul.Upstream.of(model, base_url=url)
    assert (made.protocol, made.base_url, made.provider) == (protocol, url, model.partition("/")[0])
    chosen = ul.Upstream.of(model, base_url=url, protocol="openai-chat").protocol
    assert chosen == (protocol if protocol.startswith("openai-chat") else "openai-chat")


def test_a_text_as_the_auth_of_an_upstream_by_hand_is_refused_at_once() -> None:
    with pytest.raises(ul.InvalidArgument, match=r"auth object; pass a key or a login to Upstream\.of") as caught:
        ul.Upstream(protocol="openai-chat", base_url="http://up/v1", model="m", auth=cast(Any, "sk-secret"))
    assert "sk-secret" not in str(caught.value)
