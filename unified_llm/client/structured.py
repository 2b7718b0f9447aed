"""Structured output: a pydantic model (or a JSON schema) in, an instance of it out, whatever the provider can do.

Three strategies, the first that the target can do: its own structured output ("native"), a tool whose arguments are
the answer ("tool"), or the schema in the instructions ("prompt"). Which one it was is on the result and in its losses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from ..convert import write
from ..errors import CapabilityRefused, ParseFailed
from ..losses import Loss, Losses
from .requests import Call
from .results import Result
from .sending.flows import Steps

__all__ = ["STRATEGIES", "Wanted", "choose", "parsing", "wanted"]

Node = dict[str, Any]
STRATEGIES = ("native", "tool", "prompt")
_WRAPPER = "value"
_FORMAT = frozenset(("/text", "/text/format", "/text/format/type", "/text/format/schema"))


class Wanted:
    """What is asked for: its name, its JSON schema, and how a text becomes it."""

    def __init__(self, name: str, schema: Node, load: Callable[[str], Any], description: str = "") -> None:
        self.name, self.schema, self.load, self.description = name, schema, load, description

    def native(self) -> Node:
        """The canonical text format."""
        return {"type": "json_schema", "name": self.name, "schema": self.schema, "strict": True}

    def tool(self) -> Node:
        """The tool whose arguments are the answer; a schema that is no object is its one property."""
        schema = self.schema
        if self.is_wrapped:
            definitions = {key: value for key, value in schema.items() if key in ("$defs", "definitions")}
            inner = {key: value for key, value in schema.items() if key not in definitions}
            schema = {"type": "object", "properties": {_WRAPPER: inner}, "required": [_WRAPPER], **definitions}
        about = self.description or "The answer. Call this with all of it, exactly once."
        return {"type": "function", "name": self.name, "description": about, "parameters": schema}

    @property
    def is_wrapped(self) -> bool:
        """Whether the tool's arguments hold the answer in a property of their own."""
        return self.schema.get("type") != "object"

    def instructions(self) -> str:
        """The schema in words."""
        schema = json.dumps(self.schema, ensure_ascii=False)
        return (
            f"Answer with one JSON value and nothing else: no prose, no code fence. It must fit this schema:\n{schema}"
        )


def wanted(format_: Any, name: str | None = None) -> Wanted:
    """What `text_format=` asks for: a type that pydantic knows, or a JSON schema.

    Raises `TypeError` for anything else: a word, a value, the setting that a schema would be in.

    >>> wanted(list[int]).schema
    {'items': {'type': 'integer'}, 'type': 'array'}
    """
    if isinstance(format_, dict):
        if format_.get("type") in _SETTINGS:
            raise TypeError(f"text_format= is the schema itself, and {format_['type']!r} is a setting; {_WANTS}")
        called = name or str(format_.get("title") or "answer")
        return Wanted(_name(called), format_, _loads, str(format_.get("description") or ""))
    from pydantic import PydanticUserError, TypeAdapter

    # (pydantic would take a text for the name of a type, and look for it among the modules.)
    if format_ is None or isinstance(format_, str):
        raise TypeError(f"text_format={format_!r} is no type; {_WANTS}")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(format_)
        schema = adapter.json_schema()
    except PydanticUserError as error:
        raise TypeError(f"text_format={format_!r} has no schema; {_WANTS}") from error
    called = name or str(schema.get("title") or getattr(format_, "__name__", "answer"))
    return Wanted(_name(called), schema, adapter.validate_json, str(schema.get("description") or ""))


_SETTINGS = ("json_object", "json_schema", "text")
_WANTS = "say a pydantic model, a dataclass, a type like list[int], or a JSON schema as a dict"


def _name(text: str) -> str:
    return re.sub(r"\W", "_", text)[:64] or "answer"


def _loads(text: str) -> Any:
    from ..jsonvalue import load_text

    return load_text(text)


def choose(found: Wanted, upstream: Any) -> str:
    """The first strategy that this upstream's protocol and model can do.

    The dry run says what the protocol cannot; what a model cannot is known from the catalogue, where it says so.
    """
    known = _known(upstream)
    asked = {"model": upstream.model or "model", "input": ""}

    def losses(**more: Any) -> Losses:
        return write({**asked, **more}, upstream.protocol, model=upstream.model).losses

    if getattr(known, "structured_output", None) is not False:
        try:
            if not any(x.path in _FORMAT and x.fate == "lost" for x in losses(text={"format": found.native()})):
                return "native"
        except CapabilityRefused:
            pass
    if getattr(known, "tool_call", None) is not False:
        try:
            if not any(x.path in ("/tools", "/tools/0") and x.fate == "lost" for x in losses(tools=[found.tool()])):
                return "tool"
        except CapabilityRefused:
            pass
    return "prompt"


def _known(upstream: Any) -> Any:
    from ..errors import UnknownModel, UnknownProvider
    from ..models.catalog import get

    if not upstream.provider or not upstream.model:
        return None
    try:
        return get(f"{upstream.provider}/{upstream.model}")
    except (UnknownModel, UnknownProvider):
        return None


def parsing(
    call: Call, found: Wanted, strategy: str, retries: int, create: Callable[[Call], Steps[Result]]
) -> Steps[Result]:
    """The flow: ask in the way of the strategy, read the answer, and say again what was wrong where `retries` allow."""
    _ask(call, found, strategy)
    while True:
        result = yield from create(call)
        result._strategy = strategy
        text = _text(result, found, strategy)
        if text is None and (_refused(result) or any(each.name != found.name for each in result.tool_calls)):
            # A refusal is no answer, and neither is the call of another tool: both are the caller's.
            return result
        try:
            if text is None:
                raise ValueError("there is no text")
            result._parsed = _unwrapped(text, found) if strategy == "tool" else found.load(_bare(text, strategy))
            return result
        except ValueError as error:
            why = _told(error)
            ended = (result.finish.reason if result.finish else None) or result.status
            if ended in ("length", "context_window", "incomplete") or result.status == "incomplete":
                raise ParseFailed(f"the answer was cut off ({ended}): {why}", result, text) from error
            if not retries:
                raise ParseFailed(f"the answer is not what was asked for: {why}", result, text) from error
            retries -= 1
            said = {"type": "message", "role": "user", "content": f"That does not fit: {why}. Answer again, whole."}
            call.body = {**call.body, "input": [*result.items, *_unanswered(result), said]}
            call.segments = result.segments


def _ask(call: Call, found: Wanted, strategy: str) -> None:
    body = call.body
    if strategy == "native":
        call.body = {**body, "text": {**(body.get("text") or {}), "format": found.native()}}
        return
    if strategy == "tool":
        choice: Any = {"type": "function", "name": found.name}
        if body.get("tools"):
            choice = "required"
        call.body = {**body, "tools": [*(body.get("tools") or ()), found.tool()], "tool_choice": choice}
        how = "asked for as the arguments of a tool"
    else:
        before = body.get("instructions")
        said: Any = found.instructions()
        if isinstance(before, list):
            said = [*before, {"type": "input_text", "text": said}]
        elif before:
            said = f"{before}\n\n{said}"
        call.body = {**body, "instructions": said}
        how = "asked for in the instructions"
    call.losses = Losses([*call.losses, Loss("/text/format", "output.structured", "emulated", how)])


def _text(result: Result, found: Wanted, strategy: str) -> str | None:
    if strategy == "tool":
        named = [each for each in result.function_calls if each.name == found.name]
        return named[-1].arguments if named else None
    return result.output_text or None


def _unwrapped(text: str, found: Wanted) -> Any:
    if not found.is_wrapped:
        return found.load(text)
    value = _loads(text)
    if type(value) is not dict or _WRAPPER not in value:
        raise ValueError(f"there is no {_WRAPPER!r} in the arguments")
    return found.load(json.dumps(value[_WRAPPER]))


def _bare(text: str, strategy: str) -> str:
    """The JSON of an answer that was only asked for in words: what is around it is left out."""
    if strategy == "native":
        return text
    fenced = re.search(r"```(?:json)?\s*\n(.*?)```", text, re.DOTALL)
    if fenced:
        return fenced[1]
    places = [at for at in (text.find("{"), text.find("[")) if at >= 0]
    if not places or text.strip()[:1] in '{["-0123456789tfn':
        return text.strip()
    end = max(text.rfind("}"), text.rfind("]")) + 1
    return text[min(places) : end]


def _refused(result: Result) -> bool:
    reason = result.finish.reason if result.finish else None
    if reason in ("refusal", "safety", "recitation"):
        return True
    parts = [part for item in result.output or () for part in (getattr(item, "content", None) or ())]
    return any(getattr(part, "type", None) == "refusal" for part in parts)


def _unanswered(result: Result) -> list[Node]:
    """Outputs for the calls of an answer that is asked for again: no call may stay open."""
    return [
        {"type": "function_call_output", "call_id": each.call_id, "output": "not accepted", "is_error": True}
        for each in result.tool_calls
    ]


def _told(error: ValueError) -> str:
    errors = getattr(error, "errors", None)
    if not callable(errors):
        return str(error)
    said = [f"/{'/'.join(map(str, each['loc']))}: {each['msg']}" for each in errors(include_url=False)]
    return "; ".join(said[:10])
