"""What keys and teams have used of their limits, and what is left: the answer to `GET /spend`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from ..requests.head import Head
from ..responses.replies import Refusal, Whole, json_reply
from ..state.store import StoreUnavailable
from ..state.stored_responses import unavailable
from .callers import Access
from .quota import Quota, Rule

__all__ = ["PATH", "spending"]

PATH = "/spend"


async def spending(head: Head, access: Access, quota: Quota, spent: Callable[[], Mapping[str, float]]) -> Whole | None:
    """The limits of the key of a request and of its team, with `admin = true` of all; None for another path.

    Keys without a budget have what they have `spent` since the start of this process, in dollars.
    It counts against no limit: a key whose limit is reached can still read it. Raises `Refusal`.
    """
    if head.path != PATH:
        return None
    if head.method not in ("GET", "HEAD"):
        raise Refusal(405, "invalid_request", f"{PATH} has no {head.method}", headers={"allow": "GET, HEAD"})
    key = access.admit(head.headers, head.query)
    rules = quota.all_rules() if key.admin else quota.rules(key)
    try:
        await quota.read(rules)
    except StoreUnavailable:
        raise unavailable("the counters of limits") from None
    limited = {each.owner.name for each in rules if each.owner.kind == "key" and each.limit.unit == "usd"}
    shown = {each.name for each in access.keys.values()} if key.admin else {key.name} - {""}
    free = [_free(name, amount) for name, amount in spent().items() if name in shown - limited]
    return json_reply({"object": "list", "data": [*map(_row, rules), *free]})


def _free(name: str, amount: float) -> dict[str, Any]:
    """What a key without a budget has spent."""
    absent = dict.fromkeys(("limit", "period", "amount", "left", "more_at"))
    return {"key": name, "unit": "usd", "used": round(amount, 6), **absent}


def _row(rule: Rule) -> dict[str, Any]:
    """One limit. Dollars are numbers with six places; a window that has not begun has no end."""
    limit, used = rule.limit, min(rule.limit.amount - rule.left, rule.limit.amount)
    ends = rule.counters.ends(rule.window) if used else None
    share = 1_000_000 if limit.unit == "usd" else 1
    return {
        rule.owner.kind: rule.owner.name,
        "limit": str(rule),
        "unit": limit.unit,
        "period": limit.period,
        "amount": limit.amount / share if share > 1 else limit.amount,
        "used": used / share if share > 1 else used,
        "left": (limit.amount - used) / share if share > 1 else limit.amount - used,
        "more_at": datetime.fromtimestamp(ends, UTC).isoformat(timespec="seconds") if ends is not None else None,
    }
