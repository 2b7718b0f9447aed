"""Settings that are objects or lists, shared by requests and the answers that echo them.

The canonical objects (`reasoning`, `text`, ...) hold what other protocols have too. Each is taken apart key by key, so
that what this wire does not have stays behind and is reported.

https://platform.openai.com/docs/api-reference/responses/create
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import (
    ILL_TYPED,
    RESERVED,
    Fated,
    Mapping,
    are_nodes,
    are_objects,
    json_types,
    take,
    take_all,
    without,
)
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.emulation import are_searched, load_at_once

from ...demands import enforce_schema, lacks_raw_text, name_schema, refused
from ...effort import fit_reasoning
from ..tools import foreign_tools, tools
from ..turns.custom_tools import function_tools
from ..turns.fast_path import read_usual_functions, write_usual_functions
from ..turns.history import is_own
from ..turns.programs import declare_programs
from ..values.tables import OBJECTS, read_choice
from .demands import takeable_tools

__all__ = ["read_settings", "write_edits", "write_instructions", "write_settings"]

Node = dict[str, Any]

_NODES = {
    "reasoning": "reasoning_config",
    "text": "text_config",
    "stream_options": "stream_options",
    "image": "image_config",
}
_TYPES = {
    name: {key: kinds for key, kinds in json_types(node).items() if key in OBJECTS[name]}
    for name, node in _NODES.items()
}
_FORMAT = {key: kinds for key, kinds in json_types("text_format").items() if key != "media_type"}

_OLDER = "generate_summary"  # than `summary`, with the same meaning

# Instructions are one string here: the texts of another protocol's parts.
_texts = Mapping("openai-responses instructions")


@_texts.write("input_text", "output_text", "text")
def write_text(c: Node, w: Writer) -> str:
    text: str = c.pop("text")
    return text


def read_settings(w: Node, node: Node, r: Reader) -> None:
    """Read the settings of a request or response into `node`."""
    if type(w.get("tools")) is list:
        wires = w.pop("tools")
        usual = read_usual_functions(wires, r)
        node["tools"] = r.nodes(tools, wires) if usual is None else usual
    elif w.get("tools", 0) is None:
        node["tools"] = w.pop("tools")
    for name, types in _TYPES.items():
        if name not in w:
            continue
        if w[name] is None:
            node[name] = w.pop(name)
        elif type(w[name]) is dict:
            given = w[name]
            node[name] = known = {key: given[key] for key in given if key in types and type(given[key]) in types[key]}
            left = without(given, known)
            if _OLDER in known and "summary" not in given:
                known["summary"] = known.pop(_OLDER)
                r.form(node, _OLDER, True)
                r.place(node, (name, "summary"), (name, _OLDER))
            format_ = known.get("format")
            if type(format_) is dict:
                known["format"] = {
                    key: format_[key] for key in format_ if key in _FORMAT and type(format_[key]) in _FORMAT[key]
                }
                left["format"] = without(format_, known["format"])
            if left:
                w[name] = left
            else:
                del w[name]
    choice = w.get("tool_choice")
    entries = choice.get("tools") if type(choice) is dict else None
    if are_objects(entries) and not are_nodes(entries):
        _read_choice(w, node)


def _read_choice(w: Node, node: Node) -> None:
    """Read a choice whose tools have keys that mean something else in a canonical node: those stay on the wire.

    Raises nothing: a choice that is not one stays there whole.
    """
    plain = [{key: each[key] for key in each if key not in RESERVED} for each in w["tool_choice"]["tools"]]
    try:
        known = read_choice({**w["tool_choice"], "tools": plain})
    except ILL_TYPED:
        return
    node["tool_choice"] = known
    own = take(w, "tool_choice")
    for entry, read in zip(take_all(own, "tools"), plain, strict=True):
        for key in read:
            del entry[key]
    for key in known:
        if key != "tools":
            del own[key]


def write_settings(c: Node, wire: Node, w: Writer) -> None:
    """Write the settings of a request or response into `wire`, and report those that the protocol lacks."""
    family = tools if is_own(w) or w.facing == "client" else foreign_tools
    if type(c.get("tools")) is list:
        given = c.pop("tools")
        takeable = takeable_tools(given, w)
        if family is foreign_tools:
            _limit_calls(takeable, c, w)
        usual = write_usual_functions(takeable, w) if family is foreign_tools else None
        if usual is None and lacks_raw_text(w):
            usual = [
                wire_tool
                for tool in takeable
                for wire_tool in w.nodes(function_tools if tool.get("type") == "custom" else family, [tool])
            ]
        if usual is None:
            usual = w.nodes(family, takeable) if family is tools else _write_foreign(takeable, w)
        wire["tools"] = usual
        if family is foreign_tools and w.dialect.get("tool_kinds") is None:
            declare_programs(wire["tools"], w)
        if given and not wire["tools"]:
            del wire["tools"]
    elif "tools" in c:
        given = c.pop("tools")
        if is_own(w) or w.facing == "client":
            wire["tools"] = given
    for name, types in _TYPES.items():
        if name not in c:
            continue
        if type(c[name]) is not dict:
            wire[name] = c.pop(name)
            continue
        given = c[name]
        if w.source != w.protocol and w.facing == "provider":
            c[name] = given = {key: value for key, value in given.items() if value is not None}
            if name == "reasoning":
                fit_reasoning(c, w, frozenset(types))
        written = {key: value for key, value in c[name].items() if key in types}
        own = c[name] = without(c[name], written)
        if "summary" in written and is_own(w) and w.form(c, _OLDER) is True:
            written[_OLDER] = written.pop("summary")
        format_ = written.get("format")
        if type(format_) is dict:
            written["format"] = {key: value for key, value in format_.items() if key in _FORMAT}
            own["format"] = without(format_, written["format"])
            if not is_own(w) and written["format"].get("type") == "json_schema":
                name_schema(written["format"], w)
                enforce_schema(written["format"], w)
                _complete_schema(written["format"], w)
        if name == "stream_options" and own.get("include_usage") is not None:
            own["include_usage"] = Fated("emulated", "usage is always in the last event")
        if written or (not given and is_own(w)):
            wire[name] = written


_UNCOUNTED = frozenset(("function", "custom", "namespace"))


def _limit_calls(declared: list[Node], c: Node, w: Writer) -> None:
    """Send the limit of a hosted tool as that of all their calls, which is the same where it is the only one.

    https://developers.openai.com/api/reference/resources/responses/methods/create
    """
    hosted = [tool for tool in declared if tool.get("type") not in _UNCOUNTED]
    if len(hosted) != 1 or type(hosted[0].get("max_uses")) is not int or refused("max_tool_calls", w):
        return
    most, limit = hosted[0]["max_uses"], c.get("max_tool_calls")
    c["max_tool_calls"] = min(most, limit) if type(limit) is int else most
    w.context["limited"] = True


def _write_foreign(declared: list[Node], w: Writer) -> list[Any]:
    """What another protocol declared, one tool after the other."""
    out: list[Any] = []
    searched = are_searched(declared)
    for tool in declared:
        written = w.nodes(foreign_tools, [tool])
        if not searched:
            load_at_once(tool, written, w)
        out += written
    return out


def _complete_schema(format_: Node, w: Writer) -> None:
    if format_.get("schema") is None:
        format_["schema"] = {}
        w.added(format_, "schema", "required by the API")


def write_instructions(c: Node, wire: Node, w: Writer) -> None:
    """System text in parts becomes one string, its parts separated by a blank line."""
    value = c.get("instructions")
    if type(value) is not list:
        if "instructions" in c:
            wire["instructions"] = c.pop("instructions")
        return
    del c["instructions"]
    texts = w.nodes(_texts, value)
    if len(texts) > 1:
        c["instructions"] = Fated("approximated", "joined")
    wire["instructions"] = "\n\n".join(texts)


_EDIT = ("type", "compact_threshold")


def write_edits(c: Node, w: Writer) -> None:
    """Of the edits of the context that another protocol has, the API supports compaction, by its threshold."""
    edits = c.get("context_management")
    if type(edits) is not list:
        return
    kept: list[Node] = []
    for edit in edits:
        if edit.get("type") != "compaction":
            w.drop(edit, "the API compacts and edits nothing else")
            continue
        kept.append({key: edit[key] for key in _EDIT if key in edit})
        for key in [key for key in edit if key not in _EDIT and key != "extra"]:
            w.report(edit, (key,), "lost", capability="context.compaction")
        for protocol in edit.get("extra") or ():
            w.report(edit, ("extra", protocol, "rest"), "lost")
    if kept:
        c["context_management"] = kept
    else:
        del c["context_management"]
