"""The usage of a streamed answer: that of the last chunk with one, and what only earlier chunks have."""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.reading import Reader

from ..values.usage import read_usage

__all__ = ["Usages"]

Node = dict[str, Any]
Path = tuple[Any, ...]
# The number of an event, its data, and a path below it.
Source = tuple[int | None, Node, Path]


class Usages:
    """The usage objects of chunks; of two values under one key the later one holds, and null stands for none."""

    def __init__(self) -> None:
        self.whole: Node | None = None
        self._last: Source = (None, {}, ())
        self._latest: Node = {}
        # Where each value of the whole is.
        self._places: dict[Path, Source] = {}

    def add(self, usage: Node, source: Source) -> None:
        """Take the usage that is at a path of a chunk."""
        self.whole = {} if self.whole is None else self.whole
        self._last, self._latest = source, usage
        self._join(self.whole, usage, (), source)

    def _join(self, whole: Node, newer: Node, above: Path, source: Source) -> None:
        number, data, path = source
        for key, value in newer.items():
            keys, older = (*above, key), whole.get(key)
            if type(value) is dict and value:
                if type(older) is not dict:
                    older = whole[key] = {}
                self._join(older, value, keys, source)
            elif value is not None or older is None:
                whole[key] = {} if value == {} else value  # an empty object may grow, and is not the wire's
                self._places[keys] = (number, data, (*path, *keys))

    def read(self, response: Node, r: Reader) -> tuple[Node, Path | None]:
        """The canonical usage, and where it is, if in the place that the answer has it."""
        assert self.whole is not None
        _, last, path = self._last
        earlier = {keys: each for keys, each in self._places.items() if each[1] is not last}
        sources: dict[Path, Path] = {}
        for keys, (number, data, at) in {(): self._last, **earlier}.items():
            if number is not None:
                r.docs[number] = data
                sources[keys] = (number, "data", *at)
        if earlier:
            r.gather(self.whole, sources)
        place = sources.get(()) if path == ("usage",) else None
        if place is not None:
            r.place(response, ("usage",), ("usage",))
        return read_usage(self.whole if earlier else self._latest, r), place
