"""Steps of hosted tools, each read and written side by side: searches, pages, code, places, stores, remote tools.

A call's `id` and its result's `call_id` are one id, the canonical `call_id`. A step may be signed; its signature is
opaque and stays on it. A call that holds its result inline, as other protocols have it, is written as two steps.

https://ai.google.dev/api/interactions-api
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, Mapping, are_nodes, take, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.code_results import (
    are_code,
    failed,
    said_by,
    take_commands,
    take_printed,
    take_ran,
)

from ..turns.step_fields import (
    call_id,
    move,
    move_back,
    read_id,
    read_result,
    read_signature,
    write_result,
    write_signature,
)
from ..values.tables import SEARCH_TYPE

__all__ = ["HOSTED", "apart", "begin_result", "end_result", "steps"]

Node = dict[str, Any]

steps = Mapping("google-interactions steps")


# ---- calls and results whose fields are renamed ---------------------------------------------------------------------

# wire call: canonical call, arguments by name (wire, canonical), keys beside them
_CALLS: dict[str, tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]]] = {
    "code_execution_call": ("code_interpreter_call", (("code", "code"), ("language", "language")), ()),
    "url_context_call": ("web_fetch_call", (("urls", "urls"),), ()),
    "google_maps_call": ("maps_call", (("queries", "queries"),), ()),
    "file_search_call": ("file_search_call", (("queries", "queries"),), ()),
    "retrieval_call": ("retrieval_call", (("queries", "queries"),), ("retrieval_type",)),
    "processing_call": ("processing_call", (), ()),
}
_RESULTS: dict[str, tuple[str, str]] = {
    # wire result: canonical result, canonical key of its `result`
    "url_context_result": ("web_fetch_result", "results"),
    "file_search_result": ("file_search_result", "results"),
    "retrieval_result": ("retrieval_result", "result"),
    "processing_result": ("processing_result", "result"),
}
# Steps that only report that something was searched or processed, and whether that failed.
_BARE = frozenset(("file_search_call", "file_search_result", "retrieval_result", "processing_result"))
_FAILING = frozenset(("url_context_result", "retrieval_result"))
_FAILS = _FAILING | {"google_search_result", "code_execution_result"}
_NEEDS_ARGUMENTS = frozenset(("code_execution_call", "url_context_call", "retrieval_call"))


def _declare_call(kind: str, hub: str, names: tuple[tuple[str, str], ...], beside: tuple[str, ...]) -> None:
    @steps.read(kind)
    def read(w: Node, r: Reader) -> Node:
        item: Node = {"type": hub, "call_id": read_id(w, "id")}
        if "signature" in w:
            read_signature(w, item, r)
        if type(w.get("arguments")) is dict:
            arguments = take(w, "arguments")
            move(arguments, item, names)
            if not any(name in item for _, name in names):
                r.form(item, "arguments", "empty")
        elif kind in _NEEDS_ARGUMENTS:
            r.form(item, "arguments", "absent")
        move(w, item, ((key, key) for key in beside))
        return item

    @steps.write(hub)
    def write(c: Node, w: Writer) -> Node:
        wire: Node = {"type": kind, "id": call_id(c, w, hub)}
        arguments = {} if kind in _BARE and w.crosses else {key: c.pop(name) for key, name in names if name in c}
        marker = w.form(c, "arguments")
        if arguments or marker == "empty" or (kind in _NEEDS_ARGUMENTS and marker != "absent"):
            wire["arguments"] = arguments
        move_back(c, wire, ((key, key) for key in beside))
        write_signature(c, wire, w)
        if kind == "code_execution_call" and type(c.get("outputs")) is list:
            _code_outputs(c, wire["id"], w)
        elif kind == "file_search_call" and type(c.get("results")) is list:
            result: Node = {"type": "file_search_result", "call_id": wire["id"]}
            if w.crosses:
                w.context.setdefault("after", []).append(result)
            else:
                apart(c, "results", {**result, "result": c["results"]}, w)
        return wire


def apart(c: Node, key: str, result: Node, w: Writer) -> None:
    """A result that the call holds inline becomes a step of its own, after the call's."""
    w.context.setdefault("after", []).append(result)
    c[key] = Fated("approximated", "a step of its own")


def _code_outputs(c: Node, id_: Any, w: Writer) -> None:
    bad = failed(c)
    printed = take_printed(c)
    if printed is None:
        return
    result = {"type": "code_execution_result", "call_id": id_, "result": printed, **({"is_error": True} if bad else {})}
    if c.get("status") in ("completed", "failed"):
        c["status"] = Fated("approximated", "represented by is_error")
    w.context.setdefault("after", []).append(result)


for _kind, _row in _CALLS.items():
    _declare_call(_kind, *_row)


def begin_result(w: Node, type_: str, r: Reader) -> Node:
    """An item with the fields that the results of all hosted tools share. Consumes them of `w`."""
    item: Node = {"type": type_, "call_id": read_id(w, "call_id")}
    move(w, item, (("is_error", "is_error"),))
    if "signature" in w:
        read_signature(w, item, r)
    return item


def end_result(c: Node, wire: Node, w: Writer) -> Node:
    """Complete the step of a hosted result: its required fields and its signature."""
    kind = wire["type"]
    if "result" not in wire and w.crosses and kind not in _BARE:
        wire["result"] = []
        w.added(wire, "result", "a step of a result has one")
    if not w.crosses or kind not in _BARE or kind in _FAILING:
        move_back(c, wire, (("is_error", "is_error"),))
        error = c.get("error")
        if w.crosses and "is_error" not in wire and kind in _FAILS and type(error) is dict and error:
            wire["is_error"] = True
            c["error"] = Fated("approximated", "represented by is_error")
    write_signature(c, wire, w)
    return wire


def _pages(c: Node, name: str, w: Writer) -> list[Node]:
    """Which pages were fetched, and how that went; without their content."""
    pages = take_all(c, name)
    for page in pages:
        if w.is_silent(page.get("extra")):
            del page["extra"]
    return [{key: page.pop(key) for key in ("url", "status") if key in page} for page in pages]


def _declare_result(kind: str, hub: str, name: str) -> None:
    @steps.read(kind)
    def read(w: Node, r: Reader) -> Node:
        item = begin_result(w, hub, r)
        if name == "result" or w.get("result") is None or are_nodes(w["result"]):
            move(w, item, (("result", name),))
        return item

    @steps.write(hub)
    def write(c: Node, w: Writer) -> Node:
        wire: Node = {"type": kind, "call_id": call_id(c, w, hub)}
        if kind == "url_context_result" and w.crosses and type(c.get(name)) is list:
            wire["result"] = _pages(c, name, w)
        elif name in c and not (kind in _BARE and w.crosses):
            wire["result"] = c.pop(name)
        return end_result(c, wire, w)


for _kind, (_hub, _name) in _RESULTS.items():
    _declare_result(_kind, _hub, _name)


# ---- code -----------------------------------------------------------------------------------------------------------


@steps.read("code_execution_result")
def read_code_result(w: Node, r: Reader) -> Node:
    item = begin_result(w, "code_interpreter_result", r)
    read_result(w, item, r)
    return item


@steps.write("code_interpreter_result")
def write_code_result(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "code_execution_result", "call_id": call_id(c, w, "code_interpreter_result")}
    write_result(c, wire, w)
    if w.source in (None, w.protocol) and not c.keys() & {"stdout", "stderr", "outcome", "return_code", "outputs"}:
        return end_result(c, wire, w)
    bad = failed(c)
    if "result" not in wire:
        printed = take_printed(c)
        error = c.get("error")
        if type(error) is dict and error:
            printed = printed or str(error.get("message") or error.get("code") or "")
            c["error"] = Fated("approximated", "sent as the result")
        if printed is None:
            w.added(wire, "result", "a result requires the output")
        wire["result"] = printed or ""
    if bad is not None and "is_error" not in c:
        if bad:
            wire["is_error"] = True
        said_by(c, "is_error")
    return end_result(c, wire, w)


@steps.write("shell_call")
def write_commands(c: Node, w: Writer) -> Node | None:
    """Write commands that another provider ran as a step of code, for a client that requested code execution."""
    if not are_code(c, w):
        return None
    wire: Node = {"type": "code_execution_call", "id": call_id(c, w, "code_interpreter_call")}
    code = take_commands(c)
    wire["arguments"] = {"language": "bash"} if code is None else {"code": code, "language": "bash"}
    return wire


@steps.write("shell_call_output")
def write_ran(c: Node, w: Writer) -> Node | None:
    """Write what they gave as the step of its result."""
    if not are_code(c, w):
        return None
    wire: Node = {"type": "code_execution_result", "call_id": call_id(c, w, "code_interpreter_result")}
    printed, bad = take_ran(c, "is_error")
    wire["result"] = printed or ""
    if printed is None:
        w.added(wire, "result", "a result requires the output")
    if bad:
        wire["is_error"] = True
    return wire


# ---- search ---------------------------------------------------------------------------------------------------------


@steps.read("google_search_call")
def read_search(w: Node, r: Reader) -> Node:
    item: Node = {"type": "web_search_call", "call_id": read_id(w, "id")}
    if "signature" in w:
        read_signature(w, item, r)
    if type(w.get("arguments")) is dict:
        arguments = take(w, "arguments")
        item["action"] = {"type": "search"}
        if type(arguments.get("queries")) in (list, type(None)) and "queries" in arguments:
            item["action"]["queries"] = arguments.pop("queries")
    else:
        r.form(item, "arguments", "absent")
    if type(w.get("search_type")) is str:
        item["search_type"] = SEARCH_TYPE.read(w.pop("search_type"))
    return item


@steps.write("web_search_call")
def write_search(c: Node, w: Writer) -> Node | None:
    wire: Node = {"type": "google_search_call", "id": None}
    if w.form(c, "arguments") != "absent":
        wire["arguments"] = {}
    if type(c.get("action")) is dict:
        if c["action"].get("type", "search") != "search":
            return None
        action = take(c, "action")
        if action.pop("type", None) is None:
            w.added(wire, "type", "a search by default")
        wire["arguments"] = {}
        if action.get("queries") is not None:
            queries = wire["arguments"]["queries"] = action.pop("queries")
            if type(queries) is list and action.get("query") in queries:
                action["query"] = Fated("approximated", "sent in the list")
        elif type(action.get("query")) is str:
            wire["arguments"]["queries"] = [action["query"]]
            action["query"] = Fated("approximated", "sent as a list")
    if "search_type" in c:
        wire["search_type"] = SEARCH_TYPE.write(c.pop("search_type"))
    wire["id"] = call_id(c, w, "web_search_call")
    if w.crosses and c.get("status") == "failed":
        result = {"type": "google_search_result", "call_id": wire["id"], "result": [], "is_error": True}
        w.context.setdefault("after", []).append(result)
        c["status"] = Fated("approximated", "represented by is_error")
    write_signature(c, wire, w)
    return wire


@steps.read("google_search_result")
def read_search_result(w: Node, r: Reader) -> Node:
    item = begin_result(w, "web_search_result", r)
    result = w.get("result")
    if type(result) is list:
        key = "search_suggestions"
        plain = all(type(each) is dict and each.keys() == {key} and type(each[key]) is str for each in result)
        item["suggestions"] = [each[key] for each in result] if plain else result
        r.place(item, ("suggestions",), ("result",))
        del w["result"]
    return item


@steps.write("web_search_result")
def write_search_result(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "google_search_result", "call_id": call_id(c, w, "web_search_result")}
    suggestions = c.pop("suggestions", None)
    if type(suggestions) is str:
        wire["result"] = [{"search_suggestions": suggestions}]
        c["suggestions"] = Fated("approximated", "sent as a list")
    elif suggestions is not None:
        wire["result"] = [{"search_suggestions": each} if type(each) is str else each for each in suggestions]
    return end_result(c, wire, w)


@steps.read("google_maps_result")
def read_maps_result(w: Node, r: Reader) -> Node:
    item = begin_result(w, "maps_result", r)
    if type(w.get("result")) is list and len(w["result"]) == 1 and type(w["result"][0]) is dict and w["result"][0]:
        found = take_all(w, "result")[0]
        move(found, item, (("places", "places"), ("widget_context_token", "widget_context_token")))
    return item


@steps.write("maps_result")
def write_maps_result(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "google_maps_result", "call_id": call_id(c, w, "maps_result")}
    found = {key: c.pop(key) for key in ("places", "widget_context_token") if key in c}
    if found:
        wire["result"] = [found]
    return end_result(c, wire, w)


# ---- images ---------------------------------------------------------------------------------------------------------


@steps.write("image_generation_call")
def write_picture(c: Node, w: Writer) -> Node | None:
    if type(c.get("result")) is not str:
        return None
    picture = {"type": "image", "data": c.pop("result"), "mime_type": f"image/{c.get('output_format') or 'png'}"}
    if not c.pop("output_format", None):
        w.added(picture, "mime_type", "the usual one")
    c["type"] = Fated("approximated", "sent as a content of the answer")
    return {"type": "model_output", "content": [picture]}


steps.cannot("image_generation_call", "an image without its data")
steps.cannot("web_search_call", "only searches are steps, not the pages opened in their course")


HOSTED = frozenset(
    [row[0] for row in _CALLS.values()]
    + [row[0] for row in _RESULTS.values()]
    + ["code_interpreter_result", "web_search_call", "web_search_result", "maps_result", "mcp_call", "mcp_result"]
)
"""Canonical types of what a provider's own tools did."""
