"""An answer as its client expects it: what was changed for the provider, restored.

The exchange contains the changes: ids and names that were renamed, custom tools that became functions, arguments and
output made under a lowered schema. Of a stream, only what must be whole to be turned back is held until it is; all else
flows on as it comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..foundation.json_codec import load_text
from ..streams.collect_and_decompose import FRAME, TERMINAL
from .tools.restored_calls import actions, commands, raw_input, unnamed
from .tools.screen_actions import TOOLS

if TYPE_CHECKING:
    from ..engine.adapter import WireWriter
    from ..engine.pairs.reading import Reader
    from ..foundation.exchange import Exchange
    from ..streams.event_fast_path import WriteMore

__all__ = ["Restoring", "RestoringWriter", "restoring"]

Node = dict[str, Any]
Event = dict[str, Any]
Place = tuple[int, int]

_ARGUMENTS = "response.function_call_arguments."
_INPUT = "response.custom_tool_call_input."
_TEXT = "response.output_text."
_PART_DONE = "response.content_part.done"
_ADDED = "response.output_item.added"
_DONE = "response.output_item.done"


def restoring(exchange: Exchange | None) -> Restoring | None:
    """What turns answers back, None where there is nothing to turn back."""
    if exchange is None:
        return None
    changed = exchange.ids or exchange.names or exchange.namespaces or exchange.tools or exchange.output
    named = exchange.answer_id or exchange.id_prefix or exchange.previous or exchange.created_at
    if not changed and not named:
        return None
    return Restoring(exchange)


class Restoring:
    """The changes of one exchange, undone."""

    def __init__(self, exchange: Exchange) -> None:
        self.ids: Mapping[str, str] = exchange.ids
        self.names: Mapping[str, str] = exchange.names
        self.tools: Mapping[str, Any] = exchange.tools
        self.namespaces: Mapping[str, list[str]] = exchange.namespaces
        self.output: Mapping[str, Any] = exchange.output
        self.created_at: int | None = exchange.created_at
        self.answer_id: str = exchange.answer_id
        self.id_prefix: str = exchange.id_prefix
        self.previous: str | None = exchange.previous
        # Nodes that were made, with those they stand for.
        self.replaced: list[tuple[Node, Node]] = []

    @property
    def holds(self) -> bool:
        """Whether anything has to be whole before it is turned back."""
        return bool(self.tools or self.output)

    def response(self, response: Node) -> Node:
        """A response, or what an event holds of one: the same object where nothing had to change."""
        changes: Node = {}
        id_ = response.get("id")
        if self.answer_id and not id_:
            changes["id"] = self.answer_id
        elif self.id_prefix and type(id_) is str and not id_.startswith(self.id_prefix):
            changes["id"] = self.id_prefix + id_
        if self.created_at is not None and not response.get("created_at"):
            changes["created_at"] = self.created_at
        if self.previous is not None:
            changes["previous_response_id"] = self.previous
        if type(response.get("output")) is list:
            changes["output"] = self.items(response["output"])
        if type(response.get("choices")) is list:
            changes["choices"] = [
                self._new(choice, {"output": self.items(choice["output"])})
                if type(choice) is dict and type(choice.get("output")) is list
                else choice
                for choice in response["choices"]
            ]
            if all(new is old for new, old in zip(changes["choices"], response["choices"])):
                del changes["choices"]
        return self._new(response, changes)

    def items(self, items: list[Node]) -> list[Node]:
        """Items of an answer; the same list where nothing had to change."""
        made = [self.item(item) if type(item) is dict else item for item in items]
        return made if any(new is not old for new, old in zip(made, items)) else items

    def item(self, item: Node) -> Node:
        """One item; the same object where nothing had to change."""
        kind = item.get("type")
        changes: Node = {}
        call_id = item.get("call_id")
        if type(call_id) is str and call_id in self.ids:
            changes["call_id"] = self.ids[call_id]
        if kind == "message":
            if self.output and type(item.get("content")) is list:
                changes["content"] = [self.part(part) for part in item["content"]]
            elif self.output and type(item.get("content")) is str:
                changes["content"] = undone(item["content"], self.output)
            return self._new(item, changes)
        name = item.get("name")
        if type(name) is not str or kind not in ("function_call", "custom_tool_call"):
            return self._new(item, changes)
        if name in self.names:
            changes["name"] = self.names[name]
        joined = self.namespaces.get(self.names.get(name, name))
        if joined is not None:
            space, changes["name"] = joined
            if space:
                changes["namespace"] = space
        if kind == "function_call" and name in self.tools:
            if self.is_screen(item):
                found = actions(item.get("arguments"), self.tools[name])
                # Anything else remains a call of a function, which the client can refuse.
                return self._new(item, changes) if found is None else unnamed(self._new(item, {**changes, **found}))
            if self.tools[name] == "shell":
                new = self._new(item, {**changes, "type": "shell_call", "action": commands(item.get("arguments"))})
                return unnamed(new)
            if self.tools[name] == "custom":
                changes.update(type="custom_tool_call", input=raw_input(item.get("arguments")))
                new = self._new(item, changes)
                new.pop("arguments", None)
                return new
            if "arguments" in item:
                changes["arguments"] = undone(item["arguments"], self.tools[name])
        return self._new(item, changes)

    def part(self, part: Any) -> Any:
        """One part of a message's content, of which only text is bound by a schema."""
        if type(part) is not dict or part.get("type") != "output_text" or type(part.get("text")) is not str:
            return part
        return self._new(part, {"text": undone(part["text"], self.output)})

    def _new(self, node: Node, changes: Node) -> Node:
        if all(key in node and node[key] == value for key, value in changes.items()):
            return node
        new = {**node, **changes}
        self.replaced.append((new, node))
        return new

    def is_screen(self, item: Node) -> bool:
        """Whether an item is a call of a tool that takes actions on a screen: what it becomes depends on the action."""
        name = item.get("name")
        mark = self.tools.get(name) if item.get("type") == "function_call" and type(name) is str else None
        return type(mark) is str and mark in TOOLS

    def is_held(self, item: Node) -> bool:
        """Whether what an item is built up of has to be whole to be turned back."""
        if item.get("type") == "message":
            return bool(self.output)
        return item.get("type") == "function_call" and item.get("name") in self.tools


def undone(text: Any, kept: Any) -> Any:
    """JSON text made under a lowered schema, as the caller's own schema has it."""
    if type(text) is not str or not isinstance(kept, dict):
        return text
    names = kept.get("property_names")
    from .schemas import Lowered, NameRule, SchemaProfile, restore_arguments

    profile = SchemaProfile(property_names=NameRule(*names)) if names else None
    restored: Any = restore_arguments(text, Lowered.from_json(kept), profile)
    return _bare(restored) if kept.get("plain") else restored


def _bare(text: Any) -> Any:
    """The text that a JSON text is, without quotes; what is none as it came."""
    try:
        value = load_text(text)
    except ValueError:
        return text
    return value if type(value) is str else text


class RestoringWriter:
    """A writer of wire events that is given every canonical event as the client expects it."""

    def __init__(self, writer: WireWriter, restoring: Restoring, reader: Reader, frames: str = "") -> None:
        self.writer = writer
        self.restoring = restoring
        self.reader = reader
        # The protocol whose frames are left out.
        self.frames = frames
        self.held: dict[Place, _Held] = {}
        self._more = getattr(writer, "write_more", None)
        self._passed = False
        # The wire nodes of what was read in an event, by identity: the event's number, and how many notes were seen.
        self._number: int | None = -1
        self._now: dict[int, Node] = {}
        self._noted = 0
        self._before: tuple[int | None, dict[int, Node]] = (-1, {})  # and of all events until the one of this number

    def feed(self, event: Event) -> list[Event]:
        """Restore one event and write it; returns the wire events."""
        if self.frames and self.frames in event.get("extra", ()):
            if event["type"] == FRAME:
                return []
            event = _unframed(event, self.frames)
        events = self.events(event)
        self._passed = len(events) == 1 and events[0] is event
        if self._passed:
            return self.writer.feed(event)
        out: list[Event] = []
        for each in events:
            out += self.writer.feed(each)
        return out

    def write_more(self) -> WriteMore | None:
        """How the writer would write more of the same, where it was given the last event as it came."""
        return self._more() if self._more is not None and self._passed else None

    def close(self) -> list[Event]:
        """End the stream; returns the last wire events."""
        return self.writer.close()

    def events(self, event: Event) -> list[Event]:
        """The events the client is to see instead of one."""
        kind = event["type"]
        if kind == _ADDED or kind == _DONE:
            return self._item(event, kind == _DONE)
        if self.held and "output_index" in event:
            held = self.held.get((event.get("choice", 0), event["output_index"]))
            if held is not None:
                return self._inside(event, kind, held)
        out: list[Event] = []
        if kind == "error" or kind in TERMINAL:
            for (choice, index), held in self.held.items():
                out += self._broken_off(held, {"output_index": index, **({"choice": choice} if choice else {})})
            self.held.clear()
        if type(event.get("response")) is dict:
            return [*out, self._with(event, "response", self._restored(event["response"], self.restoring.response))]
        return [*out, event]

    def _broken_off(self, held: _Held, at: Event) -> list[Event]:
        """What was held of an item that never came to its end, as far as it got."""
        out = [
            _delta(at, _TEXT, undone("".join(pieces), self.restoring.output), content_index=index)
            for index, pieces in held.texts.items()
        ]
        if not held.told:
            new = self.restoring.item({**held.item, "arguments": "".join(held.pieces)})
            self.restoring.replaced.clear()
            out += held.tell(new, at)
        return out

    def _item(self, event: Event, done: bool) -> list[Event]:
        item = event.get("item")
        if type(item) is not dict:
            return [event]
        place = (event.get("choice", 0), event.get("output_index", 0))
        if not done and self.restoring.is_held(item):
            self.held[place] = _Held(item)
            if self.restoring.is_screen(item):
                self.held[place].opening = event
                return []
            opening = {**item, "arguments": ""} if item.get("arguments") else item
            self._trace([(opening, item)], opening=True)
            return [self._with(event, "item", self._restored(opening, self.restoring.item, opening=True))]
        new = self._with(event, "item", self._restored(item, self.restoring.item, opening=not done))
        held = self.held.pop(place, None) if done else None
        if held is None or held.told:
            return [new]
        # An item that is complete in its end only.
        return [*held.tell(new["item"], event), *held.end(new["item"], event), new]

    def _inside(self, event: Event, kind: str, held: _Held) -> list[Event]:
        if kind.startswith(_ARGUMENTS):
            if kind.endswith("delta"):
                held.pieces.append(event.get("delta") or "")
                return []
            text = event.get("arguments")
            item = {**held.item, "arguments": text if type(text) is str else "".join(held.pieces)}
            new = self.restoring.item(item)
            self.restoring.replaced.clear()
            return [*held.tell(new, event), *held.end(new, event)]
        if kind.startswith(_TEXT) and not kind.startswith(_TEXT + "annotation"):
            if kind.endswith("delta"):
                held.texts.setdefault(event.get("content_index", 0), []).append(event.get("delta") or "")
                return []
            return self._text(event, held, event.get("text"))
        if kind == _PART_DONE and type(event.get("part")) is dict and event["part"].get("type") == "output_text":
            new = self._with(event, "part", self._restored(event["part"], self.restoring.part))
            return [*self._text(event, held, event["part"].get("text"), end=False), new]
        return [event]

    def _text(self, event: Event, held: _Held, text: Any, end: bool = True) -> list[Event]:
        """The whole of a text that was held, once."""
        index = event.get("content_index", 0)
        pieces = held.texts.pop(index, None)
        new = undone(text if type(text) is str else "".join(pieces or ()), self.restoring.output)
        out = [] if pieces is None else [_delta(event, _TEXT, new, content_index=index)]
        return [*out, {**event, "text": new}] if end else out

    def _with(self, event: Event, key: str, value: Any) -> Event:
        return event if value is event[key] else {**event, key: value}

    def _restored(self, node: Node, change: Any, opening: bool = False) -> Node:
        new: Node = change(node)
        if self.restoring.replaced:
            self._trace(self.restoring.replaced, opening)
            self.restoring.replaced.clear()
        return new

    def _trace(self, replaced: list[tuple[Node, Node]], opening: bool = False) -> None:
        """What is lost of a node that was made is lost of the wire node behind the one it stands for.

        An item that opens was read in this event, if it was read at all: nothing before it is looked through.
        """
        now = self._read_now()
        here = opening or all(id(old) in now for _, old in replaced)
        before = {} if here else self._read_before()
        for new, old in replaced:
            wire = now.get(id(old)) or before.get(id(old))
            if wire is not None and new is not old:
                self.reader.trace.append((new, wire))

    def _read_now(self) -> dict[int, Node]:
        """The wire nodes of the canonical ones that were read in this event."""
        reader = self.reader
        trace = reader.traced()
        if reader.number != self._number:
            self._number, self._now, self._noted = reader.number, {}, reader.since
        for made, wire in trace[self._noted :]:
            self._now[id(made)] = wire
        self._noted = len(trace)
        return self._now

    def _read_before(self) -> dict[int, Node]:
        """The same of all that were read until this event: a reader may hold many items, and release them at once."""
        number, wires = self._before
        if number != self.reader.number:
            wires = {}
            for made, wire in self.reader.latest():
                wires.setdefault(id(made), wire)
            self._before = self.reader.number, wires
        return wires


def _unframed(event: Event, protocol: str) -> Event:
    own = {slot: value for slot, value in event["extra"][protocol].items() if slot != "frame"}
    extra = {name: drawer for name, drawer in event["extra"].items() if name != protocol}
    return {**event, "extra": {**extra, **({protocol: own} if own else {})}}


class _Held:
    """What is kept of an open item until it is whole."""

    def __init__(self, item: Node) -> None:
        self.item = item
        self.pieces: list[str] = [item["arguments"]] if type(item.get("arguments")) is str else []
        self.texts: dict[int, list[str]] = {}
        self.told = item.get("type") == "message"
        # The event that it begins with, where that waits as well.
        self.opening: Event | None = None

    def tell(self, item: Node, event: Event) -> list[Event]:
        """The arguments, or the input, in one piece."""
        self.told = True
        out: list[Event] = []
        if self.opening is not None:
            # What it is could not be known before.
            shown = {**item, "arguments": ""} if "arguments" in item else item
            out = [{**self.opening, "item": {**shown, "status": "in_progress"}}]
        custom = item.get("type") == "custom_tool_call"
        text = item.get("input" if custom else "arguments")
        return [*out, _delta(event, _INPUT if custom else _ARGUMENTS, text)] if text else out

    def end(self, item: Node, event: Event) -> list[Event]:
        """The end of the arguments, or of the input. Commands of a shell and actions are in the item alone."""
        if item.get("type") in ("shell_call", "computer_call"):
            return []
        at = {key: value for key, value in event.items() if key not in ("type", "item", "arguments", "name")}
        if item.get("type") == "custom_tool_call":
            return [{"type": _INPUT + "done", **at, "input": item.get("input") or ""}]
        if "name" in event:
            at["name"] = item["name"]
        return [{"type": _ARGUMENTS + "done", **at, "arguments": item.get("arguments") or ""}]


def _delta(event: Event, stem: str, text: str, **more: Any) -> Event:
    at: Event = {key: event[key] for key in ("item_id", "output_index", "choice") if key in event}
    return {"type": stem + "delta", **at, **more, "delta": text}
