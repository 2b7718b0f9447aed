"""The lock file: this repository's own is current, and every kind of change is reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unified_llm.drift import CANONICAL, Cell, Change, Key, Lock
from unified_llm.drift.lock import FILE, Watch, format_changes

ROOT = Path(__file__).parents[2]
SEED = Key("request", "openai-chat", "openai-responses", "sampling.seed")
HEAT = Key("request", "openai-chat", "openai-responses", "sampling.temperature")


def test_the_lock_of_this_repository_is_current() -> None:
    lock = Lock.read(ROOT / FILE)
    assert len(lock.fates) > 2500
    assert {key.source for key in lock.fates} >= {CANONICAL, "openai-chat"}
    assert not format_changes(lock.changes()), "run: unified-llm drift lock --update"


def test_no_adapter_fails_or_denies_what_it_carries() -> None:
    assert not {"broken", "denied"} & {*Lock.read(ROOT / FILE).fates.values()}


def test_a_lock_is_written_as_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / FILE
    watch = Watch("openai-chat", "openai-responses", ("sampling.*",), ("request",))
    Lock((watch,)).renewed().write(path)
    first = path.read_bytes()
    lock = Lock.read(path)
    assert lock.watch == (watch,)
    assert lock.fates[SEED] == "lost"
    lock.write(path)
    assert path.read_bytes() == first
    assert not lock.changes()


def test_changes_have_a_direction_and_an_order() -> None:
    lock = Lock((), {SEED: "lost", HEAT: "native", SEED._replace(kind="stream"): "native"})
    observed = {
        SEED: Cell("approximated"),
        HEAT: Cell("lost", "forgotten"),
        HEAT._replace(kind="error"): Cell("native"),
    }
    changes = lock.changes(observed)
    assert [change.direction for change in changes] == ["worse", "gone", "better", "new"]
    assert changes[0] == Change(HEAT, "native", "lost", "forgotten")
    text = format_changes(changes)
    assert "regressions: 1" in text
    assert "openai-chat -> openai-responses  sampling.temperature  request: native -> lost (forgotten)" in text
    assert format_changes([]) == ""


def test_a_model_is_part_of_what_is_watched(tmp_path: Path) -> None:
    path = tmp_path / FILE
    watch = Watch(CANONICAL, "openai-responses", ("sampling.temperature",), ("request",), model="o3")
    Lock((watch,)).renewed().write(path)
    assert Lock.read(path).fates == {
        Key("request", CANONICAL, "openai-responses", "sampling.temperature", "o3"): "lost"
    }


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "Expecting"),
        ('{"version": 2, "watch": [], "cells": {}}', "version 2"),
        ('{"version": 1, "cells": {}}', "'watch' is missing"),
        ('{"version": 1, "watch": [{"sauce": "x"}], "cells": {}}', "'sauce'"),
        ('{"version": 1, "watch": [{"capabilities": ["input.image"]}], "cells": {}}', "'input.image'"),
        ('{"version": 1, "watch": [{"kinds": ["answer"]}], "cells": {}}', "'answer'"),
        ('{"version": 1, "watch": [], "cells": {"nowhere": {"request": {"sampling.seed": "lost"}}}}', "not a pair"),
        ('{"version": 1, "watch": [], "cells": {"a -> b": {"request": {"sampling.seed": "fine"}}}}', "'fine'"),
        ("[]", "list"),
    ],
)
def test_what_is_not_a_lock_is_refused_with_the_reason(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / FILE
    path.write_text(content)
    with pytest.raises(ValueError, match=reason) as failed:
        Lock.read(path)
    assert str(failed.value).startswith(FILE)


def test_one_line_a_cell() -> None:
    lines = (ROOT / FILE).read_text("utf-8").splitlines()
    assert max(map(len, lines)) < 120
    assert json.loads("\n".join(lines))["version"] == 1
