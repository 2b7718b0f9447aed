"""Prices that are newer than the catalog: what they replace, and where they are from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import unified_llm as ul
from models.catalogs import DATA, ENTRY, SMALL, SNAPSHOT
from unified_llm.models import catalog
from unified_llm.models.catalog import Catalog, find, get, refresh
from unified_llm.models.snapshots import prices as making

pytestmark = pytest.mark.usefixtures("own_catalog")


# ---- prices newer than the catalog --------------------------------------------------------------------------------

TABLE = {
    "dated": "2026-10-23",
    "models": {
        "acme/m1": {"cost": {"input": 7, "output": 8}, "since": "2026-10-01", "source": "https://p.example"},
        "acme/m2": {"cost": {"input": 1}, "status": "beta", "since": "2026-10-02", "source": "https://q.example"},
        "nowhere/m": {"cost": {"input": 1}, "since": "2026-10-02", "source": "https://q.example"},
    },
}


def test_newer_prices_replace_older_ones_and_nothing_else() -> None:
    known = catalog.with_prices(Catalog(SMALL, "a test"), TABLE)
    model = known.get("acme/m1")
    assert model.priced is not None and (model.priced.since, model.priced.source) == ("2026-10-01", "https://p.example")
    cost = {"input": 7, "output": 8, "reasoning": 3.5, "input_audio": 1.25, "output_audio": 4}
    cost |= {"cache_read": 0.01, "cache_write": 0.125}  # the tiers of the older prices are gone with them
    assert model.to_json() == {**ENTRY, "cost": cost, "priced": {"since": "2026-10-01", "source": "https://p.example"}}
    new = known.get("acme/m2")
    assert (new.status, new.reasoning, str(new.cost and new.cost.input)) == ("beta", None, "1")
    assert set(known.raw) == {"acme"}
    assert list(SMALL["acme"]["models"]) == ["m1"] and ENTRY["cost"]["input"] == 0.1  # type: ignore[index]
    assert known.source == "a test, prices of 2026-10-23"


def test_the_default_has_newer_prices_and_a_catalog_of_ones_own_has_not(tmp_path: Path) -> None:
    catalog.use(None)
    assert get("anthropic/claude-opus-5").priced is not None
    copy = tmp_path / "models.json"
    copy.write_text(json.dumps(SNAPSHOT.raw))
    refresh(copy)
    with pytest.raises(ul.UnknownModel):
        get("anthropic/claude-opus-5")


def test_prices_older_than_the_catalog_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    late = {"anthropic": {"models": {"m": {"id": "m", "last_updated": "2099-01-01"}}}}
    monkeypatch.setattr(catalog, "_package", lambda: ("1.0.9999", json.dumps(late).encode()))
    catalog.use(None)
    assert [model.ref for model in find()] == ["anthropic/m"]


def test_every_newer_price_is_read_dated_and_sourced() -> None:
    table = json.loads((DATA / "prices.json").read_text("utf-8"))
    assert table["dated"] > SNAPSHOT.dated and "MIT License" in table["license"]
    known = catalog.with_prices(SNAPSHOT, table)
    for ref, row in table["models"].items():
        model = known.get(ref)
        assert model.unread == {} and model.cost is not None and model.cost.input is not None, ref
        assert not model.model_extra and not model.cost.model_extra, ref
        assert row["source"].startswith("https://") and row["since"] <= table["dated"], ref
    # gpt-5.6 became cheaper after the catalog was made: 4 and 20 dollars since August.
    cost = known.get("openai/gpt-5.6").cost
    assert cost is not None and (cost.input, cost.output, cost.tiers[0].tier.size) == (4, 20, 272000)


def test_only_what_is_newer_is_in_the_table_of_prices() -> None:
    def now(rates: dict[str, Any] | None) -> dict[str, Any]:
        said = rates and rates | {"valid_from": "2026-10-01T00:00:00Z", "source": "https://p.example"}
        return {"standard": [{"rates": {"input": 99}}, {"rates": said}]}

    tier = {"tier": {"type": "context", "size": 5}, "input": 4, "output": 5}
    listed = {
        "same": {"cost": {"input": 1, "output": 2, "reasoning": 3}},
        "dearer": {"cost": {"input": 1, "output": 2}},
        "tiered": {"cost": {"input": 1, "output": 2, "tiers": [tier]}},
        "gone": {"cost": {"input": 1}},
    }
    prices = {
        "same": now({"input": 1.0, "output": 2}),
        "dearer": now({"input": 3, "output": 2, "cache_write_1h_multiple": 2}),
        "tiered": now({"input": 1, "output": 2, "tiers": [{"above": 6, "input": 4, "output": 5}]}),
        "gone": now({"input": 9}),
        "unknown": now(None),
        "new": now({"input": 6}),
        "batch-only": {"batch": []},
    }
    snapshot = {
        "prices": {"acme": prices, "other": prices},
        "status": {"acme": {"gone": "removed", "new": "deprecated"}},
    }
    since = {"since": "2026-10-01", "source": "https://p.example"}
    bound = {"tier": {"type": "context", "size": 6}, "input": 4, "output": 5}
    assert making.newer(snapshot, {"acme": {"models": listed}}) == {
        "acme/dearer": {"cost": {"input": 3, "output": 2}, **since},
        "acme/new": {"cost": {"input": 6}, "status": "deprecated", **since},
        "acme/tiered": {"cost": {"input": 1, "output": 2, "tiers": [bound]}, **since},
    }
