"""What is used of an envelope that anybody may have made: opaque data, and how its item is found.

Every field is checked before it is used: types, sizes, and that nothing but opaque data can come of it.
"""

from __future__ import annotations

from typing import Any

__all__ = ["TURN", "is_reply", "joined_parts", "untrusted", "valid_pieces"]

Node = dict[str, Any]

TURN = "unified_llm:turn"
"""The kind of the opaque data that stands for a complete answer."""


def untrusted(node: Node) -> Node | None:
    """What may be used of a node that anybody may have made."""
    kind = node.get("type")
    found: Node = {"type": kind} if type(kind) is str else {}
    if (pieces := valid_pieces(node.get("opaque"), alone=kind == "reasoning")) is not None:
        found["opaque"] = pieces
    for key in ("anchor", "bearer"):
        if type(node.get(key)) is str:
            found[key] = node[key]
    if node.get("late") is True:
        # Where opaque data stands beside what the client shows: behind the text, and nothing beyond that.
        found["late"] = True
    parts = node.get("content")
    if type(parts) is list and len(parts) <= _MOST and all(type(part) is dict for part in parts):
        # The texts identify the parts, and are not used beyond that.
        found["content"] = [
            {"type": part.get("type"), "text": part.get("text"), "opaque": valid_pieces(part.get("opaque")) or []}
            for part in parts
        ]
    return found


def joined_parts(item: Node, parts: Any) -> Any:
    """The content of a message with the opaque data of those parts of an untrusted envelope whose text it shows.

    A string becomes one part: a string has no place for opaque data. A signed empty text at the end may not be shown.
    """
    content = item.get("content")
    shown = [{"type": "output_text", "text": content}] if type(content) is str else content
    if type(shown) is not list or type(parts) is not list:
        return content
    out, at = [], 0
    for part in shown:
        text = part.get("text") if type(part) is dict else None
        if type(text) is str and not part.get("opaque"):
            same = (n for n in range(at, len(parts)) if parts[n].get("text") == text and parts[n].get("opaque"))
            if (found := next(same, None)) is not None:
                part, at = {**part, "opaque": parts[found]["opaque"]}, found + 1
        out.append(part)
    end = len(parts)
    while end > at and parts[end - 1].get("text") == "" and parts[end - 1].get("opaque"):
        end -= 1
    out += [{"type": "output_text", "text": "", "opaque": part["opaque"]} for part in parts[end:]]
    return out if len(parts) > end or at else content


# What a client adds to an answer, beside messages: results of calls that it made, decisions that it took.
_REPLIES = frozenset(("mcp_approval_response", "item_reference", "additional_tools", "tool_change"))


def is_reply(item: Node) -> bool:
    """True for an item of the client's: a message that is not the assistant's, the result of a call it executed."""
    kind = item.get("type")
    if kind == "message":
        return item.get("role") not in ("assistant", None)
    if type(kind) is not str or item.get("executor") == "provider":
        return False
    return kind.endswith("_call_output") or kind in _REPLIES


_MOST = 10_000
_ORIGIN = frozenset(("protocol", "provider", "scope", "model"))


def valid_pieces(pieces: Any, alone: bool = False) -> list[Node] | None:
    """Opaque data as it has to be to be used at all; None for anything else. `alone` allows a complete answer."""
    if type(pieces) is not list or not 0 < len(pieces) <= _MOST:
        return None
    out: list[Node] = []
    for piece in pieces:
        if type(piece) is not dict or not (type(piece.get("kind")) is type(piece.get("data")) is str):
            return None
        # Naked opaque data is the own protocol's; what comes in an envelope has an origin.
        origin = piece.get("origin")
        if type(origin) is not dict or type(origin.get("protocol")) is not str:
            return None
        if not all(key in _ORIGIN and type(value) is str for key, value in origin.items()):
            return None
        new = {"kind": piece["kind"], "data": piece["data"], "origin": origin}
        if piece["kind"] == TURN:
            turn = piece.get("turn")
            items = turn.get("items") if type(turn) is dict else None
            if not alone or len(pieces) > 1 or type(items) is not list or len(items) > _MOST:
                return None
            proofs = [found for item in items if type(item) is dict and (found := _proof(item))]
            new["turn"] = {"items": proofs, "origin": origin}
        out.append(new)
    return out


def _proof(item: Node) -> Node | None:
    """An item of an untrusted answer: opaque data, and the text or the call by which its item is known."""
    found = untrusted(item)
    if found is None or found.get("type") not in ("message", "function_call", "custom_tool_call"):
        return None
    if item.get("role", "assistant") != "assistant":
        return None
    for key in ("call_id", "arguments", "input", "content"):
        if type(item.get(key)) is str:
            found[key] = item[key]
    return found
