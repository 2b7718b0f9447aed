"""A certificate accounts for every leaf of both documents, and a check without the engine finds it true.

Without the corpus each packaged document goes to two protocols in turn, so that every pair has some; with it documents
that cover every shape of the corpus go to all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import unified_llm as ul
from certificate_gaps import GAPS
from corpus import corpus_folder, fixtures, pairs, recorded, show
from unified_llm import suite
from unified_llm.losses.certificate import ORIGINS, Leaf, Made, Trace
from unified_llm.suite.certificate import CODES, RELATIONS
from unified_llm.suite.mutate import altered
from unified_llm.suite.walk import deleted, leaves, pointer
from unified_llm.suite.walk import replaced as put

CASES = pairs("request", "response", "error")


def documents(source: str, target: str, kind: str) -> Iterator[dict[str, Any]]:
    found = suite.covering(fixtures(source, kind))
    if corpus_folder() is not None:
        yield from found
        yield from suite.covering(recorded(source, kind))
        return
    targets = sorted(there for here, there, its in CASES if here == source and its == kind)
    turn = targets.index(target)
    for number, record in enumerate(found):
        if (number - turn) % len(targets) < 2:
            yield record


def gap(failure: suite.Failure, source: str, target: str, kind: str) -> tuple[str, str, str]:
    """Where a failure is: the protocol of its side, the kind, and the path without list positions."""
    side = failure.detail.partition(" ")[0]
    return (target if side == "target" else source, kind, re.sub("/[0-9]+(?=/|$)", "/*", failure.path))


@pytest.mark.parametrize(("source", "target", "kind"), CASES)
def test_the_check_finds_nothing(source: str, target: str, kind: str) -> None:
    found = [*documents(source, target, kind)]
    failures = [each for each in suite.certified(found, target) if gap(each, source, target, kind) not in GAPS]
    assert found
    assert not failures, show(failures, "certificate", len(found))


@pytest.mark.parametrize("listed", sorted(GAPS), ids="-".join)
def test_a_listed_gap_still_occurs(listed: tuple[str, str, str]) -> None:
    name, target = GAPS[listed]
    source, kind, _ = name.split("/", 2)
    found = suite.certified([each for each in fixtures(source, kind) if each["id"] == name], target)
    assert listed in {gap(each, source, target, kind) for each in found}


# --- a check that finds nothing anywhere would prove nothing

BODY: dict[str, Any] = {
    "model": "test-model",
    "messages": [
        {"role": "system", "content": "You keep a lighthouse."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Weather in Oslo?"}, {"type": "text", "text": "And Bergen?"}],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city":"Oslo","days":2}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "Rain all week."},
    ],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "description": "The weather of a city.",
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            },
        }
    ],
    "max_tokens": 99,
    "temperature": 0.25,
    "top_p": 0.75,
    "seed": 7,
    "stop": ["END", "STOP"],
}
TARGETS = [target for source, target, kind in CASES if source == "openai-chat" and kind == "request"]


def certificate(target: str) -> tuple[Any, Trace, ul.Losses, Any]:
    done = ul.convert(BODY, source="openai-chat", target=target, trace=True)
    assert done.trace is not None
    return done.value, done.trace, done.losses, done.http


def codes(value: Any, trace: Trace, losses: Any, http: Any, body: Any = BODY) -> set[tuple[str, str]]:
    found = suite.verify(body, value, trace, losses, http=http)
    return {(problem.code, problem.path) for problem in found.problems}


@pytest.mark.parametrize("target", TARGETS)
def test_a_true_certificate_is_accepted(target: str) -> None:
    value, trace, losses, http = certificate(target)
    found = suite.verify(BODY, value, trace, losses, http=http)
    assert found
    assert not found.problems
    assert found.shares["same"] > 0.5
    assert sum(found.shares.values()) == pytest.approx(1)
    assert found.relations.keys() <= set(RELATIONS)
    assert str(found).startswith("no problems; relations: same ")


@pytest.mark.parametrize("target", TARGETS)
def test_each_entry_is_needed(target: str) -> None:
    value, trace, losses, http = certificate(target)
    for number, leaf in enumerate(trace.leaves):
        short = replace(trace, leaves=trace.leaves[:number] + trace.leaves[number + 1 :])
        assert ("missing", leaf.path) in codes(value, short, losses, http), leaf
    for number, made in enumerate(trace.made):
        short = replace(trace, made=trace.made[:number] + trace.made[number + 1 :])
        assert ("no origin", made.path) in codes(value, short, losses, http), made


@pytest.mark.parametrize("target", TARGETS)
def test_no_value_of_the_target_may_be_altered(target: str) -> None:
    value, trace, losses, http = certificate(target)
    for path, here in leaves(value):
        assert codes(put(value, path, altered(here)), trace, losses, http), pointer(path)
        assert codes(deleted(value, path), trace, losses, http), pointer(path)


@pytest.mark.parametrize("target", TARGETS)
def test_no_value_of_the_source_may_be_altered(target: str) -> None:
    value, trace, losses, http = certificate(target)
    carried = {leaf.path for leaf in trace.leaves if leaf.to}
    assert len(carried) > 10
    for path, here in leaves(BODY):
        if pointer(path) in carried and path[-1] not in ("type", "role"):
            assert codes(value, trace, losses, http, put(BODY, path, altered(here))), pointer(path)


@pytest.mark.parametrize("target", TARGETS)
def test_two_values_that_changed_places_are_found(target: str) -> None:
    value, trace, losses, http = certificate(target)
    mine = {leaf.path: leaf for leaf in trace.leaves}
    one, other = mine["/temperature"], mine["/max_tokens"]
    assert one.to and other.to
    moved = {one.path: one._replace(to=other.to), other.path: other._replace(to=one.to)}
    lie = replace(trace, leaves=tuple(moved.get(leaf.path, leaf) for leaf in trace.leaves))
    assert {("unrelated", one.path), ("unrelated", other.path)} <= codes(value, lie, losses, http)


@pytest.mark.parametrize("target", TARGETS)
def test_a_loss_that_was_removed_is_found(target: str) -> None:
    value, trace, losses, http = certificate(target)
    reported = {leaf.loss for leaf in trace.leaves if leaf.loss is not None}
    assert reported or target.startswith("google-")
    for gone in reported:
        short = [loss for loss in losses if loss.path != gone]
        assert any(code == "no loss" for code, _ in codes(value, trace, short, http)), gone
    for gone in [made.path for made in trace.made if made.origin == "added"]:
        short = [loss for loss in losses if loss.path != gone]
        assert any(code == "no origin" for code, _ in codes(value, trace, short, http)), gone


def test_a_place_that_is_not_there_is_found() -> None:
    value, trace, losses, http = certificate("anthropic-messages")
    for wrong in ("/nowhere", "/messages/99/role", "/temperature/deep", "http:/path"):
        lie = replace(trace, leaves=tuple(_moved(leaf, "/temperature", wrong) for leaf in trace.leaves))
        found = codes(value, lie, losses, http)
        assert {("no place", "/temperature"), ("unrelated", "/temperature")} & found, wrong
        assert ("no origin", "/temperature") in found, wrong


def _moved(leaf: Leaf, path: str, place: str) -> Leaf:
    return leaf._replace(to=(place,)) if leaf.path == path else leaf


@pytest.mark.parametrize(
    ("lie", "code"),
    [
        (Leaf("/temperature"), "unaccounted"),
        (Leaf("/temperature", rule="default"), "no rule"),
        (Leaf("/temperature", rule="empty"), "no rule"),
        (Leaf("/temperature", rule="generated"), "no rule"),
        (Leaf("/temperature", rule="position"), "no rule"),
        (Leaf("/temperature", rule="schema"), "no rule"),
        (Leaf("/temperature", rule="sum"), "no rule"),
        (Leaf("/temperature", rule="constant"), "no rule"),
        (Leaf("/temperature", rule="reference"), "no rule"),
        (Leaf("/temperature", loss="/seed"), "no loss"),
        (Leaf("/temperature", loss="/nothing"), "no loss"),
        (Leaf("/seed", ("/max_tokens",), "/seed"), "contradiction"),
        (Leaf("/nothing", ("/model",)), "extra"),
    ],
)
def test_an_entry_that_is_not_true_is_found(lie: Leaf, code: str) -> None:
    value, trace, losses, http = certificate("anthropic-messages")
    told = tuple(lie if leaf.path == lie.path else leaf for leaf in trace.leaves)
    if lie.path not in {leaf.path for leaf in trace.leaves}:
        told = (*told, lie)
    assert (code, lie.path) in codes(value, replace(trace, leaves=told), losses, http)
    assert code in CODES


def test_an_entry_may_be_there_once() -> None:
    value, trace, losses, http = certificate("anthropic-messages")
    twice = replace(trace, leaves=(*trace.leaves, trace.leaf("/model")))
    assert ("twice", "/model") in codes(value, twice, losses, http)
    both = replace(trace, made=(*trace.made, Made("/model", "constant", "test-model")))
    assert ("twice", "/model") in codes(value, both, losses, http)


@pytest.mark.parametrize("origin", sorted({*ORIGINS} - {"reported"}))
def test_an_origin_that_is_not_true_is_found(origin: Any) -> None:
    value, trace, losses, http = certificate("anthropic-messages")
    lie = replace(trace, made=(*trace.made, Made("/system_note", origin, "Obey.")))
    assert ("no origin", "/system_note") in codes({**value, "system_note": "Obey."}, lie, losses, http)


def test_an_engine_that_lies_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine makes the certificate: what it does wrong has to be found all the same."""
    from unified_llm.engine.pairs.writing import Writer

    whole = Writer.root

    def wrong(self: Writer, pair: Any, node: Any) -> Any:
        value = whole(self, pair, node)
        text = json.dumps(value).replace("Weather in Oslo?", "Weather in Rome?").replace("0.25", "0.5")
        return json.loads(text)

    monkeypatch.setattr(Writer, "root", wrong)
    value, trace, losses, http = certificate("anthropic-messages")
    assert value["temperature"] == 0.5
    found = codes(value, trace, losses, http)
    assert {path for _, path in found} >= {"/messages/1/content/0/text", "/temperature"}


@pytest.mark.parametrize("kind", ["request", "response"])
def test_most_values_that_are_altered_are_found_in_any_document(kind: str) -> None:
    """What is reported as approximated may have any form, and a few relations are wide: the rest is found."""
    found = tried = 0
    for source, target, its in CASES:
        if its != kind:
            continue
        record = max(suite.covering(fixtures(source, kind)), key=lambda each: len(json.dumps(each["body"])))
        done = ul.convert(record["body"], source=source, target=target, kind=kind, trace=True)
        assert done.trace is not None
        least = len(suite.verify(record["body"], done.value, done.trace, done.losses, http=done.http).problems)
        for path, here in [*leaves(done.value)][::5]:
            if altered(here) == here:
                continue
            lie = put(done.value, path, altered(here))
            tried += 1
            found += len(suite.verify(record["body"], lie, done.trace, done.losses, http=done.http).problems) > least
    assert tried > 150
    assert found / tried > 0.9, (found, tried)


# --- the object itself


def test_what_a_certificate_says() -> None:
    _, trace, losses, _ = certificate("anthropic-messages")
    assert [leaf.path for leaf in trace.leaves] == [pointer(path) for path, _ in leaves(BODY)]
    assert trace.to("/max_tokens") == ("/max_tokens",)
    assert trace.origins["/temperature"] == ("/temperature",)
    assert trace.leaf("/seed").loss == "/seed"
    assert trace.leaf("/seed").disposition == "reported"
    assert trace.to("/messages/2/tool_calls/0/function/arguments") == (
        "/messages/1/content/0/input/city",
        "/messages/1/content/0/input/days",
    )
    assert trace.counts["carried"] + trace.counts["reported"] + trace.counts.get("default", 0) == len(trace.leaves)
    assert repr(trace).startswith(f"Trace(openai-chat -> anthropic-messages request: {len(trace.leaves)} leaves (")
    assert {loss.path for loss in losses if loss.side == "source"} >= {leaf.loss for leaf in trace.leaves if leaf.loss}
    with pytest.raises(KeyError):
        trace.leaf("/nothing")
    with pytest.raises(AttributeError):
        trace.leaves = ()  # type: ignore[misc]


def test_a_certificate_is_json() -> None:
    _, trace, _, _ = certificate("openai-responses")
    assert Trace.from_json(json.loads(json.dumps(trace.to_json()))) == trace
    assert ul.Trace is Trace


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"source": 1}, "/source"),
        ({"leaves": {}}, "/leaves"),
        ({"leaves": [1]}, "/leaves/0"),
        ({"leaves": [{}]}, "/leaves/0/path"),
        ({"leaves": [{"path": "/a", "to": "b"}]}, "/leaves/0/to"),
        ({"leaves": [{"path": "/a", "rule": "because"}]}, "/leaves/0/rule"),
        ({"made": [{"path": "/a", "origin": "the sky"}]}, "/made/0/origin"),
    ],
)
def test_json_that_is_not_a_certificate_is_refused(change: dict[str, Any], path: str) -> None:
    _, trace, _, _ = certificate("openai-responses")
    with pytest.raises(ul.InvalidBody) as caught:
        Trace.from_json({**trace.to_json(), **change})
    assert caught.value.path == path


@pytest.mark.parametrize("width", [0, 40, 120])
def test_a_certificate_is_a_table(width: int) -> None:
    _, trace, _, _ = certificate("openai-responses")
    text = trace.table(width)
    assert "/seed" in text
    assert "... and" not in text
    assert "... and" in trace.table(width, limit=2)
    assert not width or max(map(len, text.splitlines()[1:])) <= width


def test_a_conversion_without_a_certificate_has_none() -> None:
    done = ul.convert(BODY, source="openai-chat", target="openai-responses")
    told = ul.convert(BODY, source="openai-chat", target="openai-responses", trace=True)
    assert done.trace is None
    assert (done.value, done.losses, done.http) == (told.value, told.losses, told.http)


def test_one_protocol_carries_everything() -> None:
    done = ul.convert(BODY, source="openai-chat", target="openai-chat", trace=True)
    assert done.trace is not None
    assert all(leaf.to == (leaf.path,) for leaf in done.trace.leaves)
    assert suite.verify(BODY, done.value, done.trace, done.losses)


def test_a_document_that_is_one_text_has_one_leaf() -> None:
    done = ul.convert("Bad gateway", source="openai-chat", target="openai-chat", kind="error", trace=True)
    assert done.trace is not None
    assert [leaf.path for leaf in done.trace.leaves] == [""]


def places(body: dict[str, Any], source: str, target: str, kind: Any = "request") -> dict[str, tuple[str, ...]]:
    done = ul.convert(body, source=source, target=target, kind=kind, trace=True)
    assert done.trace is not None
    assert suite.verify(body, done.value, done.trace, done.losses, http=done.http)
    return {leaf.path: leaf.to for leaf in done.trace.leaves}


def test_short_texts_are_not_taken_for_others() -> None:
    parts = [{"type": "text", "text": text} for text in ("Q", "a")]
    turns = [{"role": "user", "content": parts[:1]}, {"role": "assistant", "content": parts[1:]}]
    body = {"model": "m", "max_tokens": 9, "messages": [*turns, {"role": "user", "content": "Go on"}]}
    found = places(body, "anthropic-messages", "google-generate-content")
    assert found["/messages/0/content/0/text"] == ("/contents/0/parts/0/text",)
    assert found["/messages/1/content/0/text"] == ("/contents/1/parts/0/text",)


def test_switches_go_to_the_list_of_what_is_on() -> None:
    toolset: dict[str, Any] = {"type": "mcp_toolset", "mcp_server_name": "pilot"}
    toolset |= {"default_config": {"enabled": False}, "configs": {"guide": {"enabled": True}}}
    server = {"type": "url", "name": "pilot", "url": "https://mcp.example.com/p"}
    body = {**BODY, "messages": BODY["messages"][1:2], "mcp_servers": [server], "tools": [toolset]}
    body = {key: body[key] for key in ("model", "messages", "max_tokens", "mcp_servers", "tools")}
    found = places(body, "anthropic-messages", "openai-responses")
    assert found["/tools/0/configs/guide/enabled"] == ("/tools/0/allowed_tools/0",)
    assert found["/tools/0/default_config/enabled"] == ("/tools/0/allowed_tools/0",)
    assert found["/tools/0/mcp_server_name"] == ("/tools/0/server_label",)


def test_texts_that_are_joined_are_all_in_the_place() -> None:
    outputs = [{"type": "text", "text": "Hello"}, {"type": "text", "text": "bye"}]
    body = {"id": "v1_x", "model": "m", "status": "completed", "outputs": outputs}
    found = places(body, "google-interactions", "openai-chat", "response")
    assert found["/outputs/0/text"] == found["/outputs/1/text"] == ("/choices/0/message/content",)
