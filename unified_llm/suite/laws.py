"""The laws of whole documents, as functions: protocols and records in, failures out.

A law is pure. It depends on no vendor and no test framework, uses nothing but the front door, and collects every
failure instead of stopping at the first, so that one list shows what an adapter still owes (see `outcome` for what a
record is). What a law may overlook is written down in three constants, `NOTHING` here, `outcome.FORM` and
`locate.PARTS`, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import unified_llm as ul

from ..foundation.generated_ids import is_made
from ..losses.locator import PARTS
from .defaults import holds_default
from .mutate import PROBE_KEY, PROBE_VALUE, altered, altered_apart, is_token
from .outcome import (
    FORM,
    Failure,
    Outcome,
    Record,
    canonical,
    checked,
    differ,
    document,
    has_class,
    hollow,
    in_short,
    noticed,
    ours,
    outcome,
    show,
    without_form,
)
from .walk import (
    Path,
    as_path,
    deleted,
    differences,
    dumps,
    get,
    is_prefix,
    json_type,
    leaves,
    nodes,
    pointer,
    replaced,
    same,
    shape,
)

__all__ = [
    "NOTHING",
    "edit",
    "identity",
    "injection",
    "only_form",
    "prefix_stability",
    "said_beside",
    "sensitivity",
    "specificity",
]

NOTHING: tuple[Any, ...] = (None, [], {})
"""Values that hold nothing: where one is left out, nothing is lost. (That a same-protocol conversion keeps even these
apart from absence is the law of identity.)"""


# --- identity


def identity(protocol: str, records: Iterable[Record]) -> list[Failure]:
    """The same protocol in and out is the same document, to the JSON type, with an empty report.

    A stream that was cut off must still give every frame it had, and may then raise.
    """
    failures = []
    for record in checked(records):
        wanted = document(record)
        done = outcome(record, protocol, source=protocol)
        if done.error is not None and not (record["kind"] == "stream" and ours(done.error)):
            failures.append(Failure(record["id"], "", f"raised {done.error!r}"))
            continue
        failures += [
            Failure(record["id"], pointer(path), f"{show(wanted, path)} became {show(done.value, path)}")
            for path in differences(wanted, done.value)
        ]
        failures += [Failure(record["id"], loss.path, f"is reported as {loss.fate}") for loss in done.losses]
    return failures


# --- sensitivity


def sensitivity(
    records: Iterable[Record],
    target: str,
    seen: set[tuple[str, ...]] | None = None,
    ways: tuple[str, ...] = ("altered", "deleted"),
) -> list[Failure]:
    """Altering or deleting any leaf of the source changes the value, or the report names that leaf.

    So does deleting an object or a list, where the report may name what is below. Places alike (same shape, JSON type
    and kind; the ends of a list apart from what is between them) are tried once; pass one `seen` to several calls to
    share that memory. `ways` are what is done to them. Deleting a documented default is exempt, altering one is not.
    """
    seen = set() if seen is None else seen
    failures = []
    for record in checked(records):
        body, base = document(record), None
        for path, value in nodes(body):
            alike = (record["protocol"], target, record["kind"], shape(body, path, 12, True), json_type(value))
            if alike in seen or value in NOTHING or not path:
                continue
            seen.add(alike)
            base = base or outcome(record, target)
            if base.error is not None:
                failures += _unrefused(record, base)
                break
            for what, changed in _changes(body, path, value):
                if what not in ways:
                    continue
                if noticed(record, target, base, changed, path):
                    continue
                if what != "altered" and (
                    hollow(value)
                    or said_beside(body, path, record["kind"], record.get("status"))
                    or only_form(record, body, changed)
                ):
                    continue
                if what != "altered" and holds_default(record, path, target):
                    continue
                if type(value) in (dict, list) and base.names_below(pointer(path)):
                    continue
                detail = f"{dumps(value)[:99]} {what}, nothing changed"
                failures.append(Failure(record["id"], pointer(path), detail))
    return failures


def said_beside(body: Any, path: Path, kind: str = "", status: int | None = None) -> bool:
    """Whether what is at a place stands beside it as well, as the same value, or alone in a list or an object.

    In errors, some of which contain their code twice, also under the same key in the object around its own or in one
    beside it, or as the HTTP `status`.
    """
    if kind == "error" and status is not None and same(get(body, path), status):
        return True
    beside, value = get(body, path[:-1]), get(body, path)
    if type(beside) is not dict:
        return False
    if type(value) is dict and len(value) == 1:
        (value,) = value.values()
    others = [other for key, other in beside.items() if key != path[-1]]
    around = get(body, path[:-2]) if len(path) > 1 else None
    for object_ in (around, *others) if kind == "error" else ():
        if type(object_) is dict and path[-1] in object_ and same(object_[path[-1]], value):
            return True
    return any(same(other, value) or same(other, [value]) or same([other], value) for other in others)


def _changes(body: Any, path: Path, value: Any) -> Iterator[tuple[str, Any]]:
    """What is done to a place, and what comes of the document."""
    if type(value) not in (dict, list):
        other = altered(value)
        if not same(other, value):
            yield "altered", replaced(body, path, other)
    yield "deleted", deleted(body, path)


def _unrefused(record: Record, base: Outcome) -> list[Failure]:
    """A record that cannot be tried is one of which no meaningful document of the target exists, and no other."""
    if isinstance(base.error, ul.CapabilityRefused):
        return []
    return [Failure(record["id"], "", f"raised {base.error!r}")]


def only_form(record: Record, one: Any, other: Any) -> bool:
    """Whether two bodies of a record have the same content, each in its own form."""
    try:
        read = [canonical(body, record["protocol"], record["kind"], record) for body in (one, other)]
    except ul.UnifiedLLMError:
        return False
    return same(in_short(without_form(read[0])), in_short(without_form(read[1])))


# --- edit


def edit(protocol: str, records: Iterable[Record], seen: set[tuple[str, ...]] | None = None) -> list[Failure]:
    """An altered canonical leaf is in the wire document, and nothing else moved.

    This keeps identity honest: a writer that copied the source back would pass the one and fail the other.
    It is about bodies: the rest of an HTTP exchange (a status, a model in a path) is not read. Streams are passed over,
    and kinds of documents without a canonical class (lists of models).
    """
    seen = set() if seen is None else seen
    failures = []
    for record in filter(has_class, checked(records)):
        kind = record["kind"]
        node = canonical(record["body"], protocol, kind)
        if type(node) is not dict:
            continue
        wire = ul.write(node, protocol, kind, repair="never").value
        for path, value in leaves(node):
            alike = (protocol, kind, shape(node, path), json_type(value))
            other = value if is_made(value) else altered(value)  # (The wire does not have such an id.)
            # What is only form is not for editing; another type, role or turn makes another node, which moves things.
            if alike in seen or same(other, value) or set(path) & set(FORM) or path[-1] in ("type", "role", "turn"):
                continue
            seen.add(alike)
            try:
                done = ul.write(replaced(node, path, other), protocol, kind, repair="never")
            except ul.UnifiedLLMError:
                continue
            moved = differences(wire, done.value)
            where = Failure(record["id"], pointer(path), "")
            if any(is_prefix(loss.path, pointer(path)) for loss in done.losses):
                continue
            if not moved:
                failures.append(where._replace(detail=f"{dumps(value)} edited, the wire did not change"))
            elif len(moved) > 1 and not _is_apart(wire, node, path, protocol, kind):
                failures.append(where._replace(detail=f"edited, and {', '.join(map(pointer, moved[:4]))} changed"))
    return failures


def _is_apart(wire: Any, node: Any, path: tuple[Any, ...], protocol: str, kind: str) -> bool:
    """Whether a part of a sum, edited together with the sum, changes exactly one place of the wire document.

    Where the wire counts such a part apart, it contains the rest of the sum beside it.
    """
    above = PARTS.get(path[-2:])
    if above is None:
        return False
    other = replaced(node, path, altered(get(node, path)))
    sum_ = (*path[:-2], above)
    try:
        other = replaced(other, sum_, altered(get(node, sum_)))
    except LookupError:
        return False
    return len(differences(wire, ul.write(other, protocol, kind, repair="never").value)) == 1


# --- injection


def injection(records: Iterable[Record], target: str, seen: set[tuple[str, ...]] | None = None) -> list[Failure]:
    """An unknown key in any object and an unknown word in any enum come through, or are reported.

    To the record's own protocol they come through as they are; to another they arrive somewhere or are named.
    """
    seen = set() if seen is None else seen
    failures = []
    for record in checked(records):
        body = document(record)
        for path, value in nodes(body):
            if record["kind"] == "stream" and path[1:2] != ("data",):
                continue  # the transport's, not the wire's
            if type(value) is dict:
                changed, place = replaced(body, (*path, PROBE_KEY), {"of": [1]}), (*path, PROBE_KEY)
            elif is_token(value) and path and not is_made(value):
                changed, place = replaced(body, path, PROBE_VALUE), path
            else:
                continue
            alike = (record["protocol"], target, record["kind"], shape(body, path), json_type(value))
            if alike in seen:
                continue
            seen.add(alike)
            done = outcome(record, target, changed)
            probe = PROBE_KEY if type(value) is dict else PROBE_VALUE
            if done.error is not None:
                # A word that only the skeleton may hold (a stream's event name) may be refused, in our own words.
                if isinstance(done.error, ul.CapabilityRefused) and outcome(record, target).error is not None:
                    continue  # without the probe it is not a meaningful request of the target either
                if not ours(done.error) or type(value) is dict:
                    failures.append(Failure(record["id"], pointer(place), f"{probe} put in, raised {done.error!r}"))
            elif record["protocol"] == target:
                for found in differences(changed, done.value)[:1]:
                    detail = f"{probe} put in, {pointer(found)} came back as {show(done.value, found)}"
                    failures.append(Failure(record["id"], pointer(place), detail))
            # (A target may spell words in its own case.)
            elif not done.names(pointer(place)) and probe not in dumps([done.value, dict(done.http or {})]).lower():
                failures.append(Failure(record["id"], pointer(place), f"{probe} put in, gone without a report"))
    return failures


# --- specificity


# Without one, an envelope holds values that no client brings back: they are lost, and still they change it.
_SECRET = "specificity"


def specificity(records: Iterable[Record], target: str, seen: set[tuple[str, ...]] | None = None) -> list[Failure]:
    """A `lost` pointer names an existing node other than the document, and nothing of that node arrived.

    That nothing arrived is tried out: whatever leaf below is altered, the value stays what it was. An `added` pointer
    names something in the result.
    """
    seen = set() if seen is None else seen
    failures = []
    for record in checked(records):
        body = document(record)
        base = outcome(record, target, secret=_SECRET)
        if base.error is not None:
            failures += _unrefused(record, base)
            continue
        for loss in base.losses:
            where = Failure(record["id"], loss.path, f"{loss.capability} is called {loss.fate}")
            document_meant = body if loss.side == "source" else base.value
            try:
                path = as_path(document_meant, loss.path)
                below = get(document_meant, path)
            except (LookupError, ValueError):
                failures.append(where._replace(detail=where.detail + ", and there is no such place"))
                continue
            if loss.side == "target":
                continue
            if not path:
                failures.append(where._replace(detail=where.detail + " at the root of the document"))
            alike = (record["protocol"], target, record["kind"], shape(body, path), json_type(below))
            if loss.fate != "lost" or alike in seen or not path or record["kind"] == "stream":
                continue  # (a stream repeats values, so altering one place proves nothing)
            seen.add(alike)
            for inner, value in [((), below)] if type(below) not in (dict, list) else leaves(below):
                other = altered_apart(value, body)
                if same(other, value):
                    continue
                done = outcome(record, target, replaced(body, (*path, *inner), other), secret=_SECRET)
                if done.error is None and differ(done, base):
                    if _other_kinds(record, body, replaced(body, (*path, *inner), other)):
                        continue
                    if loss.detail.startswith("withheld") and not done.names(loss.path):
                        continue  # without its restriction a tool is sent, which proves nothing of the one withheld
                    detail = f"{where.detail}, and {pointer(inner) or 'it'} arrived"
                    failures.append(where._replace(detail=detail))
                    break
    return failures


def _other_kinds(record: Record, one: Any, other: Any) -> bool:
    """Whether an altered word made a node of another type, which then goes its own way and proves nothing of the first.

    (A tag is such a word, and so is the name by which a hosted tool is known.)
    """
    try:
        read = [canonical(body, record["protocol"], record["kind"], record) for body in (one, other)]
    except ul.UnifiedLLMError:
        return False
    kinds = [[value for path, value in nodes(node) if path[-1:] == ("type",)] for node in read]
    return kinds[0] != kinds[1]


# --- prefix stability


def prefix_stability(
    records: Iterable[Record],
    target: str,
    *,
    history: str,
    target_history: str,
    opens: Callable[[Any], bool] | None = None,
) -> list[Failure]:
    """The closed turns of a conversation are written to the same bytes however much longer it grows.

    `history` and `target_history` are the keys under which the two protocols keep the conversation; `opens(node)`
    selects the nodes that open a turn (by default those whose role is "user").
    """
    opens = opens or (lambda node: type(node) is dict and node.get("role") == "user")
    failures = []
    for record in checked(records, "body"):
        turns = record["body"].get(history) if type(record["body"]) is dict else None
        if type(turns) is not list:
            continue
        cuts = [index for index, node in enumerate(turns) if index and opens(node)] + [len(turns)]
        grown = [outcome(record, target, {**record["body"], history: turns[:cut]}) for cut in cuts]
        written = [_turns(done, target_history) for done in grown]
        for before, shorter, longer, cut in zip(written, written[1:], written[2:], cuts):
            if before is None or shorter is None or longer is None:
                continue
            # A user's message without an answer is still open: where roles alternate, more of it joins it.
            closed = len(before) - opens(turns[cut - 1])
            for index in range(closed):
                if longer[index : index + 1] != shorter[index : index + 1]:
                    place = f"/{target_history}/{index}"
                    failures.append(Failure(record["id"], place, f"changed when turns were added after {cut}"))
                    break
    return failures


def _turns(done: Outcome, history: str) -> list[str] | None:
    turns = done.value.get(history) if type(done.value) is dict else None
    return [dumps(node) for node in turns] if type(turns) is list else None
