"""Mutants of documents, streams, canonical input and answers: 5,000 in CI, 1,000 elsewhere; `make fuzz` runs more.

Broken input never raises anything but an error of ours with its reason, takes bounded time, and is the same stream in
whatever chunks it comes.
"""

from __future__ import annotations

import functools
import random
import warnings

import pytest

from corpus import corpus_folder
from fuzz.cases import Case, Seeds, attempt
from fuzz.fuzzing import CPU_SECONDS, case_of, failure_of, numbered
from fuzz.mutation import chunks, mutate

SEED = 20_261
COUNT, SLICES = 5_000 if corpus_folder() else 1_000, 10
seeds = functools.cache(Seeds)


@pytest.mark.parametrize("part", range(SLICES))
def test_mutants(part: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # validators of SDKs warn of what they take all the same
        found = [failure_of(seeds(), SEED, number) for number in range(part, COUNT, SLICES)]
    failures = [str(failure) for failure in found if failure is not None]
    assert not failures, "\n\n".join(failures[:3])


def test_every_family_is_in_every_hundred() -> None:
    found = [numbered(number) for number in range(100)]
    assert {family: found.count(family) for family in set(found)} == {
        "documents": 45, "streams": 25, "canonical": 20, "transports": 10,
    }  # fmt: skip


def test_a_seed_makes_the_same_mutants() -> None:
    for number in (0, 50, 75, 95, 1_234):
        one, other = (case_of(seeds(), 7, number) for _ in range(2))
        assert (one.title, repr(one.value)) == (other.title, repr(other.value))
    assert repr(case_of(seeds(), 7, 3).value) != repr(case_of(seeds(), 8, 3).value)


def test_a_mutant_leaves_its_source_as_it_was() -> None:
    source = {"a": [1, {"b": "c"}], "d": {"e": [[]]}}
    before = repr(source)
    dice = random.Random(1)
    for _ in range(500):
        mutate(source, dice, [{"x": 1}], ["word"], 3)
    assert repr(source) == before


def test_chunks_are_the_bytes() -> None:
    dice = random.Random(1)
    for size in (0, 1, 50, 6_000):
        raw = bytes(dice.randrange(256) for _ in range(size))
        assert b"".join(chunks(raw, dice)) == raw


def test_what_fails_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fuzzer can fail: an error that is not ours is reported, with what of the mutant it takes to raise it."""

    def run(value: object) -> None:
        if isinstance(value, dict) and "bad" in value.get("inner", ()):
            raise KeyError("bad")

    value = {"other": [1, 2, 3], "inner": {"bad": 1, "good": {"x": 2}}}
    monkeypatch.setitem(__import__("fuzz.cases").cases.FAMILIES, "documents", lambda *_: Case("made", value, run))
    failure = failure_of(seeds(), 1, 0, "documents")
    assert failure is not None and failure.key.startswith("KeyError")
    assert failure.value == {"inner": {"bad": 1}}
    assert "--family documents --seed 1 --only 0" in str(failure)


def test_what_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(value: object) -> None:
        while True:
            pass

    monkeypatch.setattr("fuzz.fuzzing.CPU_SECONDS", 0.05)
    monkeypatch.setattr("fuzz.fuzzing._SHRINKING_SECONDS", 0.0)
    monkeypatch.setitem(__import__("fuzz.cases").cases.FAMILIES, "documents", lambda *_: Case("made", 1, run))
    failure = failure_of(seeds(), 1, 0, "documents")
    assert failure is not None and failure.key.startswith("TooLong")
    assert CPU_SECONDS >= 1


def test_an_error_without_a_reason_is_a_failure() -> None:
    import unified_llm as ul

    def work() -> None:
        raise ul.InvalidBody("/a", "no")

    with pytest.raises(AssertionError, match="without path or reason"):
        attempt(work)
