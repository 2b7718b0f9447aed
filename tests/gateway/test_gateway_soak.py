"""A slice of `make soak`: faults at points of background runs, over two nodes and both databases."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from gateway.soak.__main__ import soak


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="stops and watches processes as Linux has them")
def test_runs_survive_faults_at_any_point(database: str, tmp_path: Path) -> None:
    assert asyncio.run(soak(database, tmp_path, 5, 7)) == []
