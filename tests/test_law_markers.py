"""A marker of form that no reader leaves is ignored: a canonical document may come from anybody.

Readers keep in `extra[protocol]["form"]` how a value was spelled, and `turn` has the items that came in one message.
For every marker of the fixtures, and every slot of `extra`: whatever stands in its place, writing raises an error of
ours, or gives what it gives with the marker or without it, or what differs is in the report.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import unified_llm as ul
from corpus import fixtures
from unified_llm.suite.outcome import canonical, in_short, without_form
from unified_llm.suite.walk import deleted, differences, get, is_prefix, pointer, replaced, same

Node = dict[str, Any]
Path = tuple[Any, ...]
PROTOCOLS = ["openai-chat", "openai-responses", "anthropic-messages", "google-interactions", "google-generate-content"]
ODD: list[Any] = [None, [], [None], {}, {"zz": 1}, "zz", -1, True, False, 1.5, 2**70]


def slots(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The places of what readers keep beside canonical values, each with what it is."""
    if type(value) is list:
        for index, inner in enumerate(value):
            yield from slots(inner, (*path, index))
    elif type(value) is dict:
        for protocol, drawer in (value.get("extra") or {}).items():
            yield (*path, "extra"), "extra"
            yield (*path, "extra", protocol), "drawer"
            for slot, kept in drawer.items():
                yield (*path, "extra", protocol, slot), slot
                if slot == "form":
                    yield from (((*path, "extra", protocol, slot, key), f"form {key}") for key in kept)
        if "turn" in value:
            yield (*path, "turn"), "turn"
        for key, inner in value.items():
            if key != "extra":
                yield from slots(inner, (*path, key))


def written(node: Node, protocol: str, kind: str) -> ul.Converted | None:
    """What comes of a document; None for an error of ours."""
    try:
        return ul.write(node, protocol, kind, repair="never")
    except ul.UnifiedLLMError:
        return None


def meaning(done: ul.Converted, protocol: str, record: Node) -> Any:
    """The content of the written document, read again."""
    json.dumps(done.value)  # and a JSON value it is
    http = {key: done.http[key] for key in ("path", "query") if key in done.http}
    beside = {**record, "http": {**(record.get("http") or {}), **http}}
    return in_short(without_form(canonical(done.value, protocol, record["kind"], beside)))


def _at(doc: Any, path: Path) -> Any:
    try:
        return get(doc, path)
    except (LookupError, TypeError):
        return None


def meant(node: Node, path: Path, protocol: str, record: Node) -> list[Any]:
    """The content of a document with a marker as it is, and without it."""
    done = [written(like, protocol, record["kind"]) for like in (node, deleted(node, path))]
    return [meaning(each, protocol, record) for each in done if each is not None]


def is_harmless(wanted: list[Any], changed: Node, protocol: str, record: Node) -> bool:
    """Whether a marker was ignored, or what it changed is reported."""
    done = written(changed, protocol, record["kind"])
    if done is None:
        return True
    said, paths = meaning(done, protocol, record), [loss.path for loss in done.losses]
    for base in wanted:
        if same(base, said):
            return True
        # (An error of no known class is sent, and read, as a failure of the server.)
        found = [each for each in differences(base, said) if _at(base, each) != "other"]
        moved = [pointer(each) for each in found]
        if all(any(is_prefix(told, each) or is_prefix(each, told) for told in paths) for each in moved):
            return True
    return False


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_marker_that_no_reader_leaves_changes_nothing(protocol: str) -> None:
    seen, failures = set(), []
    for kind in ("request", "response", "error"):
        for record in fixtures(protocol, kind):
            try:
                node = canonical(record["body"], protocol, kind, record)
            except ul.UnifiedLLMError:
                continue
            for path, name in slots(node):
                above = node
                for key in path[: path.index("extra") if "extra" in path else -1]:
                    above = above[key]
                alike = (kind, name, above.get("type"))
                if alike in seen:
                    continue
                seen.add(alike)
                # (What stands in the other slots is a value, not a marker.)
                is_marker = name.startswith("form ")
                wanted = meant(node, path, protocol, record) if is_marker else []
                for odd in ODD:
                    changed = replaced(node, path, odd)
                    if not is_marker:
                        written(changed, protocol, kind)
                    elif not is_harmless(wanted, changed, protocol, record):
                        failures.append(f"{record['id']} {pointer(path)}: {odd!r}")
    assert seen
    assert not failures
