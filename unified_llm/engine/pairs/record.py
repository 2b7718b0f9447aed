"""What a writing records of the values that it did not write as they were; `locator.py` makes the report of it."""

from __future__ import annotations

from typing import Any

__all__ = ["NOTE", "REPEATED", "UNKEPT", "Record"]

Node = dict[str, Any]

NOTE = "kept in an envelope"
UNKEPT = "without a secret it does not come back"
"""The detail of a value that travels in an envelope, and of one that is not taken from it again."""

REPEATED = (("name",), "approximated", "omitted; the tool call has the same name")
"""The detail of the name of a result that is left out, since it is that of the call it answers."""


class Record:
    """Entries as they come: the node, the keys below it, the fate, the detail, and the capability if it is known."""

    __slots__ = ("alike", "filled", "raw", "relaxed")

    def __init__(self) -> None:
        self.raw: list[tuple[Node, tuple[Any, ...], str, str, str | None]] = []
        # Entries of which a long conversation has very many, kept together: the nodes of one loss
        # (by leaf, fate and detail), and the places below a list of the result where one leaf was added (with detail
        # and capability).
        self.alike: dict[tuple[tuple[Any, ...], str, str], list[Node]] = {}
        self.filled: list[tuple[Any, list[tuple[Any, ...]], tuple[Any, ...], str, str]] = []
        # What became of the schemas of tools: the tool, the schema's key, and the leaves below it with their fates.
        self.relaxed: list[tuple[Node, str, tuple[tuple[tuple[Any, ...], str, str], ...]]] = []

    def drop(self, node: Node, detail: str = "", fate: str = "lost") -> None:
        """Record that nothing of `node` was written."""
        self.raw.append((node, (), fate, detail, None))

    @property
    def noted(self) -> bool:
        """Whether anything was recorded that is to be reported."""
        return bool(self.raw or self.alike or self.filled or self.relaxed)

    def unfold(self) -> None:
        """Put what is kept together into `raw`, an entry a place: for reports made while the writing goes on."""
        for (keys, fate, detail), nodes in self.alike.items():
            self.raw += [(node, keys, fate, detail, None) for node in nodes]
        for where, places, keys, detail, capability in self.filled:
            self.raw += [(where, (*place, *keys), "added", detail, capability) for place in places]
        for tool, key, changes in self.relaxed:
            self.raw += [(tool, (key, *keys), fate, detail, "tools.function") for keys, fate, detail in changes]
        self.alike.clear()
        self.filled.clear()
        self.relaxed.clear()
