"""`unified-llm gateway spend`: what keys and teams have used of their limits, read from a running gateway."""

from __future__ import annotations

import json
import os
from typing import Any

import httpx2

from ..foundation.terminal import draw, fail, plain_row, printable

__all__ = ["spend"]

_SECONDS = 30.0


def spend(url: str, key_env: str, as_json: bool) -> None:
    """Print the limits that a key may see."""
    key = os.environ.get(key_env, "")
    where = f"{url.rstrip('/')}/spend"
    try:
        answer = httpx2.get(where, headers={"authorization": f"Bearer {key}"} if key else {}, timeout=_SECONDS)
        found: Any = answer.json()
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        fail(f"{where}: {error or type(error).__name__}")
    except ValueError:
        found = None
    if answer.status_code == 401 and not key:
        fail(f"{where}: the gateway requires an API key; set {key_env} to one")
    if answer.status_code != 200 or not isinstance(found, dict) or not isinstance(found.get("data"), list):
        refused = found.get("error") if isinstance(found, dict) else None
        reason = refused.get("message") if isinstance(refused, dict) else None
        fail(f"{where}: status {answer.status_code}: {reason or 'not the answer of a gateway'}")
    if as_json:
        print(json.dumps(found["data"], indent=2, ensure_ascii=False))
    elif not found["data"]:
        print("no limits: this key and its team have none")
    else:
        _draw(found["data"])


def _draw(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table("whose", "limit", "used", "left", "more at", box=None, pad_edge=False)
    for row in rows:
        whose = f"key {row['key']}" if "key" in row else f"team {row.get('team', '')}"
        used, left = (_amount(row, name) for name in ("used", "left"))
        plain_row(table, printable(whose), str(row["limit"] or "-"), used, left, row["more_at"] or "")
    draw(table)


def _amount(row: dict[str, Any], name: str) -> str:
    if row[name] is None:
        return "-"
    return f"{row[name]:.2f}" if row["unit"] == "usd" else f"{row[name]}"
