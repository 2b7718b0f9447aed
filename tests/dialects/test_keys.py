"""No key of a dialect is dead: take any entry of any file away, and something that is read or written changes.

Every kind of key has a probe here, a conversion that has to come out otherwise without the entry. A key without a probe
fails, and so does an entry that changes nothing (because another already has it, or because no code reads it).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest

import unified_llm as ul
from dialects.probes import PROBES, SAMPLES, Node, Probe
from unified_llm.engine.registry import adapter
from unified_llm_openai.dialects.schema import KEYS

WHOLE = {"reasoning_tags", "max_tokens"}


def entries(table: Any) -> Iterator[tuple[str, tuple[Any, ...], Node]]:
    """Every entry of a dialect: its key, what identifies it, and the dialect without it."""
    for key, value in table.items():
        if key == "name" or (key == "provider" and value is not None):
            continue
        if type(value) is list and key not in WHOLE:
            for place, each in enumerate(value):
                yield key, (each,), {**table, key: value[:place] + value[place + 1 :]}
        elif type(value) is dict:
            for inner, own in value.items():
                rest = {name: each for name, each in value.items() if name != inner}
                if type(own) is dict:
                    for word, each in own.items():
                        less = {name: one for name, one in own.items() if name != word}
                        yield key, (inner, word, each), {**table, key: {**value, inner: less}}
                elif type(own) is list:
                    for place, each in enumerate(own):
                        yield key, (inner, each), {**table, key: {**value, inner: own[:place] + own[place + 1 :]}}
                else:
                    yield key, (inner, own), {**table, key: rest}
        else:
            yield key, (value,), {name: each for name, each in table.items() if name != key}


FILES = [
    (protocol, vendor) for protocol in ("openai-chat", "openai-responses") for vendor in adapter(protocol).dialects
]


def outcome(probe: Probe, name: str) -> str:
    result = probe(name)
    results = result if isinstance(result, list) else [result]
    return repr([(each.value, list(each.losses)) if isinstance(each, ul.Converted) else each for each in results])


@pytest.mark.parametrize(("protocol", "vendor"), FILES)
def test_every_entry_changes_something(protocol: str, vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dialects: Any = adapter(protocol).dialects
    table = copy.deepcopy(dict(dialects[vendor]))
    name, dead = f"{protocol}:{vendor}", []
    for key, said, without in entries(table):
        probe = PROBES[key](*said)
        if protocol == "openai-responses" and key in ("refuses", "ignores"):
            probe = lambda name, key=said[0]: ul.write({"model": "m", "input": "q", key: SAMPLES[key]}, name)  # noqa: E731
        monkeypatch.setitem(dialects._known, vendor, MappingProxyType(table))
        before = outcome(probe, name)
        monkeypatch.setitem(dialects._known, vendor, MappingProxyType(without))
        if outcome(probe, name) == before:
            dead.append((key, *said))
    assert not dead


def test_every_declared_key_has_a_probe_and_a_file() -> None:
    declared = {key for keys in KEYS.values() for key in keys}
    used = {key for protocol, vendor in FILES for key in adapter(protocol).dialects[vendor]}
    assert declared == PROBES.keys()
    assert declared <= used | {"provider"}
