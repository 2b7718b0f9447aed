"""What declarations and codecs raise, the facts that readers record, and the names every engine module shares.

A codec answers one question: what does this value become on the other side. Besides returning that it can signal
`Mismatch` (not mine), `Approximate` (only nearly) or `Cannot` (not at all, and why). It reports nothing itself.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = [
    "ABSENT",
    "CALLS",
    "FAULTS",
    "MEDIA",
    "NATIVE",
    "NATIVES",
    "OPAQUE",
    "REST",
    "RESULTS",
    "TOOLS",
    "VOID",
    "Approximate",
    "Cannot",
    "DeclarationError",
    "Mismatch",
    "Node",
    "Path",
    "is_same",
]

Node = dict[str, Any]
Path = tuple[str, ...]

NATIVE: Final = "unified_llm:native"
"""The `type` of a canonical node that stands for a wire node which no case could read."""

# Facts: bits that a reader sets in `x.flags`. A stage of the pipeline that no fact requires is not run.
REST, OPAQUE, MEDIA, CALLS, RESULTS, NATIVES, TOOLS = (1 << bit for bit in range(7))

VOID: Final[tuple[Any, ...]] = (None, "", [], {})
"""Values without information: leaving one out is not a loss."""


class _Absent:
    """The value of `ABSENT`: no value at all, where None would be a JSON null."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final[Any] = _Absent()


class DeclarationError(ValueError):
    """A shape, union or turn layout that cannot work both ways, or an adapter with such a declaration.

    >>> from unified_llm.engine import Shape, string
    >>> Shape({"a": string("x"), "b": string("x")}, name="demo")
    Traceback (most recent call last):
    unified_llm.engine.compiler.signals.DeclarationError: shape demo: canonical key 'x' is declared at /a and at /b
    """


class Mismatch(ValueError):
    """The value is not what the field declares. Reading leaves it where it was; writing reports it.

    `path` is where, below the object that was read, and `reason` one plain sentence, for `InvalidBody`.

    >>> str(Mismatch(("function", "name"), "is not a string"))
    '/function/name: is not a string'
    """

    def __init__(self, path: tuple[Any, ...] = (), reason: str = "has an unexpected type") -> None:
        super().__init__()
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"/{'/'.join(map(str, self.path))}: {self.reason}"


class Approximate(ValueError):
    """The value has only a form that is close: it is written, and reported as approximated.

    >>> near = Approximate("low", "sent as 'low'")
    >>> near.value, near.why
    ('low', "sent as 'low'")
    """

    def __init__(self, value: Any, why: str) -> None:
        super().__init__(why)
        self.value = value
        self.why = why


class Cannot(ValueError):
    """The value has no form at all in the target, and why: it is reported as lost with that reason.

    >>> Cannot("the target has no grammars").why
    'the target has no grammars'
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


FAULTS = (Mismatch, KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError, OSError)
"""What code meets on a value that is not what its type promises; the three signals are among them."""


def is_same(left: Any, right: Any) -> bool:
    """Whether two JSON values are one value: in JSON, unlike in Python, `true` is not `1`.

    >>> is_same(1, 1.0), is_same(1, True), is_same([0], [False])
    (True, False, False)
    """
    if left is right:
        return True
    if left != right:
        return False
    if type(left) is dict:
        return all(is_same(value, right[key]) for key, value in left.items())
    if type(left) is list:
        return all(map(is_same, left, right))
    return (type(left) is bool) == (type(right) is bool)
