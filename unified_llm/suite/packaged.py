"""The records that come with the package: hand-written documents of every protocol it was built with.

They are what a new adapter is tried against: one small document for each type, field and event that the official SDKs
declare. Nothing of them was recorded.
"""

from __future__ import annotations

import functools
import json
import marshal
from collections.abc import Iterable
from pathlib import Path

from .outcome import Record, checked, document
from .walk import json_type, nodes, shape

__all__ = ["covering", "records"]

_FOLDER = Path(__file__).parent / "data"  # {protocol}/{kind}/{feature}.json


def records(protocol: str | None = None, kind: str | None = None) -> list[Record]:
    """The packaged records, by protocol, kind and name; new ones at each call, so that they may be changed.

    A record is `{"id", "protocol", "kind", "vendor", "status", "path", "pair"}` with `"body"`, or `"events"` for a
    stream: a list of `{"event": name or None, "data": value}`. `status` is the HTTP status, None for requests. A stream
    that returns the same answer as a packaged response has the id of that response under `"twin"`.

    Args:
        protocol: id of a protocol, such as `"openai-chat"`; all by default.
        kind: `"request"`, `"response"`, `"stream"` or `"error"`; all by default.

    >>> from unified_llm import suite
    >>> sorted({record["kind"] for record in suite.records("openai-chat")})
    ['error', 'request', 'response', 'stream']
    >>> suite.records("openai-chat", "error")[0]["status"]
    400
    """
    found: list[Record] = []
    for (its_protocol, its_kind), packed in _packed().items():
        if protocol in (None, its_protocol) and kind in (None, its_kind):
            found += marshal.loads(packed)
    return found


@functools.cache
def _packed() -> dict[tuple[str, str], bytes]:
    """The records as `marshal` data, by protocol and kind: to unpack them anew costs a fifth of parsing them."""
    found: dict[tuple[str, str], list[Record]] = {}
    for path in sorted(_FOLDER.glob("*/*/*.json")):
        protocol, kind = path.parent.parent.name, path.parent.name
        record: Record = {
            "id": f"{protocol}/{kind}/{path.stem}",
            "protocol": protocol,
            "kind": kind,
            "vendor": "fixture",
            "status": None if kind == "request" else int(path.stem[:3]) if kind == "error" else 200,
            "path": None,
            "pair": None,
            "events" if kind == "stream" else "body": json.loads(path.read_bytes()),
        }
        if kind == "stream" and (path.parent.parent / "response" / path.name).exists():
            record["twin"] = f"{protocol}/response/{path.stem}"
        found.setdefault((protocol, kind), []).append(record)
    return {key: marshal.dumps(each) for key, each in found.items()}


def covering(found: Iterable[Record]) -> list[Record]:
    """The records that a quick look needs: smaller ones first, each only if it has a node like none before it.

    Two nodes are alike if their paths without list positions, and the types of their values, are.

    >>> from unified_llm import suite
    >>> every = suite.records("openai-chat", "request")
    >>> len(suite.covering(every)) < len(every)
    True
    """
    seen: set[tuple[str, ...]] = set()
    kept = []
    for record in sorted(checked(found), key=lambda each: len(marshal.dumps(each))):
        body = document(record)
        places = {(record["protocol"], record["kind"], shape(body, p), json_type(value)) for p, value in nodes(body)}
        if not places <= seen:
            seen |= places
            kept.append(record)
    return kept
