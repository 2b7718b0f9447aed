"""The bundled catalog, and one with a model that has every field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unified_llm.models import catalog
from unified_llm.models.catalog import load

DATA = Path(catalog.__file__).parent / "data"
SNAPSHOT = load((DATA / "models_dev.json.gz").read_bytes(), "the snapshot")

ENTRY: dict[str, Any] = {
    "id": "m1",
    "name": "Model One",
    "reasoning": True,
    "tool_call": True,
    "attachment": False,
    "interleaved": {"field": "reasoning_details"},
    "status": "beta",
    "provider": {"npm": "@ai-sdk/openai", "api": "https://e.example/v1", "shape": "responses"},
    "modalities": {"input": ["text", "audio"], "output": ["text"]},
    "limit": {"context": 200000, "input": 150000, "output": 8000},
    "cost": {
        "input": 0.1,
        "output": 2,
        "reasoning": 3.5,
        "input_audio": 1.25,
        "output_audio": 4,
        "cache_read": 0.01,
        "cache_write": 0.125,
        "context_over_200k": {"input": 0.2, "output": 4},
        "tiers": [{"tier": {"type": "context", "size": 128000}, "input": 0.3, "output": 5}],
    },
    "experimental": {"modes": {"fast": {"cost": {"input": 9}, "provider": {"body": {"speed": "fast"}}}}},
    "reasoning_options": [{"type": "effort", "values": ["low", None]}, {"type": "budget_tokens", "min": 1024}],
}
SMALL = {"acme": {"id": "acme", "name": "Acme", "env": ["ACME_KEY"], "models": {"m1": ENTRY}}}
