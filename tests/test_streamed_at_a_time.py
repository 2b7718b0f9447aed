"""Items of a stream that come at a time, in chunks, where they share a field."""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul
from counting import lines

Node = dict[str, Any]
RESPONSES, CHAT = "openai-responses", "openai-chat"


def frame(kind: str, **data: Any) -> Node:
    return {"event": kind, "data": {"type": kind, **data}}


def message(number: int, text: str | None) -> Node:
    content = [] if text is None else [{"type": "output_text", "text": text, "annotations": []}]
    status = "in_progress" if text is None else "completed"
    return {"type": "message", "id": f"m{number}", "role": "assistant", "status": status, "content": content}


def thought(number: int, text: str | None) -> Node:
    summary = [] if text is None else [{"type": "summary_text", "text": text}]
    return {"type": "reasoning", "id": f"r{number}", "summary": summary}


TEXTS = ["A1 A2 A3", "B1 B2 B3", "C1 C2 C3"]


def streamed(made: Any, ends: tuple[int, ...], *, whole: bool = True) -> list[Node]:
    """The frames of three items whose texts alternate, and which end in this order."""
    head = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "in_progress", "output": []}
    delta = "response.output_text.delta" if made is message else "response.reasoning_summary_text.delta"
    place = "content_index" if made is message else "summary_index"
    out = [frame("response.created", response=head)]
    out += [frame("response.output_item.added", output_index=at, item=made(at, None)) for at in range(3)]
    for words in zip(*(text.split(" ") for text in TEXTS)):
        for at, word in enumerate(words):
            text = word if word.endswith("1") else f" {word}"
            out.append(frame(delta, output_index=at, delta=text, **{"item_id": made(at, None)["id"], place: 0}))
    out += [frame("response.output_item.done", output_index=at, item=made(at, TEXTS[at])) for at in ends]
    output = [made(at, text) for at, text in enumerate(TEXTS)] if whole else []
    return [*out, frame("response.completed", response={**head, "status": "completed", "output": output})]


def said(events: list[Node], key: str) -> str:
    deltas = [event["data"]["choices"][0]["delta"] for event in events if event["data"] != "[DONE]"]
    return "".join(delta.get(key) or "" for delta in deltas)


@pytest.mark.parametrize("ends", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0), ()])
@pytest.mark.parametrize(("made", "key"), [(message, "content"), (thought, "reasoning_content")])
def test_texts_that_come_at_a_time_are_one_after_another_in_chunks(made: Any, key: str, ends: tuple[int, ...]) -> None:
    stream = ul.convert_stream(streamed(made, ends), source=RESPONSES, target=CHAT)
    assert said(list(stream), key) == "\n\n".join(TEXTS)
    assert "lost" not in [loss.fate for loss in stream.losses]


def test_the_first_of_them_is_sent_as_it_comes() -> None:
    frames = streamed(message, (0, 1, 2))
    first = list(ul.convert_stream(frames[:6], source=RESPONSES, target=CHAT))
    assert said([event for event in first if "choices" in event["data"]], "content") == "A1"


def many(count: int) -> list[Node]:
    """The frames of so many messages, all of which begin before the first ends."""
    head = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "in_progress", "output": []}
    out = [frame("response.created", response=head)]
    out += [frame("response.output_item.added", output_index=at, item=message(at, None)) for at in range(count)]
    out += [frame("response.output_item.done", output_index=at, item=message(at, "A")) for at in range(count)]
    return [*out, frame("response.completed", response={**head, "status": "completed"})]


def test_as_many_as_an_upstream_begins_take_time_in_proportion() -> None:
    def work(count: int) -> int:
        return lines(lambda: list(ul.convert_stream(many(count), source=RESPONSES, target=CHAT)))

    work(50)
    assert work(800) < 2.3 * work(400)
