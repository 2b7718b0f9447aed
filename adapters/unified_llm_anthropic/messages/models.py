"""The list of models, page by page, and its entries.

https://docs.claude.com/en/api/models-list
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from unified_llm.engine import Context, Mismatch, Shape, Union, boolean, codec, integer, string, union

from .values.tables import PROTOCOL

__all__ = ["fill_page", "models"]

Node = dict[str, Any]


def _seconds(text: str, x: Context) -> int:
    """The seconds since 1970 of a time that is written as we would write it."""
    seconds = int(datetime.fromisoformat(text).timestamp())
    if _time(seconds, x) != text:
        raise Mismatch((), "has another form")
    return seconds


def _time(seconds: float, x: Context) -> str:
    return f"{datetime.fromtimestamp(int(seconds), UTC).isoformat()[:19]}Z"


entries = Union(f"{PROTOCOL} models")
entries.case(
    {
        "type": "model",
        "id?": string("id"),
        "display_name?": string("display_name"),
        "created_at?": codec("created_at", str, read=_seconds, write=_time, canonical=(int, float)).required(
            "1970-01-01T00:00:00Z"  # documented for a date that is unknown
        ),
        "lifecycle?": string("lifecycle").required("active"),
        "max_input_tokens?": integer("max_input_tokens").nullable(),
        "max_tokens?": integer("max_output_tokens").nullable(),
    },
    "model",
)
models = Shape(
    {
        "data": union("models", entries).required([], "a page has data"),
        "has_more?": boolean("has_more").required(False),
        "first_id?": string("first_id").nullable().required(None),
        "last_id?": string("last_id").nullable().required(None),
    },
    name=f"{PROTOCOL} models",
    node="models",
)


def fill_page(c: Node, x: Context) -> None:
    """What clients read of every page: which models are its first and last, and a name to show of each."""
    found = [each for each in c.get("models") or () if type(each) is dict]
    c["models"] = [
        each if "display_name" in each else x.replaced(each, {**each, "display_name": each.get("id", "")})
        for each in found
    ]
    ids = [each.get("id") for each in found if each.get("type") == "model"] or [None]
    x.carried(c, "next")
    for key, value in (("has_more", bool(c.pop("next", None))), ("first_id", ids[0]), ("last_id", ids[-1])):
        c.setdefault(key, value)
