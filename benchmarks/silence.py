"""What converters lose without a word, leaf by leaf: requests of every field, between all protocols.

The documents are the repository's own fixtures. Every kind of leaf (its place, array places left out, and its JSON
type) is altered once and deleted once; when neither the output nor any report of the converter shows the difference,
it was lost without a report. Peers are judged generously: any message that contains the leaf's key or its top-level
field counts, an exception counts, and what differs between two runs of the same request is not looked at. We are judged
by our own suite's law: only a report whose pointer is the leaf, or a node around it, counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.contenders import Contender, Ours, Said, Unsupported, dumps
from benchmarks.losscount import mentioned

Record = dict[str, Any]
Json = dict[str, Any]
NAMES = {
    "openai-chat": "chat", "openai-responses": "responses", "anthropic-messages": "messages",
    "google-generate-content": "generateContent", "google-interactions": "interactions",
}  # fmt: skip
_EVERY = 8  # with --quick, one document of so many


@dataclass(frozen=True)
class Silence:
    """Of one pair and one converter: leaves tried, lost without a report, in documents it did not convert."""

    leaves: int
    silent: int
    refused: int = 0

    def __str__(self) -> str:
        return f"{self.silent}" + (f" ({self.refused} refused)" if self.refused else "")


def rows(contenders: list[Contender], quick: bool, progress: Callable[[str], None]) -> list[Json]:
    """One row a pair of protocols: how many kinds of leaves, and what each converter lost of them without a report."""
    out = []
    for source in NAMES:
        records = [*documents(source, quick)]
        for target in NAMES:
            if target == source:
                continue
            label = f"{NAMES[source]} → {NAMES[target]}"
            progress(f"leaves lost and not reported: {label}")
            found: dict[str, Any] = {}
            for contender in contenders:
                try:
                    count = of_ours(records, target) if isinstance(contender, Ours) else of(contender, records, target)
                    found[contender.title] = count.__dict__
                except Unsupported as reason:
                    found[contender.title] = str(reason)
            leaves = max((each["leaves"] for each in found.values() if isinstance(each, dict)), default=0)
            out.append({"label": label, "leaves": leaves, "found": found})
    return out


def documents(protocol: str, quick: bool) -> Iterator[Record]:
    """The packaged requests of one protocol."""
    from unified_llm import suite

    yield from suite.records(protocol, "request")[:: _EVERY if quick else 1]


def of_ours(records: list[Record], target: str) -> Silence:
    """By the law of the suite."""
    from unified_llm.suite.laws import sensitivity
    from unified_llm.suite.outcome import outcome
    from unified_llm.suite.walk import is_prefix

    seen: set[tuple[str, ...]] = set()
    failed = {(failure.record, failure.path) for failure in sensitivity(records, target, seen)}
    # The law requires a node in another form to show what was in it; here it is enough that the node is named.
    named = {
        record["id"]: [loss.path for loss in outcome(record, target).losses if loss.side == "source"]
        for record in records
        if any(record["id"] == name for name, _ in failed)
    }
    silent = [path for name, path in failed if not any(is_prefix(place, path) for place in named[name])]
    return Silence(len(seen), len(silent))


def of(contender: Contender, records: list[Record], target: str) -> Silence:
    """The same for a peer, which is called through its own functions."""
    from unified_llm.suite.laws import NOTHING, only_form
    from unified_llm.suite.mutate import altered
    from unified_llm.suite.walk import deleted, json_type, leaves, pointer, replaced, same, shape

    if contender.version is None:
        raise Unsupported(contender.absent)
    tried: set[tuple[str, str]] = set()
    refused: set[tuple[str, str]] = set()
    silent = 0
    for record in records:
        body = record["body"]
        base = _Base(contender, record, target)
        for path, value in leaves(body):
            alike = (shape(body, path), json_type(value))
            if alike in tried or value in NOTHING:
                continue
            if base.error:
                refused.add(alike)
                continue
            tried.add(alike)
            other, without = altered(value), deleted(body, path)
            changed = same(other, value) or base.tells(replaced(body, path, other), pointer(path))
            if not changed or not (base.tells(without, pointer(path)) or only_form(record, body, without)):
                silent += 1
    return Silence(len(tried), silent, len(refused - tried))


class _Base:
    """What a peer makes of a document, without what differs from run to run."""

    def __init__(self, contender: Contender, record: Record, target: str) -> None:
        self.contender, self.source, self.target = contender, record["protocol"], target
        self.error = False
        self.unstable: set[Any] = set()
        try:
            self.value, self.said = self._said(record["body"])
            self.unstable = {*self._apart(self._said(record["body"])[0])}
        except Unsupported:
            raise
        except Exception:
            self.error = True

    def _said(self, body: Any) -> Said:
        return self.contender.report(self.source, self.target, dumps(body))

    def _apart(self, value: Any) -> list[Any]:
        from unified_llm.suite.walk import differences

        return differences(json.loads(dumps(self.value, default=str)), json.loads(dumps(value, default=str)))

    def tells(self, body: Any, path: str) -> bool:
        """Whether a changed document differs from the one before: by the output, by a word, or by a refusal."""
        try:
            value, said = self._said(body)
        except Exception:
            return True
        return mentioned(path, [*self.said, *said]) or any(place not in self.unstable for place in self._apart(value))


def cells(results: list[Json], titles: list[str]) -> tuple[list[str], list[list[str]], list[str]]:
    """The header, the rows and the notes of the table, as text; sums over what each converter can do come last."""
    notes: dict[str, None] = {}
    totals: dict[str, list[int]] = {title: [0, 0] for title in titles}
    lines = []
    for row in results:
        line = [row["label"], str(row["leaves"])]
        for title in titles:
            found = row["found"].get(title, "–")
            if isinstance(found, dict):
                count = Silence(**found)
                totals[title][0] += count.silent
                totals[title][1] += count.leaves
                line.append(str(count))
            else:
                notes.setdefault(found)
                line.append(f"[{list(notes).index(found) + 1}]")
        lines.append(line)
    whole = [f"{silent} of {leaves}" if leaves else "–" for silent, leaves in totals.values()]
    lines.append(["all it converts", "", *whole])
    return ["lost and not reported", "leaves", *titles], lines, [f"[{n}] {note}" for n, note in enumerate(notes, 1)]
