"""The errors of a call that is itself mistaken: an argument, or an optional package that is not installed."""

from __future__ import annotations

from .errors import UnifiedLLMError

__all__ = ["InvalidArgument", "MissingExtra"]


class InvalidArgument(UnifiedLLMError, ValueError):
    """An argument has an invalid value: correct it as the message describes.

    >>> from unified_llm import preview
    >>> try:
    ...     preview({"messages": []}, source="openai-chat", target="openai-responses", on_loss="shout")
    ... except InvalidArgument as error:
    ...     print(error)
    on_loss: unknown level 'shout'; choose one of ignore, warn, raise
    """


class MissingExtra(UnifiedLLMError, ImportError):
    """An optional package is not installed: install `unified-llm` with the extra that the message names.

    `extra` is its name.

    >>> error = MissingExtra("an MCP server", "mcp")
    >>> str(error), error.extra
    ("an MCP server needs the extra: pip install 'unified-llm[mcp]'", 'mcp')
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra: pip install 'unified-llm[{extra}]'")
        self.extra = extra
