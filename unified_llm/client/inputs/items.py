"""What a caller passes as `input`, as canonical items.

Items are objects or JSON; texts and media that stand beside each other are one message of the user, and so are texts
and media inside a message its parts. An item or a part of an unknown type, or with a misspelled field, is refused
before anything is sent: in a request of the caller's own making it is a mistake, and a translator would report it lost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ...foundation.errors import InvalidBody
from ...foundation.json_codec import copied, dumped
from ...foundation.json_paths import pointer
from ...types._tables import ITEM_TYPES, KEYS, PART_TYPES
from ...types.roles import ROLES
from ..history import continued, said
from ..results import Result
from ..tools.run_results import RunResult
from .media import part_of, recognized

__all__ = ["input_items", "plain"]

Node = dict[str, Any]
Keys = tuple[Any, ...]

# What other APIs call the types, roles and fields of items.
_TYPES = {
    "audio": "input_audio",
    "document": "input_file",
    "file": "input_file",
    "image": "input_image",
    "image_url": "input_image",
    "thinking": "reasoning",
    "tool_result": "function_call_output",
    "tool_use": "function_call",
    "video": "input_video",
    "video_url": "input_video",
}
_NOT_ROLES = {"function": "function_call_output", "model": "assistant", "tool": "function_call_output"}
_FIELDS = {"parts": "content", "tool_call_id": "call_id"}
_LISTED = {"tool_calls": "function_call"}  # a field of messages elsewhere, and here items of their own
_READ = "; input=unified_llm.read(body, protocol).input takes the messages of another protocol"
_OURS = frozenset(("message", "function_call_output", "custom_tool_call_output"))
_SCALAR = frozenset((str, int, float, bool, type(None)))


def input_items(given: Any) -> str | list[Node] | None:
    """The canonical input for what a caller passes: a string, or items, texts, media and results, in a list or alone.

    Raises `InvalidBody` with the path of anything else.

    >>> input_items(["What is this?", b"%PDF-"])[0]["content"][0]
    {'type': 'input_text', 'text': 'What is this?'}
    """
    if given is None or isinstance(given, str):
        return given
    at: Keys = ("input",)
    mine = False
    if type(given) is list:
        try:
            given, mine = copied(given), True
        except InvalidBody as error:
            raise InvalidBody(f"/input{error.path}", error.reason) from error
        except (TypeError, ValueError):
            pass  # there are objects in it, most likely
        entries: Iterable[tuple[Keys, Any]] = (((*at, place), each) for place, each in enumerate(given))
    elif isinstance(given, Iterable) and not _is_single(given):
        entries = (((*at, place), each) for place, each in enumerate(given))
    else:
        entries = ((at, given),)
    out: list[Node] = []
    told: list[Node] = []  # texts and media beside each other, of which nothing was made yet
    for path, each in entries:
        if isinstance(each, (Result, RunResult)):
            answer = each.final if isinstance(each, RunResult) else each
            out, told = continued(out + _messages(told), answer.dump().get("output") or ()), []
            out += answer._accepted
            continue
        try:
            node = each if mine else plain(each)
        except InvalidBody as error:
            raise InvalidBody(pointer(path) + error.path, error.reason) from error
        part = _part(node, path, "input_text")
        if part is not None:
            told.append(part)
        else:
            out += [*_messages(told), _item(node, path)]
            told = []
    return out + _messages(told)


def _is_single(given: Any) -> bool:
    """Whether this is one entry of an input, although one may iterate over it."""
    names = ("dump", "model_dump", "read")
    return isinstance(given, (Mapping, bytes, bytearray, memoryview)) or any(hasattr(given, name) for name in names)


def _messages(parts: list[Node]) -> list[Node]:
    """Messages of the user: one of all the parts where they are not texts alone, else one of each text."""
    message = {"type": "message", "role": "user"}
    if all(part.keys() == {"type", "text"} for part in parts):
        return [{**message, "content": part["text"]} for part in parts]
    return [{**message, "content": parts}]


def _part(value: Any, path: Keys, text: str) -> Node | None:
    """The part for a text, a medium, or a part; None for anything else."""
    if isinstance(value, str):
        return {"type": text, "text": value}
    if type(value) is dict:
        kind = value.get("type")
        return _known(value, kind, path) if type(kind) is str and kind in PART_TYPES else None
    if isinstance(value, (bytes, bytearray, memoryview)) and recognized(bytes(value)) is None:
        raise InvalidBody(pointer(path), "bytes of an unknown format; pass unified_llm.file(data, media_type=...)")
    try:
        return part_of(value)
    except OSError as error:
        raise InvalidBody(pointer(path), f"the file cannot be read: {error}") from error


def _item(given: Any, path: Keys) -> Node:
    if type(given) is not dict:
        raise InvalidBody(pointer(path), _misfit(given))
    item: Node = {"type": "message", **given} if "type" not in given and "role" in given else given
    kind = item.get("type")
    if type(kind) is not str or (kind not in ITEM_TYPES and "extra" not in item):
        if "type" not in item:
            _refuse_misspelled(item, ("type", "role", "content"), path, 0.6)
            raise InvalidBody(pointer((*path, "type")), "an item has a type, or it is a message with a role")
        raise InvalidBody(pointer((*path, "type")), f"unknown item type {kind!r}{_near(kind, ITEM_TYPES, _TYPES)}")
    if kind not in ITEM_TYPES:
        return said(item)
    _known(item, kind, path)
    role = item.get("role")
    if kind == "message" and type(role) is str and role not in ROLES and "extra" not in item:
        meant = _NOT_ROLES.get(role, "")
        near = f"; did you mean an item of type {meant!r}?{_READ}" if meant in ITEM_TYPES else ""
        near = near or _near(role, ROLES, _NOT_ROLES) + (_READ if meant else "")
        raise InvalidBody(pointer((*path, "role")), f"{role!r} is none of the roles {', '.join(ROLES)}{near}")
    for key in ("content", "output") if kind in _OURS else ():
        parts = item.get(key)
        if parts is not None and type(parts) is not str and not _are_parts(parts):
            text = "output_text" if role == "assistant" else "input_text"
            item = {**item, key: _parts(parts, (*path, key), text, "extra" in item)}
    return said(item)


def _are_parts(given: Any) -> bool:
    """Whether these are canonical parts as they stand, as nearly all of a long conversation are."""
    if type(given) is not list:
        return False
    for part in given:
        kind = part.get("type") if type(part) is dict else None
        if type(kind) is not str or kind not in PART_TYPES or not part.keys() <= KEYS[kind]:
            return False
    return True


def _parts(given: Any, path: Keys, text: str, is_read: bool) -> Any:
    """The content of a message, or the output of a tool: a text, or parts."""
    if isinstance(given, str):
        return given
    if type(given) is not list and type(given) is not tuple:
        part = _part(given, path, text)
        if part is None:
            raise InvalidBody(pointer(path), f"should be a string or a list of parts{_kind(given)}")
        return [part]
    out: list[Node] = []
    for place, each in enumerate(given):
        part = _part(each, (*path, place), text)
        if part is None:
            if type(each) is not dict or not ("extra" in each or is_read):
                where = ("type",) if type(each) is dict else ()
                raise InvalidBody(pointer((*path, place, *where)), f"not a part{_kind(each)}")
            part = each
        out.append(part)
    return out


def _known(node: Node, kind: str, path: Keys) -> Node:
    """A node of a known type; a field of it that is misspelled is refused."""
    if not node.keys() <= KEYS[kind] and "extra" not in node:
        _refuse_misspelled(node, KEYS[kind], path)
    return node


def _refuse_misspelled(node: Node, fields: Collection[str], path: Keys, cutoff: float = 0.85) -> None:
    """Refuse a key that looks like a field which is not there. What looks like none may be new, and is reported."""
    for key, value in node.items():
        if key in fields or value is None or value == []:
            continue
        if key in _LISTED:
            reason = f"unknown field {key!r}; did you mean an item of type {_LISTED[key]!r}?{_READ}"
            raise InvalidBody(pointer((*path, key)), reason)
        from difflib import get_close_matches

        near = [_FIELDS[key]] if key in _FIELDS else get_close_matches(key, sorted({*fields} - node.keys()), 1, cutoff)
        if near:
            read = _READ if key in _FIELDS else ""
            raise InvalidBody(pointer((*path, key)), f"unknown field {key!r}; did you mean {near[0]!r}?{read}")


def _misfit(given: Any) -> str:
    return f"should be text, an item, a part, bytes, a path, an image or a result, not {type(given).__name__}"


def _kind(given: Any) -> str:
    if type(given) is not dict:
        return f", but {type(given).__name__}"
    kind = given.get("type")
    return f": its type is {kind!r}{_near(kind, PART_TYPES, _TYPES)}" if "type" in given else ": it has no type"


def _near(given: Any, known: Iterable[str], elsewhere: Mapping[str, str]) -> str:
    from difflib import get_close_matches

    found = [elsewhere[given]] if given in elsewhere else get_close_matches(str(given), sorted(known), 1)
    return f"; did you mean {found[0]!r}?" if found else ""


def plain(value: Any) -> Any:
    """A value of our own, with the JSON form of the objects in it; media and anything else stay as they are."""
    kind = type(value)
    if kind in _SCALAR:
        return value
    if kind is dict or kind is list:
        try:
            return copied(value)
        except InvalidBody:
            raise
        except (TypeError, ValueError):
            pass  # there are objects in it, most likely
    if hasattr(value, "dump") and not isinstance(value, type):
        return value.dump()
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return dumped(value)
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value
