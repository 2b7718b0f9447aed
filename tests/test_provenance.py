"""Opaque pieces and envelopes: bytes kept, origins respected, nothing foreign sent."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import unified_llm as ul
from toys import toy_adapter
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.secret import Secret
from unified_llm.provenance.opaque import (
    anchor_of,
    escaped,
    is_sealed,
    matches,
    opaque_piece,
    open_sealed,
    process_secret,
    seal,
    split_opaque,
    unescaped,
)

ITEM: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "why"}],
    "opaque": [{"kind": "encrypted_content", "data": "gAAA/+==", "origin": {"protocol": "a", "model": "m"}}],
}
CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"


# ---- envelopes ------------------------------------------------------------------------------------------------------

NEW, OLD = b"new secret", "old secret"


def from_client(secret: Any = NEW) -> Reader:
    """What reads a client's document."""
    return Reader(toy_adapter("a"), opens=True, secret=Secret.of(secret))


def sealed(secret: Any = NEW, node: Any = ITEM) -> str:
    return seal(node, "call:c", Secret.of(secret))


@given(st.dictionaries(st.text(), st.text() | st.integers(-(2**63), 2**63) | st.none()))
def test_an_envelope_opens_to_what_was_put_in(extra: dict[str, Any]) -> None:
    node = {**ITEM, "more": extra}
    assert open_sealed(sealed(node=node), "call:c", from_client()) == node


def test_an_envelope_is_standard_base64_that_tells_itself_apart_in_both_alphabets() -> None:
    text = sealed()
    raw = base64.b64decode(text, validate=True)
    assert raw.startswith(b"unified_llm:")
    for spelling in (text, base64.urlsafe_b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode().rstrip("=")):
        assert is_sealed(spelling)
        assert open_sealed(spelling, None, from_client()) == ITEM
    assert not is_sealed("gAAAAABo") and not is_sealed(None)


def test_an_envelope_describes_itself_and_can_be_read_by_anybody() -> None:
    content = json.loads(base64.b64decode(sealed())[12 + 16 :])
    assert content == {
        "version": 1,
        "kind": "reasoning",
        "origin": {"protocol": "a", "model": "m"},
        "anchor": "call:c",
        "node": ITEM,
    }


@pytest.mark.parametrize("secret", [NEW, None])
def test_a_damaged_or_misplaced_envelope_does_not_open(secret: Any) -> None:
    text = sealed(secret)
    middle = len(text) // 2
    changed = text[:middle] + ("A" if text[middle] != "A" else "B") + text[middle + 1 :]
    for each in (changed, text[:-8], "", text[:16], text[:20], "\udc80"):
        assert open_sealed(each, None, from_client(secret)) is None
    assert open_sealed(text, "call:other", from_client(secret)) is None
    assert open_sealed(text, "call:c", from_client(secret)) is not None


def test_secrets_rotate() -> None:
    assert open_sealed(sealed(OLD), None, from_client([NEW, OLD])) == ITEM
    assert open_sealed(sealed([NEW, OLD]), None, from_client(NEW)) == ITEM
    assert open_sealed(sealed([NEW, OLD]), None, from_client(OLD)) is None


def test_a_wrong_or_missing_mac_is_refused() -> None:
    assert open_sealed(sealed(OLD), None, from_client(NEW)) is None
    assert open_sealed(sealed(None), None, from_client(NEW)) is None
    assert open_sealed(sealed(NEW), None, from_client(None)) is None
    assert open_sealed(sealed(), None, from_client(process_secret())) is None


@pytest.mark.parametrize("secret", [NEW, None])
def test_what_a_provider_sends_is_never_opened(secret: Any) -> None:
    assert open_sealed(sealed(secret), None, Reader(toy_adapter("a"), secret=Secret.of(secret))) is None


def test_a_secret_is_shown_nowhere() -> None:
    assert "new secret" not in repr(Secret.of(NEW)) + str(Secret.of([NEW]))
    with ul.http_client("local/echo", secret="hush-hush") as http:
        assert "hush-hush" not in repr(http._transport)
    for wrong in ("", b"", [], [""]):
        with pytest.raises(ValueError, match="secret is empty"):
            Secret.of(wrong)
    with pytest.raises(ul.InvalidArgument, match="a string, bytes, or a list of them"):
        Secret.of([1])  # type: ignore[list-item]


GARBAGE: list[Any] = [
    None, 1, "text", [], {}, {"node": 1}, {"version": 1}, {"version": 1, "node": []}, {"version": 2, "node": {}},
    {"version": 1, "node": {}, "anchor": {}}, {"version": 1, "node": {"type": ["reasoning"]}},
    *({"version": 1, "anchor": "", "node": {"type": "reasoning", "opaque": opaque}} for opaque in (
        1, "x", {}, [1], [{}], [{"kind": 1, "data": "x"}], [{"kind": "x", "data": 1}], [{"kind": "x", "data": "y"}],
        [{"kind": "x", "data": "y", "origin": 1}], [{"kind": "x", "data": "y", "origin": {"protocol": 1}}],
        [{"kind": "x", "data": "y", "origin": {"protocol": "a", "other": 1}}],
        [{"kind": "unified_llm:turn", "data": "x", "origin": {"protocol": "a"}}],
        [{"kind": "unified_llm:turn", "data": "x", "origin": {"protocol": "a"}, "turn": {"items": 1}}],
        [{"kind": "unified_llm:turn", "data": "x", "origin": {"protocol": "a"}, "turn": {"items": [1, {"type": 1}]}}],
    )),
]  # fmt: skip


def raw(payload: Any) -> str:
    """An envelope as anybody can make one."""
    import hashlib

    text = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return base64.b64encode(b"unified_llm:" + hashlib.blake2b(text, digest_size=16).digest() + text).decode()


@pytest.mark.parametrize("payload", [*GARBAGE, b"\xff", b"{", b"[" * 100_000, b'{"version":1,"node":' * 5_000])
def test_garbage_in_an_envelope_is_refused_and_no_exception(payload: Any) -> None:
    for secret in (None, NEW):
        found = open_sealed(raw(payload), None, from_client(secret))
        assert found is None or (secret is None and not found.get("opaque")) or type(found["opaque"]) is list
    for surface, slot in (("thinking", "signature"), ("redacted_thinking", "data")):
        block = {"type": surface, slot: raw(payload), **({"thinking": ""} if surface == "thinking" else {})}
        body = {"model": "m", "max_tokens": 9, "messages": [{"role": "assistant", "content": [block]}]}
        for target in (CHAT, RESPONSES, MESSAGES, "google-generate-content", "google-interactions"):
            assert "dW5pZmllZF9sbG06" not in json.dumps(ul.convert(body, source=MESSAGES, target=target).value)


@given(st.text())
def test_what_looks_like_an_envelope_is_spelled_otherwise_and_back(text: str) -> None:
    for data in (text, sealed(None) + text, "[{" + sealed() + '"}]', escaped(sealed()), escaped(escaped(sealed()))):
        assert unescaped(escaped(data)) == data
        assert not is_sealed(escaped(data))
    assert base64.b64decode(escaped(sealed()), validate=True)


def test_an_anchor_is_the_call_or_the_text_however_it_is_cut() -> None:
    assert anchor_of({"type": "function_call", "call_id": "c1"}) == "call:c1"
    parts = {
        "type": "message",
        "content": [{"type": "output_text", "text": "ab"}, {"type": "output_text", "text": "c"}],
    }
    assert anchor_of(parts) == anchor_of({"type": "message", "content": "abc"}) != anchor_of({"content": "abd"})


# ---- origins --------------------------------------------------------------------------------------------------------


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


def test_a_piece_says_where_it_was_made() -> None:
    reader = Reader(toy_adapter("a"), provider="vendor", scope="org-1", model="m")
    assert not reader.signed
    assert opaque_piece("signature", "S", reader) == {
        "kind": "signature",
        "data": "S",
        "origin": {"protocol": "a", "provider": "vendor", "scope": "org-1", "model": "m"},
    }
    assert reader.signed


def test_a_piece_goes_to_its_origin_and_to_no_other_provider() -> None:
    mine, other = (
        opaque_piece("signature", "S", Reader(toy_adapter("a"))),
        opaque_piece("signature", "T", Reader(toy_adapter("b"))),
    )
    rest = {"type": "message", "opaque": [mine, other]}
    assert split_opaque(rest, Writer(toy_adapter("a"))) == ([mine], [other])
    assert "opaque" not in rest


THOUGHT = {"type": "reasoning.encrypted", "data": "T3BhcXVlRGF0YQ==", "format": "vendor-v1", "index": 0}
ANSWER = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "42", "reasoning": "why", "reasoning_details": [THOUGHT]},
            "finish_reason": "stop",
        }
    ],
}


def _asked(surface: str, answer: Any) -> Any:
    if surface == CHAT:
        said = [answer["choices"][0]["message"]]
        return {"model": "m", "messages": [{"role": "user", "content": "q"}, *said, {"role": "user", "content": "r"}]}
    said = {"role": "assistant", "content": answer["content"]}
    asked = [{"role": "user", "content": "q"}, said, {"role": "user", "content": "r"}]
    return {"model": "m", "max_tokens": 9, "messages": asked}


@pytest.mark.parametrize("surface", [CHAT, MESSAGES])
def test_what_one_vendor_of_a_dialect_signed_is_not_sent_to_another(surface: str) -> None:
    told = ul.convert(ANSWER, source="openai-chat:openrouter", target=surface, kind="response").value
    history = _asked(surface, told)
    home = ul.convert(history, source=surface, target="openai-chat:openrouter").value
    assert home["messages"][1]["reasoning_details"] == [THOUGHT]
    for other in ("openai-chat:deepseek", "openai-chat:vllm", RESPONSES):
        sent = json.dumps(ul.convert(history, source=surface, target=other).value)
        assert THOUGHT["data"] not in sent and "dW5pZmllZF9sbG06" not in sent


@pytest.mark.parametrize("target", ["openai-chat:openrouter", "openai-chat:vllm"])
def test_an_answer_without_opaque_data_is_put_back_for_its_own_vendor_alone(target: str) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    said = {"role": "assistant", "content": "42", "images": [image]}
    drawn = {**ANSWER, "choices": [{**ANSWER["choices"][0], "message": said}]}
    for maker in ("openai-chat:openrouter", "openai-chat:vllm"):
        told = ul.convert(drawn, source=maker, target=MESSAGES, kind="response", secret="s").value
        sent = ul.convert(_asked(MESSAGES, told), source=MESSAGES, target=target, secret="s").value
        assert ("iVBORw0KGgo=" in json.dumps(sent)) is (maker == target), maker


PARSED = {"type": "file", "file": {"hash": "a1", "name": "d.pdf", "content": [{"type": "text", "text": "page"}]}}
"""https://openrouter.ai/docs/features/multimodal/pdfs: with it a document is not parsed, and paid for, again."""
READ = {
    **ANSWER,
    "choices": [{**ANSWER["choices"][0], "message": {"role": "assistant", "content": "42", "annotations": [PARSED]}}],
}


def _parsed(surface: str, target: str, maker: str = "openai-chat:openrouter", **secrets: str | None) -> Any:
    """The model's message in the next request, where a client keeps an answer with a parsed document."""
    made = ul.convert(READ, source=maker, target=surface, kind="response", secret=secrets.get("made", "s")).value
    kept = _asked(surface, made)
    return ul.convert(kept, source=surface, target=target, secret=secrets.get("read", "s")).value["messages"][1]


def test_a_parsed_document_returns_to_the_server_that_parsed_it() -> None:
    said = _parsed(MESSAGES, "openai-chat:openrouter")
    assert (said["annotations"], said["content"]) == ([PARSED], [{"type": "text", "text": "42"}])
    assert "annotations" not in _parsed(MESSAGES, "openai-chat:vllm")
    assert "annotations" not in _parsed(MESSAGES, "openai-chat:openrouter", maker="openai-chat:vllm")


def test_an_annotation_that_another_protocol_does_not_know_leaves_no_empty_list() -> None:
    content = [{"type": "output_text", "text": "42", "annotations": [PARSED]}]
    request = {"model": "m", "input": [{"role": "assistant", "content": content}, {"role": "user", "content": "Hi"}]}
    found = ul.convert(request, source=RESPONSES, target="openai-chat:openrouter").value["messages"][0]
    assert found == {"role": "assistant", "content": [{"type": "text", "text": "42"}]}


@pytest.mark.parametrize(("made", "read"), [(None, None), (None, "s"), ("another", "s"), ("s", None)])
def test_a_parsed_document_is_believed_with_its_secret_alone(made: str | None, read: str | None) -> None:
    assert "annotations" not in _parsed(MESSAGES, "openai-chat:openrouter", made=made, read=read)


SEALED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAcipher"}
OUTPUT = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "42", "annotations": []}],
}


def test_trap_021_cipher_is_bound_to_the_credential_it_was_made_for() -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
    asked = ul.convert(request, source=CHAT, target=RESPONSES, scope="org-x")
    assert asked.exchange is not None and asked.exchange.scope == "org-x"
    answer = {**OUTPUT, "output": [SEALED, SAID]}
    told = ul.convert(answer, source=RESPONSES, target=CHAT, kind="response", exchange=asked.exchange).value
    history = _asked(CHAT, told)
    same = ul.convert(history, source=CHAT, target=RESPONSES, scope="org-x").value
    assert [item.get("encrypted_content") for item in same["input"]] == [None, "gAAAAcipher", None, None]
    other = ul.convert(history, source=CHAT, target=RESPONSES, scope="org-y")
    assert "gAAAAcipher" not in json.dumps(other.value)
    assert [(loss.path, loss.fate, loss.detail) for loss in other.losses if loss.detail == "foreign"] != []
