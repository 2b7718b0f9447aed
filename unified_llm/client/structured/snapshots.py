"""Structured output as it grows: the text of a stream's events, and the value that it amounts to so far.

Reading a text again for each of its pieces would take the square of its length. `due` lets a text be read again when
it has grown by a part of its length, so that all snapshots together take at most `_STEP` times as long as one.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..results import Result
from .formats import WRAPPER
from .strategies import Parser

__all__ = ["Growing", "Snapshot"]

Node = dict[str, Any]
_STEP = 64
_EVENTS = frozenset(
    ("response.output_item.added", "response.output_text.delta", "response.function_call_arguments.delta")
)
_QUOTE = re.compile(r'\\.|\\\Z|"', re.DOTALL)


class Snapshot(NamedTuple):
    """Among the events of a stream whose `snapshots` are read: the value so far."""

    value: Any


class Growing:
    """The value of a structured output that is being streamed; `is_read` is True once its snapshots are read.

    >>> from unified_llm.client.structured.formats import format_of
    >>> growing = Growing(Parser(format_of(list[str]), "native"))
    >>> growing.add('["one", "tw')
    >>> growing.value
    ['one', 'tw']
    """

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self.is_read = False
        self._start()

    def _start(self) -> None:
        self._pieces: list[str] = []
        self._length = self._read = 0
        self._quoted = self._escaped = self._begun = False
        self._place: Any = None
        self._value: Any = None
        self._at = -1
        self._shown: Any = None

    def feed(self, event: Node) -> None:
        """Take in a canonical event."""
        kind = event["type"]
        if kind == "response.created":
            self._start()
        elif event.get("choice") or kind not in _EVENTS:
            return
        elif kind == "response.output_item.added":
            item = event["item"]
            if self._parser.is_answer(item):
                self._start()
                self._place = event["output_index"]
        elif kind == "response.output_text.delta" and self._parser.strategy != "tool":
            self.add(event["delta"])
        elif kind == "response.function_call_arguments.delta" and event["output_index"] == self._place:
            self.add(event["delta"])

    def end(self, result: Result) -> None:
        """Take in the whole answer; the value is the one that it is read to, where it has one that fits."""
        text = self._parser.text(result)
        if text is not None:
            try:
                self._value, self._at = self._parser.value(text), self._length
            except ValueError:
                pass

    def changed(self, *, ended: bool = False) -> bool:
        """Whether there is another value than the one that was last seen by this; read only when it is due."""
        if not (self.due or ended) or self.value is None or self.value == self._shown:
            return False
        self._shown = self.value
        return True

    def add(self, text: str) -> None:
        """Take in a piece of the text."""
        if self._parser.strategy == "prompt" and not self._begun:
            # Words before the value, and the fence around it, are not part of it.
            self._pieces.append(text)
            text = "".join(self._pieces)
            places = [at for at in (text.find("{"), text.find("[")) if at >= 0]
            self._pieces = [] if places else [text]
            if not places:
                return
            text = text[min(places) :]
        self._begun = True
        self._pieces.append(text)
        self._length += len(text)
        rest = text
        if self._escaped and rest:
            rest = rest[1:]
            self._escaped = False
        for mark in _QUOTE.findall(rest):
            if mark == '"':
                self._quoted = not self._quoted
            elif len(mark) == 1:
                self._escaped = True

    @property
    def due(self) -> bool:
        """Whether the text has grown enough to be read again."""
        return self._begun and (self._length - self._read) * _STEP >= self._length > self._read

    @property
    def value(self) -> Any:
        """The value so far; None before there is one."""
        if self._at == self._length or not self._begun:
            return self._value
        self._at = self._read = self._length
        self._pieces = ["".join(self._pieces)]
        found = self._parsed(self._pieces[0])
        if found is not None:
            self._value = found
        return self._value

    def _parsed(self, text: str) -> Any:
        from pydantic_core import from_json

        from .partial_values import MISSING, partial_value

        try:
            if self._quoted:
                value, final = from_json(text, allow_partial="trailing-strings"), _final(text)
            else:
                value = final = from_json(_without_number(text), allow_partial=True)
        except ValueError:
            return None  # nothing yet, or something behind the value
        if self._parser.strategy == "tool" and self._parser.format.is_wrapped:
            if type(value) is not dict or WRAPPER not in value:
                return None
            value, final = value[WRAPPER], final.get(WRAPPER, MISSING)
        type_ = self._parser.format.type
        found = value if type_ is None else partial_value(type_, value, final)
        return None if found is MISSING else found


def _without_number(text: str) -> str:
    """The text without digits at its end, which may go on."""
    left = text.rstrip("0123456789+-.eE")
    return left if any(each.isdigit() for each in text[len(left) :]) else text


def _final(text: str) -> Any:
    from pydantic_core import from_json

    from .partial_values import MISSING

    try:
        return from_json(text, allow_partial=True)
    except ValueError:
        return MISSING
