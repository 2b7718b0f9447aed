"""Characters that a stream cuts in two: `\\ud83d` ends one event's text, `\\ude00` begins the next one's.

Neither half is a character, and orjson prints none, so nothing is looked at until it refuses to. Then the first half
waits for the very next event, which has the other one at the same place; a half that stays alone becomes U+FFFD.
"""

from __future__ import annotations

from typing import Any

import orjson

from ..foundation.json_codec import dump_text

__all__ = ["Halves"]

Keys = tuple[Any, ...]


class Halves:
    """The JSON texts of one stream's events, in their order.

    >>> halves = Halves()
    >>> [halves.dump({"delta": text}).decode() for text in ("a\\ud83d", "\\ude00b")]
    ['{"delta":"a"}', '{"delta":"😀b"}']
    """

    def __init__(self) -> None:
        self.held: dict[Keys, str] = {}

    def dump(self, value: Any) -> bytes:
        """The JSON text of the next event's data."""
        if not self.held:
            try:
                return orjson.dumps(value)
            except TypeError:
                pass
        waiting, self.held = self.held, {}
        return dump_text(self._whole(value, (), waiting)).encode()

    def _whole(self, value: Any, path: Keys, waiting: dict[Keys, str]) -> Any:
        if isinstance(value, str):
            text = waiting.pop(path, "") + value
            if "\ud800" <= text[-1:] <= "\udbff":
                self.held[path] = text[-1]
                text = text[:-1]
            return text
        if isinstance(value, dict):
            return {key: self._whole(inner, (*path, key), waiting) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._whole(inner, (*path, index), waiting) for index, inner in enumerate(value)]
        return value
