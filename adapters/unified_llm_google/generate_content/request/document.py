"""Requests: contents to items and back, the system instruction, tools and settings around them.

https://ai.google.dev/api/generate-content#request-body
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import NATIVE, Fated, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.nearest_values import raise_output_limit
from unified_llm.engine.shared.text_fallbacks import without_media
from unified_llm.foundation.errors import InvalidBody
from unified_llm.models.profiles import profile

from ...constants import BYPASS
from ..tools.combination_limits import leave_apart, limit_stops
from ..tools.functions import is_mixed, read_tools, write_tools
from ..tools.tool_choice import hollow_config, read_tool_config, write_tool_config
from ..turns.contents import parts, read_part, write_parts
from ..turns.history import read_contents, write_contents
from ..turns.signature import SLOT
from ..values.spelling import actual, to_camel, to_snake
from ..values.tables import REQUEST_SHAPE
from .refused import drop_refused
from .route import read_route, write_route
from .settings import read_settings, write_settings
from .single_objects import bracketed, unbracketed

__all__ = ["read_request", "write_request"]

Node = dict[str, Any]

_SYSTEM = frozenset(("system", "developer"))
_SYSTEM_KEY = "systemInstruction"
_TEXT_ALONE = "the system instruction is text"
_OBJECTS = {dict}
_ANY_ROLE = ("user", "model", "system")
_FLAG = "includeServerSideToolInvocations"


def read_request(w: Node, r: Reader) -> Node:
    """Read a request. Raises `InvalidBody` without a list of contents."""
    spelled = to_camel(w, REQUEST_SHAPE)
    lone = bracketed(w)
    if type(w.get("contents")) is not list:
        raise InvalidBody("/contents", "a list of contents is required")
    node: Node = {}
    read_route(w, node, r)
    node["input"] = read_contents(w.pop("contents"), r)
    if type(w.get(_SYSTEM_KEY)) is dict:
        _read_system(w, node, r, spelled, "systemInstruction/parts" in lone)
    if type(w.get("tools")) is list and set(map(type, w["tools"])) <= _OBJECTS:
        node["tools"] = read_tools(w.pop("tools"), r)
    if type(w.get("toolConfig")) is dict:
        read_tool_config(w, node, r, spelled)
    read_settings(w, node, r, spelled)
    if lone and (read := unbracketed(w, lone)):
        r.form(node, "lone", read)
    if spelled:
        r.form(node, "snake", spelled)
        to_snake(w, spelled)
    return node


def write_request(c: Node, w: Writer) -> Node:
    """Write a request; its model goes into the path."""
    wire: Node = {}
    w.context["model"] = w.model or c.get("model")
    history = c.pop("input", None)
    system, history = _write_system(c, history, w)
    contents = write_contents(history, w)
    if system is not None:
        wire[_SYSTEM_KEY] = system
    if "tools" in c:
        leave_apart(c, w)
    if "stop" in c:
        limit_stops(c, w)
    if type(c.get("tools")) is list:
        nodes = c.pop("tools")
        written = write_tools(nodes, w)
        if written or not nodes:
            wire["tools"] = written
    else:
        nodes = []
        if "tools" in c:
            wire["tools"] = c.pop("tools")
    config = write_tool_config(c, w)
    if wire.get("tools") and is_mixed(nodes) and _needs_flag(nodes, w):
        config[_FLAG] = True
        w.added(config, _FLAG, "tools of the provider stand beside functions")
    if hollow_config(c, config, w):
        wire["toolConfig"] = config
    raise_output_limit(c, w)
    drop_refused(c, w)
    write_settings(c, wire, w)
    _sign_foreign_parts(contents, w)
    write_route(c, wire, w)
    wire["contents"] = contents
    if "extra" not in c:
        return wire
    if lone := w.form(c, "lone"):
        unbracketed(wire, lone)
    spelled = w.form(c, "snake")
    return to_snake(wire, spelled) if spelled else wire


def _needs_flag(nodes: list[Node], w: Writer) -> bool:
    return not w.dialect.get("publishers") and not any(w.form(tool, "group") is not None for tool in nodes)


# ---- the system instruction -----------------------------------------------------------------------------------------


def _read_system(w: Node, node: Node, r: Reader, spelled: list[str], lone: bool) -> None:
    content = w[_SYSTEM_KEY]
    wires = content.get("parts")
    if type(wires) is not list:
        return
    own = take(w, _SYSTEM_KEY)
    del own["parts"]
    if own.get("role") in _ANY_ROLE:  # a system instruction has none: whatever stands there is ignored
        r.form(node, "system role", own.pop("role"))
    r.place(node, ("instructions",), actual((_SYSTEM_KEY,), spelled))
    if len(wires) == 1 and type(wires[0]) is dict and wires[0].keys() == {"text"} and type(wires[0]["text"]) is str:
        node["instructions"] = wires[0]["text"]
        r.place(node, ("instructions",), (*actual((_SYSTEM_KEY,), spelled), "parts", *(() if lone else (0,)), "text"))
        return
    r.context["model"] = False
    read = []
    for index, wire in enumerate(wires):
        part = read_part(wire, r, (wires, index))
        if (part["type"] not in parts.writes and part["type"] != NATIVE) or part["type"] == "summary_text":
            part = r.unread(wire, parts.name)  # a thought instructs no model
        read.append(part)
    node["instructions"] = read


def _write_system(c: Node, history: Any, w: Writer) -> tuple[Node | None, Any]:
    """The system instruction: the request's own, and the messages of the system that open the conversation."""
    instructions = c.pop("instructions", None)
    if instructions == "" and w.crosses:
        instructions = None  # an empty text is refused, and instructs nothing
    written: list[Any] = []
    given = instructions is not None
    if type(instructions) is str:
        written.append({"text": instructions})
    elif given:
        written += write_parts(without_media(instructions, w, _TEXT_ALONE), w)
    if type(history) is list:
        index = 0
        while index < len(history) and _is_system(history[index], w):
            written += w.piece(_write_system_message, history[index])
            index += 1
        history = history[index:] if index else history
    if not (written or given):
        return None, history
    role = w.form(c, "system role")
    return {"parts": written, **({"role": role} if role is not None else {})}, history


def _is_system(item: Node, w: Writer) -> bool:
    return item.get("type") == "message" and item.get("role") in _SYSTEM and w.form(item, "role") is None


def _write_system_message(c: Node, w: Writer) -> list[Any]:
    role = c.pop("role")
    if role != "system":
        c["role"] = Fated("approximated", "as the system")
    content = c.pop("content", None)
    if type(content) is str:
        return [{"text": content}] if content else []
    return write_parts(without_media(content or [], w, _TEXT_ALONE), w)


# ---- signatures that the provider demands ---------------------------------------------------------------------------


def _sign_foreign_parts(contents: list[Any], w: Writer) -> None:
    """Some models refuse unsigned calls and images: those of others get the documented stand-in for a signature.

    https://ai.google.dev/gemini-api/docs/thought-signatures
    """
    if w.facing != "provider" or (w.source in (None, w.protocol) and not w.context.get("repaired")):
        return
    facts = profile(w.context.get("model"), w.protocol)
    # An unknown model that is named as the target's is taken for a new one.
    if not (facts.signed_calls or (w.model and not facts.known)):
        return
    # In every turn, and not in the current one alone: what was sent stays as it was while the conversation grows.
    signed: list[tuple[Any, ...]] = []
    for number, content in enumerate(contents):
        wires = content.get("parts") if type(content) is dict else None
        if type(wires) is not list:
            continue
        calls = [at for at, part in enumerate(wires) if type(part) is dict and "functionCall" in part]
        if calls and not any(SLOT in wires[at] for at in calls):
            wires[calls[0]][SLOT] = BYPASS
            signed.append((number, "parts", calls[0]))
        for at, part in enumerate(wires if content.get("role") == "model" else ()):
            media = part.get("inlineData") if type(part) is dict and SLOT not in part else None
            if media and str(media.get("mimeType")).startswith("image/"):
                part[SLOT] = BYPASS
                signed.append((number, "parts", at))
    if signed:
        told = "a call or an image that this provider did not make"
        w.filled.append((contents, signed, (SLOT,), told, "reasoning.signature"))
