"""What official SDKs declared of each protocol when everything in it was last mapped, kept or refused.

`declared/<protocol>.json` has it; `unified_llm.drift.sdk` compares an SDK with it, and writes it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

__all__ = ["Declared", "Surface", "pin", "pinned"]

Surface = dict[str, dict[str, list[str]]]
"""Node to key to types, sorted: `"..."` in quotes is a word, `[]` behind a type a list of it, `{}` a map."""

_FOLDER = Path(__file__).with_name("declared")


class Declared(NamedTuple):
    """What an SDK declares of one protocol: `sdk` is its name and version."""

    protocol: str
    sdk: str
    nodes: Surface


def pinned(name: str) -> Declared | None:
    """What was declared when the adapter last classified everything; None for an adapter that pins nothing.

    >>> known = pinned("openai-chat")
    >>> "messages" in known.nodes["request"], pinned("morse")
    (True, None)
    """
    path = _FOLDER / f"{name}.json"
    if not path.exists():
        return None
    told = json.loads(path.read_text("utf-8"))
    return Declared(name, told["sdk"], told["nodes"])


def pin(found: Declared) -> None:
    """Write the pinned surface: one line a node."""
    _FOLDER.mkdir(exist_ok=True)
    lines = ",\n".join(f"{json.dumps(node)}: {json.dumps(keys)}" for node, keys in found.nodes.items())
    text = f'{{"sdk": {json.dumps(found.sdk)}, "nodes": {{\n{lines}\n}}}}\n'
    (_FOLDER / f"{found.protocol}.json").write_text(text, "utf-8")
