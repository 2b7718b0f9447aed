"""Content parts, tool calls and tools of Chat Completions, each read and written side by side.

A part's canonical type depends on who speaks: a `text` of the user is `input_text`, of the assistant `output_text`.
Chat nests what Responses keeps flat (`function`, `custom`, `image_url`, `file`), so most pairs only change the depth.

https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

from typing import Any

from unified_llm.ids import made_id
from unified_llm.jsonvalue import dump_text, load_text
from unified_llm.mapping import IllTyped, Mapping, Reader, Writer, take

__all__ = ["assistant_parts", "calls", "tools", "user_parts"]

Node = dict[str, Any]

user_parts = Mapping("openai-chat user parts")
assistant_parts = Mapping("openai-chat assistant parts")
calls = Mapping("openai-chat tool calls", default="function")
tools = Mapping("openai-chat tools", default="function")


# ---- parts ----------------------------------------------------------------------------------------------------------


def _read_cache(w: Node, part: Node) -> Node:
    if "prompt_cache_breakpoint" in w:
        part["cache"] = w.pop("prompt_cache_breakpoint")
    return part


def _write_cache(c: Node, wire: Node) -> Node:
    if "cache" in c:
        wire["prompt_cache_breakpoint"] = c.pop("cache")
    return wire


@user_parts.read("text")
def read_text(w: Node, r: Reader) -> Node:
    part = {"type": "input_text", "text": w.pop("text")}
    return _read_cache(w, part) if w else part


@user_parts.write("input_text", "output_text")
@assistant_parts.write("output_text", "input_text")
def write_text(c: Node, w: Writer) -> Node:
    wire = {"type": "text", "text": c.pop("text")}
    return _write_cache(c, wire) if c else wire


@assistant_parts.read("text")
def read_output_text(w: Node, r: Reader) -> Node:
    part = {"type": "output_text", "text": w.pop("text")}
    return _read_cache(w, part) if w else part


@assistant_parts.read("refusal")
def read_refusal(w: Node, r: Reader) -> Node:
    return {"type": "refusal", "refusal": w.pop("refusal")}


@assistant_parts.write("refusal")
def write_refusal(c: Node, w: Writer) -> Node:
    return {"type": "refusal", "refusal": c.pop("refusal")}


@user_parts.read("image_url")
def read_image(w: Node, r: Reader) -> Node:
    image = take(w, "image_url")
    part = {"type": "input_image", "image_url": image.pop("url")}
    if "detail" in image:
        part["detail"] = image.pop("detail")
    return _read_cache(w, part)


@user_parts.write("input_image", "output_image")
def write_image(c: Node, w: Writer) -> Node | None:
    if type(c.get("image_url")) is not str:
        return None
    image = {"url": c.pop("image_url")}
    if "detail" in c:
        image["detail"] = c.pop("detail")
    return _write_cache(c, {"type": "image_url", "image_url": image})


@user_parts.read("input_audio")
def read_audio(w: Node, r: Reader) -> Node:
    audio = take(w, "input_audio")
    part = {"type": "input_audio", "data": audio.pop("data")}
    if "format" in audio:
        part["format"] = audio.pop("format")
    return _read_cache(w, part)


@user_parts.write("input_audio")
def write_audio(c: Node, w: Writer) -> Node | None:
    if type(c.get("data")) is not str:
        return None
    audio = {key: c.pop(key) for key in ("data", "format") if key in c}
    return _write_cache(c, {"type": "input_audio", "input_audio": audio})


_FILE_KEYS = ("file_data", "file_id", "filename")


@user_parts.read("file")
def read_file(w: Node, r: Reader) -> Node:
    file = take(w, "file")
    return _read_cache(w, {"type": "input_file", **{key: file.pop(key) for key in _FILE_KEYS if key in file}})


@user_parts.write("input_file")
def write_file(c: Node, w: Writer) -> Node | None:
    file = {key: c.pop(key) for key in _FILE_KEYS if key in c}
    return _write_cache(c, {"type": "file", "file": file}) if file.keys() - {"filename"} else None


@user_parts.read("video_url")
def read_video(w: Node, r: Reader) -> Node:
    video = take(w, "video_url")
    return _read_cache(w, {"type": "input_video", "video_url": video.pop("url")})


@user_parts.write("input_video")
def write_video(c: Node, w: Writer) -> Node | None:
    if type(c.get("video_url")) is not str:
        return None
    return _write_cache(c, {"type": "video_url", "video_url": {"url": c.pop("video_url")}})


# ---- tool calls -----------------------------------------------------------------------------------------------------

_NO_ARGUMENTS = {"": "empty", None: "null"}


def read_arguments(value: Any) -> tuple[str, str | None]:
    """Arguments as canonical JSON text, and the marker of the form they had: a call without any is `{}` everywhere."""
    if type(value) is str and value:
        return value, None
    if type(value) is dict:
        return dump_text(value), "object"
    if value is None or value == "":
        return "{}", _NO_ARGUMENTS[value]
    raise IllTyped("arguments")


def write_arguments(value: Any, marker: str | None) -> Any:
    """The inverse of `read_arguments`, as far as the canonical text still says the same."""
    if marker == "object":
        return load_text(value)
    if marker is not None and value == "{}":
        return "" if marker == "empty" else None
    return value


@calls.read("function")
def read_function_call(w: Node, r: Reader) -> Node:
    function = take(w, "function")
    arguments, marker = read_arguments(function.pop("arguments", None) if "arguments" in function else "")
    item = {"type": "function_call", "call_id": w.pop("id"), "name": function.pop("name"), "arguments": arguments}
    if type(item["call_id"]) is not str:
        raise IllTyped("id")
    if marker:
        r.form(item, "arguments", marker)
    return item


@calls.write("function_call")
def write_function_call(c: Node, w: Writer) -> Node:
    arguments = write_arguments(c.pop("arguments"), w.form(c, "arguments"))
    return {"id": c.pop("call_id"), "type": "function", "function": {"name": c.pop("name"), "arguments": arguments}}


@calls.read("custom")
def read_custom_call(w: Node, r: Reader) -> Node:
    custom = take(w, "custom")
    return {
        "type": "custom_tool_call",
        "call_id": w.pop("id"),
        "name": custom.pop("name"),
        "input": custom.pop("input"),
    }


@calls.write("custom_tool_call")
def write_custom_call(c: Node, w: Writer) -> Node:
    return {
        "id": c.pop("call_id"),
        "type": "custom",
        "custom": {"name": c.pop("name"), "input": c.pop("input")},
    }


# ---- tools ----------------------------------------------------------------------------------------------------------

_FUNCTION_KEYS = ("name", "description", "parameters", "strict")


@tools.read("function")
def read_function(w: Node, r: Reader) -> Node:
    function = take(w, "function")
    return {"type": "function", **{key: function.pop(key) for key in _FUNCTION_KEYS if key in function}}


@tools.write("function")
def write_function(c: Node, w: Writer) -> Node:
    return {"type": "function", "function": {key: c.pop(key) for key in _FUNCTION_KEYS if key in c}}


@tools.read("custom")
def read_custom(w: Node, r: Reader) -> Node:
    custom = take(w, "custom")
    tool: Node = {"type": "custom", **{key: custom.pop(key) for key in ("name", "description") if key in custom}}
    if "format" in custom:
        format_ = take(custom, "format")
        tool["format"] = {"type": format_.pop("type")}
        if "grammar" in format_:
            grammar = take(format_, "grammar")
            tool["format"].update({key: grammar.pop(key) for key in ("syntax", "definition") if key in grammar})
    return tool


@tools.write("custom")
def write_custom(c: Node, w: Writer) -> Node:
    custom: Node = {key: c.pop(key) for key in ("name", "description") if key in c}
    if type(c.get("format")) is dict:
        format_ = take(c, "format")
        custom["format"] = {"type": format_.pop("type")}
        grammar = {key: format_.pop(key) for key in ("syntax", "definition") if key in format_}
        if grammar:
            custom["format"]["grammar"] = grammar
    return {"type": "custom", "custom": custom}


def call_id_of(seed: str, *position: object) -> str:
    """An id for a call that came without one (`function_call` of old, servers that send none)."""
    return made_id("call", seed, *position)
