"""The check of a certificate against the two documents and the loss report, without the engine that made it.

It finds an engine that lies: a leaf without an account, an account of a leaf that is not there, a claimed copy that is
none, a leaf of the target without an origin, a loss that is not in the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from operator import itemgetter
from typing import Any, Literal
from urllib.parse import unquote

from ...foundation.generated_ids import is_made
from ...losses.certificate import Leaf, Trace
from ...losses.loss import Loss
from ..defaults import is_default
from ..walk import Path, as_path, get, is_prefix, leaves, pointer, same
from ..walk import nodes as walk
from .constants import is_constant, is_envelope, is_in_http, is_in_schema, is_library_text, is_position, means_status
from .documents import around, below, is_empty, is_unset, parent, scalars, short
from .relations import as_word, is_sum, is_word, relation_of, shaped, table
from .verdict import Code, Problem, Verification

__all__ = ["verify"]


def verify(
    source: Any,
    target: Any,
    trace: Trace,
    losses: Iterable[Loss],
    *,
    http: Mapping[str, Any] | None = None,
    source_http: Mapping[str, Any] | None = None,
) -> Verification:
    """Check a certificate against the documents and the loss report alone.

    Args:
        source: the document that was converted.
        target: the result of the conversion.
        trace: the certificate.
        losses: the loss report.
        http: what the target carries outside of its body, as in `Converted.http`.
        source_http: what the source carried outside of its body, as `convert` was given it.

    >>> import unified_llm as ul
    >>> from unified_llm import suite
    >>> body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9, "seed": 7}
    >>> done = ul.convert(body, source="openai-chat", target="anthropic-messages", trace=True)
    >>> print(suite.verify(body, done.value, done.trace, done.losses))
    no problems; relations: same 100%
    >>> print(suite.verify(body, {**done.value, "model": "other"}, done.trace, done.losses))
    1 problem; relations: same 100%
    source /model: unrelated: 'm' is not 'other' at /model
    """
    return _Check(source, target, trace, losses, http or {}, source_http or {}).run()


class _Check:
    def __init__(
        self,
        source: Any,
        target: Any,
        trace: Trace,
        losses: Iterable[Loss],
        http: Mapping[str, Any],
        came: Mapping[str, Any],
    ) -> None:
        self.source, self.target, self.trace, self.http, self.came = source, target, trace, http, came
        losses = list(losses)
        self.reported = {loss.path: loss for loss in losses if loss.side == "source"}
        self.added = {loss.path for loss in losses if loss.side == "target"}
        self.theirs = {pointer(path): (path, as_word(path, value)) for path, value in scalars(target)}
        self.mine = {pointer(path): (path, as_word(path, value)) for path, value in scalars(source)}
        self.to: dict[str, list[str]] = {}
        for leaf in trace.leaves:
            for place in leaf.to:
                self.to.setdefault(place, []).append(leaf.path)
        self._leaves = {leaf.path: leaf for leaf in trace.leaves}
        self.problems: list[Problem] = []
        self.relations: Counter[str] = Counter()
        self.origins: Counter[str] = Counter()

    def run(self) -> Verification:
        entries = Counter(leaf.path for leaf in self.trace.leaves)
        for path in self.mine:
            if path not in entries:
                self._fault("missing", path, "no entry")
        for leaf in self.trace.leaves:
            if leaf.path not in self.mine:
                self._fault("extra", leaf.path, "the source has no such leaf")
            elif entries[leaf.path] > 1:
                self._fault("twice", leaf.path, f"{entries[leaf.path]} entries")
            else:
                self._leaf(leaf)
        self._targets()
        return Verification(tuple(self.problems), dict(self.relations), dict(self.origins))

    def _fault(self, code: Code, path: str, detail: str, side: Literal["source", "target"] = "source") -> None:
        self.problems.append(Problem(code, path, side, detail))

    # --- leaves of the source

    def _leaf(self, leaf: Leaf) -> None:
        at, value = self.mine[leaf.path]
        loss = self._loss(leaf)
        if not leaf.to and leaf.loss is None and leaf.rule is None:
            self._fault("unaccounted", leaf.path, f"{short(value)} has no place, loss or rule")
        if leaf.rule is not None and not self._rules(leaf, at, value):
            self._fault("no rule", leaf.path, f"{leaf.rule!r} does not hold for {short(value)}")
        if loss is not None and loss.fate == "lost" and leaf.to:
            self._fault("contradiction", leaf.path, f"lost, and at {leaf.to[0]}")
        for place in leaf.to:
            self._place(leaf, at, value, place, loss)

    def _loss(self, leaf: Leaf) -> Loss | None:
        if leaf.loss is None:
            return None
        loss = self.reported.get(leaf.loss)
        if loss is None:
            self._fault("no loss", leaf.path, f"no entry of the report is about {leaf.loss or '/'}")
        elif not is_prefix(leaf.loss, leaf.path):
            self._fault("no loss", leaf.path, f"{leaf.loss} is not a node around it")
        return loss

    def _rules(self, leaf: Leaf, at: Path, value: Any) -> bool:
        if leaf.rule == "empty":
            return is_empty(value) or is_unset(self.source, at)
        if leaf.rule == "reference":
            return self._is_reference(at, value)
        if leaf.rule == "generated":
            return is_made(value)
        if leaf.rule == "position":
            return is_position(at, value, self.source)
        if leaf.rule == "schema":
            return is_in_schema(at)
        if leaf.rule == "sum":
            return is_sum(value, self._counts(self.source, at))
        if leaf.rule == "constant":
            return value in table()["bypass"]
        if leaf.rule == "shape":
            return self._is_shape(at, value)
        record = {"protocol": self.trace.source, "kind": self.trace.kind, "body": self.source}
        return any(
            is_default(record, at[:depth], get(self.source, at[:depth]), self.trace.target)
            for depth in range(len(at), 0, -1)
        )

    def _is_failure(self, word: Any) -> bool:
        """Whether a word is the one of an error by the HTTP status, or by a header."""
        status, headers = self.http.get("status"), self.http.get("headers") or {}
        if type(status) is not int or status < 400:
            return False
        return word == "failed" or means_status(word, status) or any(is_word(word, text) for text in headers.values())

    def _is_reference(self, at: Path, value: Any) -> bool:
        """Whether a value is the id or name of something, and stands elsewhere with an account."""
        if at[-1] not in table()["references"]:
            return False
        same_text = [path for path, (_, other) in self.mine.items() if same(value, other) and path != pointer(at)]
        return any(self._leaves[path].to or self._leaves[path].loss for path in same_text if path in self._leaves)

    def _is_shape(self, at: Path, word: Any) -> bool:
        """Whether the objects to which the other leaves of an object went are what its tag names."""
        if self._is_failure(word):
            return True
        beside = [self._leaves[path] for path in self._others(self.mine, at) if path in self._leaves]
        if beside and all(entry.loss is not None or entry.rule for entry in beside):
            return True  # its object is in the report, leaf by leaf
        nodes = [
            node
            for path in self._others(self.mine, at)
            for place in (self._leaves[path].to if path in self._leaves else ())
            if place in self.theirs
            for node in around(self.target, self.theirs[place][0])
        ]
        if not nodes:
            # The others of its object are accounted for elsewhere, or it has none: then it is in some object.
            return bool(self._others(self.mine, at)) or any(shaped(word, node) for _, node in walk(self.target))
        return any(shaped(word, node) for node in nodes)

    def _came_of_shape(self, where: Path, word: Any) -> bool:
        """Whether the objects from which the other leaves of an object came are what its tag names."""
        nodes = [
            node
            for place in self._others(self.theirs, where)
            for path in self.to.get(place, ())
            if path in self.mine
            for node in around(self.source, self.mine[path][0])
        ]
        if self._is_failure(word):
            return True
        if any(shaped(word, node) for node in nodes or map(itemgetter(1), walk(self.source))):
            return True
        if is_constant(self.trace.target, where, word, 1 if not nodes else 2):
            return True
        return self._holds_envelope(where) or self._stands_in(where)

    def _holds_envelope(self, where: Path) -> bool:
        """Whether an object was made to hold an envelope."""
        return any(is_envelope(self.theirs[place][1]) for place in self._others(self.theirs, where))

    def _stands_in(self, where: Path) -> bool:
        """Whether a value near what went to the objects around a place is in the report, in another form."""
        changed = [loss.path for loss in self.reported.values() if loss.fate != "lost"]
        if any(repr(get(self.target, where)) in loss.detail for loss in self.reported.values()):
            return True
        if not changed:
            return False
        for depth in range(len(where) - 1, 0, -1):
            places = self._below_theirs.get(where[:depth], ())
            beside = [path for place in places for path in self.to.get(place, ())]
            if beside:
                return any(
                    is_prefix(each, path) or is_prefix(parent(path), each) for each in changed for path in beside
                )
        return True

    def _others(self, known: Mapping[str, tuple[Path, Any]], at: Path) -> list[str]:
        """The leaves beside one, in the same object or below it."""
        below = self._below_mine if known is self.mine else self._below_theirs
        return [path for path in below.get(at[:-1], ()) if path != pointer(at)]

    @cached_property
    def _below_mine(self) -> dict[Path, list[str]]:
        return below(self.mine)

    @cached_property
    def _below_theirs(self) -> dict[Path, list[str]]:
        return below(self.theirs)

    def _place(self, leaf: Leaf, at: Path, value: Any, place: str, loss: Loss | None) -> None:
        relation: str | None
        if place.startswith("http:"):
            relation = self._route(value, place)
        elif place in self.theirs:
            relation = self._related(leaf, at, value, place)
        else:
            try:
                node = get(self.target, as_path(self.target, place))
            except (LookupError, ValueError):
                self._fault("no place", leaf.path, f"the target has nothing at {place}")
                return
            relation = "shape" if shaped(value, node) else None
        if relation is None and loss is not None and loss.fate != "lost":
            relation = "reported"
        if relation is None:
            found = self.theirs[place][1] if place in self.theirs else "what is"
            self._fault("unrelated", leaf.path, f"{short(value)} is not {short(found)} at {place}")
        else:
            self.relations[relation] += 1

    def _related(self, leaf: Leaf, at: Path, value: Any, place: str) -> str | None:
        where, found = self.theirs[place]
        xs = [self.mine[path][1] for path in self.to[place] if path in self.mine]
        ys = [self.theirs[other][1] for other in leaf.to if other in self.theirs]
        return relation_of(
            at, value, where, found, xs, ys, partial(self._counts, self.source, at), self._texts, self._shifts
        )

    @cached_property
    def _texts(self) -> list[str]:
        """The texts of the source that have more bytes than characters."""
        return [value for _, value in self.mine.values() if type(value) is str and not value.isascii()]

    @cached_property
    def _shifts(self) -> set[int]:
        """The lengths of texts of the source that follow each other, in characters and in bytes."""
        texts = [text for at, text in self.mine.values() if type(text) is str and at[-1:] == ("text",)][:40]
        found: set[int] = set()
        for start in range(len(texts)):
            for end in range(start + 1, len(texts) + 1):
                whole = "".join(texts[start:end])
                found |= {len(whole), len(whole.encode())}
        return found

    def _counts(self, document: Any, at: Path) -> list[int]:
        """The other counts in the object of the root that a count is in."""
        if len(at) < 2:
            return []
        around = [(at[0], *path) for path, value in leaves(get(document, at[:1])) if type(value) is int and value]
        return [get(document, path) for path in around if len(path) < 6 and path != at]

    def _route(self, value: Any, place: str) -> str | None:
        try:
            found = get(dict(self.http), as_path(dict(self.http), place.removeprefix("http:")))
        except (LookupError, ValueError):
            return None
        name = str(value)
        for kind in table()["resources"]:
            name = name.removeprefix(kind)
        if same(value, found) or (type(found) is str and name in unquote(found)):
            return "route"
        texts = [str(each) for each in found.values()] if type(found) is dict else [str(found)]
        return "route" if value is True and any("stream" in text or text == "sse" for text in texts) else None

    # --- leaves of the target

    def _targets(self) -> None:
        made = Counter(each.path for each in self.trace.made)
        claimed = self.to
        for each in self.trace.made:
            if each.path not in self.theirs:
                self._fault("extra", each.path, "the target has no such leaf", "target")
            elif made[each.path] > 1 or each.path in claimed:
                self._fault("twice", each.path, "more than one origin", "target")
            else:
                self._origin(each.path, each.origin, each.value)
        for path in self.theirs:
            if path not in claimed and path not in made:
                self._fault("no origin", path, f"nothing went to {short(self.theirs[path][1])}", "target")

    def _origin(self, path: str, origin: str, told: Any) -> None:
        where, value = self.theirs[path]
        if not same(told, value):
            self._fault("no origin", path, f"it is {short(value)}, and was {short(told)} when it was made", "target")
            return
        holds = {
            "added": lambda: any(is_prefix(each, path) for each in self.added),
            "constant": lambda: is_constant(self.trace.target, where, value),
            "empty": lambda: is_empty(value),
            "generated": lambda: is_made(value),
            "envelope": lambda: is_envelope(value),
            "position": lambda: is_position(where, value, self.target),
            "schema": lambda: is_in_schema(where),
            "http": lambda: is_in_http(value, self.came),
            "sum": lambda: is_sum(value, self._counts(self.target, where)),
            "status": lambda: same(value, self.http.get("status")),
            "reported": lambda: (
                self._stands_in(where) or is_constant(self.trace.target, where, value) or is_library_text(value)
            ),
            "shape": lambda: self._came_of_shape(where, value),
        }
        if origin in holds and holds[origin]():
            self.origins[origin] += 1
        else:
            self._fault("no origin", path, f"{origin!r} does not hold for {short(value)}", "target")
