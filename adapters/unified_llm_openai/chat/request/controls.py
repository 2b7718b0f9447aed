"""The controls of reasoning: effort, a switch, a budget, what is shown, each where the server has it.

OpenAI has an effort alone. Others have objects (`reasoning`, `thinking`) or switches of their own; the canonical
setting is one, and its place is only a form. For a server whose dialect declares where its controls are, each is
put there: an effort it has not becomes the nearest, and where there is a switch only, that.

https://platform.openai.com/docs/guides/reasoning https://openrouter.ai/docs/use-cases/reasoning-tokens
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Owned, take, take_whole
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from ...demands import nearest_effort, refused

__all__ = ["placed_controls", "read_controls", "set_at", "write_controls"]

Node = dict[str, Any]

# Objects that more than one server has: wire key to canonical key, on or off as a word or a boolean.
_CONTROLS = {
    "reasoning": {"effort": "effort", "max_tokens": "budget_tokens", "summary": "summary", "enabled": "control"},
    "thinking": {"type": "control", "budget_tokens": "budget_tokens"},
}
_TYPES = {"effort": str, "max_tokens": int, "budget_tokens": int, "summary": str, "enabled": bool, "type": str}
_SWITCH = {True: "enabled", False: "disabled"}
_FLIPPED = {word: switch for switch, word in _SWITCH.items()}

# The JSON types of the canonical settings that a dialect may have somewhere of its own.
_SETTINGS = {"control": str, "budget_tokens": int, "summary": str, "include": bool, "effort": str}
# What a switch without the word may be set to instead.
_ALIKE = {"enabled": ("adaptive",), "adaptive": ("enabled",), "between_tools": ("adaptive", "enabled")}


# ---- reading --------------------------------------------------------------------------------------------------------


def read_controls(w: Node, c: Node, r: Reader) -> None:
    """Read the reasoning controls of all servers, each in its own place, into `c`."""
    for key, fields in _CONTROLS.items():
        if key in w and type(w[key]) is dict:
            _read_control(w, c, key, fields, r)
    if r.dialect:
        for hub, path in r.dialect.get("control", {}).items():
            _read_path(w, c, hub, path, r)


def _read_control(w: Node, c: Node, key: str, fields: dict[str, str], r: Reader) -> None:
    own = take_whole(w, key)
    reasoning = c.get("reasoning", {})
    taken = []
    for name, hub in fields.items():
        if (
            type(own.get(name)) is _TYPES[name]
            and hub not in reasoning
            and not (hub == "effort" and "reasoning_effort" in w)
        ):
            value = own.pop(name)
            reasoning[hub] = _SWITCH[value] if type(value) is bool else value
            r.place(c, ("reasoning", hub), (key, name))
            taken.append(name)
    if taken:
        c["reasoning"] = reasoning
        r.form(c, key, taken)
    elif not own:
        r.form(c, key, [])


def _read_path(w: Node, c: Node, hub: str, path: str, r: Reader) -> None:
    """A control in a place of the dialect's own; how it is put there is noted, for its own server."""
    *above, leaf = path.removeprefix("!").split(".")
    node = w
    for key in above:
        if type(node.get(key)) not in (dict, Owned):
            return
        node = node[key]
    if leaf not in node or hub in c.get("reasoning", ()) or (hub == "effort" and not above):
        return
    value = node[leaf]
    if hub == "control":
        words = _words(r.dialect).items()
        value = next((word for word, said in words if type(said) is type(value) and said == value), value)
    elif path[0] == "!" and type(value) is bool:
        value = not value
    if type(value) is not _SETTINGS[hub]:
        return
    node = w
    for key in above:
        node = node[key] if type(node[key]) is Owned else take(node, key)
    del node[leaf]
    c.setdefault("reasoning", {})[hub] = value
    r.place(c, ("reasoning", hub), (*above, leaf))
    paths = ((c.get("extra") or {}).get(r.protocol) or {}).get("form", {}).get("paths", [])
    r.form(c, "paths", [*paths, hub])


def _words(dialect: Any) -> dict[str, Any]:
    words: dict[str, Any] = dialect.get("control_words", {})
    return words


# ---- writing --------------------------------------------------------------------------------------------------------


def set_at(wire: Node, path: str, value: Any) -> None:
    """Put a value at a dotted path."""
    *above, leaf = path.split(".")
    for key in above:
        wire = wire.setdefault(key, {})
    wire[leaf] = value


def placed_controls(c: Node, w: Writer) -> frozenset[str]:
    """The canonical settings with a place of their own: the server's, or the one that a request of Chat came with."""
    if w.dialect:
        return frozenset(w.dialect.get("control", ()))
    return frozenset(
        hub for key, fields in _CONTROLS.items() for name, hub in fields.items() if name in _names(c, key, w)
    )


def _names(c: Node, key: str, w: Writer) -> Any:
    names = w.form(c, key)
    return names if type(names) is list else ()


def write_controls(c: Node, wire: Node, w: Writer) -> None:
    """The control goes back into the place it came from, or to where the server of a dialect has it."""
    if w.dialect and not w.same:
        if type(c.get("reasoning")) is dict:
            _fit(take(c, "reasoning"), wire, w)
        return
    for key, fields in _CONTROLS.items():
        names = w.form(c, key)
        if names == []:
            wire[key] = {}
        if type(names) is not list or not names or type(c.get("reasoning")) not in (dict, Owned):
            continue
        reasoning = c["reasoning"] if type(c["reasoning"]) is Owned else take(c, "reasoning")
        for name in filter(fields.__contains__, names):
            value = reasoning.get(fields[name])
            if value is not None:
                del reasoning[fields[name]]
                wire.setdefault(key, {})[name] = _FLIPPED.get(value, value) if _TYPES[name] is bool else value
    for hub in w.form(c, "paths") or () if w.same else ():
        reasoning = c["reasoning"] if type(c["reasoning"]) is Owned else take(c, "reasoning")
        _put(hub, reasoning.pop(hub), wire, w)


def _put(hub: str, value: Any, wire: Node, w: Writer) -> None:
    path = w.dialect["control"][hub]
    if hub == "control":
        value = _words(w.dialect).get(value, value)
    elif path[0] == "!" and type(value) is bool:
        value = not value
    set_at(wire, path.removeprefix("!"), value)


def _fit(own: Node, wire: Node, w: Writer) -> None:
    paths = w.dialect.get("control", {})
    effort, control = own.get("effort"), own.get("control")
    switchable = control is None and "control" in paths
    sent: str | None = None
    if switchable and effort is None and own.get("budget_tokens") == 0 and "budget_tokens" not in paths:
        control = "disabled"
        del own["budget_tokens"]
        w.report(w.doc, ("reasoning", "budget_tokens"), "approximated", "sent as a switch")
    if type(effort) is str:
        efforts = w.dialect.get("efforts")
        if switchable and (
            ("effort" not in paths and refused("reasoning_effort", w))
            or (effort == "none" and efforts is not None and effort not in efforts)
        ):
            control = "disabled" if effort == "none" else "enabled"
            del own["effort"]
            w.report(w.doc, ("reasoning", "effort"), "approximated", "sent as a switch")
        elif "effort" in paths or not refused("reasoning_effort", w):
            sent = nearest_effort(effort, w)
            if sent is not None:
                set_at(wire, paths.get("effort", "reasoning_effort"), sent)
                del own["effort"]
                if sent != effort:
                    w.report(w.doc, ("reasoning", "effort"), "approximated", f"sent as {sent!r}")
    if type(control) is str:
        sent = _fit_switch(control, own, sent, wire, w)
    for hub in [hub for hub in own if hub in paths and hub not in ("effort", "control") and own[hub] is not None]:
        if hub == "budget_tokens" and sent is not None and w.dialect.get("one_control"):
            continue
        _put(hub, own.pop(hub), wire, w)


def _fit_switch(control: str, own: Node, sent: str | None, wire: Node, w: Writer) -> str | None:
    """Switch reasoning on or off; the effort that was sent, with it or instead of it."""
    words = _words(w.dialect)
    if "control" in w.dialect.get("control", {}):
        said = next((word for word in (control, *_ALIKE.get(control, ())) if not words or word in words), None)
        if said is not None:
            _put("control", said, wire, w)
            if own.pop("control", said) != said:
                w.report(w.doc, ("reasoning", "control"), "approximated", f"sent as {said!r}")
            return sent
    if sent is not None and control != "disabled":
        del own["control"]
        w.report(w.doc, ("reasoning", "control"), "approximated", "represented by the effort")
    elif sent is None and control == "disabled" and "none" in w.dialect.get("efforts", ("none",)):
        if "effort" in w.dialect.get("control", {}) or not refused("reasoning_effort", w):
            set_at(wire, w.dialect.get("control", {}).get("effort", "reasoning_effort"), "none")
            del own["control"]
            w.report(w.doc, ("reasoning", "control"), "approximated", "sent as effort 'none'")
            return "none"
    return sent
