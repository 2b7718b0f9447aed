"""A conversion never changes the document it reads: what is parsed once need not be copied."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from corpus import pairs, records
from covering import in_turn
from unified_llm.foundation.errors import UnifiedLLMError
from unified_llm.foundation.json_codec import Parsed, dump
from unified_llm.suite.outcome import document

CHAT, MESSAGES = "openai-chat", "anthropic-messages"


@pytest.mark.parametrize(("source", "target", "kind"), pairs("request", "response"))
def test_a_document_is_the_same_after_its_conversion(source: str, target: str, kind: str) -> None:
    converted, changed = 0, []
    for record in in_turn(records(source, kind), source, target):
        text = dump(document(record))
        given = Parsed(text)
        named: dict[str, Any] = {"source": record["protocol"], "target": target, "kind": kind}
        try:
            ul.convert(given, **named, repair="always", http=record.get("http"))
        except UnifiedLLMError:
            continue
        converted += 1
        if dump(given.value) != text:
            changed.append(record["id"])
    assert converted > 5
    assert changed == []


def test_a_second_conversion_parses_the_text_again() -> None:
    given = Parsed(b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"metadata":{"a":"\\ud800"}}')
    done = [ul.convert(given, source=CHAT, target=each) for each in (CHAT, CHAT, MESSAGES)]
    assert done[0].value == done[1].value
    assert done[0].value["metadata"] is given.value["metadata"]  # nothing was copied
    assert done[1].value["metadata"] is not given.value["metadata"]
    for each in done:
        assert [loss.fate for loss in each.losses if loss.path == "/metadata/a"]


def test_a_text_that_is_not_json_is_refused() -> None:
    with pytest.raises(ul.InvalidBody):
        Parsed(b'{"a": ')
