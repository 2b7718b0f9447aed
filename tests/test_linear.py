"""Every operation takes work in proportion to its input, and a stream takes no more memory the longer it gets.

Nothing here looks at a clock. Work is the number of lines and calls of Python that run, counted at three sizes that
double: of a linear operation the second step costs twice the first. What runs in C inside of one line is not seen;
`benchmarks/complexity.py` measures the time of the same series, over all pairs of protocols.
"""

from __future__ import annotations

import ast
import gc
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import unified_llm as ul
from benchmarks.growth import Series, series
from benchmarks.growth_answers import deltas
from benchmarks.growth_nodes import PROTOCOLS
from counting import lines
from covering import taking_turns
from unified_llm.losses import capability_names as naming
from unified_llm.passes import tool_schemas as fitting
from unified_llm.streams.framings.sse import Passing

pytestmark = pytest.mark.long

Node = dict[str, Any]

ROOT = Path(__file__).resolve().parent.parent
SIZE = 12  # of what takes turns by two, three, four or six there are whole rounds at each size: steps cost the same
RATIO = 2.005  # of the second step to the first: 2 where work is linear, 4 where it is quadratic
SLACK = 300  # lines that may come in steps, whatever the size


def counted(each: Series, given: Any) -> int:
    """The lines of one run, without what earlier ones left in memories that hold few or small things alone."""
    for memory in (fitting.fitted_names, fitting._remembered, naming.maker):
        memory.cache_clear()
    return lines(lambda: each.run(given))


def steps(each: Series) -> tuple[int, int]:
    """The lines that the second n items cost, and the third and fourth."""
    size = min(SIZE, each.largest // 4)
    made = [each.make(size * times) for times in (1, 2, 4)]
    each.run(each.make(size * 4))  # what is kept from one conversion to the next is there for each size
    one, two, four = (counted(each, given) for given in made)
    return two - one, four - two


def chosen() -> dict[str, list[Series]]:
    """Of each shape one pair for each source that is tried: pairs and sources take turns over the shapes."""
    shapes: dict[str, list[Series]] = {}
    for each in series():
        if not each.name.startswith(("bytes: ", "string: ")):
            shapes.setdefault(each.name.rpartition(": ")[0] or each.name, []).append(each)
    out = {}
    for turn, (shape, found) in enumerate(shapes.items()):
        count = len(PROTOCOLS)
        pairs = len(found) == count * count
        found = [found[k * count + (k + turn) % count] for k in range(count)] if pairs else found[:count]
        out[shape] = taking_turns(found, turn)
    return out


SHAPES = chosen()


def test_lines_are_counted() -> None:
    """The yardstick: a search in a list is seen, in a loop or in a comprehension of one line."""

    def quadratic(items: list[int]) -> object:
        return [next(each for each in items if each == item) for item in items]

    def linear(items: list[int]) -> object:
        return [item + 1 for item in items]

    for run, low, high in ((quadratic, 3.4, 4.5), (linear, 1.9, 2.1)):
        first, second = steps(Series("", lambda n: [*range(n)], run))
        assert low * first <= second <= high * first


@pytest.mark.parametrize("shape", SHAPES)
def test_work_is_linear(shape: str) -> None:
    for each in SHAPES[shape]:
        for _ in range(3):  # a memory that was full before, and is emptied during one of them, costs that one more
            first, second = steps(each)
            if second <= RATIO * first + SLACK:
                break
        else:
            raise AssertionError(f"{each.name}: {first} lines, then {second}")


# ---- memory ---------------------------------------------------------------------------------------------------------

MANY, WINDOWS = 9_600, (8_100, 8_600, 9_100, 9_599)  # beyond what is reported one by one, and what the caches hold


def resumed(path: Path) -> list[str]:
    """The loops of functions that go on from an argument `start`, over a copy of all that is behind it."""
    found = []
    for function in ast.walk(ast.parse(path.read_text())):
        if not isinstance(function, ast.FunctionDef) or all(each.arg != "start" for each in function.args.args):
            continue
        for inner in ast.walk(function):
            for part in ast.walk(inner.iter) if isinstance(inner, (ast.For, ast.comprehension)) else ():
                if isinstance(part, ast.Slice) and part.upper is None and getattr(part.lower, "id", "") == "start":
                    found.append(f"{path}:{part.lineno}")
    return found


def test_what_is_resumed_copies_no_rest() -> None:
    """Counting lines does not see what one slice copies: with one for each image, 32,000 took 16 seconds."""
    sources = [path for root in ("unified_llm", "adapters") for path in (ROOT / root).rglob("*.py")]
    assert [place for path in sources for place in resumed(path)] == []


def endless(protocol: str, kind: str, count: int, begun: Callable[[int], None] = lambda number: None) -> Iterator[Node]:
    """A stream of text with many events in its middle without new content; `begun` gets the number of each."""
    frames = list(ul.write_stream(deltas(12), protocol))
    middle = len(frames) // 2
    for number, frame in enumerate(frames):
        if number != middle:
            yield frame
            continue
        for more in range(count):
            begun(more)
            if kind == "key":
                yield {**frame, "data": {**frame["data"], "zz": more}}
            else:
                yield {"event": "zz", "data": {"type": "zz", "event_type": "zz", "zz": more}}


@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [
        ("openai-responses", "openai-chat", "key"),
        ("anthropic-messages", "google-interactions", "frame"),
        ("google-interactions", "openai-responses", "frame"),
    ],
)
def test_an_endless_stream_takes_no_more_memory(source: str, target: str, kind: str) -> None:
    """The text that events with an unknown key repeat is kept, as a reference to it; nothing else of them is."""
    # In a process of its own: what other tests left running in this one allocates too.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        [sys.executable, __file__, source, target, kind], env=environment, capture_output=True, text=True, check=True
    )
    # A table that grows by steps does so in one of them; what every event leaves behind is in all.
    each = min((after - before) / 500 for before, after in pairwise(map(int, ran.stdout.split())))
    assert each < 64, f"{each:.0f} bytes an event"


def held(source: str, target: str, kind: str) -> list[int]:
    """The bytes that are allocated at the events of WINDOWS."""
    found: list[int] = []

    def begun(number: int) -> None:
        if number in WINDOWS:
            gc.collect()
            found.append(tracemalloc.get_traced_memory()[0])

    tracemalloc.start()
    for _ in ul.convert_stream(endless(source, kind, MANY, begun), source=source, target=target):
        pass
    tracemalloc.stop()
    return found


def test_a_text_that_grows_is_not_copied_with_each_piece() -> None:
    """A copy beside the text would be twice its size, once for each piece: lines of Python do not show it."""
    from unified_llm_openai.chat.stream.merge import Fragments, details_of

    piece, count = "x" * 1_000, 1_000
    fragments, details = Fragments(), details_of()
    whole: Node = {"new_text": piece, "inner": {"text": piece}, "parts": [{"index": 0, "text": piece}]}
    detail = {"index": 0, "type": "reasoning.text", "text": piece}
    details.add([detail])
    details.add([detail])
    add = details.more(detail, "text")
    assert add is not None
    grown: list[Callable[[], object]] = [
        lambda: fragments.enter(whole, "new_text", piece),
        lambda: fragments.enter(whole, "inner", {"text": piece}),
        lambda: fragments.enter(whole, "parts", [{"index": 0, "text": piece}]),
        lambda: details.add([detail]),
        lambda: add(piece),
    ]
    for each in grown:
        tracemalloc.start()
        for _ in range(count):
            each()
        size, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert size > count * len(piece) * 0.9 and peak < size * 1.2
    assert len(whole["new_text"]) == len(whole["inner"]["text"]) == len(whole["parts"][0]["text"]) == 1_001_000
    assert len(details.entries[0]["text"]) == 2_002_000


def signed_calls(count: int, *, damaged: bool) -> Node:
    """A request of Interactions with Gemini's signed calls, each with its envelope, and with other ids if damaged."""
    parts = [
        {"functionCall": {"name": "f", "args": {}, "id": f"c{n}"}, "thoughtSignature": "c2ln"} for n in range(count)
    ]
    content = {"role": "model", "parts": parts}
    answer = {"candidates": [{"index": 0, "finishReason": "STOP", "content": content}], "responseId": "r"}
    given: Any = {"source": "google-generate-content", "target": "google-interactions", "kind": "response"}
    steps = ul.convert(answer, **given).value["steps"]
    for step in steps if damaged else ():
        if step["type"] == "function_call":
            step["id"] = f"other-{step['id']}"
    calls = [step["id"] for step in steps if step["type"] == "function_call"]
    results = [{"type": "function_result", "call_id": each, "name": "f", "result": "x"} for each in calls]
    return {
        "model": "m",
        "input": [{"type": "user_input", "content": [{"type": "text", "text": "q"}]}, *steps, *results],
    }


@pytest.mark.parametrize("damaged", [False, True])
def test_an_envelope_for_each_of_many_calls_takes_work_in_proportion(damaged: bool) -> None:
    made = [signed_calls(SIZE * times, damaged=damaged) for times in (1, 2, 4)]

    def run(body: Node) -> Any:
        return ul.convert(body, source="google-interactions", target="google-generate-content")

    signed = sum("thoughtSignature" in part for part in run(made[-1]).value["contents"][1]["parts"])
    assert signed == (0 if damaged else SIZE * 4)
    one, two, four = (lines(lambda body=body: run(body)) for body in made)
    assert four - two <= RATIO * (two - one) + SLACK


def test_losses_alike_are_told_together() -> None:
    """What an endless stream repeats is reported one by one a thousand times, and then with how many there are."""
    for count in (1000, 1001, 4000):
        stream = ul.convert_stream(
            endless("anthropic-messages", "frame", count), source="anthropic-messages", target="openai-chat"
        )
        list(stream)
        reason = "no event of anthropic-messages, or one behind its end; openai-chat streams have no equivalent"
        found = [loss for loss in stream.losses if loss.detail.startswith(reason)]
        behind = [loss for loss in found if "later event" in loss.detail]
        numbers = [int(loss.path.split("/")[1]) for loss in found]
        assert numbers == [*range(numbers[0], numbers[0] + min(count, 1001))]
        assert [loss.detail for loss in behind] == (
            [f"{reason}; and in {count - 1001} later events"] if count > 1001 else []
        )


# ---- bytes ----------------------------------------------------------------------------------------------------------


@pytest.mark.timeout(100)
@pytest.mark.parametrize("line", [b"data:\n", b"data: :\n", b"data:\r\n", b"data: : ka\n\n"])
def test_many_data_lines_in_one_chunk_end(line: bytes) -> None:
    """Looking through all of a chunk again for each line would take hours."""
    chunk = b"data: 1\n" + line * 400_000
    assert len(Passing().feed(chunk)) > 400_000


if __name__ == "__main__":
    print(*held(*sys.argv[1:]))
