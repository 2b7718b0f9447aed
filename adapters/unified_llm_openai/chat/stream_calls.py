"""The tool calls of one choice, gathered from fragments.

Fragments of parallel calls may interleave, so a call stays open until its arguments are whole and another begins, or
the choice ends. A fragment belongs to the call with its id, else to the last one under its index, else to the last
one; a new id, or a new name after whole arguments, is a new call whatever its index. A call is announced once its id
and name are known; an id that never comes is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unified_llm.jsonvalue import dump_text, load_text

from .stream_merge import merged
from .tools import call_id_of, calls

if TYPE_CHECKING:
    from .stream_choice import ChoiceReader

__all__ = ["Calls"]

Event = dict[str, Any]
Node = dict[str, Any]
Path = list[Any]


class _Call:
    """A call being gathered."""

    __slots__ = (
        "arguments", "at", "done", "id", "index", "item", "kind", "marker", "name", "ordinal", "rest", "waiting",
    )  # fmt: skip

    def __init__(self, index: Any) -> None:
        self.index = index
        self.id: str | None = None
        self.name: str | None = None
        self.kind = "function"
        self.arguments: list[str] = []
        self.waiting = ""
        self.rest: Node = {}
        self.at: Node | None = None
        self.item: Node | None = None
        self.done = False
        self.marker: str | None = None
        self.ordinal = 0

    def whole(self) -> bool:
        text = "".join(self.arguments)
        if not text.rstrip().endswith("}"):
            return False
        try:
            return type(load_text(text)) is dict
        except ValueError:
            return False


class Calls:
    """The calls of a choice, in the order they began."""

    def __init__(self, choice: ChoiceReader) -> None:
        self.choice = choice
        self.r = choice.r
        self.all: list[_Call] = []
        self.last_fragments: list[str] = []
        self.legacy: _Call | None = None

    def fragment(
        self, fragment: Node, left: Node, path: Path, wire: Node, events: list[Event], slots: list[list[Any]]
    ) -> None:
        custom = type(fragment.get("custom")) is dict
        inner = fragment.get("custom") if custom else fragment.get("function")
        inner = inner if type(inner) is dict else {}
        call_id = fragment.get("id")
        call_id = call_id if type(call_id) is str and call_id else None
        name = inner.get("name")
        name = name if type(name) is str and name else None
        call = self._find(fragment.get("index"), call_id, name)
        if call is None:
            self.choice.close_open(events)
            self.close(events, only_whole=True)
            if not (call_id or name or inner.get("arguments") or inner.get("input")):
                return
            call = _Call(fragment.get("index"))
            call.ordinal = self.r.context["opened"] = self.r.context.get("opened", 0) + 1
            call.kind = "custom" if custom else "function"
            self.all.append(call)
        opened = call.at is not None
        if call_id is not None and call.id is None:
            call.id = call_id
        if name is not None and call.name is None:
            call.name = name
        for key, value in fragment.items():
            if key not in ("index", "id", "type", "function", "custom"):
                call.rest = merged(call.rest, {key: value})
        value = inner.get("input" if custom else "arguments")
        text = value if type(value) is str else dump_text(value) if type(value) is dict else ""
        if not opened and call.id is not None and call.name is not None:
            self._announce(call, events)
            if "custom" in fragment or "function" in fragment:
                key = "custom" if custom else "function"
                if inner.get("name") == call.name:
                    slots.append([len(events) - 1, ["item", "name"], [*path, key, "name"]])
                    del left[key]["name"]
            if fragment.get("id") == call.id:
                slots.append([len(events) - 1, ["item", "call_id"], [*path, "id"]])
                del left["id"]
            if call.waiting:
                self._arguments(call, call.waiting, events)
                call.waiting = ""
        if not text or call.done:
            return
        if call.at is None:
            call.arguments.append(text)
            call.waiting += text
            return
        call.arguments.append(text)
        self.last_fragments = call.arguments
        self._arguments(call, text, events)
        if type(value) is str:
            key = "custom" if custom else "function"
            slots.append([len(events) - 1, ["delta"], [*path, key, "input" if custom else "arguments"]])
            del left[key]["input" if custom else "arguments"]

    def _find(self, index: Any, call_id: str | None, name: str | None) -> _Call | None:
        """The call a fragment goes on with; None when it begins one."""
        if call_id is not None:
            for call in self.all:
                if call.id == call_id:
                    return call
        last = None
        for call in self.all:
            if index is None or call.index == index:
                last = call
        if last is None:
            return None
        if call_id is not None:
            return last if last.id is None else None
        if name is not None and last.name is not None and (index is None or name != last.name or last.whole()):
            return None if last.whole() or index is None else last
        return last

    def _announce(self, call: _Call, events: list[Event]) -> None:
        call.at = self.choice.place()
        key = "input" if call.kind == "custom" else "arguments"
        type_ = "custom_tool_call" if call.kind == "custom" else "function_call"
        item = {"type": type_, "call_id": call.id, "name": call.name, key: ""}
        events.append(self.choice.event("response.output_item.added", call.at, item=item))

    def _arguments(self, call: _Call, text: str, events: list[Event]) -> None:
        stem = "response.custom_tool_call_input" if call.kind == "custom" else "response.function_call_arguments"
        events.append(self.choice.event(f"{stem}.delta", call.at or {}, delta=text))

    def close(self, events: list[Event], *, only_whole: bool = False) -> None:
        for call in self.all:
            if call.done or (only_whole and not call.whole()):
                continue
            if only_whole and call.at is None:
                continue
            call.name = call.name or ""
            if call.id is None:
                call.id = call_id_of(self.r.seed, call.ordinal)
                call.marker = "absent"
            if call.at is None:
                self._announce(call, events)
                if call.waiting:
                    self._arguments(call, call.waiting, events)
            call.done = True
            item = self._call_item(call)
            if item["type"] == "function_call":
                done = self.choice.event(
                    "response.function_call_arguments.done", call.at or {}, arguments=item["arguments"]
                )
            else:
                done = self.choice.event(
                    "response.custom_tool_call_input.done", call.at or {}, input=item.get("input", "")
                )
            events.append(done)
            self.choice.done(call.at or {}, item, events)

    def _call_item(self, call: _Call) -> Node:
        text = "".join(call.arguments)
        if call is self.legacy:
            item: Node = {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": text or "{}"}
            self.r.form(item, "legacy", True)
            if not text:
                self.r.form(item, "arguments", "empty")
            return item
        key = "input" if call.kind == "custom" else "arguments"
        wire = {"id": call.id, "type": call.kind, call.kind: {"name": call.name, key: text}, **call.rest}
        item = call.item = self.r.node(calls, wire)
        if call.marker:
            self.r.form(item, "id", call.marker)
        return item

    def legacy_call(
        self, wire: Node, left: Node, path: Path, choice: Node, events: list[Event], slots: list[list[Any]]
    ) -> None:
        call = self.legacy
        if call is None and not wire.get("name"):
            self.choice.message = merged(self.choice.message, {"function_call": wire})
            return
        if call is None:
            self.choice.close_open(events)
            call = self.legacy = _Call(object())
            call.id = call_id_of(self.r.seed, "legacy", self.choice.index)
            self.all.append(call)
        if type(wire.get("name")) is str and wire["name"] and call.name is None:
            call.name = wire["name"]
            self._announce(call, events)
            slots.append([len(events) - 1, ["item", "name"], [*path, "name"]])
            del left["name"]
        text = wire.get("arguments")
        if type(text) is str and text and call.at is not None:
            call.arguments.append(text)
            self._arguments(call, text, events)
            slots.append([len(events) - 1, ["delta"], [*path, "arguments"]])
            del left["arguments"]
