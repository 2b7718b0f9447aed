"""The facts of a canonical request that an answer depends on. What is ill-typed is skipped, never refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unified_llm.engine.adapter import Adapter
from unified_llm.engine.malformed import FAULTS, refuse_conversion
from unified_llm.engine.pairs.reading import Reader
from unified_llm.foundation.document_kind import check_kind
from unified_llm.foundation.json_codec import load
from unified_llm.passes.route import kind_of

Node = dict[str, Any]
MEDIA = {"input_image": "image", "input_audio": "audio", "input_video": "video", "input_file": "file"}
PLACES = ("filename", "file_id", "image_url", "audio_url", "video_url", "file_url", "file_data", "media_type", "format")
"""Fields of a canonical medium that name it, the most specific first."""
IN_WORDS = re.compile(r"\bschema:?\s*(\{.*\})\s*$", re.DOTALL | re.IGNORECASE)
"""A schema at the end of instructions, which is how structured output is requested in words."""
TYPES = {
    400: "invalid_request", 401: "authentication", 402: "quota", 403: "permission", 404: "not_found", 408: "timeout",
    409: "conflict", 413: "too_large", 429: "rate_limit", 503: "overloaded", 504: "timeout", 529: "overloaded",
}  # fmt: skip
"""HTTP status to the canonical type of an error; of the others, 4xx are invalid requests and 5xx server errors."""


class Refused(Exception):
    """A request that is answered with `error`, a canonical error with its HTTP status."""

    def __init__(self, message: str, status: int = 400, **more: Any) -> None:
        super().__init__(message)
        kind = TYPES.get(status, "invalid_request" if status < 500 else "server_error")
        self.error: Node = {"type": kind, "message": message, "status": status, **more}


def canonical(body: Any, adapter: Adapter, kind: str, http: Mapping[str, Any]) -> Node:
    """The canonical JSON of a client's document: no objects, whose classes take longer to load than an answer takes."""
    declared, doc = kind_of(adapter, kind), load(body)
    check_kind(adapter, kind, doc, http)
    reader = Reader(adapter, http=http, opens=declared.facing == "provider")
    try:
        node: Node = reader.root(declared.read, doc)
    except FAULTS as error:
        refuse_conversion((), doc, error)
    return node


@dataclass(frozen=True)
class Turn:
    """What matters of one item of the conversation: a text of the `user` or `model`, or a tool's `result`."""

    by: str
    text: str = ""
    media: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class Tool:
    """A tool on offer: its name, the schema of its arguments, and whether it takes free-form text instead."""

    name: str
    schema: Any = None
    raw: bool = False
    namespace: str | None = None


@dataclass
class Facts:
    """The facts of a canonical request that an answer depends on."""

    request: Node
    turns: list[Turn]
    tools: list[Tool] = field(default_factory=list)
    choice: str = "auto"  # auto | none | required
    allowed: tuple[str, ...] | None = None
    parallel: bool = True
    structured: bool = False
    schema: Any = None
    limit: int | None = None
    stops: tuple[str, ...] = ()

    @classmethod
    def of(cls, request: Node, earlier: Sequence[Node] = ()) -> Facts:
        """The facts of a request that goes on after the items `earlier`."""
        items = [*earlier, *items_of(request)]
        choice, allowed = request.get("tool_choice"), None
        if isinstance(choice, dict):
            chosen = objects(choice.get("tools")) if choice.get("type") == "allowed_tools" else [choice]
            allowed = tuple(str(each.get("name") or each.get("type")) for each in chosen)
            choice = choice.get("mode") or "required"
        text = request.get("text")
        form = text.get("format") if isinstance(text, dict) else None
        form = form if isinstance(form, dict) else {}
        schema = form.get("schema") if form else _schema_in_words(request, items)
        limit, stops = request.get("max_output_tokens"), request.get("stop")
        return cls(
            request=request,
            turns=list(_turns(items)),
            tools=[tool for each in _offers(request, items) for tool in _tools(each)],
            choice=choice if choice in ("none", "required") else "auto",
            allowed=allowed,
            parallel=request.get("parallel_tool_calls") is not False,
            structured=form.get("type") in ("json_object", "json_schema") or (not form and schema is not None),
            schema=schema,
            limit=limit if isinstance(limit, int) else None,
            stops=tuple(stop for stop in stops if isinstance(stop, str)) if isinstance(stops, list) else (),
        )


def _schema_in_words(request: Node, items: list[Node]) -> Node | None:
    """The schema that the instructions end with; None where there is none."""
    system = [item.get("content") for item in items if item.get("role") in ("system", "developer")]
    for content in (request.get("instructions"), *system):
        found = IN_WORDS.search(text_of(content))
        try:
            schema = json.loads(found[1]) if found else None
        except ValueError:
            continue
        if isinstance(schema, dict):
            return schema
    return None


def objects(value: Any) -> list[Node]:
    """The objects of a list; nothing where there is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def items_of(request: Node) -> list[Node]:
    """The input as items."""
    given = request.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return objects(given)


def _turns(items: list[Node]) -> Iterator[Turn]:
    names: dict[Any, str] = {}
    for item in items:
        kind, content = item.get("type"), item.get("content")
        if kind == "message" and item.get("role") == "user":
            yield Turn("user", text_of(content), tuple(_media(content)))
        elif kind == "message" and item.get("role") == "assistant":
            yield Turn("model", text_of(content))
        elif kind in ("function_call", "custom_tool_call"):
            names[item.get("call_id")] = str(item.get("name"))
            yield Turn("model")
        elif kind in ("function_call_output", "custom_tool_call_output"):
            name = names.get(item.get("call_id")) or str(item.get("name") or "")
            yield Turn("result", text_of(item.get("output")), name=name)


def text_of(content: Any) -> str:
    """The text of a content, which is one or a list of parts."""
    if isinstance(content, str):
        return content
    return " ".join(part["text"] for part in objects(content) if isinstance(part.get("text"), str))


def _media(content: Any) -> Iterator[str]:
    """The media of a content, in a few words each."""
    for part in objects(content):
        medium = MEDIA.get(str(part.get("type")))
        if medium is not None:
            told = str(next((part[key] for key in PLACES if part.get(key)), ""))
            yield f"{medium} {told[5:].partition(';')[0].partition(',')[0] if told.startswith('data:') else told[:200]}"


def _offers(request: Node, items: list[Node]) -> Iterator[Node]:
    yield from objects(request.get("tools"))
    for item in items:
        if item.get("type") in ("additional_tools", "tool_search_output"):
            yield from objects(item.get("tools"))


def _tools(tool: Node, namespace: str | None = None) -> Iterator[Tool]:
    kind, name = tool.get("type"), tool.get("name")
    if kind in ("function", "custom") and isinstance(name, str):
        yield Tool(name, tool.get("parameters"), kind == "custom", namespace)
    for each in objects(tool.get("tools")) if kind == "namespace" else ():
        yield from _tools(each, name)
