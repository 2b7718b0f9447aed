"""What the engine's compiled shapes cost, as multiples of orjson loads + dumps of the same bytes.

CPU time, interleaved minima in one process: each round times the baseline and every stage once, and the smallest of all
rounds counts. The shapes are those of the tests; recorded documents are used where `UNIFIED_LLM_CORPUS` names a folder.

    python benchmarks/engine_speed.py [--rounds 7] [--documents 40]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

sys.path[:0] = [str(Path(__file__).parents[1] / "tests")]

import corpus  # noqa: E402
from engine import messages, shapes  # noqa: E402
from unified_llm.engine import Context, Shape, located  # noqa: E402

Stage = Callable[[bytes], Any]


def stages(shape: Shape, other: Shape) -> dict[str, Stage]:
    """What is timed: one direction each, within one protocol, and across with and without the report."""

    def read(raw: bytes) -> Any:
        return shape.read(orjson.loads(raw), Context("p", "p"))

    def same(raw: bytes) -> Any:
        x = Context("p", "p")
        return orjson.dumps(shape.write(shape.read(orjson.loads(raw), x), x))

    def across(raw: bytes) -> Any:
        x = Context("p", "q")
        return orjson.dumps(other.write_or_explain(shape.read(orjson.loads(raw), x), x))

    def reported(raw: bytes) -> Any:
        x, doc = Context("p", "q"), orjson.loads(raw)
        node = shape.read(doc, x)
        value = other.write_or_explain(node, x)
        return orjson.dumps(value), located(x, shape, node, doc, value)

    return {"loads + read": read, "same protocol": same, "across": across, "across, with report": reported}


def measured(raw: bytes, found: dict[str, Stage], rounds: int) -> dict[str, float]:
    """The best time of each stage in seconds, the baseline's under ""."""
    every: dict[str, Stage] = {"": lambda raw: orjson.dumps(orjson.loads(raw)), **found}
    best = dict.fromkeys(every, 9.0)
    counts = {}
    for name, run in every.items():
        start = time.perf_counter()
        run(raw)
        counts[name] = max(1, int(0.002 / max(time.perf_counter() - start, 1e-7)))
    for _ in range(rounds):
        for name, run in every.items():
            count = counts[name]
            start = time.process_time()
            for _ in range(count):
                run(raw)
            best[name] = min(best[name], (time.process_time() - start) / count)
    return best


def documents(kind: str, limit: int) -> list[bytes]:
    found = [record["body"] for record in corpus.recorded("anthropic-messages", kind)]
    found = found or [record["body"] for record in corpus.fixtures("anthropic-messages", kind)]
    return [orjson.dumps(body) for body in found[:: max(1, len(found) // limit)][:limit]]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--documents", type=int, default=40)
    given = options.parse_args()
    made = {
        "blocks request": (shapes.blocks_request, shapes.slots_request),
        "slots request": (shapes.slots_request, shapes.blocks_request),
        "blocks response": (shapes.blocks_response, shapes.slots_response),
        "slots response": (shapes.slots_response, shapes.blocks_response),
    }
    sets = [(name, [orjson.dumps(shapes.DOCUMENTS[name][TYPICAL[name]])], *pair) for name, pair in made.items()]
    sets += [
        ("Messages request", documents("request", given.documents), messages.request, shapes.slots_request),
        ("Messages response", documents("response", given.documents), messages.response, shapes.slots_response),
    ]
    for name, raws, shape, other in sets:
        ratios: dict[str, list[float]] = {}
        floors = []
        for raw in raws:
            best = measured(raw, stages(shape, other), given.rounds)
            floor = best.pop("")
            floors.append(floor)
            for stage, seconds in best.items():
                ratios.setdefault(stage, []).append(seconds / floor)
        print(f"{name}: {len(raws)} document(s), baseline {statistics.median(floors) * 1e6:.2f} us")
        for stage, values in ratios.items():
            values.sort()
            print(f"  {stage:20} {statistics.median(values):6.2f}x   p90 {values[int(len(values) * 0.9)]:6.2f}x")
    for doc in HEADS:
        x = Context("p", "p")
        best = measured(b"{}", {"read": lambda raw, doc=doc, x=x: messages.request.read(doc, x)}, 3 * given.rounds)
        print(f"a request of {len(doc)} keys and no messages: read in {best['read'] * 1e6:.2f} us")


HEADS: list[dict[str, Any]] = [
    {"messages": [], "model": "m"},
    {"messages": [], "model": "m", "max_tokens": 5, "stream": True, "temperature": 1, "top_p": 0.5, "top_k": 3},
]
TYPICAL = {"blocks request": 2, "slots request": 1, "blocks response": 0, "slots response": 0}

if __name__ == "__main__":
    main()
