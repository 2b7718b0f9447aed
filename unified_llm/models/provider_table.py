"""The table of providers: the rows of `providers.toml`, and those of installed packages.

A package adds a provider by an entry point in the group `unified_llm.providers`: its name is the provider's, and it
leads to a row, a dict of the same form as those of the file, which also has logins, framings, and ways to send a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..engine.registry import PROVIDERS, installed
from ..foundation import packaged
from ..foundation.usage_errors import InvalidArgument

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["aliases", "compatible", "data", "framings", "logins", "packaged_rows", "table"]


@lru_cache(1)
def data() -> dict[str, Any]:
    """The whole file."""
    return packaged.table("models/data/providers")


@lru_cache(1)
def table() -> Mapping[str, Mapping[str, Any]]:
    """All rows as they are written, `like` resolved.

    Raises `InvalidArgument`, naming the entry point, for a row of an installed package that is none.
    """
    own = packaged_rows()
    return {**own, **{name: _checked(point, own) for name, point in installed(PROVIDERS).items()}}


def packaged_rows() -> dict[str, Mapping[str, Any]]:
    """The rows of `providers.toml` alone."""
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
    return {alias: name for name, row in table().items() for alias in row.get("aliases", ())}


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


def _checked(point: EntryPoint, own: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """The row that an entry point leads to."""
    where = f"the provider {point.name!r} of the entry point {point.value}"
    taken = {alias for row in own.values() for alias in row.get("aliases", ())}
    if point.name in own or point.name in taken:
        raise InvalidArgument(f"{where} has a name that unified_llm has a row for: choose another")
    row = point.load()
    if not isinstance(row, Mapping) or not row.get("endpoints"):
        raise InvalidArgument(f"{where} is not a dict with `endpoints`")
    rows = [{key: value for key, value in each.items() if key not in ("like", "replace")} for each in own.values()]
    _known(row, rows, where)
    for number, endpoint in enumerate(row["endpoints"]):
        here = f"{where}, endpoint {number}"
        if not isinstance(endpoint, Mapping) or not endpoint.get("protocol") or not endpoint.get("base_url"):
            raise InvalidArgument(f"{here}, is not a dict with `protocol` and `base_url`")
        _known(endpoint, [each for each_row in rows for each in each_row.get("endpoints", ())], here)
        auth = endpoint.get("auth") or row.get("auth", "bearer")
        if isinstance(auth, str) and auth not in data()["auth"]:
            raise InvalidArgument(
                f"{here}: no way to send a key is named {auth!r}; give a header and its value, "
                f'["x-key", "{{key}}"], or one of {", ".join(data()["auth"])}'
            )
    return row


def _known(node: Mapping[str, Any], rows: list[Any], where: str) -> None:
    """Whether a node has only what packaged ones have: each thing that one may have is in one of them."""
    known = {key for row in rows for key in row}
    if unknown := sorted(set(node) - known):
        raise InvalidArgument(f"{where}, has {', '.join(unknown)}; it may have {', '.join(sorted(known))}")
