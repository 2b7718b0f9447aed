"""A part of the sweep: every odd value at some of the kinds of places; `make sweep` does all of them."""

from __future__ import annotations

import functools
import warnings

import pytest

from corpus import corpus_folder
from fuzz.cases import Case, Seeds
from fuzz.fuzzing import failed
from fuzz.sweep import FAMILIES, ODD, cases, places

EACH, SLICES = 150 if corpus_folder() else 600, 2
seeds = functools.cache(Seeds)
TARGETS = ["anthropic-messages", "google-interactions", "openai-chat", "openai-responses:open-responses"]


@pytest.mark.parametrize("part", range(SLICES))
@pytest.mark.parametrize("family", FAMILIES)
def test_odd_values_at_every_kind_of_place(family: str, part: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        some = places(seeds(), family)[part * EACH // SLICES :: EACH]
        found = [failure for place in some for case in cases(place, TARGETS) if (failure := failed(case)) is not None]
    assert some
    assert not found, "\n\n".join(str(each) for each in found[:3])


def test_a_place_stands_for_those_of_its_kind_in_the_smallest_document() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "image", "url": "c"}]
    made = Seeds.__new__(Seeds)
    made.by = {("p", "request"): [{"content": parts[:1]}, {"content": parts, "n": [1, 2]}]}
    found = {place.path: place.value for place in places(made, "documents")}
    assert found.keys() == {
        (), ("content",), ("content", 0), ("content", 0, "type"), ("content", 0, "text"),
        ("content", 2, "type"), ("content", 2, "url"), ("n",), ("n", 1),
    }  # fmt: skip
    assert found["content", 0, "text"] == {"content": parts[:1]}


def test_a_place_gets_every_odd_value_and_is_left_out_once() -> None:
    made = Seeds.__new__(Seeds)
    made.by = {("openai-chat", "request"): [{"model": "m"}]}
    whole, place = places(made, "documents")
    found: list[Case] = list(cases(place, TARGETS[:1]))
    assert [case.value for case in found] == [{"model": odd} for odd in ODD[:-1]] + [{}]
    added = [case.value for case in cases(whole, TARGETS[:1])]
    assert {"model": "m", "type": 5} in added and {"model": "m", "extra": {"openai-chat": 5}} in added
