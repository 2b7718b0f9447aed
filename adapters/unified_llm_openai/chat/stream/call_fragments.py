"""The tool calls of one choice, gathered from fragments.

Fragments of parallel calls may interleave, so a call stays open until its arguments are whole and another begins, or
the choice ends. A fragment belongs to the call with its id, else to the last one under its index, else to the last
one. A new id is a new call whatever its index, and so, after whole arguments, is a new name, or an id that comes again
with a name under another index: some servers give all calls of an answer one id. A call is announced once its id and
name are known; an id that never comes is made.

A name may be repeated in each fragment, or come in pieces before the arguments. A call waits for the rest of its name
where that is the beginning of one that the request declares. Any other name is taken as whole: no call waits for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from weakref import proxy

from unified_llm.foundation.json_codec import dump_text, load_text

from ..tools import call_id_of, calls, declared_names, is_repeated
from .merge import Fragments

if TYPE_CHECKING:
    from .choice_reader import ChoiceReader

__all__ = ["Calls"]

Event = dict[str, Any]
Node = dict[str, Any]
Path = list[Any]


class _Call:
    """A call being gathered."""

    __slots__ = (
        "_depth", "_escaped", "_last", "_read", "_string", "_tops", "_whole", "arguments", "at", "done", "fragments",
        "id", "index", "inner", "item", "kind", "marker", "name", "order", "ordinal", "rest", "sources",
    )  # fmt: skip

    def __init__(self, index: Any) -> None:
        self.index = index
        self.id: str | None = None
        self.name: str | None = None
        self.kind = "function"
        self.arguments: list[str] = []
        self.rest: Node = {}
        self.inner: Node = {}
        self.fragments = Fragments()  # what these two consist of
        self.at: Node | None = None
        self.item: Node | None = None
        self.done = False
        self.marker: str | None = None
        self.ordinal = self.order = 0
        # What `whole` has read: how many fragments, the last that is not blank, how deep the JSON is there, how many
        # values it ended, whether it is in a string and behind a backslash; and what came of it.
        self._read = self._depth = self._tops = 0
        self._last = ""
        self._string = self._escaped = False
        self._whole: bool | None = False
        # Where its pieces came from first.
        self.sources: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def whole(self) -> bool:
        """Whether the arguments are a JSON object. Each fragment is read once, and all of them when they may be one."""
        for text in self.arguments[self._read :]:
            if text.strip():
                self._last, self._whole = text, None
            self._scan(text)
        self._read = len(self.arguments)
        if self._whole is None:
            ends = self._tops == 1 and not (self._depth or self._string) and self._last.rstrip().endswith("}")
            self._whole = ends and self._is_object()
        return self._whole

    def _scan(self, text: str) -> None:
        if self._escaped and text:
            text, self._escaped = text[1:], False
        for sign in _SIGNS.findall(text):
            if sign[0] == "\\":
                self._escaped = len(sign) == 1
            elif sign == '"':
                self._string = not self._string
            elif not self._string:
                self._depth += 1 if sign in "{[" else -1
                self._tops += not self._depth

    def _is_object(self) -> bool:
        try:
            return type(load_text("".join(self.arguments))) is dict
        except ValueError:
            return False


# What JSON is followed by: brackets and quotes, and what is escaped in a string.
_SIGNS = re.compile(r'\\.?|["{}\[\]]', re.DOTALL)

_TEXTS = {"function": "arguments", "custom": "input"}


def _inner(fragment: Node, kind: str | None) -> tuple[str, Node, str | None]:
    """The kind of call that a fragment is of, unless it is known, with the object of it and the name in that."""
    if kind is None:
        kind = "function" if type(fragment.get("function")) is dict else "custom"
        if type(fragment.get("custom")) is not dict or fragment.get("type") == "function":
            kind = "function"
    inner = fragment.get(kind)
    inner = inner if type(inner) is dict else {}
    name = inner.get("name")
    return kind, inner, name if type(name) is str and name else None


# The fields of a fragment with its place, and those without information.
_SILENT = frozenset(("index", "type"))
_NOTHING: tuple[Any, ...] = (None, "", [], {})


def _odd(fragment: Node, kind: str, name: str | None, value_key: str) -> Node:
    """The part of a fragment that no call has: another id, type or name, arguments that are none or come too late."""
    odd: Node = {}
    if type(fragment.get("id")) is not str and fragment.get("id") not in _NOTHING:
        odd["id"] = fragment["id"]
    if fragment.get("type") not in (None, "", kind):
        odd["type"] = fragment["type"]
    inner = fragment.get(kind)
    if type(inner) is not dict:
        return odd if inner in _NOTHING else {**odd, kind: inner}
    left: Node = {}
    if inner.get("name") not in (None, "", name):
        left["name"] = inner["name"]
    for key in ("arguments", "input"):
        value = inner.get(key)
        if value not in _NOTHING and (key != value_key or type(value) not in (str, dict)):
            left[key] = value
    return {**odd, kind: left} if left else odd


def _text(value: Any) -> str:
    """The arguments of a fragment; some servers send the object itself."""
    return value if type(value) is str else dump_text(value) if type(value) is dict else ""


def _hashed(index: Any) -> Any:
    """What stands for an index in a key; some servers send one that is not a number."""
    return repr(index) if type(index) is dict or type(index) is list else index


class Calls:
    """The calls of a choice, in the order they began."""

    def __init__(self, choice: ChoiceReader) -> None:
        # The choice holds its calls, and must not be held by them: a cycle lives until the garbage collector finds it.
        self.choice: ChoiceReader = proxy(choice)
        self.r = choice.r
        self.all: list[_Call] = []
        # The last call of an index, of an id, and of both; those that may be closed, if they are whole.
        self._by_index: dict[Any, _Call] = {}
        self._by_id: dict[tuple[str, Any], _Call] = {}
        self._told: dict[int, _Call] = {}
        self.last_fragments: list[str] = []
        self.legacy: _Call | None = None
        # The call that waits for the rest of its name, and the names that the request declares, once they matter.
        self._unnamed: _Call | None = None
        self._names: frozenset[str] | None = None

    def gathered(self) -> list[tuple[Any, ...]]:
        """The id, the name and the arguments of each call so far."""
        return [(call.id, call.name, "".join(call.arguments)) for call in self.all]

    def fragment(self, fragment: Node, path: Path, events: list[Event], slots: list[list[Any]]) -> Node:
        """The events of a fragment; gives back the part that neither they nor the finished call have."""
        call_id = fragment.get("id")
        call_id = call_id if type(call_id) is str and call_id else None
        kind, inner, name = _inner(fragment, None)
        call = self._find(fragment.get("index"), call_id, name)
        if call is None:
            self.choice.close_open(events)
            self.close(events, only_whole=True)
            if not (call_id or name or inner.get("arguments") or inner.get("input")):
                return {key: value for key, value in fragment.items() if key not in _SILENT and value not in _NOTHING}
            call = _Call(fragment.get("index"))
            call.ordinal = self.r.context["opened"] = self.r.context.get("opened", 0) + 1
            call.kind = kind
            call.sources[()] = self.r.here(*path)
            self._begin(call)
        elif call.kind != kind:
            kind, inner, name = _inner(fragment, call.kind)
        self._told[call.order] = call
        value_key = _TEXTS[kind]
        opened = call.at is not None
        if call_id is not None and call.id is None:
            call.id = call_id
            self._identify(call)
            call.sources[("id",)] = self.r.here(*path, "id")
        named = name is not None and self._takes(call, name)
        if named:
            call.name = (call.name or "") + (name or "")
            call.sources.setdefault((kind, "name"), self.r.here(*path, kind, "name"))
        for key, value in fragment.items():
            if key not in ("index", "id", "type", kind):
                call.fragments.enter(call.rest, key, value)
                call.sources.setdefault((key,), self.r.here(*path, key))
        for key, value in inner.items():
            if key not in ("name", "arguments", "input"):
                call.fragments.enter(call.inner, key, value)
                call.sources.setdefault((kind, key), self.r.here(*path, kind, key))
        value = inner.get(value_key)
        text = _text(value)
        odd = _odd(fragment, kind, name if named else call.name, "" if call.done else value_key)
        if not opened and call.id is not None and call.name is not None and not self._waits(call, text):
            self._announce(call, events)
            if inner.get("name") == call.name:
                slots.append([len(events) - 1, ["item", "name"], [*path, kind, "name"]])
            if fragment.get("id") == call.id:
                slots.append([len(events) - 1, ["item", "call_id"], [*path, "id"]])
            self._waiting(call, events)
        if text and not call.done:
            call.sources.setdefault((kind, value_key), self.r.here(*path, kind, value_key))
            self._more(call, text, events)
            if call.at is not None and type(value) is str:
                slots.append([len(events) - 1, ["delta"], [*path, kind, value_key]])
        return odd

    def _find(self, index: Any, call_id: str | None, name: str | None) -> _Call | None:
        """The call a fragment goes on with; None when it begins one."""
        known = self._by_id.get((call_id, ...)) if call_id is not None else None
        if call_id is not None and known is not None:
            here = known if index is None else self._by_id.get((call_id, _hashed(index)))
            if here is not None or name is None or not known.whole():
                return here or known
            return None
        last = (self.all[-1] if self.all else None) if index is None else self._by_index.get(_hashed(index))
        if last is None:
            return None
        if call_id is not None:
            return last if last.id is None else None
        if last is self._unnamed and last.at is None:
            return last
        if name is not None and last.name is not None and (index is None or name != last.name or last.whole()):
            return None if last.whole() or index is None else last
        return last

    def _takes(self, call: _Call, name: str) -> bool:
        """Whether a call gets this name, or more of the one that it has."""
        if call.name is None:
            return True
        return call.at is None and name != call.name and not call.arguments and self._is_begun(call.name)

    def _waits(self, call: _Call, text: str) -> bool:
        """Whether a call is not announced before more of its name has come, or this text of its arguments."""
        if text or call.arguments or not self._is_begun(call.name or ""):
            return False
        self._unnamed = call
        return True

    def _is_begun(self, name: str) -> bool:
        """Whether the request declares names that begin with this one, and not this one itself."""
        if self._names is None:
            self._names = declared_names(self.r.exchange) if self.r.exchange is not None else frozenset()
        return name not in self._names and any(each.startswith(name) for each in self._names)

    def _begin(self, call: _Call) -> None:
        call.order = len(self.all)
        self.all.append(call)
        self._by_index[_hashed(call.index)] = call
        if call.id is not None:
            self._identify(call)

    def _identify(self, call: _Call) -> None:
        """Register a call by its id: the last of those that share one, and the last of these under its index."""
        for key in ((call.id or "", ...), (call.id or "", _hashed(call.index))):
            if key not in self._by_id or self._by_id[key].order < call.order:
                self._by_id[key] = call

    def _announce(self, call: _Call, events: list[Event]) -> None:
        call.at = self.choice.place()
        key = "input" if call.kind == "custom" else "arguments"
        type_ = "custom_tool_call" if call.kind == "custom" else "function_call"
        item = {"type": type_, "call_id": call.id, "name": call.name, key: ""}
        events.append(self.choice.event("response.output_item.added", call.at, item=item))

    def _more(self, call: _Call, text: str, events: list[Event]) -> None:
        """More of the arguments; those of a call that is not announced yet wait for that."""
        call.arguments.append(text)
        self.last_fragments = call.arguments
        if call.at is not None:
            self._arguments(call, text, events)

    def _waiting(self, call: _Call, events: list[Event]) -> None:
        """The arguments that came before the name or the id."""
        if call.arguments:
            self._arguments(call, "".join(call.arguments), events)

    def _arguments(self, call: _Call, text: str, events: list[Event]) -> None:
        stem = "response.custom_tool_call_input" if call.kind == "custom" else "response.function_call_arguments"
        events.append(self.choice.event(f"{stem}.delta", call.at or {}, delta=text))

    def close(self, events: list[Event], *, only_whole: bool = False) -> None:
        unnamed, self._unnamed = self._unnamed, None
        if unnamed is not None and unnamed.at is None and unnamed.id is not None:
            self._announce(unnamed, events)
        # What was not whole when it was looked at last is not whole now, unless more of it arrived.
        told, self._told = self._told, {}
        for call in [told[order] for order in sorted(told)] if only_whole else self.all:
            if call.done or (only_whole and not call.whole()):
                continue
            if only_whole and call.at is None:
                continue
            call.name = call.name or ""
            if call.id is None:
                call.id = call_id_of(self.r.seed, call.ordinal)
                self._identify(call)
                call.marker = "absent"
            if call.at is None:
                self._announce(call, events)
                self._waiting(call, events)
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
            if call.inner:
                self.r.keep(item, call.inner)
            self.r.made(item, self.r.gather({"name": call.name, "arguments": text, **call.inner}, call.sources))
            self.r.form(item, "legacy", True)
            if not text:
                self.r.form(item, "arguments", "empty")
            return item
        key = "input" if call.kind == "custom" else "arguments"
        wire = {"id": call.id, "type": call.kind, call.kind: {"name": call.name, key: text, **call.inner}, **call.rest}
        self.r.gather(wire, call.sources)
        item = call.item = self.r.node(calls, wire)
        if call.marker:
            self.r.form(item, "id", call.marker)
        return item

    def _is_known(self, wire: Node) -> bool:
        """Whether a `function_call` repeats the whole of the first call, or of the last one."""
        said = [(call.name, "".join(call.arguments)) for call in (*self.all[:1], *self.all[-1:])]
        return wire.keys() == {"name", "arguments"} and (wire["name"], wire["arguments"]) in said

    def legacy_call(self, delta: Node, path: Path, events: list[Event], slots: list[list[Any]]) -> Node:
        """The events of a piece of `function_call`; gives back the part that neither they nor the call have."""
        wire, path = delta["function_call"], [*path, "function_call"]
        if self.legacy is None and (is_repeated(wire, delta.get("tool_calls")) or self._is_known(wire)):
            self.choice.add("function_call", wire)
            return {}
        call, value = self.legacy, wire.get("arguments")
        name = wire["name"] if type(wire.get("name")) is str and wire["name"] else None
        text = _text(value)
        if call is None and not (name or text):
            return {key: inner for key, inner in wire.items() if inner not in _NOTHING}
        if call is None:
            self.choice.close_open(events)
            call = self.legacy = _Call(object())
            call.id = call_id_of(self.r.seed, "legacy", self.choice.index)
            call.sources[()] = self.r.here(*path)
            self._begin(call)
        self._told[call.order] = call
        named = name is not None and self._takes(call, name)
        if named:
            call.name = (call.name or "") + (name or "")
            call.sources.setdefault(("name",), self.r.here(*path, "name"))
        if call.at is None and call.name is not None and not self._waits(call, text):
            self._announce(call, events)
            if name == call.name:
                slots.append([len(events) - 1, ["item", "name"], [*path, "name"]])
            self._waiting(call, events)
        for key, inner in wire.items():
            if key not in ("name", "arguments"):
                call.fragments.enter(call.inner, key, inner)
                call.sources.setdefault((key,), self.r.here(*path, key))
        if text and not call.done:
            call.sources.setdefault(("arguments",), self.r.here(*path, "arguments"))
            self._more(call, text, events)
            if call.at is not None and type(value) is str:
                slots.append([len(events) - 1, ["delta"], [*path, "arguments"]])
        odd: Node = _odd({"function": wire}, "function", name if named else call.name, "" if call.done else "arguments")
        return {**odd.get("function", {})}
