"""What a tool gives back, as the output of a call: text, JSON, images, files, or an error.

Text stays text, canonical parts stay parts, bytes and files become the part for their media type, and
everything else is JSON as pydantic writes it. Nothing is read from the network.
"""

from __future__ import annotations

from typing import Any

from ...foundation.errors import UnifiedLLMError
from ...types.base import Model
from ..inputs.media import part_of

__all__ = ["ToolError", "failed", "output_of"]

Node = dict[str, Any]
# (No set: the type in a value may be anything, as in a JSON schema of two types.)
_PARTS = ("input_text", "input_image", "input_file", "input_audio", "input_video", "search_result")


class ToolError(UnifiedLLMError):
    """Raise it inside a tool to send the model your own text: that the call failed, and what to do instead.

    >>> import unified_llm as ul
    >>> def open_door() -> str:
    ...     raise ul.ToolError("It is locked; get the key.")
    >>> ul.Client().responses.run(model="local/echo", input="[[call open_door]]", tools=[open_door]).output_text
    'open_door: It is locked; get the key.'
    """


def output_of(value: Any) -> str | list[Node]:
    """The `output` of a call for what its function returned."""
    if isinstance(value, str):
        return value
    part = _part(value)
    if part is not None:
        return [part]
    if isinstance(value, (list, tuple)) and value:
        parts = [_part(each) for each in value]
        # Text beside images and files is a part as well; a list of anything else is JSON.
        if any(each is not None for each in parts):
            return [_text(each) if part is None else part for each, part in zip(value, parts)]
    return _json(value)


def failed(error: BaseException | str) -> str:
    """The text for the model about a failed call."""
    if isinstance(error, ToolError) or isinstance(error, str):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _part(value: Any) -> Node | None:
    if isinstance(value, Model) and getattr(value, "type", None) in _PARTS:
        return value.dump()
    if isinstance(value, dict) and value.get("type") in _PARTS:
        return value
    return part_of(value)


def _text(value: Any) -> Node:
    return {"type": "input_text", "text": value if isinstance(value, str) else _json(value)}


def _json(value: Any) -> str:
    from pydantic_core import to_json

    return to_json(value, fallback=str, inf_nan_mode="constants").decode()
