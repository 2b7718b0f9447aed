"""Combinations that stand for a product: every two values meet; the product itself where recorded traffic is."""

from __future__ import annotations

import itertools

import pytest

from covering import covering, covering_pairs, in_turn, taking_turns

AXES = ["abcde", [*range(21)], ["x", "y", "z", "x"], (False, True)]


def test_every_two_values_of_any_two_axes_meet() -> None:
    axes = [[*enumerate(axis)] for axis in AXES]  # equal values of one axis are two
    found = covering_pairs(*axes)
    for one, other in itertools.combinations(range(len(axes)), 2):
        assert {(each[one], each[other]) for each in found} == {*itertools.product(axes[one], axes[other])}
    assert 105 <= len(found) < 150 and len(set(found)) == len(found)
    assert found == covering_pairs(*axes)
    turns = [each[3][1] for each in found]
    assert 0.4 < sum(turns) / len(turns) < 0.6, "a value of a short axis stands beside all of a long one"


def test_combinations_that_there_are_not_are_made_up_for() -> None:
    found = covering_pairs("abc", "abc", "xyz", where=lambda one, other, _: one != other)
    assert {(one, other) for one, other, _ in found} == {*itertools.permutations("abc", 2)}
    for place in (0, 1):
        assert {(each[place], each[2]) for each in found} == {*itertools.product("abc", "xyz")}


def test_the_product_is_tried_where_recorded_traffic_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNIFIED_LLM_CORPUS", "/somewhere")
    assert covering("ab", "cd", "ef") == [*itertools.product("ab", "cd", "ef")]
    monkeypatch.delenv("UNIFIED_LLM_CORPUS")
    assert covering("ab", "cd", "ef") == covering_pairs("ab", "cd", "ef") != [*itertools.product("ab", "cd", "ef")]
    assert covering("ab", "cd") == [*itertools.product("ab", "cd")]


def test_documents_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere each of many documents has some of the cases, in CI all of them."""
    cases = [("a", str(number)) for number in range(6)]
    monkeypatch.delenv("UNIFIED_LLM_CORPUS", raising=False)
    tried = [in_turn(range(90), *case) for case in cases]
    assert {len(found) for found in tried} == {30} and set().union(*tried) == set(range(90))
    assert tried == [in_turn(range(90), *case) for case in cases]
    assert in_turn(range(20), "a") == [*range(20)]
    monkeypatch.setenv("UNIFIED_LLM_CORPUS", "/")
    assert in_turn(range(90), "a") == [*range(90)]


def test_values_take_turns_where_there_is_no_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNIFIED_LLM_CORPUS", raising=False)
    taken = [taking_turns("abcde", turn) for turn in range(5)]
    assert all(len(set(found)) == 2 for found in taken)
    assert sorted("".join(itertools.chain(*taken))) == sorted("abcde" * 2)
    assert taking_turns("ab", 7) == ["a", "b"]
    monkeypatch.setenv("UNIFIED_LLM_CORPUS", "/")
    assert taking_turns("abcde", 3) == [*"abcde"]
