"""Providers of installed packages: rows by entry point, beside our own table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from types import ModuleType
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from unified_llm import models
from unified_llm.engine import registry
from unified_llm.models import provider_table

ROW: dict[str, Any] = {
    "name": "Acme",
    "key": ["ACME_API_KEY"],
    "aliases": ["acme-ai"],
    "endpoints": [
        {
            "protocol": "openai-chat",
            "base_url": "https://llm.acme.test/v1",
            "auth": ["x-acme-key", "{key}"],
            "not": ["old-*"],
        },
        {"protocol": "anthropic-messages", "base_url": "https://llm.acme.test", "auth": "x-api-key"},
    ],
}


def forget() -> None:
    registry._installed.cache_clear()
    provider_table.table.cache_clear()
    provider_table.aliases.cache_clear()


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What installs a package that has `row` behind an entry point."""
    real = [*registry.installed(registry.GROUP).values()]
    points = EntryPoints(real)

    def add(row: Any, name: str = "acme", module: str = "acme_llm") -> None:
        nonlocal points
        package = ModuleType(module)
        package.ROW = row  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module, package)
        points = EntryPoints([*points, EntryPoint(name, f"{module}:ROW", registry.PROVIDERS)])
        forget()

    monkeypatch.setattr("importlib.metadata.entry_points", lambda: points)
    forget()
    yield add
    monkeypatch.undo()
    forget()


def test_a_provider_of_an_installed_package_is_one(install: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    install(ROW)
    found = models.provider("acme")
    assert (found.name, found.key_env, found.known, found.listed) == ("Acme", ("ACME_API_KEY",), True, False)
    assert found.protocols == ("openai-chat", "anthropic-messages")
    assert found.endpoints[0].auth == ("x-acme-key", "{key}")
    assert [each.protocol for each in found.serving("old-1")] == ["anthropic-messages"]
    assert models.provider("acme-ai").id == "acme"
    assert "acme" in {each.id for each in models.providers()}


def test_its_models_are_called_like_any(install: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    install(ROW)
    monkeypatch.setenv("ACME_API_KEY", "k-1")
    upstream = ul.Upstream.of("acme/talk-1")
    assert (upstream.protocol, upstream.base_url, upstream.model) == (
        "openai-chat",
        "https://llm.acme.test/v1",
        "talk-1",
    )
    sent = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append((str(request.url), request.headers["x-acme-key"]))
        import httpx2

        message = {"role": "assistant", "content": "Hello."}
        body = {"id": "1", "object": "chat.completion", "created": 1, "model": "talk-1"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return httpx2.Response(200, json={**body, "choices": [choice]})

    with httpx2.Client(transport=httpx2.MockTransport(answer)) as pool:
        client = ul.Client("acme/talk-1", http_client=pool)
        assert client.responses.create(input="Hi").output_text == "Hello."
    assert sent == [("https://llm.acme.test/v1/chat/completions", "k-1")]


def test_without_packages_the_table_is_our_own() -> None:
    assert provider_table.table() == provider_table.packaged_rows()


@pytest.mark.parametrize("name", ["openai", "xai", "together"])
def test_a_name_of_our_table_is_not_replaced(install: Any, name: str) -> None:
    install(ROW, name)
    with pytest.raises(
        ul.InvalidArgument, match=rf"provider '{name}' of the entry point acme_llm:ROW .*choose another"
    ):
        models.provider("acme")


def test_two_packages_of_one_name_are_an_error(install: Any) -> None:
    install(ROW)
    install(ROW, module="acme_other")
    with pytest.raises(ValueError, match="two packages claim the provider 'acme': acme_llm:ROW, acme_other:ROW"):
        models.provider("acme")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([], "is not a dict with `endpoints`"),
        ({"name": "Acme"}, "is not a dict with `endpoints`"),
        ({**ROW, "url": "x"}, "has url; it may have aliases, auth"),
        ({"endpoints": ["https://llm.acme.test"]}, "endpoint 0, is not a dict with `protocol` and `base_url`"),
        ({"endpoints": [{"protocol": "openai-chat"}]}, "endpoint 0, is not a dict with `protocol` and `base_url`"),
        ({"endpoints": [{**ROW["endpoints"][0], "exclude": []}]}, "endpoint 0, has exclude; it may have auth"),
        ({"endpoints": [{**ROW["endpoints"][0], "auth": "magic"}]}, "no way to send a key is named 'magic'"),
    ],
)
def test_a_row_that_is_none_is_refused(install: Any, row: Any, reason: str) -> None:
    install(row)
    with pytest.raises(ul.InvalidArgument) as caught:
        models.provider("acme")
    assert reason in str(caught.value)
    assert "'acme' of the entry point acme_llm:ROW" in str(caught.value)
