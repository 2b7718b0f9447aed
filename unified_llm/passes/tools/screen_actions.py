"""Actions on a screen: a list of them in one call, or each as the arguments of one tool that takes an action at a time.

A call of several actions becomes several calls, whose ids are derived from its own, and they are joined again by
these ids. What an action has and the other form does not is kept with it, so that it returns as it was.

https://platform.openai.com/docs/guides/tools-computer-use
https://docs.claude.com/en/docs/agents-and-tools/tool-use/computer-use-tool
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ...foundation.json_codec import load_text

__all__ = ["TOOL", "TOOLS", "Step", "actions_of", "derived_ids", "joined_id", "steps_of"]

Node = dict[str, Any]

TOOL = "computer"
"""The name of the tool that takes an action at a time."""
TOOLS = frozenset(("computer", "computer_use_preview"))
"""The canonical types of tools whose calls are actions on a screen; calls of the second have one action each."""

NOTCH = 100
"""The pixels of a notch of the mouse wheel."""
_BUTTONS = {"left_click": "left", "right_click": "right", "middle_click": "wheel"}
_CLICKS = {button: name for name, button in _BUTTONS.items()}
# The buttons at the side of a mouse go through the history of a browser.
_SIDES = {"back": "alt+Left", "forward": "alt+Right"}
_WAYS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
_KEYS = {
    "alt": "ALT",
    "BackSpace": "BACKSPACE",
    "Caps_Lock": "CAPSLOCK",
    "ctrl": "CTRL",
    "Delete": "DELETE",
    "Down": "ARROWDOWN",
    "End": "END",
    "Escape": "ESC",
    "Home": "HOME",
    "Insert": "INSERT",
    "Left": "ARROWLEFT",
    "minus": "-",
    "Page_Down": "PAGEDOWN",
    "Page_Up": "PAGEUP",
    "plus": "+",
    "Return": "ENTER",
    "Right": "ARROWRIGHT",
    "shift": "SHIFT",
    "space": "SPACE",
    "super": "CMD",
    "Tab": "TAB",
    "Up": "ARROWUP",
    "slash": "/",
}
_SYMS = {
    **{key: sym for sym, key in _KEYS.items()},
    # Other words of models for the same keys.
    "RETURN": "Return",
    "ESCAPE": "Escape",
    "CONTROL": "ctrl",
    "META": "super",
    "WIN": "super",
    "SUPER": "super",
    "OPTION": "alt",
    "DEL": "Delete",
    " ": "space",
    "UP": "Up",
    "DOWN": "Down",
    "LEFT": "Left",
    "RIGHT": "Right",
    "PAGE_DOWN": "Page_Down",
    "PAGE_UP": "Page_Up",
}


class Step(NamedTuple):
    """One action as the arguments of a tool: `changed` are keys of the action that are written in another way, and how.

    `lost` are the paths in the action of what is not written, `number` its place among those of its call.
    """

    arguments: Node
    changed: dict[str, str]
    lost: tuple[tuple[Any, ...], ...]
    number: int = 0


# ---- from the arguments of a tool ------------------------------------------------------------------------------------


def actions_of(arguments: Any, several: bool = True) -> list[Node] | None:
    """The actions that the arguments of a call represent; None where none do.

    Without `several`, where one action is all that a call can have.

    >>> actions_of('{"action": "left_click", "coordinate": [1, 2]}')
    [{'type': 'click', 'button': 'left', 'x': 1, 'y': 2}]
    """
    try:
        given = load_text(arguments) if type(arguments) is str else arguments
    except ValueError:
        return None
    if type(given) is not dict or type(given.get("action")) is not str:
        return None
    left = dict(given)
    kind = left.pop("action")
    try:
        made = _READERS[kind](left, kind)
    except (KeyError, TypeError, ValueError):
        return None
    if not several and len(made) > 1:
        return None
    # What else it has stays, and must be no key of the action.
    return None if left.keys() & made[0].keys() else [{**made[0], **left}, *made[1:]]


def _pair(value: Any) -> Node:
    x, y = value
    if type(x) is not int or type(y) is not int:
        raise TypeError
    return {"x": x, "y": y}


def _held(left: Node) -> Node:
    """The keys that are held down meanwhile."""
    return {"keys": _keys(left.pop("text"))} if left.get("text") else {}


def _keys(text: str) -> list[str]:
    words = text.split("+")
    large = len(words) > 1 and "shift" not in words
    return [_KEYS.get(word, word.upper() if large and len(word) == 1 else word) for word in words]


def _click(left: Node, kind: str) -> list[Node]:
    return [{"type": "click", "button": _BUTTONS[kind], **_pair(left.pop("coordinate")), **_held(left)}]


def _double(left: Node, kind: str) -> list[Node]:
    made = {"type": "double_click", **_pair(left.pop("coordinate")), **_held(left)}
    if kind == "double_click":
        return [made]
    return [made, {**made, "type": "click", "button": "left"}]


def _move(left: Node, kind: str) -> list[Node]:
    return [{"type": "move", **_pair(left.pop("coordinate"))}]


def _drag(left: Node, kind: str) -> list[Node]:
    path = [_pair(left.pop("start_coordinate")), _pair(left.pop("coordinate"))]
    return [{"type": "drag", "path": path, **_held(left)}]


def _scroll(left: Node, kind: str) -> list[Node]:
    across, down = _WAYS[left.pop("scroll_direction")]
    amount = left.pop("scroll_amount")
    if type(amount) is not int or amount < 1:
        raise ValueError
    far = {"scroll_x": across * amount * NOTCH, "scroll_y": down * amount * NOTCH}
    return [{"type": "scroll", **_pair(left.pop("coordinate")), **far, **_held(left)}]


def _press(left: Node, kind: str) -> list[Node]:
    if (kind == "hold_key") != ("duration" in left):
        raise ValueError
    return [{"type": "keypress", "keys": _keys(left.pop("text"))}]


def _type(left: Node, kind: str) -> list[Node]:
    text = left.pop("text")
    if type(text) is not str:
        raise TypeError
    return [{"type": "type", "text": text}]


def _plain(left: Node, kind: str) -> list[Node]:
    return [{"type": kind}]


_READERS: dict[str, Any] = {
    **dict.fromkeys(_BUTTONS, _click),
    **dict.fromkeys(("double_click", "triple_click"), _double),
    **dict.fromkeys(("key", "hold_key"), _press),
    **dict.fromkeys(("screenshot", "wait"), _plain),
    "left_click_drag": _drag,
    "mouse_move": _move,
    "scroll": _scroll,
    "type": _type,
}

# ---- to the arguments of a tool --------------------------------------------------------------------------------------


def steps_of(actions: Any) -> list[Step] | None:
    """The actions of a call, each as the arguments of a tool; None where one of them cannot be.

    >>> steps_of([{"type": "click", "button": "left", "x": 1, "y": 2}])[0].arguments
    {'action': 'left_click', 'coordinate': [1, 2]}
    """
    if type(actions) is not list or not actions:
        return None
    out: list[Step] = []
    before: Node = {}
    for number, action in enumerate(actions):
        if out and _is_third(before, action):
            out[-1] = out[-1]._replace(arguments={**out[-1].arguments, "action": "triple_click"})
            before = {}
            continue
        if type(action) is not dict or type(action.get("type")) is not str:
            return None
        try:
            out += [step._replace(number=number) for step in _WRITERS[action["type"]](dict(action))]
        except (KeyError, TypeError, ValueError):
            return None
        before = action
    return out


def _is_third(before: Node, action: Any) -> bool:
    """Whether an action is the last click of three."""
    click = {**before, "type": "click", "button": "left"}
    return before.get("type") == "double_click" and type(action) is dict and action == click


def _step(arguments: Node, left: Node, *inner: tuple[Any, ...], **changed: str) -> Step:
    left.pop("type", None)
    kept: Node = {key: left.pop(key) for key in ("duration", "repeat") if key in left}
    lost = [(key,) for key, value in left.items() if value not in (None, [])]
    return Step({**arguments, **kept}, changed, (*lost, *inner))


def _place(left: Node) -> list[int]:
    place = [left.pop("x"), left.pop("y")]
    if any(type(each) is not int for each in place):
        raise TypeError
    return place


def _holding(left: Node) -> Node:
    keys = left.pop("keys", None)
    return {"text": _combination(keys)} if keys else {}


def _combination(keys: list[str]) -> str:
    # A capital in a combination would be read as one with shift.
    small = len(keys) > 1 and not any(key.upper() == "SHIFT" for key in keys)
    return "+".join(_sym(key.lower() if small and len(key) == 1 else key) for key in keys)


def _sym(key: str) -> str:
    return key if key in _KEYS else _SYMS.get(key, _SYMS.get(key.upper(), key) if len(key) > 1 else key)


def _written_click(left: Node) -> list[Step]:
    button = left.pop("button")
    if button in _SIDES:
        said = f"as the keys {_SIDES[button]}"
        _place(left)
        return [_step({"action": "key", "text": _SIDES[button]}, left, button=said, x=said, y=said)]
    return [_step({"action": _CLICKS[button], "coordinate": _place(left), **_holding(left)}, left)]


def _written_double(left: Node) -> list[Step]:
    return [_step({"action": "double_click", "coordinate": _place(left), **_holding(left)}, left)]


def _written_move(left: Node) -> list[Step]:
    return [_step({"action": "mouse_move", "coordinate": _place(left), **_holding(left)}, left)]


def _written_drag(left: Node) -> list[Step]:
    places = [dict(place) for place in left.pop("path")]
    path = [_place(place) for place in places]
    if len(path) < 2:
        raise ValueError
    inner = [("path", number, key) for number, place in enumerate(places) for key in place]
    changed = {"path": "from its start straight to its end"} if len(path) > 2 else {}
    ends = {"start_coordinate": path[0], "coordinate": path[-1]}
    return [_step({"action": "left_click_drag", **ends, **_holding(left)}, left, *inner, **changed)]


def _written_scroll(left: Node) -> list[Step]:
    place, far, held = _place(left), {key: left.pop(key) or 0 for key in ("scroll_x", "scroll_y")}, _holding(left)
    ways = [("scroll_x", "left", "right"), ("scroll_y", "up", "down")]
    out: list[Step] = []
    for key, less, more in ways:
        if not far[key] and (key == "scroll_x" or out):
            continue
        amount = max(1, round(abs(far[key]) / NOTCH)) if far[key] else 0
        given: Node = {"action": "scroll", "coordinate": place, "scroll_direction": less if far[key] < 0 else more}
        said = {key: f"as {amount} notches of the wheel"} if amount * NOTCH != abs(far[key]) else {}
        out.append(_step({**given, "scroll_amount": amount, **held}, left if not out else {}, **said))
    return out


def _written_press(left: Node) -> list[Step]:
    kind = "hold_key" if "duration" in left else "key"
    return [_step({"action": kind, "text": _combination(left.pop("keys"))}, left)]


def _written_text(left: Node) -> list[Step]:
    return [_step({"action": "type", "text": left.pop("text")}, left)]


def _written_wait(left: Node) -> list[Step]:
    return [_step({"action": "wait", "duration": left.pop("duration", 1)}, left)]


_WRITERS: dict[str, Any] = {
    "click": _written_click,
    "double_click": _written_double,
    "drag": _written_drag,
    "keypress": _written_press,
    "move": _written_move,
    "screenshot": lambda left: [_step({"action": "screenshot"}, left)],
    "scroll": _written_scroll,
    "type": _written_text,
    "wait": _written_wait,
}

# ---- ids -------------------------------------------------------------------------------------------------------------

_DERIVED = re.compile(r"(.+)_ulm_([1-9][0-9]*)_([1-9][0-9]*)", re.DOTALL)


def derived_ids(call_id: str, count: int) -> list[str]:
    """The ids of the calls that one call became.

    >>> derived_ids("call", 1), derived_ids("call", 2)
    (['call'], ['call_ulm_1_2', 'call_ulm_2_2'])
    """
    return [call_id] if count == 1 else [f"{call_id}_ulm_{number}_{count}" for number in range(1, count + 1)]


def joined_id(call_id: str) -> tuple[str, int, int]:
    """The id of the call that one came from, the number of that one and how many there are.

    >>> joined_id("call_ulm_1_2"), joined_id("call")
    (('call', 1, 2), ('call', 1, 1))
    """
    found = _DERIVED.fullmatch(call_id)
    return (found[1], int(found[2]), int(found[3])) if found else (call_id, 1, 1)
