"""The law of no noise, and what it is checked against: the table of documented defaults, read in a way of its own.

Nothing of the engine's rule (`unified_llm.losses.defaults`) is used: pointers are matched as text, and a place of the
source is looked up by walking the document.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from typing import Any

from ..engine.adapter import Adapter
from ..engine.registry import adapter, loaded
from ..foundation.generated_ids import is_made
from .outcome import Failure, Record, checked, document, outcome
from .walk import Path, as_path, get, nodes, pointer

__all__ = ["documented_defaults", "is_default", "no_noise"]

KINDS = ("request", "response", "stream")
_NOBODY_KNOWS = object()


def no_noise(records: Iterable[Record], target: str) -> list[Failure]:
    """No `lost` entry of a report is about a documented default that the target keeps, null, or an id of our own."""
    failures = []
    for record in checked(records):
        if record["kind"] not in KINDS:
            continue
        body = document(record)
        for loss in outcome(record, target).losses:
            if loss.fate != "lost" or loss.side != "source":
                continue
            try:
                path = as_path(body, loss.path)
                value = get(body, path)
            except (LookupError, ValueError):
                continue  # the law of specificity is about that
            if is_default(record, path, value, target):
                failures.append(Failure(record["id"], loss.path, f"{value!r} is a default, and called lost"))
    return failures


def documented_defaults(record: Record) -> Iterator[tuple[Path, Any]]:
    """The places of a record that hold a documented default, with the defaults."""
    for path, value in nodes(document(record)):
        if path and any(_equal(row["value"], value) for row in _rows_at(record, path)):
            yield path, value


def is_default(record: Record, path: Path, value: Any, target: str) -> bool:
    """Whether a place of a record holds nothing but documented defaults that `target` keeps, null, or ids we made."""
    if path and type(path[-1]) is int and (value is None or (type(value) is dict and not any(_said(value)))):
        return False  # an element of a list is one, whatever is in it
    if value is None or is_made(value):
        return True
    for row in _rows_at(record, path):
        if _equal(row["value"], value) and _is_kept(row, record["kind"], target):
            return True
    if type(value) is dict and value:
        return all(is_default(record, (*path, key), inner, target) for key, inner in value.items())
    if type(value) is list and value:
        return all(is_default(record, (*path, index), inner, target) for index, inner in enumerate(value))
    return False


def holds_default(record: Record, path: Path, target: str) -> bool:
    """Whether deleting what is at a place takes no more away than a documented default, or a part of one."""
    return any(
        is_default(record, path[:depth], get(document(record), path[:depth]), target)
        for depth in (len(path), len(path) - 1)
        if depth
    )


def _rows_at(record: Record, path: Path) -> list[dict[str, Any]]:
    table = _table(record["protocol"])
    if record["kind"] not in KINDS:
        return []
    if record["kind"] == "stream":
        whole = _plain(pointer(path[2:]))
        rows = [row for row in table["stream"] if row["pattern"].fullmatch(whole)]
        for place, answer in table["places"]:
            if whole == place or whole.startswith(place + "/"):
                rows += [row for row in table["response"] if row["pattern"].fullmatch(answer + whole[len(place) :])]
        return rows + [row for row in table["response"] if row["pattern"].fullmatch(whole)]
    here = _plain(pointer(path))
    body = document(record)
    return [row for row in table[record["kind"]] if row["pattern"].fullmatch(here) and not _stands(body, row)]


def _stands(body: Any, row: dict[str, Any]) -> bool:
    """Whether what makes a row void stands in the document."""
    return "unless" in row and bool(body.get(row["unless"].strip("/")))


def _is_kept(row: dict[str, Any], kind: str, target: str) -> bool:
    """Whether the default of a target is the same. (An answer has no defaults of a target.)"""
    if kind != "request" or "field" not in row or row.get("always"):
        return True
    # A dialect may lack what its protocol has, so only its own rows count for it.
    theirs = [each for each in _declared(target).get("request", ()) if each.get("field") == row["field"]]
    if not theirs:
        does = _data()["unasked"].get(row["field"], _NOBODY_KNOWS)
    else:
        does = _NOBODY_KNOWS if theirs[0].get("unknown") else theirs[0].get("means", theirs[0].get("value"))
    return _equal(does, row.get("means", row["value"]))


def _said(node: dict[str, Any]) -> Iterator[bool]:
    return (inner is not None for inner in node.values())


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other) and (type(one) is bool) == (type(other) is bool)


def _plain(text: str) -> str:
    return text.replace("_", "").lower()


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads((resources.files("unified_llm.losses") / "defaults.toml").read_text("utf-8"))


def _declared(name: str) -> Any:
    """The table of a protocol or dialect: that of the package, or what an adapter from outside declares."""
    return _data().get(name) or (adapter(name).defaults if name in loaded() else {})


def _table(protocol: str) -> dict[str, Any]:
    own = protocol.partition(":")[0]
    return _rows(protocol, None if own in _data() else adapter(own))


@cache
def _rows(protocol: str, known: Adapter | None) -> dict[str, Any]:
    """The rows of a protocol and its dialect by kind, each with its pattern; an answer repeats those of a request."""
    own = protocol.partition(":")[0]
    names = dict.fromkeys((_declared(own).get("like", own), own, protocol))
    tables = [_declared(name) for name in names]
    rows: dict[str, Any] = {}
    for kind in KINDS:
        found = [row for table in tables for row in table.get(kind, ()) if "value" in row]
        rows[kind] = [{**row, "pattern": _pattern(row["path"])} for row in found]
    rows["response"] = rows["response"] + rows["request"]
    places = [(_plain(key), _number(place)) for table in tables for key, place in table.get("places", {}).items()]
    return {**rows, "places": places}


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile("[0-9]+".join(map(re.escape, _plain(path).split("*"))))


def _number(place: str) -> str:
    return _plain(place).replace("*", "0")
