"""Laws of kinds whose documents are shapes, at the front door: what is spelled and written, and how often."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.engine import Shape
from unified_llm_anthropic.messages.models import models

MESSAGES = "anthropic-messages"
PAGE: dict[str, Any] = {
    "data": [{"type": "model", "id": "m", "display_name": "", "created_at": None, "a/b": {"c": []}}],
    "has_more": None,
    "first_id": "",
}
COUNT = {"input_tokens": 12, "more": None}
ERROR: dict[str, Any] = {
    "type": "error",
    "error": {"type": "invalid_request_error", "message": "no", "details": {}},
    "request_id": None,
}


@pytest.mark.parametrize(("kind", "doc"), [("models", PAGE), ("error", ERROR), ("count_tokens_response", COUNT)])
def test_spelling_within_one_protocol(kind: str, doc: Any) -> None:
    done = ul.convert(doc, source=MESSAGES, target=MESSAGES, kind=kind)
    assert done.value == doc and not done.losses


def test_within_one_protocol_a_document_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    write = Shape.write_or_explain
    monkeypatch.setattr(Shape, "write_or_explain", lambda shape, c, x: calls.append(shape) or write(shape, c, x))
    ul.convert(PAGE, source=MESSAGES, target=MESSAGES, kind="models")
    assert calls == [models]


def test_a_conversion_leaves_nothing_for_the_collector() -> None:
    for target in (MESSAGES, "openai-chat"):
        for kind, doc in (("models", PAGE), ("error", ERROR)):
            ul.convert(doc, source=MESSAGES, target=target, kind=kind)
    gc.collect()
    gc.disable()
    try:
        ul.convert({"input_tokens": 12}, source=MESSAGES, target=MESSAGES, kind="count_tokens_response")
        ul.convert(PAGE, source=MESSAGES, target=MESSAGES, kind="models")
        ul.convert(PAGE, source=MESSAGES, target="openai-chat", kind="models")
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_an_edit_is_not_undone_by_the_spelling_of_its_document() -> None:
    doc = {"data": [], "has_more": False, "first_id": "", "last_id": None}
    read = {"models": [], "has_more": True, "extra": {MESSAGES: {"form": {"first_id": "empty_string"}}}}
    assert ul.convert(doc, source=MESSAGES, target=MESSAGES, kind="models").value == doc
    assert ul.write(read, MESSAGES, "models").value == {**doc, "has_more": True}
