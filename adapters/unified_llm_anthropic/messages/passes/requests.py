"""What other protocols' requests become before they are written: canonical to canonical, each step with its report.

Thinking is in a file of its own (thinking.py). Of a request that was read from this protocol only what has no form here
is changed: a choice of a tool that only other protocols have, system messages that a caller put in front.

https://docs.claude.com/en/api/messages
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from unified_llm.engine.bridge import Joined
from unified_llm.engine.pairs.mapping import Fated
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.emulation import (
    LOADED_AT_ONCE,
    SENT_AS_INSTRUCTION,
    are_searched,
    instructed_json,
    is_json_mode,
)
from unified_llm.engine.shared.nearest_values import leave_out_blank_stops
from unified_llm.engine.shared.text_fallbacks import without_media
from unified_llm.models.profiles import ModelProfile
from unified_llm.passes.tools.tool_choice import ChoiceIndex, entry_keys, tool_keys

from ..mcp import write_tools
from ..values.tables import DEFAULT_MAX_TOKENS, HOSTED_NAMES, MODES
from .thinking import model_of, settle_thinking

__all__ = ["SAMPLING", "chosen", "settle_foreign", "settle_own", "settle_prompt"]

Node = dict[str, Any]

SAMPLING = ("temperature", "top_p", "top_k")
_WORDS = frozenset(MODES.values())


def settle_own(c: Node, w: Writer, x: Joined) -> None:
    """A request that was read from this protocol, and may have been changed."""
    _hoist(c, w, x)
    if "tool_choice" in c or "parallel_tool_calls" in c:
        _settle_choice(c, w, x)


def settle_prompt(c: Node, w: Writer, x: Joined) -> None:
    """What counts of another protocol's request."""
    written: list[Any] = []
    model = model_of(c, w)
    if type(c.get("tools")) is list:
        _allow(c, w)
        _call_directly(c, x)
        if w.crosses:
            _load_at_once(c, x)
        if model.computer_tool == "":
            _withhold_computer(c, w)
        written = w.context["tools written"] = write_tools(c["tools"], w)
        _close(written)
        if model.computer_tool:
            _name_computer(written, model.computer_tool)
    _hoist(c, w, x)
    if type(c.get("instructions")) is list:
        c["instructions"] = without_media(c["instructions"], w, "system is text only") or None
    if is_json_mode(c):
        x.approximated(c, ("text", "format", "type"), SENT_AS_INSTRUCTION)
        rest = {key: value for key, value in c["text"]["format"].items() if key != "type"}
        c["text"] = {**c["text"], "format": rest}
        c["instructions"] = instructed_json(c.get("instructions"))
    if c.get("container") is not None and w.facing == "provider":
        w.report(w.doc, ("container",), "lost", "foreign")
        del c["container"]
    if "tool_choice" in c or "parallel_tool_calls" in c:
        if written:
            _settle_choice(c, w, x)
            if "tool_choice" in model.refuses:
                _free_choice(c, x)
        else:
            _withhold_choice(c, x)
    if "reasoning" in c and type(c["reasoning"]) is dict:
        settle_thinking(c, w, x)
    text: Any = c.get("text")
    if text and type(text) is dict and type(text.get("format")) is dict and text["format"].get("type") == "text":
        x.approximated(c, ("text", "format", "type"), "text is the default")
        unsent = [
            *(("format", key) for key in text["format"] if key != "type"),
            *((key,) for key in text if key != "format"),
        ]
        for keys in unsent:
            x.lost(c, ("text", *keys))
        del c["text"]
    if "safety_identifier" not in c and type(c.get("user")) is str:
        x.approximated(c, ("user",), "sent as the id of the end user")
        c["safety_identifier"] = c.pop("user")


def settle_foreign(c: Node, w: Writer, x: Joined) -> None:
    """Another protocol's request."""
    settle_prompt(c, w, x)
    model = model_of(c, w)
    _settle_limit(c, w, x, model)
    if not c.keys().isdisjoint(SAMPLING):
        _settle_sampling(c, x, model)
    if c.get("stop"):
        leave_out_blank_stops(c, w)
    if type(c.get("context_management")) is list:
        _settle_compaction(c, x, model)
    for index, _ in enumerate(c.pop("include", None) or ()):
        w.report(w.doc, ("include", index), "lost")


# ---- system text ----------------------------------------------------------------------------------------------------


def _hoist(c: Node, w: Writer, x: Joined) -> None:
    """System text: the leading run of system messages joins it, later ones stay in the conversation."""
    items = c.get("input")
    if items is None:
        c["input"] = []
    if type(items) is not list:
        return
    leading = list(takewhile(lambda item: _is_leading(item, w), items))
    if not leading:
        return
    c["input"] = items[len(leading) :]
    texts = [c.pop("instructions", None), *(w.piece(_write_leading, item) for item in leading)]
    texts = [text for text in texts if text]
    if len(texts) == 1:
        c["instructions"] = texts[0]
    elif texts:
        c["instructions"] = [part for text in texts for part in _as_parts(text)]


def _is_leading(item: Node, w: Writer) -> bool:
    if item.get("type") != "message" or item.get("role") not in ("system", "developer"):
        return False
    return w.form(item, "place") is None


def _write_leading(c: Node, w: Writer) -> Any:
    if c.pop("role") == "developer":
        c["role"] = Fated("approximated", "sent as system text")
    return c.pop("content", None)


def _as_parts(text: Any) -> Any:
    return [{"type": "input_text", "text": text}] if type(text) is str else text


# ---- which tool is called -------------------------------------------------------------------------------------------


def chosen(c: Node) -> None:
    """A choice by name, as it was read: of a hosted tool where one goes by that name, else of a function."""
    name, listed = c["tool_choice"].get("name"), c.get("tools") or ()
    if not any(tool.get("type") == "function" and tool.get("name") == name for tool in listed):
        for tool in listed:
            if HOSTED_NAMES.get(tool["type"]) == name:
                c["tool_choice"] = {"type": tool["type"]}
                return


def _settle_choice(c: Node, w: Writer, x: Joined) -> None:
    choice: Any = c.get("tool_choice")
    if type(choice) is str and choice == "validated":
        x.approximated(c, ("tool_choice",), "sent as 'auto'")
        c["tool_choice"] = "auto"
    elif type(choice) is dict:
        kind = choice.get("type")
        if kind == "custom" and type(choice.get("name")) is str:
            c["tool_choice"] = {**choice, "type": "function"}
        elif kind in HOSTED_NAMES and len(choice) == 1:
            c["tool_choice"] = {"type": "function", "name": HOSTED_NAMES[kind]}
        elif kind == "allowed_tools" and type(choice.get("tools")) is list and not x.own:
            _settle_allowed(c, w, x)
    elif choice is None and type(c.get("parallel_tool_calls")) is bool:
        x.supply(c, ("tool_choice",), "auto", "required beside the setting of parallel calls")


def _free_choice(c: Node, x: Joined) -> None:
    """Leave it to the model whether it calls a tool, where it refuses a request that forces a call.

    https://platform.claude.com/docs/en/models/fable-5-1/whats-new-fable-5-1#forced-tool-use-is-not-supported
    """
    choice: Any = c.get("tool_choice")
    if choice == "required" or type(choice) is dict:
        x.lost(c, ("tool_choice",), "the model refuses a forced call")
        c["tool_choice"] = "auto"


def _withhold_choice(c: Node, x: Joined) -> None:
    """Settings of tools are refused without tools, or where none could be sent."""
    for key in ("tool_choice", "parallel_tool_calls"):
        if c.get(key) == "none":
            x.approximated(c, (key,), "where no tools are declared none is called")
        elif c.get(key) is not None:
            x.lost(c, (key,), "refused where no tools are declared")
        c.pop(key, None)


def _settle_allowed(c: Node, w: Writer, x: Joined) -> None:
    choice = c["tool_choice"]
    word = _word(choice)
    if word is None or any(type(entry) is not dict for entry in choice["tools"]):
        return
    if choice.get("mode") == "validated":
        x.approximated(c, ("tool_choice", "mode"), "sent as 'auto'")
    x.approximated(c, ("tool_choice", "tools"), "the other tools are not sent")
    dropped = {id(node) for node, keys, fate, *_ in w.raw if not keys and fate == "lost"}
    sent = ChoiceIndex(tool_keys(tool) for tool in w.context.get("allowed", ()) if id(tool) not in dropped)
    for number, entry in enumerate(choice["tools"]):
        told = ("type", _NAMING.get(entry["type"], "type")) if sent.first(entry_keys(entry)) is not None else ()
        for key in entry:
            if key not in told:
                x.lost(c, ("tool_choice", "tools", number, key))
    for key in choice:
        if key not in ("type", "mode", "tools"):
            x.lost(c, ("tool_choice", key))
    if choice.get("mode") is None:
        x.supply(c, ("tool_choice",), word, "required; the target's default was written")
    c["tool_choice"] = word


def _word(choice: Node) -> str | None:
    mode = choice.get("mode") or "auto"
    return "auto" if mode == "validated" else mode if type(mode) is str and mode in _WORDS else None


# What of an entry is in the tool that it names.
_NAMING = {"function": "name", "custom": "name", "mcp": "server_label"}


def _allow(c: Node, w: Writer) -> None:
    """Where some tools alone may be called, the others are not declared: then no other can be called."""
    choice, tools = c.get("tool_choice"), c["tools"]
    if type(choice) is not dict or choice.get("type") != "allowed_tools":
        return
    listed = choice.get("tools")
    if _word(choice) is None or type(listed) is not list or any(type(entry) is not dict for entry in listed):
        return
    names = ChoiceIndex(map(entry_keys, listed))
    kept = w.context["allowed"] = list[Node]()
    for tool in tools:
        if names.first(tool_keys(tool)) is not None:
            kept.append(tool)
        else:
            w.drop(tool, "not among the tools that may be called")
    c["tools"] = kept


_EMPTY = {"type": "object", "properties": {}}


def _close(written: list[Any]) -> None:
    """The schema of a strict tool without parameters excludes others, as the API demands of strict ones."""
    for tool in written:
        if type(tool) is dict and tool.get("strict") is True and tool.get("input_schema") == _EMPTY:
            tool["input_schema"] = {**_EMPTY, "additionalProperties": False}


def _call_directly(c: Node, x: Joined) -> None:
    """Tools for code are called by the model itself where no tool that runs code is declared, as the API demands."""
    tools = c["tools"]
    if any(type(tool) is dict and tool.get("type") == "code_interpreter" for tool in tools):
        return
    for number, tool in enumerate(tools):
        callers = tool.get("allowed_callers") if type(tool) is dict else None
        if type(callers) is list and "programmatic" in callers:
            if tools is c["tools"]:
                c["tools"] = [*tools]
            x.lost(tool, ("allowed_callers",), "calls by code need a tool that runs code")
            c["tools"][number] = x.replaced(tool, {key: tool[key] for key in tool if key != "allowed_callers"})


def _load_at_once(c: Node, x: Joined) -> None:
    """Without a search that Claude takes, nothing would load a deferred tool of another protocol."""
    tools = [tool for tool in c["tools"] if type(tool) is dict]
    deferred = [tool for tool in tools if tool.get("defer_loading") is not None]
    if not deferred or are_searched(tools, by_client=False):
        return
    made = []
    for tool in c["tools"]:
        if any(tool is each for each in deferred):
            x.lost(tool, ("defer_loading",), LOADED_AT_ONCE)
            tool = x.replaced(tool, {key: tool[key] for key in tool if key != "defer_loading"})
        made.append(tool)
    c["tools"] = made


def _withhold_computer(c: Node, w: Writer) -> None:
    """Models from Claude 5.5 on use a computer by a toolset, which has a call of its own for each action."""
    kept = [tool for tool in c["tools"] if type(tool) is not dict or tool.get("type") not in _COMPUTERS]
    if len(kept) < len(c["tools"]):
        for tool in c["tools"]:
            if type(tool) is dict and tool.get("type") in _COMPUTERS:
                w.drop(tool, "the model takes no computer tool of this kind")
        c["tools"] = kept


def _name_computer(written: list[Any], version: str) -> None:
    """The computer tool in the version of the model, which refuses the others."""
    for tool in written:
        if type(tool) is dict and tool.get("type") == _COMPUTER:
            tool["type"] = version


_COMPUTERS = frozenset(("computer", "computer_use_preview"))
_COMPUTER = "computer_20250124"

# ---- limit, sampling, stop ------------------------------------------------------------------------------------------


def _settle_limit(c: Node, w: Writer, x: Joined, model: ModelProfile) -> None:
    """`max_tokens`, without which there is no request."""
    most, limit = model.output_tokens, c.get("max_output_tokens")
    if limit is None:
        usual = w.dialect.get("max_tokens", DEFAULT_MAX_TOKENS)
        value = w.context.get("max_tokens") or (usual if most is None else min(usual, most))
        x.supply(c, ("max_output_tokens",), value, "max_tokens is required; default written")
    elif "max_tokens" in w.context:  # raised above the budget of thinking
        c["max_output_tokens"] = w.context["max_tokens"]
    elif most is not None and type(limit) is int and limit > most:
        x.approximated(c, ("max_output_tokens",), f"{most} is the most of this model")
        c["max_output_tokens"] = most


def _settle_sampling(c: Node, x: Joined, model: ModelProfile) -> None:
    """Sampling as the API takes it: a temperature up to 1, not together with top_p, none of it beside thinking.

    Thinking wins over sampling.
    https://docs.claude.com/en/docs/build-with-claude/extended-thinking#feature-compatibility
    """
    said = (c.get("reasoning") or {}).get("control") or ("adaptive" if model.reasoning.default == "on" else "disabled")
    thinks = said in ("enabled", "adaptive", "between_tools")
    for key in SAMPLING:
        value = c.get(key)
        if value is None:
            continue
        if model.refused(key, value, True):
            x.lost(c, (key,), "the model refuses it")
        elif key in model.refuses:
            x.approximated(c, (key,), "what the model does anyway")
        elif thinks and key == "temperature" and value == 1:
            x.approximated(c, (key,), "what thinking is done with")
        elif thinks:
            x.lost(c, (key,), "no sampling beside thinking")
        else:
            continue
        del c[key]
    temperature = c.get("temperature")
    if isinstance(temperature, (int, float)) and temperature > 1:
        x.approximated(c, ("temperature",), "1 is the most")
        c["temperature"] = 1
    if temperature is not None and c.get("top_p") is not None:
        x.lost(c, ("top_p",), "not together with temperature")
        del c["top_p"]


def _settle_compaction(c: Node, x: Joined, model: ModelProfile) -> None:
    """Compaction at a number of tokens that the API takes, and of models that it compacts for.

    https://platform.claude.com/docs/en/build-with-claude/compaction-threshold
    """
    if "context_management" in model.refuses:
        x.lost(c, ("context_management",), "the model refuses it")
        del c["context_management"]
        return
    edits = c["context_management"]
    for number, edit in enumerate(edits):
        said = edit.get("compact_threshold") if type(edit) is dict else None
        if type(said) is int and said < _LEAST_TRIGGER:
            if edits is c["context_management"]:
                c["context_management"] = [*edits]
            x.approximated(edit, ("compact_threshold",), f"the least is {_LEAST_TRIGGER}")
            c["context_management"][number] = x.replaced(edit, {**edit, "compact_threshold": _LEAST_TRIGGER})


_LEAST_TRIGGER = 50_000
