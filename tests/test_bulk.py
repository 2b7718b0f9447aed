"""The fast path of a stream's bulk: two templates become one way, for one event and for one after the other."""

from __future__ import annotations

from typing import Any

import pytest

from unified_llm.streams.event_fast_path import NOTHING_MORE, ReadMore, ShortWay, WriteMore, short_way

SAID: list[str] = []


def delta(text: Any, *, n: Any = 1, index: Any = 0, **more: Any) -> dict[str, Any]:
    return {
        "event": "delta",
        "data": {"n": n, "index": index, "choices": [{"delta": {"text": text, "a": None}}], **more},
    }


def reads(**options: Any) -> ReadMore:
    SAID.clear()
    path = ("data", "choices", 0, "delta", "text")
    return ReadMore(delta("first"), path, SAID.append, ("n",), "index", **options)


def writes(**options: Any) -> WriteMore:
    return WriteMore(
        {"event": None, "data": {"number": 7, "part": {"type": "t", "said": ""}}}, ("data", "part", "said"), **options
    )


def written(text: str, number: int = 7) -> dict[str, Any]:
    return {"event": None, "data": {"number": number, "part": {"type": "t", "said": text}}}


def through(way: ShortWay, *events: Any) -> tuple[list[Any], Any]:
    """What becomes of events by the loop, which is what becomes of each; and how the loop ended."""
    ends: list[Any] = []
    waiting = iter(events)
    out = list(way.events(waiting, lambda passed, rest: ends.append((passed, rest, list(waiting)))))
    (end,) = ends
    looped = SAID.copy()
    SAID.clear()
    assert [made for made in map(way.event, events[: end[0]]) if made] == out
    assert SAID == looped
    return out, end


def test_more_of_the_same_is_written_anew_each_time() -> None:
    way = short_way(reads(), writes())
    out, end = through(way, delta("a"), delta("b", n=2), delta("c", n="x"))
    assert out == [written("a"), written("b"), written("c")]
    assert end == (3, [], [])
    assert SAID == ["a", "b", "c"]
    assert out[0]["data"] is not out[1]["data"]
    assert out[0]["data"]["part"] is not out[1]["data"]["part"]


@pytest.mark.parametrize(
    "event",
    [
        None,
        "[DONE]",
        {},
        {"event": "delta"},
        {"event": "delta", "data": "[DONE]"},
        {"event": "delta", "data": {"n": 1, "index": 0, "choices": []}},
        {**delta("x"), "event": "other"},
        {**delta("x"), "id": "3"},
        delta(""),
        delta(None),
        delta(5),
        delta(["x"]),
        delta("x", index=1),
        delta("x", index=False),
        delta("x", index=0.0),
        delta("x", more=1),
    ],
)
def test_anything_else_leaves_the_short_way_with_nothing_noted(event: Any) -> None:
    way = short_way(reads(), writes())
    out, end = through(way, delta("a"), event, delta("b"))
    assert out == [written("a")]
    assert end == (1, [event], [delta("b")])
    SAID.clear()
    assert way.event(event) is None
    assert SAID == []


def test_what_stays_in_its_protocol_goes_as_it_came_or_takes_what_is_beside_its_text_along() -> None:
    event, path = delta("a", n=5), ("data", "choices", 0, "delta", "text")
    own = WriteMore(delta("first"), path, beside=("n",))
    assert short_way(reads(), own, as_it_came=True).event(event) is event
    out = short_way(reads(), own).event(event)
    assert out == event
    assert out is not event
    # What the writer writes anew each time, or does not take along, need not be that of the next event.
    numbered = WriteMore(delta("first"), path, None, "n", iter((8, 9)).__next__)
    assert short_way(reads(), numbered, as_it_came=True).event(event) == delta("a", n=8)
    assert short_way(reads(), WriteMore(delta("first"), path), as_it_came=True).event(event) == delta("a", n=1)


def test_what_is_written_is_noted_and_numbered() -> None:
    told: list[str] = []
    way = short_way(reads(), writes(said=told.append, number="number", next_number=iter(range(3, 9)).__next__))
    assert [way.event(delta(text)) for text in "ab"] == [written("a", 3), written("b", 4)]
    assert told == ["a", "b"]


def test_pieces_that_send_nothing_are_counted() -> None:
    out, end = through(short_way(reads(), NOTHING_MORE), delta("a"), delta("b"))
    assert (out, end) == ([], (2, [], []))
    assert SAID == ["a", "b"]


def test_what_counts_beside_the_text_is_asked_for_each_event() -> None:
    counted: list[Any] = []

    def count(event: Any) -> bool:
        counted.append(event["data"]["n"])
        return type(event["data"]["n"]) is int

    way = short_way(reads(counts=count), writes())
    assert way.event(delta("a", n=2)) == written("a")
    assert way.event(delta("a", n="2")) is None
    assert counted == [2, "2"]
    assert SAID == ["a"]


def test_each_half_alone() -> None:
    assert reads().text(delta("a", n=9)) == "a"
    assert reads().text(delta("a", index=2)) is None
    assert writes(beside=("number",)).event("a") == written("a")


def test_a_text_among_several_is_not_a_template() -> None:
    event = {"event": None, "data": {"choices": [{"text": "a"}, {"text": "b"}]}}
    with pytest.raises(ValueError, match="'choices' has 2 elements"):
        WriteMore(event, ("data", "choices", 0, "text"))


def twice(text: Any, again: Any, note: Any = None) -> dict[str, Any]:
    inner = {"text": text, "details": [{"type": "t", "text": again}], "note": note}
    return {"event": None, "data": {"n": 1, "choices": [{"delta": inner}]}}


TWICE = ("data", "choices", 0, "delta", "text"), ("data", "choices", 0, "delta", "details", 0, "text")


def test_a_text_that_stands_in_several_places_is_read_and_written_in_all_of_them() -> None:
    SAID.clear()
    like = twice("first", "first")
    read, written_twice = (
        ReadMore(like, TWICE[0], SAID.append, also=TWICE[1:]),
        WriteMore(twice("", ""), TWICE[0], also=TWICE[1:]),
    )
    way = short_way(read, written_twice)
    assert [way.event(twice(text, text)) for text in "ab"] == [twice("a", "a"), twice("b", "b")]
    assert short_way(read, writes()).event(twice("c", "c")) == written("c")
    assert SAID == ["a", "b", "c"]
    for other in (twice("a", "b"), twice("a", None), twice("a", "a", note=1), twice("", "")):
        assert way.event(other) is None
    assert SAID == ["a", "b", "c"]
    assert like == twice("first", "first")
