"""What the user may ask for: directives `[[name ...]]` in the last user text, among ordinary text that is echoed.

A directive holds words, `key=value` pairs and JSON values; `reason` and `refuse` hold free text. What is written in an
order is answered in that order. `[[then]]` divides a text into steps: the first is the answer to the user, the next one
the answer to the tool results that follow, and so on. `\\[[` is two brackets. docs/echo.md has every directive.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

OPENING = re.compile(r"(\\?)\[\[(?=[a-z])")
NAME = re.compile(r"[a-z][a-z_]*")
KEY = re.compile(r"([^\s=\[\]{}\"]+)=")
BARE = re.compile(r"(?:(?!\]\])\S)+")
DECODER = json.JSONDecoder()


class BadDirective(ValueError):
    """A directive that is unknown, or that has something its name does not take."""


@dataclass(frozen=True)
class Rule:
    """What a directive takes: `text` for free text, else how many words, which options (None = any), any JSON."""

    text: bool = False
    words: int = 0
    options: frozenset[str] | None = frozenset()
    json: bool = False


RULES = {
    "call": Rule(words=1, options=None, json=True),
    "parallel": Rule(words=1),
    "reason": Rule(text=True),
    "redact": Rule(),
    "refuse": Rule(text=True),
    "stop": Rule(words=1),
    "cite": Rule(words=1, options=frozenset({"title"})),
    "image": Rule(),
    "audio": Rule(),
    "usage": Rule(options=frozenset({"input", "output", "cached", "cache_write", "reasoning"})),
    "slow": Rule(words=1),
    "break": Rule(words=3),
    "error": Rule(words=3, options=frozenset({"retry-after", "message", "code", "times"})),
    "garble": Rule(words=1),
    "repeat": Rule(words=1),
    "show": Rule(words=1),
    "results": Rule(),
    "then": Rule(),
}
"""Every directive there is."""


@dataclass(frozen=True)
class Directive:
    """One `[[...]]`: its name, its words in order, its options, its free text, and a JSON object that stood in it."""

    name: str
    words: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    value: Any = None

    def number(self, place: int = -1) -> int:
        """The word at `place` as a number that is not negative."""
        word = self.words[place] if len(self.words) > (place if place >= 0 else 0) else ""
        if not word.isdecimal() or not word.isascii():
            raise BadDirective(f"[[{self.name}]] requires a number, not {word!r}")
        return int(word)


Step = list["str | Directive"]


def parse(text: str) -> list[Step]:
    """The steps of a text, each a list of texts and directives in the order they were written.

    >>> parse("Hello [[call get_weather city=Oslo]] [[then]] Done.")[0]
    ['Hello', Directive(name='call', words=('get_weather',), options={'city': 'Oslo'}, text='', value=None)]
    """
    steps: list[Step] = [[]]
    at, said = 0, ""

    def speak() -> None:
        if said.strip():
            steps[-1].append(said.strip())

    while (found := OPENING.search(text, at)) is not None:
        said += text[at : found.start()]
        if found[1]:
            said, at = said + "[[", found.end()
            continue
        speak()
        said = ""
        directive, at = _directive(text, found.end())
        if directive.name == "then":
            steps.append([])
        else:
            steps[-1].append(directive)
    said += text[at:]
    speak()
    return steps


def _directive(text: str, at: int) -> tuple[Directive, int]:
    named = NAME.match(text, at)
    assert named is not None
    name, at = named[0], named.end()
    rule = RULES.get(name)
    if rule is None or (at < len(text) and not text[at].isspace() and not text.startswith("]]", at)):
        raise BadDirective(f"no directive is called {BARE.match(text, named.start())[0]!r}")  # type: ignore[index]
    if rule.text:
        end = text.find("]]", at)
        if end < 0:
            raise BadDirective(f"[[{name}]] is not closed")
        return Directive(name, text=text[at:end].strip()), end + 2
    words: list[str] = []
    options: dict[str, Any] = {}
    value: Any = None
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if text.startswith("]]", at):
            break
        if at >= len(text):
            raise BadDirective(f"[[{name}]] is not closed")
        key = KEY.match(text, at)
        if key is not None:
            options[key[1]], at = _value(name, text, key.end())
        elif text[at] in '{["':
            value, at = _value(name, text, at)
            if not rule.json:
                raise BadDirective(f"[[{name}]] takes no JSON")
        else:
            bare = BARE.match(text, at)
            assert bare is not None
            words, at = [*words, bare[0]], bare.end()
    if len(words) > rule.words:
        raise BadDirective(f"[[{name}]] takes {rule.words} word(s), not {' '.join(words)!r}")
    strange = [] if rule.options is None else sorted(set(options) - rule.options)
    if strange:
        raise BadDirective(f"[[{name}]] has no option {strange[0]!r}")
    return Directive(name, tuple(words), options, value=value), at + 2


def _value(name: str, text: str, at: int) -> tuple[Any, int]:
    """A JSON value, or a bare word, which is text whatever it looks like."""
    if text[at : at + 1] in tuple('{["'):
        try:
            return DECODER.raw_decode(text, at)
        except ValueError as problem:
            raise BadDirective(f"[[{name}]] holds broken JSON: {problem}") from None
    bare = BARE.match(text, at)
    return ("", at) if bare is None else (bare[0], bare.end())
