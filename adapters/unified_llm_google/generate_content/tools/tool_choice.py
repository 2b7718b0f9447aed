"""The choice among tools: `toolConfig`, with where maps and searches are centered.

One mode, with or without names; a single name under ANY is the choice of that function.

https://ai.google.dev/gemini-api/docs/function-calling#function_calling_modes
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, lookup, take, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from ..values.enums import marked, number_of, take_name
from ..values.spelling import actual
from ..values.tables import FUNCTION_CALLING

__all__ = ["hollow_config", "read_tool_config", "write_tool_config"]

Node = dict[str, Any]


def read_tool_config(w: Node, c: Node, r: Reader, spelled: list[str]) -> None:
    """`toolConfig`: the choice, and where maps and searches are centered."""
    config = take(w, "toolConfig")
    hollow = [key for key in _INNER if config.get(key) == {}] if config else ["toolConfig"]
    if hollow:
        r.form(c, "hollow", hollow)
    if type(config.get("functionCallingConfig")) is dict:
        calling = take(config, "functionCallingConfig")
        choice = _read_choice(calling, c, r)
        if choice is not None:
            c["tool_choice"] = choice
            path = ("toolConfig", "functionCallingConfig")
            key = "mode" if type(choice) is str else "allowedFunctionNames"
            r.place(c, ("tool_choice",), actual((*path, key), spelled))
            r.place(c, ("tool_choice", "mode"), actual((*path, "mode"), spelled))
            listed = actual((*path, key), spelled)
            if type(choice) is dict and "name" in choice:
                r.place(c, ("tool_choice", "type"), actual((*path, "mode"), spelled))
                r.place(c, ("tool_choice", "name"), (*listed, 0))
            if type(choice) is dict and "tools" in choice:
                r.place(c, ("tool_choice", "tools"), listed)
                for index in range(len(choice["tools"])):
                    r.place(c, ("tool_choice", "tools", index), (*listed, index))
    maps = next((tool for tool in c.get("tools") or () if tool.get("type") == "maps"), None)
    if maps is not None and type(config.get("retrievalConfig")) is dict:
        place = take(config, "retrievalConfig")
        if type(place.get("languageCode")) is str:
            maps["language_code"] = place.pop("languageCode")
            r.place(
                maps, ("language_code",), (..., *actual(("toolConfig", "retrievalConfig", "languageCode"), spelled))
            )
        if type(place.get("latLng")) is dict:
            point = take(place, "latLng")
            for key in ("latitude", "longitude"):
                if type(point.get(key)) in (int, float):
                    maps[key] = point.pop(key)
                    r.place(maps, (key,), (..., *actual(("toolConfig", "retrievalConfig", "latLng", key), spelled)))


def _read_choice(calling: Node, c: Node, r: Reader) -> Any:
    take_name(calling, "mode", "Mode", c, r)
    mode, names = calling.get("mode"), calling.get("allowedFunctionNames")
    if (
        type(mode) is not str
        or mode.upper() not in FUNCTION_CALLING.reads
        or (mode != mode.upper() and mode != mode.lower())
    ):
        return None
    if names is not None and not (type(names) is list and all(type(name) is str for name in names)):
        return None
    hub = FUNCTION_CALLING.read(calling.pop("mode").upper())
    if mode != mode.upper():
        r.form(c, "mode", "lower")
    if not names:
        if names == []:
            del calling["allowedFunctionNames"]
            r.form(c, "names", "empty")
        return hub
    del calling["allowedFunctionNames"]
    if hub == "required" and len(names) == 1:
        return {"type": "function", "name": names[0]}
    if hub == "auto":
        r.form(c, "names", "auto")
    return {"type": "allowed_tools", "mode": hub, "tools": [{"type": "function", "name": name} for name in names]}


def write_tool_config(c: Node, w: Writer) -> Node:
    """The `toolConfig` of a request, {} when it is empty."""
    config: Node = {}
    calling = _write_choice(c, w)
    if calling:
        if w.form(c, "mode") == "lower" and type(calling.get("mode")) is str:
            calling["mode"] = calling["mode"].lower()
        elif type(calling.get("mode")) is str:
            calling["mode"] = number_of(calling["mode"], "Mode", marked(c, w))
        config["functionCallingConfig"] = calling
    place = w.context.get("place")
    if place:
        config["retrievalConfig"] = place
    return config


def hollow_config(c: Node, config: Node, w: Writer) -> bool:
    """Put back what a `toolConfig` held that holds nothing; whether it is to be written at all."""
    hollow = w.form(c, "hollow") or ()
    for key in hollow:
        if key in _INNER:
            config.setdefault(key, {})
    return bool(config or hollow)


_INNER = ("functionCallingConfig", "retrievalConfig")
_NAMED = ("function", "custom")


def _has_functions(tools: Any) -> bool:
    return type(tools) is list and any(tool.get("type") in _NAMED for tool in tools)


def _write_choice(c: Node, w: Writer) -> Node:
    choice = c.get("tool_choice")
    if choice is not None and w.source not in (None, w.protocol) and not _has_functions(w.doc.get("tools")):
        c["tool_choice"] = Fated("approximated" if choice == "none" else "lost", "tool_choice requires a function tool")
        return {}
    if type(choice) is str:
        if choice not in FUNCTION_CALLING.writes:
            return {}
        none: Node = {"allowedFunctionNames": []} if w.form(c, "names") == "empty" else {}
        return {"mode": FUNCTION_CALLING.write(c.pop("tool_choice")), **none}
    if type(choice) is not dict:
        return {}
    if choice.get("type") in ("function", "custom") and type(choice.get("name")) is str:
        own = take(c, "tool_choice")
        del own["type"]
        return {"mode": "ANY", "allowedFunctionNames": [own.pop("name")]}
    if choice.get("type") != "allowed_tools" or type(choice.get("tools")) is not list:
        return {}
    names = [
        tool["name"] for tool in choice["tools"] if type(tool) is dict and tool.get("type") in _NAMED and "name" in tool
    ]
    mode = choice.get("mode") or "auto"
    if not names or lookup(FUNCTION_CALLING.writes, mode) is None or len(names) != len(choice["tools"]):
        return {}
    own = take(c, "tool_choice")
    for tool in take_all(own, "tools"):
        del tool["type"], tool["name"]
    for key in ("type", "mode"):
        own.pop(key, None)
    if mode == "auto" and w.form(c, "names") != "auto":
        own["mode"] = Fated("approximated", "names go with VALIDATED, not with AUTO")
        mode = "validated"
    wire: Node = {"mode": FUNCTION_CALLING.write(mode), "allowedFunctionNames": names}
    if choice.get("mode") is None:
        w.added(wire, "mode", "required; the target's default was written")
    return wire
