"""Whether a conversation plainly satisfies the rules: a few looks at the whole let most through at once.

What has to hold of turns and steps is read off the conversation's outline, because this is done for every request and
must cost next to nothing. A no proves nothing: the repair then looks closely, and may find nothing to do either. A yes
has to be true.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import compress
from operator import ne
from typing import Any

from ...engine.pairs.outline import CALL, RESULT, Outline, mask, picked
from .rules import Rules

__all__ = ["is_sound"]

Node = dict[str, Any]


_MESSAGE, _MODEL = "uas", "acrp"
# What does not join itself to one message where no turn is known.
_UNJOINED = ("ar", "cr", "ca", "aa", "pa", "pc", "pr", "ap", "cp", "rp")
_LEADS_NOWHERE = re.compile("r(?:[uso]|$)")
_SPECIAL = frozenset(("executor", "async", "caller"))


def is_sound(items: list[Node], rules: Rules, letters: str, plain: Outline | None = None) -> bool:
    """Whether nothing has to be done about `items`, whose outline is `letters`; False proves nothing.

    `plain` is known of items with nothing beside what makes them a text, a call of a function, or its result, and what
    names them (`STATED`), of which the calls that stand side by side came in one message.
    """
    if rules.declared or "x" in letters or not _turns(letters, rules):
        return False
    if ("c" in letters or "o" in letters) and not _calls(letters, items, rules, plain):
        return False
    if rules.item_ids and (plain.numbered if plain else [1 for item in items if "id" in item]):
        return False
    if plain:
        return not rules.blank or _are_not_blank(plain.texts)
    if rules.blank or rules.name_form:
        messages = picked(items, letters, _MESSAGE)
        if rules.name_form and [1 for item in messages if "name" in item]:
            return False
        if rules.blank and not _texts([item.get("content") for item in messages]):
            return False
    return True


def _turns(letters: str, rules: Rules) -> bool:
    spoken = letters.lstrip("s")
    if rules.reasoning_follower and "r" in letters and _LEADS_NOWHERE.search(spoken):
        return False
    if rules.alternates and ("uu" in spoken or "aa" in spoken or "ss" in spoken):
        return False
    if rules.system and "s" in spoken:
        return False
    if rules.bridged and ("ou" in spoken or "os" in spoken):
        return False
    if not spoken:
        return True
    return not ((rules.opens and spoken[0] != "u") or ((rules.closes or rules.trailing) and spoken[-1] == "a"))


def _calls(letters: str, items: list[Node], rules: Rules, plain: Outline | None) -> bool:
    if not _paired(letters) or (rules.one_turn and not _joined(letters, items, plain)):
        return False
    if plain:
        return _ids(plain.calls, plain.results, rules)
    calls, results = picked(items, letters, CALL), picked(items, letters, RESULT)
    if not _ids([call.get("call_id") for call in calls], [result.get("call_id") for result in results], rules):
        return False
    if not _SPECIAL.isdisjoint(set().union(*calls)):
        return False
    if rules.named:
        names = [result.get("name") for result in results]
        if any(names) and any(name not in (None, call.get("name")) for call, name in zip(calls, names)):
            return False
    return not rules.blank or _texts(
        [output for each in results if type(output := each.get("output")) is list and output]
    )


def _ids(called: list[Any], answered: list[Any], rules: Rules) -> bool:
    """Whether calls are answered in their order, and their ids are as they should be."""
    if called[: len(answered)] != answered or not all(called) or len(set(called)) < len(called):
        return False
    if rules.call_id_length is not None and max(map(len, called), default=0) > rules.call_id_length:
        return False
    if rules.call_id_form is None:
        return True
    joined = "\0".join([*called, ""])
    return joined.count("\0") == len(called) and _each(rules.call_id_form).fullmatch(joined) is not None


@cache
def _each(form: str) -> re.Pattern[str]:
    return re.compile(f"(?:(?:{form})\0)*", re.DOTALL)


def _paired(letters: str) -> bool:
    """Whether as many results as calls stand behind each run of calls, but for the last, which may still get them."""
    if "ao" in letters or "ro" in letters or "po" in letters:
        return False
    turns = letters.encode().translate(None, b"arp")
    if turns[:1] == b"o" or b"cu" in turns or b"cs" in turns or b"uo" in turns or b"so" in turns:
        return False
    steps = turns.translate(None, b"us").replace(b"oc", b"o c").split(b" ")
    if steps[-1].endswith(b"c"):
        steps.pop()
    return all(step.count(b"c") * 2 == len(step) for step in set(steps))


def _joined(letters: str, items: list[Node], plain: Outline | None) -> bool:
    """Whether each run of model output is one message already; in plain items it is, where it can be."""
    if any(pair in letters for pair in _UNJOINED):
        return False
    if plain:
        return True
    turns = [item.get("turn") for item in items]
    model = mask(letters, _MODEL)
    # A one for each two neighbors of the model's: all of them in one go, as numbers.
    both = int.from_bytes(model[1:]) & int.from_bytes(model[:-1])
    return not any(compress(both.to_bytes(len(model) - 1), map(ne, turns, turns[1:])))


def _texts(contents: list[Any]) -> bool:
    """Whether no message is empty, and no text in it."""
    if not all(contents):
        return False
    texts = [content for content in contents if type(content) is str]
    if len(texts) < len(contents):
        parts = [part.get("text") for content in contents if type(content) is list for part in content]
        texts += [text for text in parts if type(text) is str]
    return _are_not_blank(texts)


def _are_not_blank(texts: list[str]) -> bool:
    return all(texts) and not any(map(str.isspace, texts))
