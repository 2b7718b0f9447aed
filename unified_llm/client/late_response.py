"""A response whose fields become objects when the first of them is looked at.

Many callers want nothing but the text, and building the validators of the canonical model takes longer than anything
else in the first call of a process. Until then the response is its canonical JSON; afterwards it is what
`unified_llm.types.validation` makes of that, under the more specific class.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, PrivateAttr

from ..types.response import Response

__all__ = ["LateResponse"]

Node = dict[str, Any]

# The slots of pydantic's base class, which pydantic itself reads and writes by attribute.
_VALUES = vars(BaseModel)["__dict__"]
_FIELDS_SET = vars(BaseModel)["__pydantic_fields_set__"]
_LOCK = Lock()


class LateResponse(Response):
    """A `Response` made of canonical JSON without validating it yet.

    >>> late = LateResponse.late({"output": [{"type": "message", "role": "assistant", "content": "Hi"}]})
    >>> late.output_text, late.output[0].role
    ('Hi', 'assistant')
    """

    _node: Node = PrivateAttr()

    @classmethod
    def late(cls, node: Node, private: Node | None = None) -> Self:
        """The response for `node`, with the values of its class's private attributes."""
        made = cls.__new__(cls)
        object.__setattr__(made, "__pydantic_private__", {**(private or {}), "_node": node})
        return made

    if not TYPE_CHECKING:

        @property
        def __dict__(self) -> Node:
            if not _is_validated(self):
                _validate(self)
            return _VALUES.__get__(self)

        @__dict__.setter
        def __dict__(self, values: Node) -> None:
            _VALUES.__set__(self, values)

        def __getattr__(self, name: str) -> Any:
            if name in type(self).__private_attributes__:
                return super().__getattr__(name)
            # Looked up again even if it is validated: another thread may have done that in between.
            values = self.__dict__
            return values[name] if name in values else super().__getattr__(name)

        def __delattr__(self, name: str) -> None:
            _ = self.__dict__
            super().__delattr__(name)

    @property
    def output_text(self) -> str:
        """All text of the answer, joined; "" when there is none."""
        return super().output_text if _is_validated(self) else _text_of(self._node)


def _is_validated(response: LateResponse) -> bool:
    try:
        _FIELDS_SET.__get__(response)
    except AttributeError:
        return False
    return True


def _validate(response: LateResponse) -> None:
    from ..types.validation import validate

    base: Response = validate("response", response._node)
    with _LOCK:
        if _is_validated(response):
            return  # by another thread, which may have been given its objects
        object.__setattr__(response, "__pydantic_extra__", base.__pydantic_extra__)
        object.__setattr__(response, "__dict__", base.__dict__)
        object.__setattr__(response, "__pydantic_fields_set__", base.__pydantic_fields_set__)


def _text_of(node: Node) -> str:
    found = []
    for item in node.get("output") or ():
        if item["type"] == "message":
            content = item.get("content") or ()
            if isinstance(content, str):
                found.append(content)
            else:
                found += [part["text"] for part in content if part["type"] == "output_text"]
    return "".join(found)
