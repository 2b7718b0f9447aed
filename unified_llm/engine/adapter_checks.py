"""Declarations of adapters that cannot work: found when an adapter is registered or loaded, before it is used."""

from __future__ import annotations

from collections.abc import Iterable

from ..foundation.capabilities import CAPABILITIES, is_capability
from .adapter import Adapter

__all__ = ["NODES", "check_adapter"]

NODES = frozenset(
    """
    annotation choice error event events finish item items part parts request response tool tool_choice tools usage
    """.split()
)
"""The canonical documents and nodes by name; any other node of a kind has the name of the kind."""
_SHOWN = 20  # words that a message lists
_SSE = "text/event-stream"
_ROWS = ("request", "response", "stream", "known", "filled")
_TABLE = (*_ROWS, "like", "echoes", "chosen", "places")
_ROW = ("path", "value", "field", "means", "unknown", "unless", "always", "how", "url")
"""The parts of a table of defaults, and the keys of its rows (`losses/defaults.toml` describes them)."""


def check_adapter(adapter: Adapter) -> None:
    """Raise `DeclarationError` for the first value of a declaration that cannot work, with what may be meant."""
    for name, kind in adapter.kinds.items():
        if kind.node not in NODES and kind.node != name:
            _refuse(adapter, f"kinds[{name!r}].node", kind.node, "a canonical document", (*NODES, name))
        if kind.facing not in ("client", "provider"):
            _refuse(adapter, f"kinds[{name!r}].facing", kind.facing, "a side", ("client", "provider"))
        for field in ("read", "write"):
            if not callable(getattr(kind, field)):
                _refuse(adapter, f"kinds[{name!r}].{field}", getattr(kind, field), "a function")
    for field in ("reader", "writer"):
        if not callable(getattr(adapter.streams, field, None)):
            made_of = "a function or class that takes one " + field.capitalize()
            _refuse(adapter, f"streams.{field}", getattr(adapter.streams, field, None), made_of)
    for name in adapter.settings:
        if name not in NODES:
            _refuse(adapter, f"settings[{name!r}]", name, "a canonical document", NODES)
    _check_framing(adapter)
    _check_defaults(adapter)
    for key, capability in adapter.natives.items():
        if type(capability) is not str or not is_capability(capability):
            _refuse(adapter, f"natives[{key!r}]", capability, "a capability", CAPABILITIES)


def _check_framing(adapter: Adapter) -> None:
    framing = adapter.streams.framing
    own = [name for name in ("array", "binary", "lines") if getattr(framing, name)]
    if len(own) > 1:
        _refuse(adapter, "streams.framing", framing, f"one framing: choose one of {' and '.join(own)}")
    if not {"binary", "lines"} & {*own} and framing.content_type.partition(";")[0].strip() != _SSE:
        wanted = f"the type of server-sent events ({_SSE!r}); for JSON values a line each declare Framing(lines=True)"
        _refuse(adapter, "streams.framing.content_type", framing.content_type, wanted)


def _check_defaults(adapter: Adapter) -> None:
    for kind, rows in adapter.defaults.items():
        if kind not in _TABLE:
            _refuse(adapter, f"defaults[{kind!r}]", kind, "a part of a table of defaults", _TABLE)
        for number, row in enumerate(rows if kind in _ROWS else ()):
            for key in row:
                if key not in _ROW:
                    _refuse(adapter, f"defaults[{kind!r}][{number}]", key, "a key of such a row", _ROW)
            for key in ("path", "url"):
                if type(row.get(key)) is not str:
                    what = "a JSON Pointer" if key == "path" else "the page of the API that documents the default"
                    _refuse(adapter, f"defaults[{kind!r}][{number}][{key!r}]", row.get(key), what)


def _refuse(adapter: Adapter, field: str, found: object, wanted: str, known: Iterable[str] = ()) -> None:
    from difflib import get_close_matches

    from .compiler.signals import DeclarationError

    words = sorted(known)
    near = get_close_matches(found, words, 1) if type(found) is str else []
    hint = f"; did you mean {near[0]!r}?" if near else ""
    if not near and 0 < len(words) <= _SHOWN:
        hint = f"; choose one of: {', '.join(words)}"
    raise DeclarationError(f"adapter {adapter.protocol!r}: {field} is {found!r}, which is not {wanted}{hint}")
