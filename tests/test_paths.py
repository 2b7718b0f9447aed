"""Searches in nodes: the paths they find, in time that grows with the node and not with its depth."""

from __future__ import annotations

import time
from typing import Any

import pytest

from unified_llm.foundation.json_paths import Search, exists


@pytest.mark.parametrize("before", [0, 2])
def test_the_very_object_is_found_before_an_equal_one(before: int) -> None:
    """By a walk, and by the index that is made when a node is searched again."""
    one, other = {"x": 1}, {"x": 1}
    node = {"a": [one, {"b": other}], "c": {"b": 5}, "d": 5, "e": "text"}
    search = Search()
    for _ in range(before):
        search.object(node, {})
    assert search.object(node, other) == ("a", 1, "b")
    assert search.value(node, one) == ("a", 0)
    assert search.value(node, "text") == ("e",)
    assert search.value(node, 5) == (), "there are two"
    assert search.value(node, 5, "d") == ("d",)
    assert search.value(node, {"b": 5}) == ("c",)
    assert search.object(node, {"b": 5}) == ()


@pytest.mark.parametrize(
    "keys, there",
    [((), True), (("a", 1), True), (("a", 2), False), (("a", 1, 0), False), (("b",), False), (("t", 0), False)],
)
def test_what_stands_at_a_path_may_be_null(keys: tuple[Any, ...], there: bool) -> None:
    assert exists({"a": [0, None], "t": "text"}, keys) is there


def test_time_grows_in_proportion_to_the_depth() -> None:
    deep: Any = {}
    for _ in range(20_000):
        deep = {"a": deep}
    node = {"deep": deep, "last": {"x": 1}}
    search, began = Search(), time.process_time()
    for _ in range(3):
        assert search.object(node, node["last"]) == ("last",)
        assert search.object(node, {}) == ()
    assert time.process_time() - began < 2  # 6 seconds where a path is made for each of the values
