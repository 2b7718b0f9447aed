"""One candidate of a stream while it comes in: parts to events.

Text grows a part as long as the same kind of it comes; a signed part stands alone, and so do media; calls come whole,
or in pieces that are put together.
"""

from __future__ import annotations

from json import dumps
from typing import Any

from unified_llm.engine.pairs.reading import Reader
from unified_llm.foundation.json_codec import dump_text

from ..calls.calls_and_results import answers_among
from ..turns.contents import items, read_beside, read_part, twofold
from ..values.tables import PROTOCOL
from .partial_args import PartialArgs

__all__ = ["JOINED", "Candidate", "ends_with_call"]

Event = dict[str, Any]
Node = dict[str, Any]

_TEXT = {
    "message": ("response.output_text", "response.content_part", "content_index", "output_text"),
    "reasoning": (
        "response.reasoning_summary_text",
        "response.reasoning_summary_part",
        "summary_index",
        "summary_text",
    ),
}


CITED, JOINED = "citationMetadata", frozenset(("citationMetadata", "logprobsResult"))
"""Fields of a candidate that each frame brings for its own part; of the others, the last value counts."""


class Candidate:
    """One candidate while it comes in: the item that is open, its parts, the text that grows, a call in pieces."""

    __slots__ = (
        "answers",
        "apart",
        "args",
        "at",
        "call",
        "final",
        "grown",
        "index",
        "item",
        "items",
        "joined",
        "kind",
        "last",
        "made",
        "nodes",
        "odd",
        "part",
        "r",
        "text",
        "told",
    )

    def __init__(self, index: int, r: Reader) -> None:
        self.r = r
        self.at: Event = {"choice": index} if index else {}
        # The results that came with, or right behind, the calls that are read.
        self.answers: list[Node] | None = None
        self.index = 0
        self.kind = ""
        self.made = 0
        self.apart = False
        self.item: Node = {}
        # Those that are done.
        self.items: list[Node] = []
        self.text: list[str] = []
        self.part = False
        self.nodes: list[Node] = []
        self.final: Node = {}
        self.call: Node | None = None
        self.args = PartialArgs()
        # The part of the last part that no event has.
        self.odd: Node = {}
        # As the reader's own, with the candidate's place in that frame.
        self.told: dict[str, tuple[int | None, Node, int]] = {}
        # Members of joined lists: in which frame, as which, and which of all they are.
        self.joined: list[tuple[tuple[int | None, Node, int], tuple[Any, ...], tuple[Any, ...]]] = []
        # The joined fields that grow, each with the texts of what its lists hold.
        self.grown: dict[str, tuple[Node, dict[str, set[str]]]] = {}
        # Where it came last.
        self.last: tuple[int | None, Node, int] = (None, {}, 0)

    def join(self, name: str, value: Any, here: tuple[int | None, Node, int]) -> Any:
        """A field whose lists go on with those of earlier frames, or bring them again.

        A citation comes once, a probability for each token.
        """
        before = self.final[name]
        if type(before) is not dict or type(value) is not dict or before.keys() != value.keys():
            return value
        if any(type(each) is not list for each in (*before.values(), *value.values())):
            return value
        if all(known == value[key][: len(known)] for key, known in before.items()):
            self.joined = [each for each in self.joined if each[2][0] != name]
            return value
        grown = self.grown.get(name)
        if grown is None or grown[0] is not before:
            places = ((name, key, index) for key, known in before.items() for index in range(len(known)))
            self.joined += [(self.told[name], place, place) for place in places]
            whole = {key: [*known] for key, known in before.items()}
            told = {key: {_text_of(each) for each in known if name == CITED} for key, known in before.items()}
            grown = self.grown[name] = (whole, told)
        whole, told = grown
        for key, known in whole.items():
            for index, each in enumerate(value[key]):
                if name == CITED and _text_of(each) in told[key]:
                    continue
                self.joined.append((here, (name, key, index), (name, key, len(known))))
                known.append(each)
            if name == CITED:
                told[key].update(map(_text_of, value[key]))
        return whole

    # ---- parts ------------------------------------------------------------------------------------------------------

    def read(self, wire: Any, out: list[Event]) -> Any:
        """The events of one part; a literal where no event has it, None where the events do."""
        if type(wire) is dict and type(wire.get("text")) is str:
            thought = wire.get("thought")
            if len(wire) == 1 or (len(wire) == 2 and thought is True):
                if not wire["text"]:
                    self.apart = True
                    return wire
                self.grow("reasoning" if thought else "message", wire["text"], out)
                return None
        call = wire.get("functionCall") if type(wire) is dict else None
        if type(call) is dict and (self.call is not None or call.keys() & {"partialArgs", "willContinue"}):
            if self._call_piece(wire, call, out):
                return wire
        self.end_call(out)
        self.r.context.update(model=True, answers=self.answers)
        self.r.context.update(at=(self.at.get("choice", 0),), made=self.made)
        two = twofold(wire)
        if two:
            node = self.r.made(read_part(two[0], self.r), wire)
            self._alone("reasoning" if node["type"] == "summary_text" else "message", node, out)
            self.close(out)
            self.whole(read_beside(two[1], wire, self.r), out)
            self.made = self.r.context["made"]
            return None
        node = read_part(wire, self.r)
        self.made = self.r.context["made"]
        opened = self.r.context.pop("opened", None)
        if opened:
            self._opened(opened, out)
            if node["type"] == "output_text" and not node.keys() & {"opaque", "extra", "annotations"}:
                self.grow("message", node["text"], out)
                return None
            if node.get("text") == "":
                return wire
        thought = node["type"] == "summary_text" or self.r.context.pop("thought", False)
        if node["type"] in items.writes or node["type"] in items.cannots:
            self.close(out)
            self.whole(node, out)
            return None
        self._alone("reasoning" if thought else "message", node, out)
        return None

    def _opened(self, opened: list[Node], out: list[Event]) -> None:
        """The items of an envelope; a thought that was shown before is the one that is in it."""
        for item in opened:
            if item.get("type") == "reasoning" and self.kind == "reasoning":
                self.end_text(out)
                self.item = item
                self.close(out)
            else:
                self.close(out)
                self.whole(item, out)
                # It was no part, and places of parts are counted.
                self.nodes.pop()

    def _open(self, kind: str, out: list[Event]) -> None:
        """Have an item of this kind open."""
        if self.kind == kind:
            return
        self.close(out)
        self.kind = kind
        if kind == "message":
            self.item = {"type": "message", "role": "assistant", "content": []}
            shown: Node = {"type": "message", "role": "assistant", "content": []}
        else:
            self.item = {"type": "reasoning", "summary": []}
            shown = {"type": "reasoning", "summary": []}
        out.append({"type": "response.output_item.added", "output_index": self.index, "item": shown, **self.at})

    def grow(self, kind: str, text: str, out: list[Event]) -> None:
        if self.call is not None:
            self.end_call(out)
        stem, bracket, index_key, part_type = _TEXT[kind]
        if self.apart:
            # An empty text between two keeps them apart.
            self.apart = False
            self.end_text(out)
        if self.kind != kind or not self.part:
            self._open(kind, out)
            self.part = True
            self.text = []
            place = len(_parts_of(self.item))
            part = {"type": part_type, "text": ""}
            out.append(
                {"type": f"{bracket}.added", "output_index": self.index, index_key: place, "part": part, **self.at}
            )
        self.text.append(text)
        place = len(_parts_of(self.item))
        event: Event = {"type": f"{stem}.delta", "output_index": self.index, index_key: place, "delta": text}
        if self.at:
            event.update(self.at)
        out.append(event)

    def end_text(self, out: list[Event]) -> None:
        if not self.part:
            return
        self.part = False
        stem, bracket, index_key, part_type = _TEXT[self.kind]
        parts = _parts_of(self.item)
        at = {"output_index": self.index, index_key: len(parts), **self.at}
        part: Node = {"type": part_type, "text": "".join(self.text)}
        parts.append(part)
        self.nodes.append(part)
        out.append({"type": f"{stem}.done", **at, "text": part["text"]})
        out.append({"type": f"{bracket}.done", **at, "part": part})

    def _alone(self, kind: str, node: Node, out: list[Event]) -> None:
        """A part that is not joined with its neighbors: signed text, media, unknown parts."""
        self._open(kind, out)
        self.end_text(out)
        stem, bracket, index_key, part_type = _TEXT[kind]
        parts = _parts_of(self.item)
        at = {"output_index": self.index, index_key: len(parts), **self.at}
        parts.append(node)
        self.nodes.append(node)
        if node["type"] == part_type:
            out.append({"type": f"{bracket}.added", **at, "part": {"type": part_type, "text": ""}})
            if node["text"]:
                out.append({"type": f"{stem}.delta", **at, "delta": node["text"]})
            out.append({"type": f"{stem}.done", **at, "text": node["text"]})
        else:
            out.append({"type": f"{bracket}.added", **at, "part": node})
        out.append({"type": f"{bracket}.done", **at, "part": node})

    def whole(self, item: Node, out: list[Event]) -> None:
        """A whole item: announced, its arguments sent, done."""
        at = {"output_index": self.index, **self.at}
        if item["type"] == "function_call":
            shown = {**item, "arguments": ""}
            shown.pop("extra", None)
            out.append({"type": "response.output_item.added", **at, "item": shown})
            out.append({"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]})
            out.append({"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]})
        else:
            out.append(
                {
                    "type": "response.output_item.added",
                    **at,
                    "item": {k: v for k, v in item.items() if k not in ("opaque", "extra")},
                }
            )
        out.append({"type": "response.output_item.done", **at, "item": item})
        self.nodes.append(item)
        self.items.append(item)
        self.index += 1

    def close(self, out: list[Event]) -> None:
        """Close the item that is open."""
        self.end_text(out)
        if self.kind:
            out.append({"type": "response.output_item.done", "output_index": self.index, "item": self.item, **self.at})
            self.items.append(self.item)
            self.kind = ""
            self.index += 1

    # ---- calls in pieces --------------------------------------------------------------------------------------------

    def _call_piece(self, wire: Node, call: Node, out: list[Event]) -> bool:
        """Take a piece of a call; False for what is a whole call after all."""
        if type(call.get("name")) is str:
            self.end_call(out)
            if call.get("willContinue") is not True:
                if "partialArgs" not in call:
                    return False
            self.close(out)
            whole = {key: value for key, value in call.items() if key not in ("partialArgs", "willContinue")}
            self.r.context.update(at=(self.at.get("choice", 0),), made=self.made, model=True)
            # Read from a part that stands in no frame: its values are located in the one that opens the call.
            self.call = self.r.made(read_part({**wire, "functionCall": whole}, self.r), wire)
            self.made = self.r.context["made"]
            self.args = PartialArgs()
            shown = {key: value for key, value in self.call.items() if key != "extra"}
            shown["arguments"] = ""
            out.append({"type": "response.output_item.added", "output_index": self.index, "item": shown, **self.at})
        elif self.call is None:
            return not call or call.keys() <= {"willContinue"}
        pieces = call["partialArgs"] if type(call.get("partialArgs")) is list else ()
        odd = [self.args.feed(entry) for entry in pieces]
        if any(odd):
            self.odd = {"functionCall": {"partialArgs": odd}}
        if call.get("willContinue") is not True:
            self.end_call(out)
        return True

    def end_call(self, out: list[Event]) -> None:
        item, self.call = self.call, None
        if item is None:
            return
        item["arguments"] = dump_text(self.args.value)
        form = item.get("extra", {}).get(PROTOCOL, {}).get("form", {})
        form.pop("arguments", None)
        at = {"output_index": self.index, **self.at}
        out.append({"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]})
        out.append({"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]})
        out.append({"type": "response.output_item.done", **at, "item": item})
        self.nodes.append(item)
        self.items.append(item)
        self.index += 1


def ends_with_call(data: Node, answers: dict[int, list[Node]]) -> bool:
    """Whether the last part of a frame is a whole call; the results in it are added to those of its candidates."""
    ends = False
    wires = data["candidates"] if "candidates" in data else None
    for place, wire in enumerate(wires if type(wires) is list else ()):
        content = wire["content"] if type(wire) is dict and "content" in wire else None
        parts = content["parts"] if type(content) is dict and "parts" in content else None
        if type(parts) is not list or not parts:
            continue
        last, call = parts[-1], None
        if type(last) is dict and not _CALLS.isdisjoint(last):
            call = last.get("functionCall", last.get("function_call"))
        if type(call) is dict and call and not call.keys() & {"partialArgs", "willContinue"}:
            ends = True
        found = answers_among(parts)
        if found:
            index = wire.get("index", place)
            answers.setdefault(index if type(index) is int else place, []).extend(found)
    return ends


_CALLS = frozenset(("functionCall", "function_call"))


def _text_of(value: Any) -> str:
    return dumps(value, sort_keys=True)


def _parts_of(item: Node) -> list[Node]:
    parts: list[Node] = item["content"] if item["type"] == "message" else item["summary"]
    return parts
