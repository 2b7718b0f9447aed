"""A mistaken call is an error of ours, and of the class that Python has for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import unified_llm as ul
from unified_llm import models

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
WAY = {"source": "openai-chat", "target": "openai-responses"}

MISTAKES: dict[str, Callable[[], Any]] = {
    "unknown level 'shout'": lambda: ul.convert(BODY, on_loss="shout", **WAY),  # type: ignore[call-overload]
    "unknown level 'eror'": lambda: ul.Client(on_loss="eror"),  # type: ignore[arg-type]
    "'hue.*' matches no capability": lambda: ul.http_client("local/echo", on_loss={"hue.*": "raise"}),
    "'hues.*' matches no capability": lambda: ul.async_http_client("local/echo", on_loss={"hues.*": "raise"}),
    "'color.*' matches no capability": lambda: ul.convert(BODY, on_loss={"color.*": "raise"}, **WAY),  # type: ignore[call-overload]
    "unknown kind 'answer' for openai-chat; choose one of: request, response": lambda: ul.convert(
        BODY,
        kind="answer",
        **WAY,  # type: ignore[call-overload]
    ),
    "'seeds' matches no capability": lambda: ul.preview(BODY, **WAY).survives("seeds"),  # type: ignore[call-overload]
    "unknown capability 'seed'": lambda: ul.preview(BODY, **WAY).explain("seed"),  # type: ignore[call-overload]
    "no provider prefix": lambda: ul.Client().responses.create(model="gpt-5", input="Hi"),
    "no model given": lambda: ul.Client().responses.create(input="Hi"),
    "total_timeout": lambda: ul.Client(total_timeout=-1).responses.create(model="local/echo", input="Hi"),
    "name a model": lambda: models.select("openai"),
    "no known anthropic-messages": lambda: models.select("openai/gpt-5.5", force_protocol="anthropic-messages"),
    "secret is empty": lambda: ul.convert(BODY, secret="", **WAY),  # type: ignore[call-overload]
    "library is": lambda: ul.http_client("local/echo", library="requests"),  # type: ignore[call-overload]
}


@pytest.mark.parametrize("said", MISTAKES)
def test_a_mistaken_call_is_an_error_of_ours(said: str) -> None:
    with pytest.raises(ul.UnifiedLLMError) as caught:
        MISTAKES[said]()
    assert said in str(caught.value) and isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("module", "call", "extra"),
    [
        ("openai", lambda: ul.to_sdk({"id": "c"}, "openai-chat", "response"), "openai"),
        ("httpx", lambda: ul.http_client("local/echo", library="httpx"), "httpx"),
        ("mcp", lambda: ul.ToolServer("http://localhost:1/mcp").__enter__(), "mcp"),
    ],
)
def test_a_missing_package_is_an_error_of_ours(
    module: str, call: Callable[[], Any], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "unified_llm.client.transports.transport_httpx", raising=False)
    with pytest.raises(ul.MissingExtra) as caught:
        call()
    assert isinstance(caught.value, ImportError) and caught.value.extra == extra
    assert str(caught.value).endswith(f"needs the extra: pip install 'unified-llm[{extra}]'")
