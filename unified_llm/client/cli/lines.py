"""Documents one a line, as logs, exports and batch files have them: each converted, and none stops the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...foundation.errors import CapabilityLost, InvalidBody, UnifiedLLMError
from ...foundation.hints import Each, Give, Hint
from ...losses import Loss, Losses
from ...passes.convert import Converted, convert

__all__ = ["convert_lines", "in_file", "losses_of"]


def convert_lines(lines: Iterable[bytes], **options: Any) -> Iterator[tuple[int, Converted | UnifiedLLMError]]:
    """Each line that is not empty, with its number from 1: the conversion, or the error in its place.

    >>> body = b'{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}'
    >>> found = convert_lines([body, b"", b"{"], source="openai-chat", target="openai-responses")
    >>> [(number, type(each).__name__) for number, each in found]
    [(1, 'Converted'), (3, 'InvalidBody')]
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield number, convert(line.strip(), **options)
        except UnifiedLLMError as error:
            yield number, error


def losses_of(number: int, found: Converted | UnifiedLLMError) -> list[Loss]:
    """The losses of one line, whose paths begin with its index, as those of a stream do with that of the event."""
    losses = found.losses if isinstance(found, (Converted, CapabilityLost)) else Losses()
    return [loss._replace(path=f"/{number - 1}{loss.path}") for loss in losses]


def in_file(error: Exception, file: str) -> Hint | Exception:
    """An error of a whole file with its name (`-` is standard input), and for several documents the option."""
    if not isinstance(error, InvalidBody) or error.path:
        return error
    several = "Extra data: line 2 column 1" in error.reason
    way = Each((Hint(Give.of(lines=True), " for one document a line"),), before="; ") if several else ""
    return Hint(f"{'standard input' if file == '-' else file}: ", error.reason, way)
