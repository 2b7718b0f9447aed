"""Calls of the provider's own tools: `server_tool_use` by name. Their results are in results.py.

Each becomes the hosted call of the canonical model, paired with its result by the call id. What only this provider has
(advisor, text editor in the sandbox) is kept whole for it.

https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine import Approximate, Context, Mismatch, codec, json, string
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.generated_ids import is_made, made_id
from unified_llm.foundation.json_codec import load_text

from ..blocks import after, before, cases
from ..values.tables import CACHE
from .client_calls import CALLER, called_by, numbered

__all__ = ["HOSTED", "PAIRED", "at_provider", "is_hosted", "is_result", "is_silent", "leading_to", "open_calls"]

Node = dict[str, Any]


def _lone(found: list[Any], x: Context) -> Any:
    if len(found) != 1:
        raise Mismatch
    return found[0]


def _one_command(found: list[Any], x: Context) -> Any:
    if len(found) > 1 and all(type(command) is str for command in found):
        raise Approximate("\n".join(found), "joined to one command")
    return _lone(found, x)


def _call(tool: str, given: Any, type_: str, **constants: Any) -> None:
    wire = {"type": "server_tool_use", "id": string("call_id").required(None), "name": tool, "input": given}
    cases.case({**wire, **CALLER, **CACHE}, type_, **constants)


_call("web_search", {"query?": string("action.query")}, "web_search_call")
_url = codec("urls", str, read=lambda url, x: [url], write=_lone, canonical=(list,))
_call("web_fetch", {"url?": _url}, "web_fetch_call")
_call("code_execution", {"code?": string("code")}, "code_interpreter_call")
_command = codec("action.commands", str, read=lambda word, x: [word], write=_one_command, canonical=(list,))
_call("bash_code_execution", {"command?": _command}, "shell_call", executor="provider")
_SEARCHES = ("tool_search_tool_regex", "tool_search_tool_bm25")
for _name in _SEARCHES:
    _call(_name, json("arguments", dict), "tool_search_call", execution="server", name=_name)


def _named(node: Node, w: Node, r: Reader) -> Node:
    if node["type"] == "web_search_call" and "action" in node:
        node["action"] = {"type": "search", **node["action"]}
    if "executor" in node:
        r.form(node, "hosted", True)
    for key in ("type", "executor", "name"):
        r.place(node, (key,), ("name",))
    return node


def _hosted(c: Node, w: Writer, x: Context) -> Node:
    c = numbered(called_by(c, w, x), x)
    if c.get("call_id") is not None or x.own:
        return c
    number = w.context["nameless"] = w.context.get("nameless", -1) + 1
    return x.replaced(c, {**c, "call_id": made_id("srvtoolu", w.seed, number)})


def _search(c: Node, w: Writer, x: Context) -> Node | None:
    action = c.get("action")
    if action is None:
        return _hosted(c, w, x)
    if type(action) is not dict or action.get("type", "search") != "search":
        return None
    made = {key: value for key, value in action.items() if key != "type"}
    queries = made.get("queries")
    if type(made.get("query")) is not str and type(queries) is list and queries and not x.own:
        if all(type(query) is str for query in queries):
            made["query"] = "\n".join(made.pop("queries"))
            if len(queries) > 1:
                x.approximated(c, ("action", "queries"), "joined to one query")
    elif queries == [made.get("query")] and not x.own:
        del made["queries"]
        x.approximated(c, ("action", "queries"), "the one query")
    if "type" not in action:
        x.approximated(c, ("action",), "taken for a search")
    return _hosted(x.replaced(c, {**c, "action": made}), w, x)


def _fetch(c: Node, w: Writer, x: Context) -> Node | None:
    several = type(c.get("urls")) is list and len(c["urls"]) > 1
    return None if several else _hosted(c, w, x)


def is_hosted(c: Node, w: Writer | None) -> bool:
    """Whether a shell runs at the provider's, as far as a call or its result shows.

    In an answer so do the commands of a call that names a container, and no client has to run them. Its result, which
    does not name one, comes behind the call.
    """
    if c.get("executor") == "provider" or (w is not None and w.form(c, "hosted")):
        return True
    if w is None or w.facing != "client" or c.get("executor") is not None:
        return False
    place = c.get("environment")
    ids: set[Any] = w.context.setdefault("contained", set())
    if type(place) is dict and place.get("type") not in (None, "local"):
        ids.add(c.get("call_id"))
        return True
    return c.get("type") == "shell_call_output" and c.get("call_id") in ids


def at_provider(c: Node, x: Context) -> Node:
    """A shell of the provider's, which the block represents."""
    if c.get("executor") == "provider":
        return c
    if "executor" in c:
        x.lost(c, ("executor",))
    return x.replaced(c, {**c, "executor": "provider"})


def _bash(c: Node, w: Writer, x: Context) -> Node | None:
    action = c.get("action")
    if is_hosted(c, w):
        return _hosted(at_provider(c, x), w, x)
    # A shell command for the client: a call of the tool `bash`, which is what such a tool is declared as here.
    if type(action) is not dict:
        return None
    commands = action.get("commands")
    if (
        type(commands) is not list
        or type(c.get("call_id")) is not str
        or any(type(each) is not str for each in commands)
    ):
        return None
    x.approximated(c, ("action", "commands"), "as a call of the tool bash")
    for key in action:
        if key != "commands":
            x.lost(c, ("action", key))
    made = {key: value for key, value in c.items() if key not in ("action", "executor")}
    if c.get("environment") == {"type": "local"}:
        x.approximated(c, ("environment",), "it runs at the client's")
        del made["environment"]
    given = {"command": "\n".join(commands)}
    return x.replaced(c, {**made, "type": "function_call", "name": "bash", "arguments": given})


def _tool_search(c: Node, w: Writer, x: Context) -> Node | None:
    arguments: Any = c.get("arguments") if c.get("arguments") is not None else {}
    if c.get("execution") not in (None, "server") or c.get("name") not in _SEARCHES:
        return None
    if type(arguments) is str:
        arguments = load_text(arguments)
    return _hosted(x.replaced(c, {**c, "execution": "server", "arguments": arguments}), w, x)


after["server_tool_use"] = _named
before["web_search_call"] = _search
before["web_fetch_call"] = _fetch
before["code_interpreter_call"] = _hosted
before["shell_call"] = _bash
before["tool_search_call"] = _tool_search


# ---- calls and their results ----------------------------------------------------------------------------------------

HOSTED = {
    "web_search_call": "web_search_result",
    "web_fetch_call": "web_fetch_result",
    "code_interpreter_call": "code_interpreter_result",
    "mcp_call": "mcp_result",
    "tool_search_call": "tool_search_result",
    "shell_call": "shell_call_output",
}
"""Calls that the provider executes, each with the type of its result."""
_NATIVE = ("server_tool_use", "mcp_tool_use")
PAIRED = frozenset((*HOSTED, *HOSTED.values(), *_NATIVE))
_OWN_IDS = ("srvtoolu_", "mcptoolu_")


def is_result(item: Node, w: Writer) -> bool:
    """Whether an item is the result of a hosted call."""
    kind = item.get("type")
    return kind in HOSTED.values() and (kind != "shell_call_output" or is_hosted(item, w))


def is_silent(result: Node) -> bool:
    """Whether the result of a search holds nothing that was found: sent, it would mean that nothing was found."""
    return result.get("results") is None and result.get("error") is None


def open_calls(items: list[Node], w: Writer) -> dict[int, bool]:
    """Calls of this provider's whose results are not there, by identity: whether it goes on with them.

    An answer that pauses (`pause_turn`) ends with them. The API goes on where nothing of the user's follows but
    results of tools, and refuses them before anything else.
    https://docs.claude.com/en/api/handling-stop-reasons#pause-turn
    """
    ids = [_shared_id(item, w) for item in items]
    results = {own for item, own in zip(items, ids) if not _is_call(item, w)}
    out: dict[int, bool] = {}
    goes_on = True
    for item, own in zip(reversed(items), reversed(ids)):
        if item.get("type") == "message" and item.get("role") not in ("assistant", "system", "developer"):
            goes_on = False
        elif own is not None and own not in results and _is_call(item, w) and _is_own(item, own, w):
            out[id(item)] = goes_on
    return out


def leading_to(gone: set[int], items: list[Node]) -> set[int]:
    """The thoughts that led to such calls at the end of a turn: none may end a message."""
    out: set[int] = set()
    ends = led = False
    for item in reversed(items):
        kind = item.get("type")
        if kind == "message" and item.get("role") != "assistant":
            ends, led = True, False
        elif id(item) in gone:
            led = ends
        elif led and kind == "reasoning":
            out.add(id(item))
        else:
            ends = led = False
    return out


def _is_call(item: Node, w: Writer) -> bool:
    kind = item.get("type")
    return kind in _NATIVE or (kind in HOSTED and (kind != "shell_call" or is_hosted(item, w)))


def _is_own(item: Node, own: str, w: Writer) -> bool:
    """Whether this provider made a call, as far as the call shows; of what was put back it is certain."""
    if item["type"] in _NATIVE or w.form(item, "home"):
        return True
    return own.startswith(_OWN_IDS) and not is_made(own)


def _shared_id(item: Node, w: Writer) -> str | None:
    """The id that a call and its result share, also of blocks that only this provider has."""
    found = item.get("call_id")
    if found is None and w.form(item, "native"):
        block = item["extra"][w.protocol].get("rest") or {}
        found = block.get("tool_use_id", block.get("id"))
    return found if type(found) is str else None
