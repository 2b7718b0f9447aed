"""The certificate of a conversion, made when it is done (`convert(..., trace=True)`).

The leaves of the source are matched with those of the target through their canonical forms, and what is left is looked
up in the loss report: before and after what carries no information was taken out of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...foundation.generated_ids import is_made
from ...foundation.json_codec import dump, parse
from ...foundation.json_paths import Keys, exists, pointer
from ...losses import Loss
from ...losses.certificate import Leaf, Rule, Trace
from ...losses.defaults import Weighing, significant
from .matching import Matching
from .origins import REFERENCES, SCHEMAS, is_empty, is_position, is_unset, made, tag
from .places import TAGS, scalars

if TYPE_CHECKING:
    from ...engine.pairs.reading import Reader
    from ...engine.pairs.writing import Writer
    from ...losses import Losses
    from ..route import Route

__all__ = ["certificate", "distinct"]


def distinct(document: Any) -> Any:
    """The document with a value of its own in each place, so that each is known again by its identity."""
    return parse(dump(document))


def certificate(
    names: tuple[str, str, str],
    route: Route,
    document: Any,
    node: Any,
    value: Any,
    reader: Reader,
    writer: Writer,
    losses: Losses,
) -> Trace:
    """The certificate of a conversion of `document` to `value`, through the canonical `node`.

    `names` are the source, the target and the kind.
    """
    source, target, _ = names
    weighing = Weighing(source, target, route.reads.node, writer.exchange, node, route.origin)
    reports = _Report(losses)
    to = Matching(document, distinct(value), writer.http, reports.is_lost)
    if not route.crossing:
        for path, _ in scalars(document):
            if exists(value, path):
                to.pair(path, path)
    else:
        to.match(route, node, value, reader, writer)
    to.match_texts()
    to.match_media_types()
    to.match_joined()
    to.match_split()
    to.match_names()
    to.match_http()
    leaves = []
    for path, leaf in scalars(document):
        place = pointer(path)
        loss = reports.about(place)
        if path not in to.found and route.crossing:
            to.match_rest(path, leaf, loss is None)
        places = tuple(to.places(path))
        rule: Rule | None = None
        if not places and loss is None:
            rule = _rule(path, leaf, weighing, document, route)
        leaves.append(Leaf(place, places, loss, rule))
    _resolve(leaves, document)
    claimed = {place for leaf in leaves for place in leaf.to}
    return Trace(*names, tuple(leaves), tuple(made(claimed, value, losses, writer.http, reader.http)))


def _resolve(leaves: list[Leaf], document: Any) -> None:
    """Give what is the id or name of another object the rule for it, where that has an entry."""
    values = [*scalars(document)]
    told = {leaf for (_, leaf), entry in zip(values, leaves) if type(leaf) is str and (entry.to or entry.loss)}
    for number, ((path, leaf), entry) in enumerate(zip(values, leaves)):
        if entry.disposition == "unknown" and tag(path) in REFERENCES and type(leaf) is str and leaf in told:
            leaves[number] = entry._replace(rule="reference")


def _rule(path: Keys, leaf: Any, weighing: Weighing, document: Any, route: Route) -> Rule | None:
    """Why a leaf is neither in the target nor in the report."""
    if is_empty(leaf) or is_unset(path, leaf, document):
        return "empty"
    if type(leaf) is str and is_made(leaf):
        return "generated"
    if is_position(path, leaf):
        return "position"
    if type(leaf) is str and leaf in route.origin.constants:
        return "constant"
    if any(_is_default(path[:depth], weighing, document) for depth in range(len(path), 0, -1)):
        return "default"
    if not SCHEMAS.isdisjoint(path):
        return "schema"
    if type(leaf) is int and "token" in str(path[-1]).lower():
        return "sum"
    return "shape" if tag(path) in TAGS else None


def _is_default(path: Keys, weighing: Weighing, document: Any) -> bool:
    """Whether what is at a path would not be reported if it were lost."""
    return not significant([Loss(pointer(path), "native.field", "lost")], weighing, document)


class _Report:
    """The entries of a loss report by their place in the source."""

    def __init__(self, losses: Iterable[Loss]) -> None:
        self._paths = {loss.path for loss in losses if loss.side == "source"}
        self._lost = {loss.path for loss in losses if loss.side == "source" and loss.fate == "lost"}

    def is_lost(self, place: str) -> bool:
        """Whether the entry about a leaf is that it was lost, or the smallest node around it that has one."""
        return self.about(place) in self._lost

    def about(self, place: str) -> str | None:
        """The path of the entry about a leaf: its own, else that of the smallest node around it."""
        while place:
            if place in self._paths:
                return place
            place = place.rpartition("/")[0]
        return "" if "" in self._paths else None
