"""Fields of every event, and its position.

https://platform.openai.com/docs/api-reference/responses-streaming
"""

from typing import Annotated, ClassVar

from .base import Node, cap

__all__ = ["EventBase", "ItemEventBase", "PartEventBase"]


class EventBase(Node):
    """Fields of every event: its number, the choice it belongs to, padding, and the stream of a socket."""

    node_kind: ClassVar[str] = "event"

    sequence_number: Annotated[int | None, cap("stream.detail")] = None
    choice: Annotated[int | None, cap("output.choices")] = None
    obfuscation: Annotated[str | None, cap("stream.detail")] = None
    stream_id: Annotated[str | None, cap("stream.detail")] = None


class ItemEventBase(EventBase):
    """Position of an event: the item's id and its index in the output."""

    item_id: Annotated[str | None, cap("item.id")] = None
    output_index: Annotated[int | None, cap("stream.detail")] = None


class PartEventBase(ItemEventBase):
    """Position of an event in its item: the index of the part."""

    content_index: Annotated[int | None, cap("stream.detail")] = None
