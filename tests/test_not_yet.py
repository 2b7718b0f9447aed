"""The list of laws that are not kept yet stays honest: none of the OpenAI protocols, none of a test that is gone."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
LINES = [line for line in (HERE / "not_yet.txt").read_text().splitlines() if line and not line.startswith("#")]
UNDER_WORK = ("anthropic-messages", "google-generate-content", "google-interactions")


def test_every_line_is_of_an_adapter_under_work() -> None:
    assert not [line for line in LINES if not any(name in line for name in UNDER_WORK)]


def test_every_line_names_a_test_there_is() -> None:
    for line in LINES:
        file, _, name = line.partition("::")
        function = re.escape(name.partition("[")[0])
        assert re.search(rf"^def {function}\(", (HERE / file).read_text(), re.MULTILINE), line
