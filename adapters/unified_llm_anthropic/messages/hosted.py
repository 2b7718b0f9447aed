"""Calls of the provider's own tools: `server_tool_use` by name. Their results are in results.py.

Each becomes the hosted call of the canonical model, paired with its result by the call id. What only this provider has
(advisor, text editor in the sandbox) is kept whole for it.

https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.generated_ids import made_id
from unified_llm.foundation.json_codec import load_text

from .blocks import blocks
from .calls import move_caller_in, move_caller_out, take_text
from .content import move_cache_in, move_cache_out, own_born, withhold

__all__: list[str] = []

Node = dict[str, Any]


# ---- calls ----------------------------------------------------------------------------------------------------------


def _text_of(given: Node, key: str) -> str | None:
    if key not in given:
        return None
    return take_text(given, key)


@blocks.read("server_tool_use")
def read_server_use(w: Node, r: Reader) -> Node:
    read = _CALLS.get(w["name"])
    if read is None:
        raise IllTyped("name")
    name, call_id = w.pop("name"), take_text(w, "id")
    empty = w["input"] == {}
    given = take(w, "input")
    item = read(given, name)
    item["call_id"] = call_id
    if "executor" in item:
        r.form(item, "hosted", True)
    for key in ("type", "executor", "name"):
        r.place(item, (key,), ("name",))
    if empty:
        r.form(item, "input", "empty")
    if w:
        move_caller_in(w, item, r)
        move_cache_in(w, item, r)
    return item


def _read_search(given: Node, name: str) -> Node:
    item: Node = {"type": "web_search_call"}
    query = _text_of(given, "query")
    if query is not None:
        item["action"] = {"type": "search", "query": query}
    return item


def _read_fetch(given: Node, name: str) -> Node:
    url = _text_of(given, "url")
    return {"type": "web_fetch_call", **({"urls": [url]} if url is not None else {})}


def _read_code(given: Node, name: str) -> Node:
    code = _text_of(given, "code")
    return {"type": "code_interpreter_call", **({"code": code} if code is not None else {})}


def _read_bash(given: Node, name: str) -> Node:
    command = _text_of(given, "command")
    action = {"action": {"commands": [command]}} if command is not None else {}
    return {"type": "shell_call", "executor": "provider", **action}


def _read_tool_search(given: Node, name: str) -> Node:
    item: Node = {"type": "tool_search_call", "execution": "server", "name": name, "arguments": dict(given)}
    given.clear()
    return item


_CALLS = {
    "web_search": _read_search,
    "web_fetch": _read_fetch,
    "code_execution": _read_code,
    "bash_code_execution": _read_bash,
    "tool_search_tool_regex": _read_tool_search,
    "tool_search_tool_bm25": _read_tool_search,
}


def _server_use(c: Node, name: str, given: Node, w: Writer) -> Node:
    call_id = c.pop("call_id") if c.get("call_id") is not None else c.pop("id", None)
    if call_id is None and not own_born(w):
        number = w.context["nameless"] = w.context.get("nameless", -1) + 1
        call_id = made_id("srvtoolu", w.seed, number)
    wire: Node = {"type": "server_tool_use", "id": call_id, "name": name, "input": given}
    if c:
        withhold(c, w)
        move_caller_out(c, wire, w)
        move_cache_out(c, wire, w)
    return wire


@blocks.write("web_search_call")
def write_search(c: Node, w: Writer) -> Node | None:
    given: Node = {}
    action = c.get("action")
    if type(action) is dict and action.get("type", "search") == "search":
        own = take(c, "action")
        if "type" not in own:
            w.added(given, "query", "taken for a search")
        own.pop("type", None)
        if type(own.get("query")) is str:
            given["query"] = own.pop("query")
        elif type(own.get("queries")) is list and len(own["queries"]) == 1:
            given["query"] = own.pop("queries")[0]
    elif action is not None:
        return None
    return _server_use(c, "web_search", given, w)


@blocks.write("web_fetch_call")
def write_fetch(c: Node, w: Writer) -> Node | None:
    urls = c.get("urls")
    if type(urls) is list and len(urls) > 1:
        return None
    return _server_use(c, "web_fetch", {"url": c.pop("urls")[0]} if urls else {}, w)


@blocks.write("code_interpreter_call")
def write_code(c: Node, w: Writer) -> Node:
    return _server_use(c, "code_execution", {"code": c.pop("code")} if type(c.get("code")) is str else {}, w)


@blocks.write("shell_call")
def write_bash(c: Node, w: Writer) -> Node | None:
    if c.get("executor") == "provider":
        del c["executor"]
    elif not w.form(c, "hosted"):
        return _client_bash(c, w)
    given: Node = {}
    if type(c.get("action")) is dict:
        action = take(c, "action")
        commands = action.get("commands")
        if type(commands) is list and len(commands) == 1:
            given["command"] = action.pop("commands")[0]
        elif type(commands) is list and commands and all(type(command) is str for command in commands):
            given["command"] = "\n".join(commands)
            action["commands"] = Fated("approximated", "joined to one command")
    return _server_use(c, "bash_code_execution", given, w)


def _client_bash(c: Node, w: Writer) -> Node | None:
    """A shell command for the client: a call of the tool `bash`, which is what such a tool is declared as here."""
    action = c.get("action")
    commands = action.get("commands") if type(action) is dict else None
    if type(commands) is not list or type(c.get("call_id")) is not str:
        return None
    if any(type(command) is not str for command in commands):
        return None
    own = take(c, "action")
    own["commands"] = Fated("approximated", "as a call of the tool bash")
    c.pop("executor", None)
    return {"type": "tool_use", "id": c.pop("call_id"), "name": "bash", "input": {"command": "\n".join(commands)}}


@blocks.write("tool_search_call")
def write_tool_search(c: Node, w: Writer) -> Node | None:
    name = c.get("name")
    if c.get("execution", "server") != "server" or name not in ("tool_search_tool_regex", "tool_search_tool_bm25"):
        return None
    c.pop("execution", None)
    arguments = c.get("arguments")
    if type(arguments) is str:
        try:
            arguments = load_text(arguments)
        except ValueError:
            return None
    if arguments is not None and type(arguments) is not dict:
        return None
    c.pop("arguments", None)
    return _server_use(c, c.pop("name"), arguments or {}, w)
