"""The declared tools of a conversation while its items change them: in order, and found without a search.

A change adds tools, takes some away, or narrows what a server may offer. Each costs as much as it names, however many
tools there are; lists are made once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["ToolList", "key_of", "word"]

Node = dict[str, Any]
Copy = Callable[..., Node]


def word(value: Any) -> Any:
    """A name as a key; anything but a string is compared by its JSON text."""
    return value if value is None or type(value) is str else (repr(value),)


def key_of(tool: Node) -> tuple[Any, Any]:
    """What a tool is declared as: its type, and its name or its server."""
    kind = tool.get("type")
    return word(kind), word(tool.get("server_label") if kind == "mcp" else tool.get("name"))


class ToolList:
    """Tools in order, by number: what is replaced keeps its number, what is added gets the next one."""

    def __init__(self, tools: Iterable[Node]) -> None:
        self.tools: dict[int, Node] = {}
        self._changed = False
        self._next = 0
        # The numbers of the tools by what they are declared as, by name, and by server.
        self._numbers: dict[tuple[Any, ...], dict[int, None]] = {}
        # By number: the tools of a namespace that grows, and of what a server may offer how often each is listed.
        self._members: dict[int, ToolList] = {}
        self._offered: dict[int, dict[Any, int]] = {}
        for tool in tools:
            self.add(tool)
        self._changed = False

    def add(self, tool: Node) -> None:
        """Put a tool behind the others."""
        number, self._next = self._next, self._next + 1
        self._put(number, tool)

    def declared(self, keys: Iterable[tuple[Any, Any]]) -> list[int]:
        """The numbers of the tools that are declared as one of these."""
        return [number for key in keys for number in self._numbers.get(("key", *key), ())]

    def first(self, tool: Node) -> int | None:
        """The number of the first tool that is declared as this one is."""
        return next(iter(self._numbers.get(("key", *key_of(tool)), ())), None)

    def meant(self, change: Node) -> list[int]:
        """The numbers of the tools that an item which changes tools is about."""
        label, name = change.get("server_label"), change.get("name")
        if label is not None:
            return [*self._numbers.get(("key", "mcp", word(label)), ())]
        return [] if name is None else [*self._numbers.get(("name", word(name)), ())]

    def drop(self, number: int) -> None:
        """Take a tool away."""
        tool = self.tools.pop(number)
        for place in _places(tool):
            del self._numbers[place][number]
        self._members.pop(number, None)
        self._offered.pop(number, None)
        self._changed = True

    def replace(self, number: int, tool: Node) -> None:
        """Put a tool in the place of another that is declared as it is."""
        for place in set(_places(self.tools[number])).difference(_places(tool)):
            del self._numbers[place][number]
        self._put(number, tool)
        self._members.pop(number, None)
        self._offered.pop(number, None)

    def members(self, number: int) -> ToolList:
        """The tools of a namespace, to be changed."""
        found = self._members.get(number)
        if found is None:
            found = self._members[number] = ToolList(self.tools[number]["tools"])
        return found

    def withdraw(self, number: int, name: Any) -> bool:
        """Take a name from those that a server may offer; False if nothing else is left of them."""
        left = self._offered.get(number)
        if left is None:
            left = {}
            for each in self.tools[number]["allowed_tools"]:
                left[word(each)] = left.get(word(each), 0) + 1
            self._offered[number] = left
        if left == {word(name): 1}:
            return False
        left.pop(word(name), None)
        return True

    def listed(self, copy: Copy) -> list[Node]:
        """The tools; `copy(tool, **changes)` makes those whose members or offers were changed."""
        for number, members in self._members.items():
            if members.is_changed:
                self.tools[number] = copy(self.tools[number], tools=members.listed(copy))
        for number, left in self._offered.items():
            offered = [name for name in self.tools[number]["allowed_tools"] if word(name) in left]
            self.tools[number] = copy(self.tools[number], allowed_tools=offered)
        self._members.clear()
        self._offered.clear()
        return [*map(self.tools.__getitem__, sorted(self.tools))]

    @property
    def is_changed(self) -> bool:
        """Whether anything was added, taken away or replaced, here or below."""
        return self._changed or any(members.is_changed for members in self._members.values())

    def _put(self, number: int, tool: Node) -> None:
        self.tools[number] = tool
        for place in _places(tool):
            self._numbers.setdefault(place, {})[number] = None
        self._changed = True


def _places(tool: Node) -> list[tuple[Any, ...]]:
    places: list[tuple[Any, ...]] = [("key", *key_of(tool))]
    if tool.get("name") is not None:
        places.append(("name", word(tool["name"])))
    return places
