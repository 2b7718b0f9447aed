"""Envelopes that a client forged: harmless without a secret, refused with one."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import unified_llm as ul
from covering import examples
from forged_envelopes import (
    ATTACKS,
    CHAT,
    EVIL,
    GENERATE,
    INTERACTIONS,
    MARK,
    MESSAGES,
    RESPONSES,
    TEXT,
    answer,
    forged,
    history,
    said,
    whole,
)

Node = dict[str, Any]
PROTOCOLS = (CHAT, RESPONSES, MESSAGES, GENERATE, INTERACTIONS)


def text_anchor(text: str) -> str:
    return "text:" + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


# Where a client of each surface may put an envelope: on what it shows, and beside it.
PIECE = {"kind": "signature", "data": "U0lH", "origin": {"protocol": MESSAGES}}
JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.sampled_from((EVIL, "assistant", "system", "Hello")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ITEMS = st.lists(
    st.one_of(
        st.builds(said, st.sampled_from(("Hello", EVIL)), st.sampled_from(("assistant", "system", "user", "tool"))),
        st.just({"type": "function_call", "call_id": "c", "name": EVIL, "arguments": "{}", "opaque": [PIECE]}),
        st.just(
            {
                **said("Hello"),
                "opaque": [PIECE],
                "content": [{"type": "output_text", "text": "Hello", "opaque": [PIECE]}],
            }
        ),
        st.dictionaries(st.sampled_from(("type", "role", "content", "opaque", "call_id")), JSON, max_size=4),
    ),
    max_size=4,
)
PIECES = st.one_of(
    st.just([PIECE]),
    JSON,
    st.lists(
        st.fixed_dictionaries({"kind": st.text(max_size=3), "data": st.text(max_size=3), "origin": JSON}), max_size=2
    ),
    ITEMS.map(lambda items: whole(items, MESSAGES)["opaque"]),
    ITEMS.map(lambda items: [*whole(items, MESSAGES)["opaque"], PIECE]),
)
TYPES = ("reasoning", "message", "function_call", "compaction", "unified_llm:carrier", "unified_llm:carried", "x")
NODES = st.fixed_dictionaries(
    {"type": st.sampled_from(TYPES), "opaque": PIECES},
    optional={
        "summary": JSON,
        "content": ITEMS | JSON | st.just([{"type": "output_text", "text": "Hello", "opaque": [PIECE]}]),
        "role": st.sampled_from(("assistant", "system", "user")),
        "items": ITEMS,
        "anchor": st.sampled_from(("", text_anchor("Hello"), text_anchor("q"))),
        "bearer": st.sampled_from(("message", "output_text", "function_call")),
        "late": st.booleans(),
        "extra": JSON,
        "id": st.just(EVIL),
    },
)
ANCHORS = st.sampled_from(("", text_anchor(""), text_anchor("Hello"), text_anchor("q"), "call:c"))


def without_opaque(value: Any) -> Any:
    """A canonical value without opaque data, of which a text that is one part is a text."""
    if type(value) is list:
        return [without_opaque(inner) for inner in value if not _is_nothing(inner)]
    if type(value) is not dict:
        return value
    new = {key: without_opaque(inner) for key, inner in value.items() if key not in ("opaque", "extra", "turn")}
    content = new.get("content")
    if type(content) is list and len(content) == 1 and content[0].keys() == {"type", "text"}:
        new["content"] = content[0]["text"]
    return new


def _is_nothing(item: Any) -> bool:
    """An empty item: the opaque data in it is all that it contains."""
    kinds = ("reasoning", "compaction")
    return type(item) is dict and item.get("type") in kinds and not (item.get("summary") or item.get("content"))


def places(protocol: str, envelope: str) -> list[Node]:
    """The requests of a client that has an envelope in each place where one could be read."""
    found = [history(protocol, answer(protocol, envelope))]
    user = {"role": "user", "content": "q"}
    if protocol == CHAT:
        function = {"name": "f", "arguments": "{}"}
        called = {
            "id": "c",
            "type": "function",
            "function": function,
            "extra_content": {"google": {"thought_signature": envelope}},
        }
        shown = {"role": "assistant", "content": "Hello", "reasoning_content": "hm",
                 "reasoning_details": [{"type": "reasoning.encrypted", "data": envelope}] * 2}  # fmt: skip
        result = {"role": "tool", "tool_call_id": "c", "content": "r"}
        found.append({"model": "m", "messages": [user, {**shown, "tool_calls": [called]}, result]})
    elif protocol == MESSAGES:
        blocks = [
            {"type": "redacted_thinking", "data": envelope},
            {"type": "thinking", "thinking": "hm", "signature": envelope},
            {"type": "compaction", "content": "c", "encrypted_content": envelope},
            {"type": "text", "text": "Hello", "citations": [{**CITED, "encrypted_index": envelope}]},
        ]  # fmt: skip
        found.append({"model": "m", "max_tokens": 9, "messages": [user, {"role": "assistant", "content": blocks}]})
        found.append({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [blocks[0], TEXT]}]})
    elif protocol == RESPONSES:
        thought = {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}]}
        compact = {"type": "compaction", "id": "cmp", "encrypted_content": envelope}
        found.append({"model": "m", "input": [user, {**thought, "encrypted_content": envelope}, compact]})
    elif protocol == GENERATE:
        part = {"functionCall": {"id": "c", "name": "f", "args": {}}, "thoughtSignature": envelope}
        both = [
            {"role": role, "parts": [part, {**TEXT_PART, "thoughtSignature": envelope}]} for role in ("user", "model")
        ]
        found.append({"contents": both})
    else:
        call = {"type": "function_call", "id": "c", "name": "f", "arguments": {}, "signature": envelope}
        thought = {"type": "thought", "summary": [{"type": "text", "text": "hm"}], "signature": envelope}
        found.append({"model": "m", "input": [thought, call, {"type": "user_input", "content": [TEXT]}]})
    return found


TEXT_PART = {"text": "Hello"}
CITED = {"type": "web_search_result_location", "url": "u", "title": "t", "cited_text": "c"}
REFUSED = forged({"type": "reasoning"})[:-8] + "AAAAAAA="


@settings(max_examples=examples(60), deadline=None)
@given(node=NODES, anchor=ANCHORS)
def test_a_forged_envelope_of_a_client_adds_opaque_data_and_nothing_else(node: Node, anchor: str) -> None:
    """The request is read as it is without the envelope, but for opaque data on items of the assistant's it shows."""
    for protocol in PROTOCOLS:
        note(protocol)
        for with_it, without in zip(places(protocol, forged(node, anchor)), places(protocol, REFUSED)):
            got = ul.read(with_it, protocol).dump()
            assert without_opaque(got) == without_opaque(ul.read(without, protocol).dump())
            for item in got["input"]:
                if item.get("role", "assistant") != "assistant" or item["type"].endswith("_output"):
                    assert "opaque" not in json.dumps(item)


@settings(max_examples=examples(30), deadline=None)
@given(node=NODES, anchor=ANCHORS)
def test_with_a_secret_a_forged_envelope_is_refused(node: Node, anchor: str) -> None:
    for protocol in PROTOCOLS:
        note(protocol)
        for with_it, without in zip(places(protocol, forged(node, anchor)), places(protocol, REFUSED)):
            got = ul.read(with_it, protocol, secret="s").dump()
            assert got == ul.read(without, protocol, secret="s").dump()
            assert "U0lH" not in json.dumps(got)


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("surface", PROTOCOLS)
def test_a_hostile_client_sends_nothing_invisible(surface: str, attack: str) -> None:
    for origin in PROTOCOLS:
        body = history(surface, answer(surface, forged(whole(ATTACKS[attack], origin))))
        for target in PROTOCOLS:
            for secret in (None, "s"):
                sent = json.dumps(ul.convert(body, source=surface, target=target, model="m", secret=secret).value)
                assert EVIL not in sent and MARK not in sent


def test_a_refused_envelope_is_reported() -> None:
    body = history(MESSAGES, answer(MESSAGES, REFUSED))
    done = ul.convert(body, source=MESSAGES, target=RESPONSES)
    told = {loss.path: (loss.fate, loss.detail) for loss in done.losses if loss.side == "source"}
    assert told["/messages/1/content/0"] == ("lost", "the envelope is refused: damaged, moved, or not ours")
