"""Handles: names of things that one provider keeps, which mean nothing, or something else, to another.

The id of a file, a container, a stored response or a voice belongs to its maker, as a signature does: no other provider
is ever sent it. (Names of prebuilt voices are refused by others too.) The table is the whole list; the engine
withholds what stands in it, whatever an adapter would do, and reports it with the detail `foreign`. Protocols of one
family (`Adapter.family`) share one store, so that a file uploaded for one of them is known to the other. A handle in an
answer travels home with its answer (`answer_envelope.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..engine.pairs.mapping import lookup
from ..foundation.generated_ids import is_made

if TYPE_CHECKING:
    from ..engine.pairs.writing import Writer

__all__ = ["HANDLES", "NAMING", "has_handles", "is_foreign_here", "may_name", "withhold"]

Node = dict[str, Any]

WHOLE = "whole"
FIELD = "field"

_MEDIA = {"file_id": FIELD, "file_uri": FIELD}
HANDLES: dict[str, dict[str, str]] = {
    # The conversation that the provider keeps.
    "request": {
        "previous_response_id": FIELD,
        "conversation": FIELD,
        "prompt": FIELD,
        "container": FIELD,
        "cached_content": FIELD,
        "continuation_token": FIELD,
    },
    "item_reference": {"id": WHOLE},
    # Files, by id or by a URI that only their store can read.
    **{f"input_{kind}": _MEDIA for kind in ("image", "file", "audio", "video")},
    **{f"output_{kind}": _MEDIA for kind in ("image", "file", "video")},
    "output_audio": {**_MEDIA, "id": FIELD},
    "file_citation": {"file_id": FIELD, "file_uri": FIELD, "media_id": FIELD},
    "container_file_citation": {"container_id": WHOLE, "file_id": WHOLE},
    "file_path": {"file_id": WHOLE},
    "document_citation": {"file_id": FIELD},
    # Where hosted tools work, and what they look in.
    "code_interpreter_call": {"container_id": FIELD},
    "shell_call": {"environment": FIELD},
    "file_search": {"vector_store_ids": WHOLE},
    "code_interpreter": {"container": FIELD},
    "shell": {"environment": FIELD},
    "image_generation": {"input_image_mask": FIELD},
    "mcp": {"connector_id": WHOLE, "tunnel_id": WHOLE},
}
"""Canonical type -> field that is a handle -> what goes without it: the field alone, or the node, which is nothing
without it. A medium of which nothing else is left goes whole."""

# What a medium is, if it is not a handle; and values of the fields above that name nothing a provider keeps.
_SUBSTANCE = ("image_url", "file_url", "file_data", "video_url", "audio_url", "data", "url", "transcript")
_LISTS = ("content", "output", "annotations", "results", "outputs", "summary")
_BELOW = frozenset(_LISTS)
_KEPT = {
    "container": ("id", "file_ids", "skills", "container_id"),
    "environment": ("container_id", "file_ids", "skills"),
}


def _is_handle(key: str, value: Any) -> bool:
    """Whether a value names something: a container that is made anew for the request does not."""
    if not value or (key == "id" and is_made(value)):
        return False
    if key in _KEPT and type(value) is dict:
        return any(value.get(name) for name in _KEPT[key])
    return key != "input_image_mask" or (type(value) is dict and bool(value.get("file_id")))


def is_foreign_here(family: str, provider: str | None, goal: str, target: str | None) -> bool:
    """Whether the handles of one side mean nothing to the other. A value that only one side has always matches."""
    if provider is not None and target is not None:
        return provider != target
    return family != goal


def has_handles(items: list[Any]) -> bool:
    """Whether an answer names anything that its provider keeps."""
    for item in items:
        table = lookup(HANDLES, item.get("type", ""))
        if table is not None:
            for key in table:
                if key in item and _is_handle(key, item[key]):
                    return True
        for key in () if _BELOW.isdisjoint(item) else _LISTS:
            below = item.get(key)
            if type(below) is list and below and has_handles([each for each in below if type(each) is dict]):
                return True
    return False


def withhold(
    node: Node, writer: Writer, foreign: bool, restored: dict[int, bool], plain: bool = False
) -> list[tuple[Node, Node]]:
    """Take the handles that are foreign out of a request, in place; gives the nodes that were made, with the old ones.

    `foreign` is whether the references of the caller's document are; `restored` the same of items, by identity, that
    came out of an envelope or the vault, and may have been made elsewhere. `plain` means that no item names anything.
    """
    replaced: list[tuple[Node, Node]] = []
    if foreign:
        if not _REQUEST.isdisjoint(node):
            for key in HANDLES["request"]:
                if key in node and _is_handle(key, node[key]):
                    writer.report(node, (key,), "lost", "foreign")
                    del node[key]
        audio = node.get("audio")
        if type(audio) is dict and audio.get("voice") is not None:
            writer.report(node, ("audio", "voice"), "lost", "foreign")
            node["audio"] = {key: value for key, value in audio.items() if key != "voice"}
        tools = node.get("tools")
        if type(tools) is list:
            for tool in tools:
                if tool.get("type") != "function":
                    node["tools"] = _nodes(tools, writer, replaced)
                    break
    items = node.get("input")
    if not plain and type(items) is list and may_name(items):
        out = _items(items, writer, replaced, foreign, restored)
        if out is not items:
            node["input"] = out
    return replaced


_REQUEST = frozenset(HANDLES["request"])
NAMING = _REQUEST | {"audio"}
"""The settings of a request, beside its tools, that may name what a provider keeps."""

_PLAIN = frozenset(("input_text", "output_text", "refusal", "text"))


def may_name(items: list[Any]) -> bool:
    """Whether there is more than texts, calls and their results: a look that costs next to nothing."""
    for item in items:
        kind = item.get("type")
        if kind == "message":
            content = item.get("content")
        elif kind == "function_call_output":
            content = item.get("output")
        elif kind == "function_call":
            continue
        else:
            return True
        if type(content) is list:
            for part in content:
                if type(part) is not dict or part.get("type") not in _PLAIN or part.get("annotations"):
                    return True
    return False


def _items(
    items: list[Any], writer: Writer, replaced: list[tuple[Node, Node]], foreign: bool, restored: dict[int, bool]
) -> list[Any]:
    out: list[Any] = []
    same = True
    for item in items:
        kind = item.get("type")
        if kind == "function_call" or (kind == "message" and type(item.get("content")) is not list):
            out.append(item)
            continue
        new = _node(item, writer, replaced) if restored.get(id(item), foreign) else item
        same = same and new is item
        if new is not None:
            out.append(new)
    return items if same else out


def _nodes(nodes: list[Any], writer: Writer, replaced: list[tuple[Node, Node]]) -> list[Any]:
    """The nodes of a list without foreign handles: the same list where there are none."""
    out: list[Any] = []
    same = True
    for node in nodes:
        new = _node(node, writer, replaced) if type(node) is dict else node
        same = same and new is node
        if new is not None:
            out.append(new)
    return nodes if same else out


def _node(node: Node, writer: Writer, replaced: list[tuple[Node, Node]]) -> Node | None:
    table = lookup(HANDLES, node.get("type", ""))
    gone = [key for key in table if key in node and _is_handle(key, node[key])] if table is not None else []
    if table is not None and gone:
        if WHOLE in (table[key] for key in gone) or (_is_medium(node) and not any(map(node.get, _SUBSTANCE))):
            writer.drop(node, "foreign")
            return None
        for key in gone:
            writer.report(node, (key,), "lost", "foreign")
    new = {key: value for key, value in node.items() if key not in gone} if gone else node
    for key in () if _BELOW.isdisjoint(node) else _LISTS:
        below = new.get(key)
        if type(below) is list and below:
            kept = _nodes(below, writer, replaced)
            if kept is not below:
                new = {**new, key: kept} if new is node else new
                new[key] = kept
    if new is not node:
        replaced.append((new, node))
    return new


def _is_medium(node: Node) -> bool:
    return HANDLES[node["type"]].get("file_uri") is not None and "citation" not in node["type"]
