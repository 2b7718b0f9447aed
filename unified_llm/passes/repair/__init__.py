"""History repair: the demands a strict target makes on a conversation, declared as data and met before writing.

A conversation the target would accept is not touched: the same list comes back. Every change is recorded as a loss at
the node it happened to, and repairing twice is repairing once. The constraints of a target are declared by its adapter
(`Rules`), by the `repair` mapping of a dialect's row (the same names, `{"unique": True, "blank": "empty"}`), and by
`Rules.models`; no protocol is known here.

The order matters: what is empty goes first, so that it parts no call from its result; then calls and results, then
what depends on their places (thoughts, the system, the opening and the end).
"""

from __future__ import annotations

from typing import Any

from ...engine.pairs.outline import Outline, outline
from ...engine.pairs.writing import Writer
from .editor import Mending
from .images import carry_images, has_images
from .precheck import is_sound
from .reasoning import declare_tools, leave_out_dangling, leave_out_unproved, mend_reasoning, part_from_withheld
from .result_media import carry_result_media, has_result_media
from .roles_and_text import (
    bridge_results,
    join_neighbours,
    leave_out_blanks,
    mend_end,
    mend_fields,
    mend_opening,
    mend_system,
)
from .rules import CALLS, MADE_IMAGES, Rules
from .tool_calls import mend_pairs

__all__ = ["CALLS", "MADE_IMAGES", "Rules", "repair"]

Node = dict[str, Any]


def repair(request: Node, rules: Rules, writer: Writer, *, whole: bool = True, plain: Outline | None = None) -> Node:
    """The request as the target's rules require it: the same object when nothing had to change.

    `rules` are those of the adapter; the dialect of `writer` and the model of the request may change them. `whole` is
    False for a request without an answer of a model (it counts tokens, or compacts), whose history may end as it likes.
    `plain` is the outline of a conversation that holds nothing but texts, calls of functions and their results.
    """
    items = request.get("input")
    if type(items) is not list:
        return request
    # For demands that only the writer can meet, of a request that may have been read from its own protocol.
    writer.context["repaired"] = True
    rules = rules.of(writer.dialect, writer.model or request.get("model"))
    said = type(request.get("reasoning")) is dict and bool(rules.reasoning_opens or rules.reasoning_off)
    if plain is not None and not said and is_sound(items, rules, str(plain), plain):
        return request
    m = Mending(request, rules, writer)
    refused = rules.images(writer) if callable(rules.images) else rules.images
    if refused and plain is None and not writer.same and has_images(items, refused):
        carry_images(m, refused)
        items = m.items
    media = rules.result_media if plain is None and not writer.same else ()
    carried = bool(media) and has_result_media(items, media)
    letters = str(plain) if plain is not None else outline(items)
    sound = not carried and is_sound(items, rules, letters, plain)
    # Without settings of reasoning, and without reasoning, there is nothing to switch off and nothing to leave out.
    said = "r" in letters or type(request.get("reasoning")) is dict
    thoughts = said and (rules.reasoning_opens or rules.reasoning_off)
    if sound and not thoughts and (not rules.reasoning_proof or "r" not in letters):
        return {**request, "input": items} if m.changed else request
    if not sound:
        mend_fields(m)
        if rules.blank:
            leave_out_blanks(m)
        if rules.system == "user":
            # What is the user's ends the model's turn: a call before it is not open.
            mend_system(m)
        mend_pairs(m)
        if carried:
            carry_result_media(m, media)
        if rules.reasoning_follower:
            leave_out_dangling(m)
            part_from_withheld(m)
        if rules.opens:
            mend_opening(m)
        if rules.system == "place":
            mend_system(m)
        if rules.alternates:
            join_neighbours(m)
        if rules.bridged:
            bridge_results(m)
        mend_end(m, whole)
        declare_tools(m)
    if rules.reasoning_proof and "r" in letters:
        leave_out_unproved(m)
    if thoughts:
        mend_reasoning(m)
    return {**m.request, "input": m.items} if m.changed else request
