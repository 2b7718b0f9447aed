"""Broken histories: repaired they are accepted, whole ones are left alone, and nothing goes without a word.

What a target accepts is written down here a second time, from the documents of the wire formats and on the wire, so
that the repair is not measured by itself.
"""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

import unified_llm as ul
from accepted_histories import accepted
from corpus import records
from covering import examples
from unified_llm.engine.pairs.outline import outline
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.registry import adapter
from unified_llm.passes import repair as repair_package
from unified_llm.passes.repair import Rules, repair

Node = dict[str, Any]
PROTOCOLS = sorted(ul.protocols())
CALLS = ("function_call", "custom_tool_call")
MANY = settings(max_examples=examples(120), deadline=None, suppress_health_check=list(HealthCheck))


# ---- histories ------------------------------------------------------------------------------------------------------

IDS = st.sampled_from(("c1", "c2", "c3", "f.x:0", "f:x.0", "q" * 70, "q" * 70 + "z"))
NAMES = st.sampled_from(("f", "g"))


@st.composite
def histories(draw: st.DrawFn) -> list[Node]:
    """Histories with anything in any order. Every text has a number of its own, or is empty."""
    number = 0

    def text() -> str:
        nonlocal number
        number += 1
        return draw(st.sampled_from((f"text{number}.", f"text{number}.", f"text{number}. \n", "", "  ")))

    items: list[Node] = []
    for _ in range(draw(st.integers(0, 9))):
        kind = draw(st.sampled_from(("user", "assistant", "system", "call", "call", "custom", "result", "result")))
        turn = {"turn": draw(st.integers(0, 2))} if draw(st.integers(0, 3)) == 0 else {}
        if kind == "call":
            said = {"name": draw(NAMES), "arguments": json.dumps({"a": f"text{(number := number + 1)}."})}
            items.append({"type": "function_call", "call_id": draw(IDS), **said, **turn})
        elif kind == "custom":
            items.append(
                {"type": "custom_tool_call", "call_id": draw(IDS), "name": draw(NAMES), "input": text(), **turn}
            )
        elif kind == "result":
            name = {"name": draw(NAMES)} if draw(st.booleans()) else {}
            kind = draw(st.sampled_from(("function_call_output", "custom_tool_call_output")))
            call_id = draw(st.one_of(IDS, st.just("")))
            output: Any = text() if draw(st.booleans()) else [{"type": "input_text", "text": text()}]
            items.append({"type": kind, "call_id": call_id, "output": output, **name})
        else:
            part = "output_text" if kind == "assistant" else "input_text"
            content: Any = [{"type": part, "text": text()} for _ in range(draw(st.integers(0, 2)))]
            items.append(
                {"type": "message", "role": kind, "content": content if draw(st.booleans()) else text(), **turn}
            )
    return items


@st.composite
def whole_histories(draw: st.DrawFn) -> list[Node]:
    """Histories that every target accepts."""
    items: list[Node] = []
    for place in range(draw(st.integers(1, 4))):
        items.append({"type": "message", "role": "user", "content": f"asked {place}"})
        for step in range(draw(st.integers(0, 2))):
            ids = [f"call_{place}_{step}_{index}" for index in range(draw(st.integers(1, 3)))]
            turn = {"turn": 10 * place + step} if len(ids) > 1 else {}
            items += [{"type": "function_call", "call_id": i, "name": "f", "arguments": "{}", **turn} for i in ids]
            items += [{"type": "function_call_output", "call_id": i, "output": f"result of {i}"} for i in ids]
        items.append({"type": "message", "role": "assistant", "content": f"answered {place}"})
    return [*items, {"type": "message", "role": "user", "content": "and now?"}]


def rules_of(protocol: str) -> Rules:
    rules = adapter(protocol).repair
    assert rules is not None
    return rules


def mended(items: list[Node], protocol: str, **more: Any) -> tuple[Node, Node, Writer]:
    """The request, the request repaired, and the writer with the reports."""
    request = {"model": "m", "input": items, **more}
    writer = Writer(adapter(protocol))
    return request, repair(request, rules_of(protocol), writer), writer


# ---- laws -----------------------------------------------------------------------------------------------------------


@MANY
@given(items=histories())
def test_repairing_twice_is_repairing_once(items: list[Node]) -> None:
    for protocol in PROTOCOLS:
        note(protocol)
        _, once, _ = mended(items, protocol)
        assert repair(once, rules_of(protocol), Writer(adapter(protocol))) is once


@MANY
@given(items=whole_histories())
def test_what_is_accepted_is_not_touched(items: list[Node]) -> None:
    for protocol in PROTOCOLS:
        note(protocol)
        given_, done, writer = mended(items, protocol)
        assert done is given_ and done["input"] is items
        assert not writer.raw
        accepted(ul.write(given_, protocol).value, protocol)


@MANY
@given(items=histories())
def test_the_first_look_lets_nothing_through_that_has_to_be_repaired(items: list[Node]) -> None:
    for protocol in PROTOCOLS:
        note(protocol)
        if repair_package.is_sound(items, rules_of(protocol), outline(items)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(repair_package, "is_sound", lambda *_: False)
                given_, done, _ = mended(items, protocol)
            assert done is given_


def texts_in(item: Node) -> list[str]:
    said = item.get("content") if item["type"] == "message" else item.get("output")
    if type(said) is list:
        return [part["text"] for part in said]
    return [said] if item["type"] == "message" else []


# (The reader of Converse marks none as plain.)
@pytest.mark.parametrize("source", [protocol for protocol in PROTOCOLS if protocol != "amazon-converse"])
def test_what_a_reader_says_of_a_plain_conversation_is_so(source: str) -> None:
    plain = 0
    for record in records(source, "request"):
        reader = Reader(adapter(source))
        try:
            node = reader.root(adapter(source).kinds["request"].read, record["body"])
        except ul.UnifiedLLMError:
            continue
        if not reader.plain or type(node.get("input")) is not list:
            continue
        plain += 1
        letters, told = outline(node["input"]), reader.outline
        calls = [item for item in node["input"] if item["type"] == "function_call"]
        assert str(told) == letters, record["id"]
        assert told.calls == [call["call_id"] for call in calls], record["id"]
        assert told.names == [call["name"] for call in calls], record["id"]
        assert told.texts == [text for item in node["input"] for text in texts_in(item)], record["id"]
        assert told.results == [item["call_id"] for item in node["input"] if item["type"].endswith("_output")]
        for protocol in PROTOCOLS:
            rules = rules_of(protocol)
            found = [repair_package.is_sound(node["input"], rules, letters, said) for said in (told, None)]
            assert found[0] is found[1], (record["id"], protocol)
    assert plain


@MANY
@given(items=histories())
def test_every_repair_is_recorded_and_the_callers_items_stay_as_they_are(items: list[Node]) -> None:
    for protocol in PROTOCOLS:
        note(protocol)
        repairs_are_recorded(items, protocol)


def repairs_are_recorded(items: list[Node], protocol: str) -> None:
    before = copy.deepcopy(items)
    given_, done, writer = mended(items, protocol)
    assert items == before
    if done is not given_:
        assert writer.raw
        touched = {id(node) for node, *_ in writer.raw}
        known = {id(item) for item in items}
        copies = {id(old): new for new, old in writer.context.get("replaced", ())}
        for item in items:
            # What is there no more, or in another form, was reported; but the first of what was joined covers all.
            if not any(other is item for other in done["input"]):
                parts = item.get("content") or item.get("output")
                inner = {id(part) for part in parts} if type(parts) is list else set()
                other = copies.get(id(item), {})
                texts = re.findall(r"text\d+\.", json.dumps(item))
                said = (
                    other.keys() >= item.keys() and re.findall(r"text\d+\.", json.dumps(other))[: len(texts)] == texts
                )
                assert said or touched & ({id(item), id(other)} | inner), item
        assert touched & known or any(type(node) is dict for node, *_ in writer.raw)


@MANY
@given(items=histories())
def test_what_is_repaired_is_accepted(items: list[Node]) -> None:
    # A conversation in which the user says nothing is left alone.
    assume(any(item.get("role") == "user" and re.search(r"text\d", json.dumps(item)) for item in items))
    for protocol in PROTOCOLS:
        note(protocol)
        done = ul.write({"model": "m", "input": items}, protocol)
        if not any("is not in the request" in loss.detail for loss in done.losses):
            accepted(done.value, protocol)


@MANY
@given(items=histories())
def test_nothing_vanishes_without_a_loss(items: list[Node]) -> None:
    for protocol in PROTOCOLS:
        note(protocol)
        done = ul.write({"model": "m", "input": items}, protocol)
        sent = json.dumps([done.value, dict(done.http)])
        told = [loss.path for loss in done.losses if loss.side == "source"]
        for place, item in enumerate(items):
            for word in re.findall(r"text\d+\.", json.dumps(item)):
                assert word in sent or any(path.startswith(f"/input/{place}") for path in told), (word, item)


def test_the_dialects_word_wins() -> None:
    items = [{"type": "function_call", "call_id": "call_49c89af0", "name": "f", "arguments": "{}"}]
    items += [{"type": "function_call_output", "call_id": "call_49c89af0", "output": "r"}]
    row = {"repair": {"call_id_form": "[a-zA-Z0-9]{9}", "call_id_length": 9}}
    writer = Writer(adapter("openai-chat"), dialect=row)
    done = repair({"model": "m", "input": items}, rules_of("openai-chat"), writer)
    ids = [item["call_id"] for item in done["input"]]
    assert ids[0] == ids[1] and re.fullmatch("[a-zA-Z0-9]{9}", ids[0])
    assert writer.context["ids"] == {ids[0]: "call_49c89af0"}


def test_the_longest_name_of_a_model_that_fits_counts() -> None:
    rules = Rules(models={"big": {"closes": "told"}, "big-2": {"filled": True}})
    assert rules.of({}, "vendor/big-1").closes == "told"
    assert rules.of({}, "big-2-latest") == rules._replace(filled=True)
    assert rules.of({}, "other") is rules
    assert rules.of({}, None) is rules


def test_a_rule_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="pairs_of_shoes"):
        Rules().of({"repair": {"pairs_of_shoes": True}}, "m")


@pytest.mark.parametrize("target", ["anthropic-messages", "google-interactions"])
def test_an_empty_text_that_has_a_foreign_signature_is_an_empty_text(target: str) -> None:
    """Gemini's streams sign an empty part at the end; where empty texts are refused it may not be sent without it."""
    said = [{"text": "Hi"}, {"text": "", "thoughtSignature": "QUJDRA=="}]
    turns = [("user", [{"text": "a"}]), ("model", said), ("user", [{"text": "b"}])]
    body = {"contents": [{"role": role, "parts": parts} for role, parts in turns]}
    done = ul.convert(body, source="google-generate-content", target=target)
    assert '""' not in json.dumps(done.value)
    fates = {loss.path: (loss.fate, loss.detail) for loss in done.losses if loss.side == "source"}
    assert fates["/contents/1/parts/1/thoughtSignature"] == ("lost", "foreign")
    assert fates["/contents/1/parts/1"][0] == "approximated"
    home = ul.convert(body, source="google-generate-content", target="google-generate-content")
    assert home.value == body


# ---- histories without a user ----------------------------------------------------------------------------------------


CALL = {"role": "assistant", "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}  # fmt: skip
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "r"}


@pytest.mark.parametrize("history", [[CALL, RESULT], [{"role": "assistant", "content": "Hi"}, CALL, RESULT]])
def test_a_trimmed_history_without_a_user_opens_as_the_target_requires(history: list[Node]) -> None:
    """An agent that drops the oldest turns may drop every message of the user's. Bedrock and Gemini refuse the rest."""
    body = {"model": "m", "messages": [{"role": "system", "content": "S"}, *history]}
    done = ul.convert(body, source="openai-chat", target="amazon-converse")
    assert [message["role"] for message in done.value["messages"]] == ["user", "assistant", "user"]
    added = [loss for loss in done.losses if loss.detail == "a conversation opens with the user"]
    assert added == [("/messages/0", "item.turn", "added", "a conversation opens with the user", "target")]
    assert not [loss for loss in done.losses if loss.fate == "approximated"]
    done = ul.convert(body, source="openai-chat", target="google-generate-content")
    assert [content["role"] for content in done.value["contents"]] == ["user", "model", "user"]
    assert [loss.path for loss in done.losses if loss.detail == "a conversation opens with the user"] == ["/contents/0"]


def test_a_history_of_the_assistant_alone_ends_with_the_request_to_go_on() -> None:
    body = {"model": "m", "messages": [{"role": "assistant", "content": "Hi"}]}
    for target, name, roles in (
        ("amazon-converse", "anthropic.claude-opus-4-6-v1", ["user", "assistant", "user"]),
        ("anthropic-messages", "claude-opus-4-6", ["assistant", "user"]),
    ):
        wire = ul.convert(body, source="openai-chat", target=target, model=name).value
        assert [message["role"] for message in wire["messages"]] == roles
