"""Text blocks, cited ones and JSON of tool results among them, and the cache points behind blocks.

A block is of the kind of the key it holds (`{"text": ...}`). A cache point is a block of its own behind the one that it
belongs to, and a field of that one in the canonical model.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import Any

from unified_llm.engine.pairs.mapping import NATIVE, Fated, IllTyped, Mapping, Owned, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.nearest_values import fit_lifetime, nearest
from unified_llm.engine.shared.text_fallbacks import part_as_text
from unified_llm.foundation.json_codec import dump_text, load_text

from ..values import LIFETIMES, POINTS, PROTOCOL, is_own, move, need
from .citations import citations

__all__ = ["SOURCES", "answers", "parts", "read_point", "read_sources", "with_points", "written"]

Node = dict[str, Any]
WritePair = Callable[[Node, Writer], Any]

parts = Mapping(f"{PROTOCOL} parts", tag="")
answers = Mapping(f"{PROTOCOL} assistant parts", tag="")


# ---- cache points ---------------------------------------------------------------------------------------------------


def read_point(wire: Any, last: Node | None, r: Reader, at: tuple[Any, ...]) -> bool:
    """Give a cache point to the node before it; whether it is one that this node can hold."""
    if type(wire) is not dict or wire.keys() != {"cachePoint"} or type(wire["cachePoint"]) is not dict:
        return False
    point = wire["cachePoint"]
    if (
        not point.keys() <= {"type", "ttl"}
        or type(point.get("type")) is not str
        or type(point.get("ttl", "")) is not str
    ):
        return False
    if last is None or "cache" in last or last.get("type") == NATIVE or "native" in _forms(last, r):
        return False
    cache = last["cache"] = {"mode": POINTS.read(point["type"])}
    if "ttl" in point:
        cache["ttl"] = point["ttl"]
        r.place(last, ("cache", "ttl"), (..., *at, "cachePoint", "ttl"))
    r.place(last, ("cache", "mode"), (..., *at, "cachePoint", "type"))
    return True


def read_sources(wire: Any, last: Node | None, r: Reader, at: tuple[Any, ...]) -> bool:
    """Give citations without a text of their own to the text before them; whether they are such, and it is one.

    Nova has the sources of a text behind it. https://docs.aws.amazon.com/nova/latest/nova2-userguide/web-grounding.html
    """
    if type(wire) is not dict or wire.keys() != {_CITED} or last is None or last.get("type") not in _TEXTS:
        return False
    groups = _forms(last, r).get(SOURCES)
    if last.keys() != ({"type", "text", "annotations", "extra"} if groups else {"type", "text"}):
        return False
    own = wire[_CITED]
    if type(own) is not dict or not own.keys() <= {"content", "citations"} or own.get("content", []) != []:
        return False
    if not own.get("citations") or type(own["citations"]) is not list:
        return False
    read = r.nodes(citations, own["citations"])
    last.setdefault("annotations", []).extend(read)
    r.place(last, ("annotations",), (..., *at, _CITED, "citations"))
    group = f"{'empty' if 'content' in own else 'absent'} {len(read)}"
    if groups:
        groups.append(group)
    else:
        r.form(last, SOURCES, [group])
    return True


_CITED = "citationsContent"
SOURCES = "sources"
"""The form of a text with its citations in blocks behind it: of each the form of its content and their count."""
_TEXTS = ("input_text", "output_text")


def _forms(node: Node, r: Reader) -> Node:
    forms: Node = ((node.get("extra") or {}).get(r.protocol) or {}).get("form") or {}
    return forms


def written(mapping: Mapping, *types: str) -> Callable[[WritePair], WritePair]:
    """Declare a pair for nodes that may have a cache point behind their block, where `with_points` writes them."""

    def declare(pair: WritePair) -> WritePair:
        @mapping.write(*types)
        def around(c: Node, w: Writer) -> Any:
            pointed = w.context.pop("pointed", False)
            wire = pair(c, w)
            if pointed and wire is not None and type(c.get("cache")) is dict:
                _settle_point(c, c.pop("cache"), w)
            return wire

        return around

    return declare


def _settle_point(c: Node, cache: Node, w: Writer) -> None:
    """Report what of a breakpoint is not in its cache point."""
    left = {key: value for key, value in cache.items() if key not in ("mode", "ttl")}
    if cache.get("ttl") not in (None, *LIFETIMES) and not is_own(w):
        c["cache"] = dict(cache)
        fit_lifetime(c, {"ttl": cache["ttl"]}, LIFETIMES)
        c["cache"].update(left)
    elif left:
        c["cache"] = Owned(left)


def with_points(family: Mapping, nodes: Any, w: Writer) -> list[Any]:
    """The blocks of nodes, each with its cache point behind it."""
    out: list[Any] = []
    for node in nodes:
        w.context["pointed"] = True
        blocks = w.nodes(family, (node,))
        w.context.pop("pointed", None)
        # (In a stream they are deltas of the block that they cite.)
        whole = "extra" not in node or w.context.get("streaming")
        out += blocks if whole else _apart(blocks, w.form(node, SOURCES))
        if blocks and type(node.get("cache")) is dict:
            point = _point(node["cache"], w)
            out.append({"cachePoint": point})
            if "mode" not in node["cache"] and not is_own(w):
                w.added(point, "type", "there is one type")
    return out


def _apart(blocks: list[Any], form: Any) -> list[Any]:
    """A cited text as it was read, with its citations in blocks behind it; the last one has those that are new."""
    if type(form) is not list or len(blocks) != 1 or _CITED not in blocks[0]:
        return blocks
    cited = blocks[0][_CITED]
    out: list[Any] = [{"text": "".join(each["text"] for each in cited["content"])}]
    every, begin = cited["citations"], 0
    for number, group in enumerate(form, 1):
        kind, _, count = str(group).partition(" ")
        end = begin + int(count) if count.isdecimal() and len(count) < 9 and number < len(form) else len(every)
        if cites := every[begin:end]:
            out.append({_CITED: {**({"content": []} if kind == "empty" else {}), "citations": cites}})
        begin = end
    return out


def _point(cache: Node, w: Writer) -> Node:
    ttl = cache.get("ttl")
    if ttl not in (None, *LIFETIMES) and not is_own(w):
        ttl = nearest(ttl, LIFETIMES)
    return {"type": POINTS.write(cache.get("mode", "explicit")), **({"ttl": ttl} if ttl is not None else {})}


# ---- text -----------------------------------------------------------------------------------------------------------


def _text(kind: str, w: Node, r: Reader) -> Node:
    node: Node = {"type": kind}
    need(w, "text", node, "text", r, (), str)
    return node


def _cited(kind: str, w: Node, r: Reader) -> Node:
    own = take(w, _CITED)
    content = own.get("content")
    if type(content) is not list or not content:
        raise IllTyped("content")
    texts = [each["text"] for each in content if each.keys() == {"text"} and type(each["text"]) is str]
    if len(texts) < len(content):
        raise IllTyped("text")
    # They are one text, which is cited as a whole.
    node: Node = {"type": kind, "text": "".join(texts)}
    r.place(node, ("text",), ("citationsContent", "content", *((0, "text") if len(texts) == 1 else ())))
    if len(texts) > 1:
        r.form(node, "cuts", [str(len(text)) for text in texts])
    del own["content"]
    if type(own.get("citations")) is list:
        node["annotations"] = r.nodes(citations, own.pop("citations"))
        r.place(node, ("annotations",), ("citationsContent", "citations"))
    if not node.get("annotations"):
        r.form(node, "cited", True)
    return node


for family, kind in ((parts, "input_text"), (answers, "output_text")):
    family.read("text")(partial(_text, kind))
    family.read("citationsContent")(partial(_cited, kind))


def _cut(text: str, lengths: Any) -> list[str]:
    """A cited text in the pieces that it was read in; whole where it is another text by now."""
    counts = [int(each) for each in lengths if each.isdecimal()] if type(lengths) is list else []
    if not counts or len(counts) < len(lengths) or sum(counts) != len(text):
        return [text]
    ends = [*accumulate(counts)]
    return [text[end - count : end] for count, end in zip(counts, ends)]


@written(answers, "output_text", "input_text", "text")
@written(parts, "input_text", "output_text", "text")
def _write_text(c: Node, w: Writer) -> Node:
    text = c.pop("text", None)
    form = w.form(c, "guard")
    cited = w.form(c, "cited")
    if w.context.get("system") and type(c.get("annotations")) is list:
        for note in c.pop("annotations"):
            w.drop(note, "system cites nothing")
    notes = w.nodes(citations, c.pop("annotations")) if type(c.get("annotations")) is list else None
    if type(text) is not str:
        text = ""
    if form == "text":
        return {"guardContent": {"text": {"text": text}}}
    if w.form(c, "json"):
        try:
            return {"json": load_text(text)}
        except ValueError:
            pass
    if notes or cited:
        wire: Node = {"content": [{"text": piece} for piece in _cut(text, w.form(c, "cuts"))]}
        if notes is not None:
            wire["citations"] = notes
        return {"citationsContent": wire}
    return {"text": text}


@written(answers, "refusal")
@written(parts, "refusal")
def _write_refusal(c: Node, w: Writer) -> Node:
    text = c.get("refusal")
    if text is not None:
        c["refusal"] = Fated("approximated", "sent as text")
        c["type"] = Fated("approximated", "sent as text")
    return {"text": text if type(text) is str else ""}


@written(answers, "tool_reference")
@written(parts, "tool_reference")
def _write_named(c: Node, w: Writer) -> Node | None:
    text = part_as_text(c, w)
    return None if text is None else {"text": text}


@parts.read("json")
def _read_json(w: Node, r: Reader) -> Node:
    node = {"type": "input_text", "text": dump_text(w.pop("json"))}
    r.place(node, ("text",), ("json",))
    r.form(node, "json", True)
    return node


# ---- search results -------------------------------------------------------------------------------------------------


@answers.read("searchResult")
@parts.read("searchResult")
def _read_result(w: Node, r: Reader) -> Node:
    own = take(w, "searchResult")
    node: Node = {"type": "search_result"}
    for key in ("source", "title"):
        move(own, key, node, key, r, ("searchResult",), str)
    if type(own.get("content")) is list:
        node["content"] = r.nodes(parts, own.pop("content"))
    if type(own.get("citations")) is dict and type(own["citations"].get("enabled")) is bool:
        node["citations"] = {"enabled": take(own, "citations").pop("enabled")}
        r.place(node, ("citations", "enabled"), ("searchResult", "citations", "enabled"))
    return node


@written(answers, "search_result")
@written(parts, "search_result")
def _write_result(c: Node, w: Writer) -> Node:
    wire: Node = {}
    for key in ("source", "title"):
        if type(c.get(key)) is str:
            wire[key] = c.pop(key)
        elif not is_own(w):
            wire[key] = ""
            w.added(wire, key, "required by amazon-converse")
    content = c.pop("content", None)
    if type(content) is str:
        wire["content"] = [{"text": content}]
    elif type(content) is list:
        wire["content"] = w.nodes(parts, content)
    if type(c.get("citations")) is dict and "enabled" in c["citations"]:
        wire["citations"] = {"enabled": take(c, "citations").pop("enabled")}
    return {"searchResult": wire}
