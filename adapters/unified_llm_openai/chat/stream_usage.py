"""The usage of a streamed answer: that of the last chunk with one, and what only earlier chunks have."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.reading import Reader

from .usage import read_usage

__all__ = ["Usages"]

Node = dict[str, Any]
Path = tuple[Any, ...]
# The number of an event, its data, and a path below it.
Source = tuple[int | None, Node, Path]


class Usages:
    """The usage objects of chunks; of two values under one key the later one holds."""

    def __init__(self) -> None:
        self.whole: Node | None = None
        # Where the last one is, and the values that it does not have.
        self._last: Source = (None, {}, ())
        self._earlier: dict[Path, Source] = {}

    def add(self, usage: Node, source: Source) -> None:
        """Take the usage that is at a path of a chunk."""
        earlier: dict[Path, Source] = {}
        self.whole = self._joined(self.whole, usage, (), earlier) if self.whole is not None else usage
        self._last, self._earlier = source, earlier

    def _joined(self, older: Node, newer: Node, above: Path, earlier: dict[Path, Source]) -> Node:
        """The newer object with those values of the older one that it does not have, or has as null."""
        whole = newer
        for key, value in older.items():
            other, keys = newer.get(key), (*above, key)
            if type(value) is dict and type(other) is dict:
                value = self._joined(value, other, keys, earlier)
                is_kept = value is not other
            else:
                is_kept = value is not None and other is None
                if is_kept:
                    number, data, path = self._last
                    earlier[keys] = (number, data, (*path, *keys))
                    earlier.update({at: each for at, each in self._earlier.items() if at[: len(keys)] == keys})
            if is_kept:
                whole = {**whole, key: value}
        return whole

    def read(self, response: Node, r: Reader) -> tuple[Node, Path | None]:
        """The canonical usage, and where it is, if in the place that the answer has it."""
        assert self.whole is not None
        sources: dict[Path, Path] = {}
        for keys, (number, data, path) in {(): self._last, **self._earlier}.items():
            if number is not None:
                r.docs[number] = data
                sources[keys] = (number, "data", *path)
        if self._earlier:
            r.gather(self.whole, sources)
        place = sources.get(()) if self._last[2] == ("usage",) else None
        if place is not None:
            r.place(response, ("usage",), ("usage",))
        return read_usage(self.whole, r), place
