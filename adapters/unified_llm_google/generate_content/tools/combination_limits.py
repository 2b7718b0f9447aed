"""What is too much for one request: functions beside JSON output or tools of the provider, more than five stop texts.

Functions stay, because nothing can stand in for them; what may not stand beside them is left out and reported. Which
models refuse is data. https://ai.google.dev/gemini-api/docs/tool-combination
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.writing import Writer
from unified_llm.models import profile

__all__ = ["leave_apart", "limit_stops"]

Node = dict[str, Any]

_FUNCTIONS = frozenset(("function", "custom"))
_JSON = frozenset(("json_schema", "json_object"))
_STOPS = 5
_REASON = "the model takes no functions beside it"


def leave_apart(c: Node, w: Writer) -> None:
    """Take out of a request of another protocol what the model refuses beside the functions it declares."""
    alone = profile(w.context.get("model"), w.protocol).alone
    tools = c.get("tools")
    if not alone or w.source == w.protocol or type(tools) is not list:
        return
    hosted = [tool for tool in tools if tool.get("type") not in _FUNCTIONS]
    if len(hosted) == len(tools):
        return
    if hosted and "hosted" in alone:
        for tool in hosted:
            w.drop(tool, _REASON)
        c["tools"] = [tool for tool in tools if tool.get("type") in _FUNCTIONS]
    text = c.get("text")
    form = text.get("format") if type(text) is dict else None
    if "json" in alone and type(text) is dict and type(form) is dict and form.get("type") in _JSON:
        w.drop(form, _REASON)
        c["text"] = {key: value for key, value in text.items() if key != "format"}
        if not c["text"]:
            del c["text"]


def limit_stops(c: Node, w: Writer) -> None:
    """The first of the stop texts that another protocol brought, as many as the API takes."""
    stops = c.get("stop")
    if w.source != w.protocol and type(stops) is list and len(stops) > _STOPS:
        for place in range(_STOPS, len(stops)):
            w.report(w.doc, ("stop", place), "lost", f"{_STOPS} at most")
        c["stop"] = stops[:_STOPS]
