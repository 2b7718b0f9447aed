"""Fields of every tool.

https://platform.openai.com/docs/api-reference/responses/create
"""

from typing import Annotated, ClassVar

from .base import FREE, Cache, Node, cap

__all__ = ["ToolBase"]


class ToolBase(Node):
    """What every tool may carry: a cache breakpoint, deferral, and who may call it (direct, programmatic, ...)."""

    node_kind: ClassVar[str] = "tool"

    cache: Annotated[Cache | None, cap("cache.breakpoint"), FREE] = None
    defer_loading: Annotated[bool | None, cap("tools.deferred"), FREE] = None
    allowed_callers: Annotated[list[str] | None, cap("tools.programmatic"), FREE] = None
