"""A custom tool, which takes free-form text, as a function of one string, where the target has no custom tools.

The description contains the change and the grammar, since nothing else of the declaration can: a model with the
instruction "do not wrap the patch in JSON" would otherwise get the wrong instruction. Calls are restored by the
exchange.

A tool that is loaded when the model searches for it, as one that is there from the start, where nothing would load it:
the search of a client is a function that gives names of tools (`tool_reference`) and loads them in Messages alone.
OpenAI refuses such a request: "Deferred tools require tools.tool_search".

JSON without a schema, as an instruction, where the target has only formats with one.
"""

from __future__ import annotations

from typing import Any

from ..pairs.mapping import Fated, take
from ..pairs.writing import Writer

__all__ = [
    "AS_JSON",
    "INPUT",
    "LOADED_AT_ONCE",
    "SENT_AS_INSTRUCTION",
    "are_searched",
    "as_function",
    "instructed_json",
    "is_json_mode",
    "load_at_once",
]

Node = dict[str, Any]

INPUT = "input"
"""The one argument of the function that stands for a custom tool."""

_FORM = (
    f"This tool takes free-form text. Pass that text, raw and complete, as the string argument `{INPUT}`. "
    "Instructions about the form of the text, such as not to wrap it in JSON, apply to the text inside that string."
)
_TOLD = "in the description"


def as_function(c: Node, w: Writer) -> Node:
    """Consume a custom tool; gives `name` (if it has one), `description` and `parameters` of the function for it."""
    out: Node = {"name": c.pop("name")} if "name" in c else {}
    texts = [_FORM]
    if type(c.get("description")) is str:
        texts.insert(0, c["description"])
        c["description"] = Fated("approximated", "followed by how its text is passed")
    if type(c.get("format")) is dict:
        grammar = take(c, "format")
        if grammar.get("type") == "text":
            grammar["type"] = Fated("approximated", "any text is taken")
        elif type(grammar.get("definition")) is str:
            syntax = grammar.get("syntax")
            texts.append(f"The text must match this {f'{syntax} ' if syntax else ''}grammar:\n{grammar['definition']}")
            for key in ("type", "syntax", "definition"):
                if key in grammar:
                    grammar[key] = Fated("approximated", _TOLD)
    out["description"] = "\n\n".join(text for text in texts if text)
    out["parameters"] = {"type": "object", "properties": {INPUT: {"type": "string"}}, "required": [INPUT]}
    if type(out.get("name")) is str:
        w.context.setdefault("tools", {})[out["name"]] = "custom"
    return out


LOADED_AT_ONCE = "loaded at once: no tool of the request searches for it"
"""Why a tool is not deferred."""


def are_searched(tools: list[Node], by_client: bool = True) -> bool:
    """Whether one of the tools searches for the others; one that the client executes counts only `by_client`."""
    return any(tool.get("type") == "tool_search" and (by_client or tool.get("execution") != "client") for tool in tools)


def load_at_once(tool: Node, written: list[Any], w: Writer) -> None:
    """Leave out of a written tool whether it is deferred, and report it."""
    for wire in written:
        if type(wire) is dict and (deferred := wire.pop("defer_loading", None)) is not None:
            w.report(tool, ("defer_loading",), "lost" if deferred else "approximated", LOADED_AT_ONCE)


AS_JSON = (
    "The text of your answer must be valid JSON and nothing else: an object, unless the conversation requires another "
    "JSON value. Write no text before or after it, and no Markdown code fence."
)
"""The instruction that stands for JSON mode."""


def is_json_mode(c: Node) -> bool:
    """Whether a request has the format of JSON without a schema.

    >>> is_json_mode({"text": {"format": {"type": "json_object"}}}), is_json_mode({"text": None})
    (True, False)
    """
    text = c.get("text")
    form = text.get("format") if type(text) is dict else None
    return type(form) is dict and form.get("type") == "json_object"


def instructed_json(instructions: Any) -> list[Node]:
    """The parts of the instructions of a request, and the one that requires JSON behind them.

    A model follows it nearly always, but nothing enforces it: the format is reported as approximated.
    """
    given = [{"type": "input_text", "text": instructions}] if type(instructions) is str and instructions else []
    return [*(instructions if type(instructions) is list else given), {"type": "input_text", "text": AS_JSON}]


SENT_AS_INSTRUCTION = "sent as an instruction, which nothing enforces"
"""Why JSON mode is approximated."""
