"""`providers.toml`, our own table of providers, as data: rows, logins, framings, short names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..foundation import packaged

__all__ = ["aliases", "compatible", "data", "framings", "logins", "table"]


@lru_cache(1)
def data() -> dict[str, Any]:
    """The whole file."""
    return packaged.table("models/data/providers")


@lru_cache(1)
def table() -> Mapping[str, Mapping[str, Any]]:
    """Our own table, its rows as they are written, `like` resolved."""
    rows: dict[str, Any] = data()["providers"]
    return {name: _unlike(row, rows) for name, row in rows.items()}


def compatible() -> str:
    """The protocol of a server of which only the URL is known."""
    return str(data()["compatible"])


def logins() -> Mapping[str, Mapping[str, Any]]:
    """The logins with the credentials of a cloud, by name."""
    found: Mapping[str, Mapping[str, Any]] = data()["logins"]
    return found


def framings() -> Mapping[str, str]:
    """The media types of streams in other frames than server-sent events, and what decodes each ("module:class")."""
    found: Mapping[str, str] = data()["framings"]
    return found


@lru_cache(1)
def aliases() -> Mapping[str, str]:
    """Short names of providers to the catalog's names."""
    return {alias: name for name, row in data()["providers"].items() for alias in row.get("aliases", ())}


def _unlike(row: dict[str, Any], rows: Mapping[str, Any]) -> dict[str, Any]:
    if "like" not in row:
        return row
    pattern = {key: value for key, value in rows[row["like"]].items() if key not in ("aliases", "name")}
    endpoints = []
    for each in pattern["endpoints"]:
        base = each["base_url"]
        for old, new in row.get("replace", {}).items():
            base = base.replace(old, new)
        endpoints.append({**each, "base_url": base})
    return {**pattern, **row, "endpoints": endpoints}
