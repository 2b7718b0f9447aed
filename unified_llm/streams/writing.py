"""The library's front door for streams that start from canonical events: `write_stream`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..engine.malformed import FAULTS, refuse_event
from ..foundation.exchange import Exchange
from ..foundation.secret import SecretLike
from ..losses import Levels, enforce
from ..losses.defaults import Weighing, significant
from ..losses.locator import locate
from .conversion import ConvertedStream
from .grammar import ANNOTATION, CLASS, PARTS, Grammar, Place, place_of
from .pipeline import Pipe

if TYPE_CHECKING:
    from ..models.names import ProtocolName

__all__ = ["write_stream"]

Event = dict[str, Any]


def write_stream(
    events: Iterable[Any],
    protocol: ProtocolName,
    *,
    on_loss: Levels = "ignore",
    exchange: Exchange | None = None,
    secret: SecretLike = None,
) -> ConvertedStream:
    """The wire events, in `protocol`, of a stream of canonical events (JSON form or objects).

    `on_loss`, `exchange` and `secret` are as in `convert`. Raises `LocalProtocolError` for an event that cannot come
    where it comes, and `InvalidBody` for one that is not what its type declares.

    >>> from unified_llm import decompose
    >>> answer = {"id": "r", "status": "completed", "model": "m", "output": [
    ...     {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}]}
    >>> [event["event"] for event in write_stream(decompose(answer), "anthropic-messages")][-1]
    'message_stop'
    """
    return ConvertedStream(events, _WritePipe(protocol, on_loss, exchange, secret))


class _WritePipe(Pipe):
    """A pipe that starts from canonical events."""

    reads = False

    def __init__(self, target: str, on_loss: Levels, exchange: Exchange | None, secret: SecretLike) -> None:
        super().__init__(target, target, on_loss=on_loss, exchange=exchange, secret=secret)
        self.writing.source = None  # the events come from no protocol
        self.count = 0
        self.grammar = Grammar(local=True)
        # The events with the response and each of its items: a writer may keep what is ill-typed in them
        # until a later event, for which it is then not to blame.
        self.held: dict[Place | str, list[tuple[int, Event]]] = {}

    def anew(self, event: Any) -> list[Event]:
        canonical = event.model_dump(mode="json", exclude_unset=True) if hasattr(event, "model_dump") else event
        try:
            return self._step(canonical)
        except FAULTS as error:
            before = [each for kept in self.held.values() for each in kept]
            refuse_event(self.count, canonical, error, local=True, before=before)

    def _step(self, canonical: Event) -> list[Event]:
        self.grammar.feed(canonical)
        if "delta" not in canonical:
            self._hold(canonical)
        self._tell_event(canonical)
        out = self.writer.feed(canonical)
        if self.writing.noted:
            self.writing.unfold()
            target = [each["data"] for each in out]
            # An error is the one event that has its type's name in common with a node.
            name = "event:error" if canonical["type"] == "error" else canonical["type"]
            found = locate(canonical, target, self.writing, None, None, self.goal, name, (self.count,))
            here = Weighing("", self.goal.protocol, "response", self.writing.exchange, canonical.get("response"))
            found = significant(found, here, {self.count: canonical}, stream=True)
            self.writing.raw.clear()
            self.losses.add(found)
            enforce(found, self.on_loss)
        self.count += 1
        return out

    def _hold(self, event: Event) -> None:
        kind = event["type"]
        if kind in PARTS or kind == ANNOTATION:
            self.held.setdefault(place_of(event), []).append((self.count, event))
        elif kind in CLASS:
            self.held[place_of(event) if "item" in event else kind] = [(self.count, event)]

    def close(self) -> list[Event]:
        self.grammar.close()
        return self.writer.close()
