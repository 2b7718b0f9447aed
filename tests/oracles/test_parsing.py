"""Reading the language: every directive that is written is read, and any text is read or refused."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from oracles.language import BadDirective, Directive, parse
from oracles.plan import tokens

WORDS = st.from_regex(r"[A-Za-z0-9_/:.-]{1,8}", fullmatch=True)
PLAIN = st.text(st.characters(exclude_characters="[\\", exclude_categories=["Cs"]), max_size=20)
JSON = st.one_of(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), st.lists(st.integers(), max_size=3))
OPTIONS = st.dictionaries(
    WORDS, st.one_of(WORDS.map(lambda word: (word, word)), JSON.map(lambda v: (json.dumps(v), v)))
)


@given(st.lists(st.one_of(PLAIN, st.tuples(WORDS, OPTIONS)), max_size=5))
def test_what_is_written_is_what_is_read(pieces: list[Any]) -> None:
    text, texts, asked = "", [""], []
    for piece in pieces:
        if isinstance(piece, str):
            text += piece
            texts[-1] += piece
        else:
            word, options = piece
            text += f"[[call {word} {' '.join(f'{key}={shown}' for key, (shown, _) in options.items())}]]"
            asked.append(Directive("call", (word,), {key: meant for key, (_, meant) in options.items()}))
            texts.append("")
    read = parse(text)[0]
    assert [each for each in read if isinstance(each, Directive)] == asked
    assert [each for each in read if isinstance(each, str)] == [each.strip() for each in texts if each.strip()]


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        steps = parse(text)
    except BadDirective:
        assert "[[" in text
    else:
        assert steps


@given(st.text(max_size=60))
def test_tokens_are_the_text(text: str) -> None:
    assert "".join(tokens(text)) == text


def test_brackets_that_are_no_directive_are_text() -> None:
    assert parse("if [[ -f x ]] then a[[0]] and [[Wiki]]") == [["if [[ -f x ]] then a[[0]] and [[Wiki]]"]]
    assert parse(r"\[[call f]]") == [["[[call f]]"]]


def test_then_divides_steps() -> None:
    assert parse("a [[then]] b[[then]]") == [["a"], ["b"], []]
