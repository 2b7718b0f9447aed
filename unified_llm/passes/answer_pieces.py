"""Pieces of an answer that clients keep apart, as the one turn they are, for targets that take each for a message.

Clients of some protocols keep every chunk of a streamed answer as a message of its own, since their provider reads
neighboring outputs of the model as one turn (`Adapter.pieces`). For any other protocol they become one turn here. Its
texts are one text where nothing stands between them: no separator was there when they were sent. What has more to it
than its text (a signature, annotations, unknown keys) stays a part or a message of its own. The canonical model keeps
the pieces as they came, so that their own protocol gets them back.
"""

from __future__ import annotations

from typing import Any

from ..engine.pairs.mapping import NATIVE
from ..engine.pairs.writing import Writer
from .repair.editor import is_model

__all__ = ["join_pieces"]

Node = dict[str, Any]

# What is put together, the key of its parts, and the type of those that are texts.
_KINDS = {"message": ("content", "output_text"), "reasoning": ("summary", "summary_text")}
_TEXT = frozenset(("type", "text", "extra"))
_BLANK = "removed; a blank piece of an answer"


def join_pieces(request: Node, writer: Writer) -> list[tuple[Node, Node]]:
    """Make one turn of neighboring outputs of the model; gives the nodes that were made, each with the one it is of."""
    items = request.get("input")
    if type(items) is not list:
        return []
    made: list[tuple[Node, Node]] = []
    out: list[Node] = []
    run: list[Node] = []
    for item in items:
        if is_model(item) and item.get("type") != NATIVE:
            run.append(item)
            continue
        out += _joined(run, made, writer)
        out.append(item)
        run = []
    out += _joined(run, made, writer)
    if made or len(out) < len(items):
        writer.context.setdefault("given", {**request})
        request["input"] = out
    return made


def _joined(run: list[Node], made: list[tuple[Node, Node]], w: Writer) -> list[Node]:
    """The items of one turn; those that are several already, with the turn of the first."""
    if len({item.get("turn") for item in run}) < 2:
        return [_without_blank_texts(item, made, w) for item in _without_blanks(run, w)]
    turn = next(item["turn"] for item in run if item.get("turn") is not None)
    out: list[Node] = []
    alike: list[Node] = []  # neighbors of one kind with nothing beside their parts
    for item in _without_repeats(_without_blanks(run, w), w):
        bare = _is_bare(item, w)
        if alike and not (bare and item["type"] == alike[0]["type"]):
            out.append(_whole(alike, turn, made, w))
            alike = []
        if bare:
            alike.append(item)
        else:
            out.append({**item, "turn": turn})
            made.append((out[-1], item))
    if alike:
        out.append(_whole(alike, turn, made, w))
    return out


def _without_blanks(run: list[Node], w: Writer) -> list[Node]:
    """A run without its blank messages; where nothing else is shown, the first of them stays."""
    blank = [item["type"] == "message" and _is_bare(item, w) and _is_blank(item, w) for item in run]
    if any(blank) and all(empty or item["type"] == "reasoning" for item, empty in zip(run, blank)):
        blank[blank.index(True)] = False
    for item, empty in zip(run, blank):
        if empty:
            # Nothing is seen of it, so each leaf is named.
            for keys in ((), ("role",)):
                w.report(item, keys, "approximated", _BLANK)
    return [item for item, empty in zip(run, blank) if not empty]


def _without_blank_texts(item: Node, made: list[tuple[Node, Node]], w: Writer) -> Node:
    """A message without its blank texts, where it has more than these: the last frame of a stream may be one."""
    content = item.get("content") if item["type"] == "message" else None
    if type(content) is not list or len(content) < 2:
        return item
    blank = [part for part in content if _is_plain(part, "output_text", w) and not part["text"]]
    if not 0 < len(blank) < len(content):
        return item
    for part in blank:
        w.report(part, (), "approximated", _BLANK)
    whole = {**item, "content": [part for part in content if all(part is not each for each in blank)]}
    made.append((whole, item))
    return whole


def _without_repeats(run: list[Node], w: Writer) -> list[Node]:
    """A run in which each thought stands once: pieces that were shown of one give way to it where it is whole.

    An envelope brings back a thought with its proof, in the place of the piece that it came with.
    """
    out: list[Node] = []
    shown: list[Node] = []
    proved: list[Node] = []
    for item in run:
        if item["type"] == "reasoning" and item.get("opaque"):
            proved.append(item)
            continue
        bare = item["type"] == "reasoning" and _is_bare(item, w)
        if proved or not bare:
            out += _once(shown, proved, w)
            shown, proved = [], []
        (shown if bare else out).append(item)
    return out + _once(shown, proved, w)


def _once(shown: list[Node], proved: list[Node], w: Writer) -> list[Node]:
    """Thoughts with their proofs, without the pieces before them if these show the same and no more."""
    rest = shown[::-1]
    taken: list[list[Node]] = []
    for item in proved:
        text, pieces, said = _thought(item), [], ""
        while rest and (len(said) < len(text) or not _thought(rest[-1])):
            pieces.append(rest.pop())
            said += _thought(pieces[-1])
        if said != text:
            return shown + proved
        taken.append(pieces)
    if rest:
        return shown + proved
    joined = w.context.setdefault("joined", {})
    for item, pieces in zip(proved, taken):
        joined[id(item)] = [item, *pieces]
        parts = _thoughts(item)
        if len(parts) == 1:
            joined[id(parts[0])] = [*parts, *(part for piece in pieces for part in _thoughts(piece))]
    return proved


def _thoughts(item: Node) -> list[Node]:
    parts = (*(item.get("summary") or ()), *(item.get("content") or ()))
    return [part for part in parts if type(part.get("text")) is str]


def _thought(item: Node) -> str:
    return "".join([part["text"] for part in _thoughts(item)])


def _is_bare(item: Node, w: Writer) -> bool:
    """Whether an item has nothing beside its parts but the form it had on its wire."""
    if item["type"] not in _KINDS:
        return False
    key, _ = _KINDS[item["type"]]
    if not item.keys() <= {"type", "role", key, "turn", "extra"}:
        return False
    content = item.get(key)
    if not (content is None or type(content) is list or (type(content) is str and key == "content")):
        return False
    return "extra" not in item or w.is_silent(item["extra"])


def _is_blank(message: Node, w: Writer) -> bool:
    return all(_is_plain(part, "output_text", w) and not part["text"] for part in _parts(message))


def _is_plain(part: Node, kind: str, w: Writer) -> bool:
    """Whether a part is a text of this type with nothing beside it."""
    if part.get("type") != kind or not part.keys() <= _TEXT or type(part.get("text")) is not str:
        return False
    return "extra" not in part or w.is_silent(part["extra"])


def _parts(item: Node) -> list[Node]:
    key, kind = _KINDS[item["type"]]
    content = item.get(key)
    return [{"type": kind, "text": content}] if type(content) is str else content or []


def _whole(alike: list[Node], turn: int, made: list[tuple[Node, Node]], w: Writer) -> Node:
    """The item that several are: where one ends and the next begins, two plain texts are one."""
    whole = {**alike[0], "turn": turn}
    made.append((whole, alike[0]))
    if len(alike) == 1:
        return whole
    key, kind = _KINDS[whole["type"]]
    parts: list[Node] = []
    runs: list[list[Node]] = []  # the texts that each part is made of, none where there is more to it
    origins: dict[int, Node] = {}  # of the parts that stand for the text of a message
    for item in alike:
        for index, part in enumerate(_parts(item)):
            if type(item.get(key)) is str:
                made.append((part, item))
                origins[id(part)] = item
            plain = _is_plain(part, kind, w)
            if plain and index == 0 and runs and runs[-1]:
                runs[-1].append(part)
            else:
                runs.append([part] if plain else [])
                parts.append(part)
    # By its identity: what was put together, in place of the first piece, and the other pieces.
    joined = w.context.setdefault("joined", {})
    joined[id(whole)] = [whole, *alike[1:]]
    for place, run in enumerate(runs):
        if len(run) > 1:
            parts[place] = {"type": kind, "text": "".join([part["text"] for part in run])}
            made.append((parts[place], origins.get(id(run[0]), run[0])))
            joined[id(parts[place])] = [parts[place], *run[1:]]
    # One text alone is a string, as messages have it.
    whole[key] = parts[0]["text"] if key == "content" and len(parts) == 1 and runs[0] else parts
    whole.pop("extra", None)
    return whole
