"""The rows of `make bench` about short documents: what is measured is whole, and a bound that is passed is seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

import unified_llm as ul
from benchmarks import recorded, small_corpus
from benchmarks.contenders import Ours
from benchmarks.documents import CHAT, SHORT

DOCUMENTS = [
    pytest.param(source, kind, body, id=f"{SHORT[source]}-{kind}-{number}")
    for kind, made in (("request", small_corpus.REQUESTS), ("response", small_corpus.ANSWERS))
    for source, bodies in made.items()
    for number, body in enumerate(bodies)
]


@pytest.mark.parametrize("source, kind, body", DOCUMENTS)
def test_made_documents_are_documents_of_their_protocol(source: str, kind: Any, body: dict[str, Any]) -> None:
    assert ul.convert(orjson.dumps(body), source=source, target=source, kind=kind).value == body
    for target in SHORT:
        assert ul.convert(body, source=source, target=target, kind=kind).value


def test_rows_have_a_figure_for_every_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNIFIED_LLM_CORPUS", raising=False)
    rows = [
        *recorded.measured([Ours()], "recorded-request-chat-messages", True, 2, lambda text: None),
        *recorded.measured([Ours()], "recorded-stream-generatecontent", True, 2, lambda text: None),
    ]
    assert [row["label"] for row in rows] == ["requests: chat → messages", "streams, an event: generateContent → each"]
    for row in rows:
        figures = row["figures"][Ours.title]
        assert figures["documents"] == row["documents"] and 0 < figures["median"] <= figures["most"]
    head, lines, notes = recorded.cells(rows, [Ours.title, "another"])
    assert all(len(line) == len(head) for line in lines) and notes == ["[1] another: not measured"]


def test_recorded_documents_are_taken_where_there_are_any(tmp_path: Path) -> None:
    bodies = [{"model": str(number), "messages": []} for number in range(9)]
    (tmp_path / "chat.request.jsonl").write_text("".join(json.dumps({"body": body}) + "\n" for body in bodies))
    found = recorded.recorded(str(tmp_path), "request", CHAT, 3)
    assert [json.loads(work.body)["model"] for work in found] == ["0", "3", "6"], "spread over all of them"
    assert len(recorded.recorded(str(tmp_path), "response", CHAT, 99)) == len(small_corpus.ANSWERS[CHAT])
    events = [{"event": "a", "data": {"type": "a"}}, {"event": None, "data": "[DONE]"}]
    (tmp_path / "chat.stream.jsonl").write_text(json.dumps({"events": events}) + "\n")
    (stream,) = recorded.recorded(str(tmp_path), "stream", CHAT, 3)
    assert stream.events == 1 and b'"type":"a"' in stream.body, "the done marker is not an event of the floor"


@pytest.mark.parametrize("median, most, seen", [(18.7, 31.2, False), (18.8, 20.0, True), (10.0, 31.3, True)])
def test_a_row_over_its_bound_is_seen(median: float, most: float, seen: bool) -> None:
    row = {"name": "x", "budget": recorded.budget_of("request", CHAT), "figures": {}}
    assert recorded.over([row]) == [], "nothing was measured"
    row["figures"] = {Ours.title: {"median": median, "most": most, "documents": 1}}
    assert recorded.over([row]) == (["x"] if seen else [])
