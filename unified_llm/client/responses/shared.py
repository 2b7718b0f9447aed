"""What the methods for threads and those for event loops share: from their arguments to what is to be done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...foundation.errors import InvalidBody
from ..inputs.argument_types import check_arguments
from ..params import ParseOptions
from ..requests import Call
from ..structured.strategies import Parser

if TYPE_CHECKING:
    from ..call_flows import Core

__all__ = ["parsed_call"]

_PARSE = frozenset(ParseOptions.__annotations__)


def parsed_call(
    core: Core, text_format: Any, stream: bool | None, background: bool | None, given: Mapping[str, Any]
) -> tuple[Call, Parser, int]:
    """The call of `parse`, what reads its answer, and the number of retries."""
    options = {name: value for name, value in given.items() if name in _PARSE and value is not None}
    check_arguments(options)
    asking = {name: value for name, value in given.items() if name not in _PARSE}
    retries = options.pop("retries", 0)
    for name, asked in (("stream", stream), ("background", background)):
        if asked and retries:
            raise InvalidBody("/retries", f"cannot be combined with {name}=True, whose answer is handed out once")
    call = core.call(asking if background is None else {**asking, "background": background})
    return call, core.parser(call, text_format, **options), retries
