"""Texts that name arguments of the library, as values: each front end renders them in its own words.

Errors are made for callers in Python: `pass base_url=`. On the command line the same is the option `--base-url`, if the
command has it, in a configuration the field `base_url`, and the clients of a gateway can do nothing about it. So a text
with advice is a `Hint`: a string in the words of Python, made of pieces that can be rendered in others.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

__all__ = [
    "NO_WORDS",
    "PYTHON",
    "Argument",
    "Code",
    "Each",
    "Either",
    "Give",
    "Hint",
    "Name",
    "Piece",
    "Words",
    "rendered",
]


class Words:
    """How a front end names arguments. This one is Python; `give` is its verb for setting one."""

    give = "pass"
    has_code = True

    def name(self, name: str) -> str | None:
        """An argument as the subject or object of a sentence; None where the front end has no such argument."""
        return name

    def argument(self, name: str, value: Any = None) -> str | None:
        """An argument to be set, with a value or (None) without; None where the front end has no such argument."""
        return f"{name}=" if value is None else f"{name}={value!r}"


class _NoWords(Words):
    has_code = False

    def name(self, name: str) -> str | None:
        return None

    def argument(self, name: str, value: Any = None) -> str | None:
        return None


PYTHON: Words = Words()
NO_WORDS: Words = _NoWords()
"""The words of readers who can set no argument, such as the clients of a gateway."""


class Argument(NamedTuple):
    """An argument to be set: `base_url=`, or with a value `base_url='http://localhost:8000/v1'`."""

    name: str
    value: Any = None

    def rendered(self, words: Words) -> str | None:
        """The piece in these words; None where they lack the argument."""
        return words.argument(self.name, self.value)


class Name(NamedTuple):
    """An argument as the subject or object of a sentence: `base_url`."""

    name: str

    def rendered(self, words: Words) -> str | None:
        """The piece in these words; None where they lack the argument."""
        return words.name(self.name)


class Code(NamedTuple):
    """What applies to Python alone."""

    text: str

    def rendered(self, words: Words) -> str | None:
        """The text; None for other words than those of Python."""
        return self.text if words.has_code else None


class Give(NamedTuple):
    """The advice to set arguments, with the verb of the front end: `pass protocol= and base_url=`."""

    arguments: tuple[Argument, ...]

    @classmethod
    def of(cls, *names: str, **values: Any) -> Give:
        """Arguments without a value by their names, those with one as keywords."""
        return cls((*map(Argument, names), *(Argument(name, value) for name, value in values.items())))

    def rendered(self, words: Words) -> str | None:
        """The piece in these words; None where they lack one of the arguments."""
        found = [each.rendered(words) for each in self.arguments]
        return None if None in found else f"{words.give} {' and '.join(filter(None, found))}"


class Either(NamedTuple):
    """The first of several texts that the words of a front end suffice for; nothing where they suffice for none."""

    texts: tuple[Piece, ...]

    def rendered(self, words: Words) -> str | None:
        """The text in these words; "" without one."""
        found = (_rendered(each, words) for each in self.texts)
        return next((each for each in found if each is not None), "")


class Each(NamedTuple):
    """All of several texts that the words of a front end suffice for, joined, behind `before`; nothing without one."""

    texts: tuple[Piece, ...]
    joint: str = ", or "
    before: str = ""

    def rendered(self, words: Words) -> str | None:
        """The texts in these words; "" without one."""
        found = [text for each in self.texts if (text := _rendered(each, words))]
        return f"{self.before}{self.joint.join(found)}" if found else ""


Piece: TypeAlias = str | Argument | Name | Code | Give | Either | Each


class Hint(str):
    """A text for people, of `pieces`: plain text, and arguments as values. As a string it is in the words of Python.

    >>> hint = Hint("no such server; ", Give.of("base_url"))
    >>> hint, hint.in_words(NO_WORDS)
    ('no such server; pass base_url=', '')
    >>> Hint("no such server", Each((Give.of("base_url"),), before="; ")).in_words(NO_WORDS)
    'no such server'
    """

    pieces: tuple[Piece, ...]

    def __new__(cls, *pieces: Piece) -> Hint:
        flat = tuple(each for piece in pieces for each in (piece.pieces if isinstance(piece, Hint) else (piece,)))
        made = super().__new__(cls, _joined(flat, PYTHON) or "")
        made.pieces = flat
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.pieces

    def in_words(self, words: Words) -> str:
        """The text in the words of a front end; "" where they do not suffice for it."""
        return _joined(self.pieces, words) or ""


def rendered(text: object, words: Words) -> str:
    """A text or an error in the words of a front end: of a `Hint`, and of an error that holds one, its pieces.

    >>> rendered("as it is", NO_WORDS), rendered(ValueError("as it is"), NO_WORDS)
    ('as it is', 'as it is')
    """
    in_words = getattr(text, "in_words", None)
    return str(text) if in_words is None else in_words(words)


def _rendered(piece: Piece, words: Words) -> str | None:
    if isinstance(piece, Hint):
        return _joined(piece.pieces, words)
    return piece if isinstance(piece, str) else piece.rendered(words)


def _joined(pieces: tuple[Piece, ...], words: Words) -> str | None:
    found = [_rendered(each, words) for each in pieces]
    return None if None in found else "".join(filter(None, found))
