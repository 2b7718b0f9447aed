"""Writing events of other protocols to a wire of numbered blocks that never overlap: Messages, Converse.

The blocks of one item are written at a time. Events of a later item wait until the earlier one is whole, and what of an
item was not streamed is written when it is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..engine.shared.answer_ends import failure_in
from .collect_and_decompose import FRAME, TERMINAL
from .grammar import UNSTREAMED

if TYPE_CHECKING:
    from ..engine.pairs.mapping import WritePair
    from ..engine.pairs.writing import Writer

__all__ = [
    "THOUGHTS",
    "TOO_LATE",
    "UNHEARD",
    "BlockWriter",
    "Late",
    "LateCitations",
    "citations_of",
    "report_late",
    "sent_as_written",
]

Event = dict[str, Any]
Node = dict[str, Any]

THOUGHTS = frozenset(
    ("response.reasoning_text.delta", "response.reasoning_summary_text.delta", "response.reasoning.delta")
)
"""The events with more of a reasoning text."""
TOO_LATE = "it came after its text was complete"
"""Why a citation has no place any more."""
UNHEARD = frozenset(
    ("response.output_audio.delta", "response.output_audio_transcript.delta", "response.output_image.delta")
)
"""The events with more of a medium, which no wire of blocks streams."""


class BlockWriter:
    """Gives each event to the methods of a protocol's own writer, in the order in which the wire takes them.

    A protocol adds `_begin` (the frames that open the message), `_inside` (those of an event of the open item),
    `_error`, `_finish` (those of the end), and for an item that is done `_close_message`, `_close_reasoning`,
    `_close_call` and `_whole` (any other one).
    """

    def __init__(self, writer: Writer) -> None:
        self.w = writer
        self.own = self.begun = self.failed = False
        # The item that is open, and what waits for it; the types of text in it that were written last.
        self.at: Any = None
        self.item: Node = {}
        self.waiting: dict[Any, list[Event]] = {}
        # The items of which only the end is written, when it comes.
        self.aside: set[int] = set()
        self.part: Any = None
        self.output: list[Node] = []
        self.late: LateCitations = LateCitations()

    def _foreign(self, kind: str, event: Event) -> list[Event]:
        """The frames of an event that was no frame of this protocol."""
        if self.failed:
            return []
        if kind == "error":
            return self._error(event)
        if kind == "response.created":
            return self._begin(event["response"])
        if kind in TERMINAL:
            return self._end(kind, event["response"])
        if "output_index" not in event or kind == FRAME:
            return []
        if event.get("choice"):
            # It is unknown whether its item will ever be done.
            self.w.report(event, (), "lost", f"{self.w.protocol} returns one response", "output.choices")
            return []
        out = [] if self.begun else self._begin({})
        at = event["output_index"]
        if type(at) is not int:
            return out  # events of unknown types are not checked
        if kind == "response.output_item.added" and event["item"].get("type") in UNSTREAMED:
            self.aside.add(at)
        if at in self.aside and kind != "response.output_item.done":
            return out
        if self.at is not None and self.at != at:
            self.waiting.setdefault(at, []).append(event)
            return out
        return out + self._inside(kind, event, at)

    def _next(self) -> list[Event]:
        """What waited for the item that is now whole."""
        self.at = None
        out: list[Event] = []
        while self.at is None and self.waiting:
            at = next(iter(self.waiting))
            for event in self.waiting.pop(at):
                out += self._inside(event["type"], event, at)
        return out

    def _close_item(self, item: Node, at: int) -> list[Event]:
        """The end of an item: what was not streamed is sent, what its block demands is added, and it ends."""
        self.output.append(item)
        self.late.done(at, item)
        kind = item.get("type")
        if kind == "message" and item.get("role", "assistant") == "assistant":
            return self._close_message(item, at)
        if kind == "reasoning":
            return self._close_reasoning(item, at)
        if kind == "function_call":
            return self._close_call(item, at)
        return self._whole(item)

    def _end(self, kind: str, response: Node) -> list[Event]:
        error = failure_in(kind, response)
        if error is not None:
            return self._error({"type": "error", "error": error})
        out = [] if self.begun else self._begin(response)
        if not self.output:
            for item in response.get("output") or ():
                self.output.append(item)
                out += self._whole(item)
        self.late.report(response, self.w)
        return out + self._finish(response)

    def _document(self, pair: WritePair, node: Node) -> Any:
        """What a pair writes of a document beside the one at hand."""
        doc = self.w.doc
        wire = self.w.root(pair, node)
        self.w.doc = doc
        return wire

    # ---- a protocol's own -----------------------------------------------------------------------------------------

    def _begin(self, response: Node) -> list[Event]:
        raise NotImplementedError

    def _inside(self, kind: str, event: Event, at: int) -> list[Event]:
        raise NotImplementedError

    def _error(self, event: Event) -> list[Event]:
        raise NotImplementedError

    def _finish(self, response: Node) -> list[Event]:
        raise NotImplementedError

    def _close_message(self, item: Node, at: int) -> list[Event]:
        raise NotImplementedError

    def _close_reasoning(self, item: Node, at: int) -> list[Event]:
        raise NotImplementedError

    def _close_call(self, item: Node, at: int) -> list[Event]:
        raise NotImplementedError

    def _whole(self, item: Node) -> list[Event]:
        raise NotImplementedError


class LateCitations:
    """What each text cited when its item was done, and was ended on the wire: a reader adds to it what comes later.

    So it is with log probabilities.
    """

    def __init__(self) -> None:
        # By item, of each part: how many citations it has, and whether it has log probabilities.
        self.counts: dict[Any, list[tuple[int, bool]]] = {}

    def done(self, at: Any, item: Node) -> None:
        """Count the citations of an item that is done, which are sent by now."""
        self.counts[at] = [(len(citations_of(part)), bool(part.get("logprobs"))) for part in _parts(item)]

    def beyond(self, output: Any) -> Iterator[Late]:
        """The parts of the output that have more."""
        items = output if type(output) is list else []
        # The places of items are names, and the output has the items in their order.
        places = sorted(self.counts, key=_order) if len(items) == len(self.counts) else range(len(items))
        for at, item in zip(places, items):
            for number, (part, (count, weighed)) in enumerate(zip(_parts(item), self.counts.get(at, ()))):
                found, weighs = citations_of(part)[count:], bool(part.get("logprobs")) and not weighed
                if found or weighs:
                    yield Late(at, item, number, part, found, weighs)

    def report(self, response: Node, w: Writer) -> None:
        """Report those that the response has beside them."""
        for late in self.beyond(response.get("output")):
            late.report(w)


class Late(NamedTuple):
    """A part with more than it had when it was done: its citations from there on, and whether it has probabilities."""

    at: Any
    item: Node
    number: int
    part: Node
    citations: list[Any]
    logprobs: bool

    def report(self, w: Writer) -> None:
        """Report all of it."""
        report_late(self.citations, w)
        self.report_logprobs(w)

    def report_logprobs(self, w: Writer) -> None:
        """Report the log probabilities."""
        if self.logprobs:
            w.report(self.part, ("logprobs",), "lost", TOO_LATE)


def report_late(found: list[Any], w: Writer) -> None:
    """Report citations that came when their text was over."""
    for annotation in found:
        w.report(annotation, (), "lost", TOO_LATE)


def sent_as_written(call: Node, mark: int, w: Writer) -> None:
    """Take back what is reported of the arguments of a call since `mark`: their pieces were sent as they came.

    A document has an object in their place, so that text that is none stands in one there.
    """
    w.raw[mark:] = [entry for entry in w.raw[mark:] if not (entry[0] is call and entry[1] == ("arguments",))]


def _order(place: Any) -> int:
    return place if type(place) is int else 0


def _parts(item: Node) -> list[Node]:
    content = item.get("content")
    return [part for part in content if type(part) is dict] if type(content) is list else []


def citations_of(part: Node) -> list[Any]:
    """The citations of a part."""
    found = part.get("annotations")
    return found if type(found) is list else []
