"""Opaque pieces, envelopes and the vault: bytes kept, origins respected, nothing foreign sent."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unified_llm.provenance import (
    MemoryVault,
    anchor_of,
    is_sealed,
    matches,
    opaque_piece,
    open_sealed,
    park,
    seal,
    split_opaque,
    unpark,
)
from unified_llm.writing import Writer

ITEM: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "why"}],
    "opaque": [{"kind": "encrypted_content", "data": "gAAA/+==", "origin": {"protocol": "a", "model": "m"}}],
}


@given(st.dictionaries(st.text(), st.text() | st.integers(-(2**63), 2**63) | st.none()))
def test_an_envelope_opens_to_what_was_sealed(extra: dict[str, Any]) -> None:
    node = {**ITEM, "more": extra}
    assert open_sealed(seal(node, "call:c"), "call:c") == node


def test_an_envelope_is_standard_base64_that_tells_itself_apart_in_both_alphabets() -> None:
    text = seal(ITEM, "call:c")
    raw = base64.b64decode(text, validate=True)
    assert raw.startswith(b"unified_llm:")
    for spelling in (text, base64.urlsafe_b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode().rstrip("=")):
        assert is_sealed(spelling)
        assert open_sealed(spelling) == ITEM
    assert not is_sealed("gAAAAABo") and not is_sealed(None)


def test_a_damaged_or_misplaced_envelope_does_not_open() -> None:
    text = seal(ITEM, "call:c")
    middle = len(text) // 2
    changed = text[:middle] + ("A" if text[middle] != "A" else "B") + text[middle + 1 :]
    assert open_sealed(changed) is None
    assert open_sealed(text[:-8]) is None
    assert open_sealed(text, "call:other") is None
    assert open_sealed("") is None


@pytest.mark.parametrize(
    ("origin", "here", "keys", "same"),
    [
        ({"protocol": "a"}, {"protocol": "a"}, ("protocol",), True),
        ({"protocol": "a"}, {"protocol": "b"}, ("protocol",), False),
        ({"protocol": "a", "model": "x"}, {"protocol": "a", "model": "y"}, ("protocol",), True),
        ({"protocol": "a", "model": "x"}, {"protocol": "a", "model": "y"}, ("protocol", "model"), False),
        ({"protocol": "a"}, {"protocol": "a", "model": "y"}, ("protocol", "model"), True),
    ],
)
def test_what_of_an_origin_must_match_is_declared(origin: Any, here: Any, keys: Any, same: bool) -> None:
    assert matches(origin, here, keys) is same


def test_a_piece_goes_to_its_origin_and_to_nobody_else() -> None:
    mine, other = opaque_piece("signature", "S", "a"), opaque_piece("signature", "T", "b", "model-b")
    node = {"type": "message", "opaque": [mine, other]}
    rest = node.copy()
    assert split_opaque(rest, node, Writer("a"), ("protocol",)) == ([mine], [other])
    assert "opaque" not in rest
    assert other["origin"] == {"protocol": "b", "model": "model-b"}


def test_the_vault_is_bounded_and_scopes_are_apart() -> None:
    vault = MemoryVault("tenant", limit=2)
    for key in "abc":
        vault.put(key, [{"type": "reasoning", "id": key}])
    assert vault.get("a") is None
    assert vault.get("c") == [{"type": "reasoning", "id": "c"}]
    vault.get("b")
    vault.put("d", [])
    assert vault.get("c") is None and vault.get("b") is not None
    vault.scope = "another"
    assert vault.get("b") is None


def test_parked_items_come_back_before_what_they_led_to() -> None:
    vault = MemoryVault()
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    park([ITEM, call], vault)
    park([{**ITEM, "id": "rs_2"}, answer], vault)
    history = [
        {"type": "message", "role": "user", "content": "q"},
        call,
        {"type": "message", "role": "assistant", "content": "done"},
    ]
    assert [item.get("id") for item in unpark(history, vault)] == [None, "rs_1", None, "rs_2", None]
    assert unpark([ITEM, call], vault) == [ITEM, call]
    assert unpark(history[:1], vault) is not None and len(unpark(history[:1], vault)) == 1


def test_an_anchor_is_the_call_or_the_text_however_it_is_cut() -> None:
    assert anchor_of({"type": "function_call", "call_id": "c1"}) == "call:c1"
    parts = {
        "type": "message",
        "content": [{"type": "output_text", "text": "ab"}, {"type": "output_text", "text": "c"}],
    }
    assert anchor_of(parts) == anchor_of({"type": "message", "content": "abc"}) != anchor_of({"content": "abd"})
