"""Items of the Responses API: mostly the canonical shapes themselves, declared key by key in values/tables.py.

What differs is small: opaque pieces have names here (`encrypted_content`, `fingerprint`) and an origin in the canonical
model. `items` is the wire as it is. `request_items` and `answer_items` write what another protocol brought: a provider
is sent no id that it did not give, and a client gets the messages of an answer in the form it expects.

https://platform.openai.com/docs/api-reference/responses/object
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, Mapping, are_objects, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import CALLS
from unified_llm.foundation.generated_ids import made_id

from ...cache import mark_last_text
from ..parts import PICTURE, answer_parts, assistant_parts, parts, user_parts
from ..tools import foreign_tools, tools
from ..values.tables import CORE_ITEMS, ITEMS, REFUSES, SLUG
from .images import PICTURES
from .opaque import read_opaque, write_opaque
from .summaries import summarize, wants_summary

__all__ = [
    "BEARERS",
    "ORIGIN",
    "OUTPUT",
    "answer_items",
    "items",
    "request_items",
    "write_output",
]

Node = dict[str, Any]

ORIGIN = ("protocol", "provider", "scope")
"""What of an opaque piece's origin must match for it to be sent back."""
BEARERS = frozenset(("reasoning", "compaction"))
"""The items whose opaque piece has a slot on this wire, which clients echo."""

items = Mapping("openai-responses items", default="message")
request_items = Mapping("openai-responses items", default="message")
answer_items = Mapping("openai-responses items", default="message")

_BASE = "id status agent created_by"
OUTPUT = f"{_BASE} call_id caller"
# Calls that a provider made and ran belong to it, with their ids.
_HELD = frozenset(
    """file_search_call web_search_call image_generation_call code_interpreter_call mcp_list_tools mcp_call
    mcp_approval_request mcp_approval_response program_output agent_message multi_agent_call multi_agent_call_output
    item_reference local_shell_call local_shell_call_output tool_search_call tool_search_output""".split()
)
# Those of them that a client may have run as well.
_SHELL = frozenset(("shell_call", "shell_call_output"))
_LISTS: dict[str, dict[str, Mapping]] = {
    "additional_tools": {"tools": tools},
    "tool_search_output": {"tools": tools},
    "agent_message": {"content": parts},
    "multi_agent_call_output": {"output": parts},
}

for _type, _keys in ITEMS.items():
    _lists = _LISTS.get(_type, {})
    items.same(_type, _keys, **_lists)
    if _type != "shell_call_output" and _type not in CALLS:
        answer_items.same(_type, _keys, **_lists)
    if _type in _HELD | _SHELL:
        request_items.cannot(_type, "the provider does not know what another one did")
    elif _type not in ("function_call", "computer_call"):
        _lists = {key: foreign_tools if family is tools else family for key, family in _lists.items()}
        request_items.same(_type, _keys.replace("id ", "", 1), **_lists)
for _type, _reason in REFUSES.items():
    for _family in (items, request_items, answer_items):
        if _type.endswith(("_result", "_call")) or _type in ("tool_change", "fallback"):
            _family.cannot(_type, _reason)
request_items.cannot("program", "the provider does not know what another one did")

# ---- messages -------------------------------------------------------------------------------------------------------

items.same("message", f"{_BASE} role phase", content=parts)


@request_items.write("message")
def write_message(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "message", "role": c.pop("role")}
    content = c.pop("content", None)
    if wire["role"] == "assistant":
        content = w.parts(assistant_parts, content)
        if type(content) is list and len(content) == 1 and _is_plain(content[0]):
            content = content[0]["text"]
    else:
        content = w.parts(user_parts, content)
    wire["content"] = [] if content is None else content
    if "phase" in c:
        wire["phase"] = c.pop("phase")
    if c.get("status") == "completed":
        del c["status"]
    return wire


def _is_plain(part: Any) -> bool:
    return bool(part == {"type": "output_text", "text": part.get("text"), "annotations": []})


@answer_items.write("message")
def write_answer(c: Node, w: Writer) -> Node:
    wire = {"type": "message", **{key: c.pop(key) for key in f"{_BASE} role phase".split() if key in c}}
    content = c.pop("content", None)
    if type(content) is str:
        content = [{"type": "output_text", "text": content}]
    wire["content"] = w.nodes(answer_parts, content or [])
    if [1 for part in wire["content"] if part["type"] == PICTURE]:
        w.context[PICTURES] = True  # they are put where they belong by `images.py`
    return wire


# ---- results --------------------------------------------------------------------------------------------------------

items.same("function_call_output", f"{OUTPUT} name namespace", output=parts)
items.same("custom_tool_call_output", OUTPUT, output=parts)


@request_items.write("function_call_output")
def write_function_output(c: Node, w: Writer) -> Node:
    if type(c.get("call_id")) is str and c["call_id"] in w.context.get("custom calls", ()):
        # Other surfaces have one kind of result; here it has to fit its call.
        return write_output("custom_tool_call_output", "call_id caller", c, w)
    return write_output("function_call_output", "call_id caller name namespace", c, w)


@request_items.write("custom_tool_call_output")
def write_custom_output(c: Node, w: Writer) -> Node:
    return write_output("custom_tool_call_output", "call_id caller", c, w)


@request_items.write("shell_call")
def write_shell_call(c: Node, w: Writer) -> Node | None:
    if c.get("executor") == "provider":
        return None
    keys = ITEMS["shell_call"].replace("id ", "", 1)
    return {"type": "shell_call", **{key: c.pop(key) for key in keys.split() if key in c}}


@request_items.write("shell_call_output")
def write_shell_output(c: Node, w: Writer) -> Node | None:
    if c.get("executor") == "provider":
        return None
    return _shell_output(ITEMS["shell_call_output"].replace("id ", "", 1), c, w)


@answer_items.write("shell_call_output")
def write_answered_shell_output(c: Node, w: Writer) -> Node:
    return _shell_output(ITEMS["shell_call_output"], c, w)


_CHUNK = ("stdout", "stderr", "outcome", "created_by")


def _pop_chunks(c: Node) -> list[Node] | None:
    """What a shell printed, where another protocol has more of it; files that commands wrote have no place here."""
    output = c.get("output")
    if not output or not are_objects(output):
        return None
    if all(chunk.keys() <= set(_CHUNK) for chunk in output):
        return None
    return [{key: chunk.pop(key) for key in _CHUNK if key in chunk} for chunk in take_all(c, "output")]


def _shell_output(keys: str, c: Node, w: Writer) -> Node:
    output = _pop_chunks(c) if w.crosses else None
    taken = [key for key in keys.split() if key in c and (output is None or key != "output")]
    wire: Node = {"type": "shell_call_output", **{key: c.pop(key) for key in taken}}
    if output is not None:
        wire["output"] = output
    if "output" in wire:
        return wire
    # A shell that did not run has no output elsewhere; here it requires an outcome.
    told = {"stdout": "", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}
    error = c.get("error")
    if type(error) is dict:
        told["stderr"] = str(error.get("message") or error.get("code") or "")
        c["error"] = Fated("approximated", "sent as the output of the shell")
    wire["output"] = [told]
    w.added(wire, "output", "required by the API")
    return wire


def write_output(kind: str, keys: str, c: Node, w: Writer) -> Node:
    """Write the output item of a tool, of type `kind` with the plain `keys` (separated by spaces)."""
    if len(c) == 2 and "call_id" in c and type(c.get("output")) is str:
        return {"type": kind, "call_id": c.pop("call_id"), "output": c.pop("output")}
    wire: Node = {"type": kind, **{key: c.pop(key) for key in keys.split() if key in c}}
    output = w.parts(user_parts, mark_last_text(c, c.pop("output", None), w))
    wire["output"] = "" if output is None else output
    if c.get("is_error") is True:
        # The API has no flag for a failed tool and refuses an `error` key.
        wire["status"] = "incomplete"
        c["is_error"] = Fated("approximated", "sent as status incomplete")
        c.pop("status", None)
    elif c.get("is_error") is False and c.get("status") in (None, "completed"):
        wire["status"] = "completed"
        c["is_error"] = Fated("approximated", "sent as status completed")
        c.pop("status", None)
    elif c.get("status") is not None:
        wire["status"] = c.pop("status")
    return wire


# ---- opaque pieces --------------------------------------------------------------------------------------------------


@items.read("reasoning")
def read_reasoning(w: Node, r: Reader) -> Node:
    item: Node = {"type": "reasoning"}
    for key in ("id", "status", "agent", "created_by"):
        if key in w:
            item[key] = w.pop(key)
    for key in ("summary", "content"):
        if type(w.get(key)) is list:
            item[key] = r.nodes(parts, w.pop(key))
        elif w.get(key, 0) is None:
            item[key] = w.pop(key)
    read_opaque(w, "encrypted_content", item, r)
    return item


def write_reasoning(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "reasoning"}
    for key in ("id", "status", "agent", "created_by"):
        if key in c:
            wire[key] = c.pop(key)
    for key in ("summary", "content"):
        if key in c:
            wire[key] = w.parts(parts, c.pop(key))
    write_opaque(c, "encrypted_content", wire, w)
    return wire


@request_items.write("reasoning")
def write_foreign_reasoning(c: Node, w: Writer) -> Node:
    """Encrypted reasoning goes back with the id it had; an id of ours or of others means nothing to the provider."""
    id_ = None if c.get("opaque") else c.pop("id", None)
    wire = write_reasoning(c, w)
    wire.setdefault("summary", [])
    if (
        wire.get("encrypted_content")
        and wire.get("content")
        and not (wire["summary"] or w.dialect.get("plain_reasoning"))
    ):
        # Shown by a surface that has one text of reasoning; the provider takes back summaries, and no content.
        texts = [part["text"] for part in wire.pop("content") if type(part.get("text")) is str]
        wire["summary"] = [{"type": "summary_text", "text": text} for text in texts]
        c["content"] = Fated("approximated", "as a summary")
    if "plain_field" in w.dialect:
        _in_field(w.dialect["plain_field"], wire, c)
    for key in ("content", "encrypted_content"):
        # Strict servers refuse the nulls that they send themselves.
        if wire.get(key, 0) in ([], None):
            del wire[key]
    if "id" not in wire and w.dialect.get("plain_reasoning"):
        # The API's types require one, and so do servers that check their input by these. (OpenAI takes none of this.)
        count = w.context["reasoning ids"] = w.context.get("reasoning ids", 0) + 1
        wire = {"type": "reasoning", "id": made_id("rs", w.seed, count), **wire}
        w.added(wire, "id", "required by the API's types")
    if id_ is not None:
        c["id"] = id_
    return wire


def _in_field(field: str, wire: Node, c: Node) -> None:
    """The text of reasoning in the one field that the server reads, as one text."""
    shown = wire.get("content") or wire["summary"]
    text = "\n\n".join(part["text"] for part in shown if type(part.get("text")) is str)
    from_summary = not wire.get("content")
    if field == "content":
        if from_summary or len(shown) > 1:
            wire["content"] = [{"type": "reasoning_text", "text": text}]
            if from_summary:
                wire["summary"] = []
                if shown:
                    c["summary"] = Fated("approximated", "as content")
            else:
                c["content"] = Fated("approximated", "as one text")
    elif not wire.get(field):
        wire[field] = text
        if wire.pop("content", None) and len(shown) > 1:
            c["content"] = Fated("approximated", "as one text")


@items.read("compaction")
def read_compaction(w: Node, r: Reader) -> Node:
    item: Node = {"type": "compaction"}
    for key in ("id", "agent", "created_by"):
        if key in w:
            item[key] = w.pop(key)
    read_opaque(w, "encrypted_content", item, r)
    return item


def write_compaction(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "compaction"}
    for key in ("id", "agent", "created_by"):
        if key in c:
            wire[key] = c.pop(key)
    write_opaque(c, "encrypted_content", wire, w)
    return wire


@items.read("program")
def read_program(w: Node, r: Reader) -> Node:
    item: Node = {"type": "program"}
    for key in ("id", "agent", "created_by", "call_id", "code"):
        if key in w:
            item[key] = w.pop(key)
    read_opaque(w, "fingerprint", item, r)
    return item


def write_program(c: Node, w: Writer) -> Node:
    wire: Node = {"type": "program"}
    for key in ("id", "agent", "created_by", "call_id", "code"):
        if key in c:
            wire[key] = c.pop(key)
    write_opaque(c, "fingerprint", wire, w)
    return wire


@answer_items.write("reasoning")
def write_answered_reasoning(c: Node, w: Writer) -> Node:
    wire = write_reasoning(c, w)
    if wants_summary(w):
        summarize(wire, c)
    return wire


items.write("reasoning")(write_reasoning)
for _family in (items, answer_items):
    _family.write("compaction")(write_compaction)
    _family.write("program")(write_program)
request_items.write("compaction")(write_compaction)


# ---- Open Responses' spelling of the others -------------------------------------------------------------------------


def _read_slugged(w: Node, r: Reader, kind: str) -> Node:
    wire = {**w, "type": kind}
    w.clear()
    item = r.node(items, wire)
    if item["type"] != kind:
        raise IllTyped(kind)
    r.form(item, "type", "slug")
    return item


def _declare_slug(kind: str) -> None:
    items.read(SLUG + kind)(lambda w, r: _read_slugged(w, r, kind))


for _type in [*ITEMS, "computer_call_output", "program", "custom_tool_call_output"]:
    if _type not in CORE_ITEMS:
        _declare_slug(_type)
