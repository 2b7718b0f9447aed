"""Finding adapters: lazily, by name, with a word of help when there is none."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.client.transports.route_matching import recognize
from unified_llm.engine import DeclarationError, registry
from unified_llm.engine.adapter import Framing, Route, Streams
from unified_llm.engine.adapter_checks import NODES
from unified_llm.engine.registry import adapter, protocols
from unified_llm.types.validation import KINDS


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Entry points of the test's own making, and an empty cache."""
    found: list[EntryPoint] = []

    def entry_points() -> EntryPoints:
        return EntryPoints(found)

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    monkeypatch.setattr(registry, "_loaded", {})
    registry._installed.cache_clear()
    yield found
    registry._installed.cache_clear()


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, registry.GROUP)


def test_our_own_adapters_are_found_through_entry_points() -> None:
    assert {"openai-chat", "openai-responses"} <= set(protocols())
    assert adapter("openai-chat") is adapter("openai-chat:any-dialect")


def test_two_claims_on_one_name_are_an_error(points: list[EntryPoint]) -> None:
    points += [point("p", "a.b:adapter"), point("p", "c.d:adapter")]
    with pytest.raises(ValueError, match=r"two packages claim the protocol 'p': a.b:adapter, c.d:adapter"):
        adapter("p")


def test_a_missing_adapter_names_what_there_is(points: list[EntryPoint]) -> None:
    points += [point("known", "a.b:adapter")]
    with pytest.raises(ul.UnknownProtocol, match="known"):
        adapter("p")


def test_a_missing_dependency_of_an_adapter_is_named(points: list[EntryPoint]) -> None:
    points += [point("p", "a_package_that_is_not_there:adapter")]
    with pytest.raises(ul.UnknownProtocol, match="a_package_that_is_not_there"):
        adapter("p")


def test_an_entry_point_must_lead_to_the_adapter_of_that_name(points: list[EntryPoint]) -> None:
    points += [point("p", "unified_llm_openai.chat:adapter"), point("q", "json:dumps")]
    for name in "pq":
        with pytest.raises(ValueError, match="is not the adapter"):
            adapter(name)


def test_an_adapter_can_be_registered_and_a_taken_name_is_refused(points: list[EntryPoint]) -> None:
    points += [point("openai-chat", "unified_llm_openai.chat:adapter")]
    mine = dataclasses.replace(adapter("openai-chat"), protocol="mine")
    ul.register(mine)
    ul.register(mine)
    assert adapter("mine") is mine and "mine" in protocols()
    with pytest.raises(ValueError, match="already"):
        ul.register(dataclasses.replace(mine, title="another"))


CHAT = adapter("openai-chat")
REQUEST = CHAT.kinds["request"]
WRONG = [
    (
        {"kinds": {"request": REQUEST._replace(node="reqest")}},
        r"kinds\['request'\].node is 'reqest', which is not a canonical document; did you mean 'request'\?",
    ),
    (
        {"kinds": {"request": REQUEST._replace(facing="providr")}},
        r"kinds\['request'\].facing is 'providr', which is not a side; did you mean 'provider'\?",
    ),
    (
        {"kinds": {"request": REQUEST._replace(write=None)}},
        r"kinds\['request'\].write is None, which is not a function",
    ),
    ({"natives": {"x": "nativ.field"}}, r"natives\['x'\] is 'nativ.field', .* did you mean 'native.field'\?"),
    ({"natives": {"x": "mood"}}, r"natives\['x'\] is 'mood', which is not a capability$"),
    (
        {"streams": Streams(None, None)},
        r"streams.reader is None, which is not a function or class that takes one Reader",
    ),  # type: ignore[arg-type]
    ({"streams": None}, "streams.reader is None"),
    (
        {"settings": {"reqest": CHAT.settings["request"]}},
        r"settings\['reqest'\] is 'reqest', which is not a canonical document; did you mean 'request'\?",
    ),
    (
        {"settings": {"options": CHAT.settings["request"]}},
        r"settings\['options'\] is 'options', which is not a canonical document; choose one of: annotation, choice, ",
    ),
    ({"defaults": {"requests": ()}}, r"defaults\['requests'\] is 'requests', .* did you mean 'request'\?"),
    (
        {"defaults": {"request": ({"path": "/seed", "vaule": 0},)}},
        r"defaults\['request'\]\[0\] is 'vaule', which is not a key of such a row; did you mean 'value'\?",
    ),
    (
        {"defaults": {"request": ({"path": "/seed", "value": 0},)}},
        r"defaults\['request'\]\[0\]\['url'\] is None, which is not the page of the API that documents the default",
    ),
    (
        {"streams": CHAT.streams._replace(framing=Framing(content_type="application/x-ndjson"))},
        r"streams.framing.content_type is 'application/x-ndjson', which is not the type of server-sent events "
        r"\('text/event-stream'\); for JSON values a line each declare Framing\(lines=True\)",
    ),
    (
        {"streams": CHAT.streams._replace(framing=Framing(binary=True, lines=True))},
        r"streams.framing is Framing\(.*\), which is not one framing: choose one of binary and lines$",
    ),
]


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_a_declaration_that_cannot_work_is_refused_by_name(
    given: dict[str, Any], message: str, points: list[EntryPoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = dataclasses.replace(CHAT, protocol="mine", **given)
    with pytest.raises(DeclarationError, match=f"^adapter 'mine': {message}"):
        ul.register(mine)
    assert registry.loaded() == ()
    points.append(point("mine", "unified_llm_openai.chat:mine"))
    monkeypatch.setattr("unified_llm_openai.chat.mine", mine, raising=False)
    with pytest.raises(ValueError, match=f"^adapter 'mine': {message}"):
        adapter("mine")


def test_the_nodes_of_kinds_are_the_canonical_ones_or_named_after_their_kind(points: list[EntryPoint]) -> None:
    assert NODES == set(KINDS)
    kinds = {**CHAT.kinds, "speeches": REQUEST._replace(node="speeches")}
    natives = {"mood": "x.acme.mood"}
    ul.register(dataclasses.replace(CHAT, protocol="mine", kinds=kinds, natives=natives))


def test_packages_are_at_hand_without_an_import_of_their_own() -> None:
    assert ul.models.get("openai/gpt-5.5").id == "gpt-5.5"
    assert ul.suite.identity("openai-chat", []) == []
    with pytest.raises(AttributeError, match="no attribute 'model_s'"):
        _ = ul.model_s


def test_a_route_is_that_of_the_adapter_that_is_registered_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_loaded", dict(registry._loaded))
    assert recognize("POST", "/v1/speeches", {}) is None
    for kind in ("request", "another"):
        route = Route("POST", "speeches", kind)
        known = dataclasses.replace(adapter("openai-chat"), protocol="late", routes=(route,))
        registry._loaded.pop("late", None)
        registry.register(known)
        found = recognize("POST", "/v1/speeches", {})
        assert found is not None and (found.protocol, found.route) == ("late", route)
