"""Canonical nodes, generated from the model's own declarations: valid, useful, every string leaf different.

`nodes(kind)` makes any node of a kind with any of its keys, and `items()`, `parts()`, `tools()`, `events()` are
shorthands for it; what hangs together is made by `strategies_documents`. Leaves are numbered, so a leaf that moves or
vanishes is distinguished from one that stays.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st

from unified_llm.types import Model
from unified_llm.types.base import KNOWN, Kind

__all__ = [
    "ANSWER_PARTS",
    "PNG",
    "STRUCTURE",
    "UNDIRECTED_PARTS",
    "WORDS",
    "Maker",
    "events",
    "items",
    "name_of",
    "nodes",
    "of_class",
    "parts",
    "png",
    "tools",
]

Doc = dict[str, Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]
Names = Iterator[int]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
STRUCTURE = frozenset(("extra", "turn", "opaque", "cache", "caller", "agent", "created_by", "carried_on"))
"""Keys that hold a node together or stay with a provider; generated only where `structure=True` asks for them."""

# Values a provider would know, by key, or by node and key where a key means two things.
WORDS: dict[str, tuple[Any, ...]] = {
    "role": ("user", "assistant", "system", "developer"),
    "phase": ("commentary", "final_answer"),
    "detail": ("low", "high", "auto"),
    "execution": ("server", "client"),
    "executor": ("client", "provider"),
    "truncation": ("auto", "disabled"),
    "service_tier": ("auto", "default", "flex", "priority"),
    "media_type": ("image/png",),
    "environment": ("browser",),
    "search_context_size": ("low", "medium", "high"),
    "prompt_cache_retention": ("in_memory", "24h"),
    "verbosity": ("low", "medium", "high"),
    "language": ("python",),
    "outcome": ("ok", "failed"),
    "reasoning_config.effort": ("none", "minimal", "low", "medium", "high", "xhigh"),
    "reasoning_config.summary": ("auto", "concise", "detailed"),
    "reasoning_config.control": ("enabled", "adaptive", "disabled"),
    "reasoning_config.display": ("summarized", "omitted"),
    "reasoning_config.context": ("auto", "current_turn", "all_turns"),
    "reasoning_config.mode": ("standard", "pro"),
    "text_format.type": ("text", "json_object", "json_schema"),
    "prompt_cache_options.mode": ("implicit", "explicit"),
    "prompt_cache_options.ttl": ("30m", "12h"),
    "finish.reason": ("stop", "length", "tool_calls", "safety"),
    "cache.mode": ("explicit",),
    "cache.ttl": ("30m", "12h"),
    "custom_format.type": ("text", "grammar"),
    "custom_format.syntax": ("lark", "regex"),
    "web_search_call.action.type": ("search", "open_page", "find_in_page"),
    "code_output.type": ("logs", "image"),
    "user_location.type": ("approximate",),
    "input_audio.format": ("wav", "mp3"),
    "output_audio.format": ("wav", "mp3"),
    "audio_config.format": ("wav", "mp3", "flac"),
    "status": ("in_progress", "completed", "incomplete"),
    "response.object": ("response",),
    "tool_choice.type": ("web_search", "file_search", "code_interpreter"),
    "allowed_tools.mode": ("auto", "required"),
}
UNDIRECTED_PARTS = ("input_text", "input_image", "input_file", "input_audio", "input_video")
ANSWER_PARTS = ("output_text", "refusal")


def png(number: int) -> str:
    return f"{PNG[:-8]}{number:08d}"


def name_of(word: str, names: Names) -> str:
    return f"{word} {next(names)}"


def _string(draw: Draw, node: str, key: str, names: Names) -> Any:
    words = WORDS.get(f"{node}.{key}", WORDS.get(key))
    if words is not None:
        return draw(st.sampled_from(words))
    number = next(names)
    if key in ("image_url", "video_url", "url", "file_url", "audio_url", "file_uri", "server_url"):
        return f"https://example.com/{key}/{number}"
    if key in ("file_data", "data", "partial_image_b64") or (node, key) == ("image_generation_call", "result"):
        return png(number)
    if key == "arguments":
        return f'{{"argument": "{number}"}}'
    if key in ("name", "server_label", "tool", "namespace"):
        return f"{key}_{number}"
    if key.endswith("id"):
        return f"{key}_{number}"
    odd = draw(st.sampled_from(("", "", "", ' "quoted"', " é😀 ", "\n")))
    return f"{key} {number}{odd}"


def _object(key: str, names: Names) -> Doc:
    if key in ("parameters", "schema", "output_schema"):
        return {
            "type": "object",
            "properties": {name_of("property", names).replace(" ", "_"): {"type": "string"}},
            "required": [],
            "additionalProperties": False,
        }
    if key == "logit_bias":
        return {str(next(names)): 5}
    if key == "prediction":
        return {"type": "content", "content": name_of("prediction", names)}
    if key in ("headers", "metadata", "labels", "variables"):
        return {f"key_{next(names)}": f"value_{next(names)}"}
    return {f"key_{next(names)}": [name_of(key, names), next(names), {"deep": None}]}


class Maker:
    """Draws nodes of one document: the numbers of its leaves run through all of it."""

    def __init__(self, draw: Draw, *, nulls: bool, structure: bool, foreign: bool) -> None:
        self.draw, self.nulls, self.structure, self.foreign = draw, nulls, structure, foreign
        self.names: Names = itertools.count(1)

    def node(
        self, cls: type[Model], depth: int = 2, only: frozenset[str] | None = None, keep: tuple[str, ...] = ()
    ) -> Doc:
        """A node of `cls` with its required keys, those in `keep`, and any of the others (of `only`, where given)."""
        cls.model_rebuild()
        optional, out = [], {}
        for name, info in cls.__pydantic_fields__.items():
            key = info.alias or name
            if key == "type" and get_origin(info.annotation) is Literal:
                out[key] = self.draw(st.sampled_from(get_args(info.annotation)))
            elif info.is_required() or key in keep:
                out[key] = None
            elif (key not in STRUCTURE or self.structure) and (only is None or key in only):
                optional.append(key)
        if optional:
            for key in self.draw(st.lists(st.sampled_from(optional), unique=True, max_size=6)):
                out[key] = None
        label = out.get("type") or cls.node_name
        for name, info in cls.__pydantic_fields__.items():
            key = info.alias or name
            if key in out and out[key] is None:
                typed = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
                out[key] = self.value(typed, label, key, depth, required=info.is_required() or key in keep)
        if self.foreign and self.draw(st.integers(0, 9)) == 0:
            out[f"x_{next(self.names)}"] = self.draw(
                st.sampled_from((None, 1, 0.5, True, "", [], {}, {"a": [1, None]}))
            )
        return out

    def value(self, annotation: Any, node: str, key: str, depth: int, required: bool = False) -> Any:
        origin = get_origin(annotation)
        if origin is Annotated:
            held, *marks = get_args(annotation)
            kind = next((mark.name for mark in marks if isinstance(mark, Kind)), None)
            return self.value(held, node, key, depth, required) if kind is None else self.kind(kind, depth)
        if origin in (Union, types.UnionType):
            choices = [each for each in get_args(annotation) if each is not type(None)]
            if self.nulls and not required and self.draw(st.integers(0, 4)) == 0:
                return None
            return self.value(self.draw(st.sampled_from(choices)), node, key, depth, required)
        if origin is list:
            if depth <= 0:
                return []
            held = get_args(annotation)[0]
            return [self.value(held, node, key, depth - 1) for _ in range(self.draw(st.integers(1, 2)))]
        if origin is dict:
            if key == "extra":
                return {"x-proto": {"rest": {f"key_{next(self.names)}": None}}}
            return _object(key, self.names)
        if isinstance(annotation, type) and issubclass(annotation, Model):
            return self.node(annotation, depth - 1)
        if annotation is str:
            return _string(self.draw, node, key, self.names)
        if annotation is bool:
            return self.draw(st.booleans())
        if annotation is int:
            return 2 if key == "turn" else 1000 + next(self.names)
        if annotation is float:
            return 0.25 + next(self.names) / 1024
        if annotation is type(None):
            return None
        return self.draw(st.sampled_from((name_of(key, self.names), _object(key, self.names))))

    def kind(self, kind: str, depth: int) -> Doc:
        if kind == "tool_choice":
            return {"type": "function", "name": _string(self.draw, "tool_choice", "name", self.names)}
        known = KNOWN[kind]
        names = sorted(known)
        if self.foreign and self.draw(st.integers(0, 9)) == 0:
            return {"type": "acme:novelty", "payload": _object("payload", self.names)}
        if kind == "part" and depth <= 0:
            names = ["input_text", "output_text"]
        name = self.draw(st.sampled_from(names))
        return {**self.node(known[name], depth - 1), "type": name}


@st.composite
def of_class(
    draw: Draw,
    cls: type[Model],
    *,
    nulls: bool = True,
    structure: bool = True,
    foreign: bool = True,
    every: bool = False,
) -> Doc:
    """A document of one class, with any of its keys (`every`: all); `foreign` adds unknown keys and unknown nodes."""
    keep = tuple(info.alias or name for name, info in cls.__pydantic_fields__.items()) if every else ()
    return Maker(draw, nulls=nulls, structure=structure, foreign=foreign).node(cls, 3, keep=keep)


@st.composite
def nodes(
    draw: Draw, kind: str, *, nulls: bool = True, structure: bool = True, foreign: bool = True, depth: int = 3
) -> Doc:
    """Any node of a kind: item, part, annotation, tool, tool_choice, event."""
    return Maker(draw, nulls=nulls, structure=structure, foreign=foreign).kind(kind, depth)


def items(**options: Any) -> st.SearchStrategy[Doc]:
    """Any item."""
    return nodes("item", **options)


def parts(**options: Any) -> st.SearchStrategy[Doc]:
    """Any part."""
    return nodes("part", **options)


def tools(**options: Any) -> st.SearchStrategy[Doc]:
    """Any tool."""
    return nodes("tool", **options)


def events(**options: Any) -> st.SearchStrategy[Doc]:
    """Any event."""
    return nodes("event", **options)
