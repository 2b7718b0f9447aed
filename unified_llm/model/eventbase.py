"""What every event may carry, and where it stands.

https://platform.openai.com/docs/api-reference/responses-streaming
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from .base import Node, cap

__all__ = ["EventBase", "ItemEventBase", "PartEventBase"]


class EventBase(Node):
    """What every event may carry: its number, the choice it belongs to, padding, and the lane of a socket."""

    node_kind: ClassVar[str] = "event"

    sequence_number: Annotated[int | None, cap("stream.detail")] = None
    choice: Annotated[int | None, cap("output.choices")] = None
    obfuscation: Annotated[str | None, cap("stream.detail")] = None
    stream_id: Annotated[str | None, cap("stream.detail")] = None


class ItemEventBase(EventBase):
    """Where an event stands: the item's id and its place in the output."""

    item_id: Annotated[str | None, cap("item.id")] = None
    output_index: Annotated[int | None, cap("stream.detail")] = None


class PartEventBase(ItemEventBase):
    """Where an event stands in its item: the place of the part."""

    content_index: Annotated[int | None, cap("stream.detail")] = None
