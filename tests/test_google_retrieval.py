"""Retrieval from stores and partners, which both APIs of Google have: the tool arrives with what it searches.

https://cloud.google.com/vertex-ai/generative-ai/docs/grounding/overview and https://ai.google.dev/api/interactions-api
"""

from __future__ import annotations

from typing import Any

import pytest

import unified_llm as ul

GC, INTERACTIONS = "google-generate-content", "google-interactions"
Node = dict[str, Any]

STORE = "projects/p/locations/global/collections/default_collection/dataStores/d"
RAG = {
    "ragResources": [{"ragCorpus": "projects/p/locations/l/ragCorpora/c", "ragFileIds": ["f"]}],
    "ragRetrievalConfig": {
        "topK": 4,
        "filter": {"metadataFilter": "a = 1", "vectorDistanceThreshold": 0.5},
        "hybridSearch": {"alpha": 0.5},
        "ranking": {"rankService": {"modelName": "r"}},
    },
}
PAIRS = [
    (
        {"retrieval": {"vertexAiSearch": {"datastore": STORE}}},
        {"retrieval_types": ["vertex_ai_search"], "vertex_ai_search_config": {"datastores": [STORE]}},
    ),
    (
        {"retrieval": {"vertexAiSearch": {"engine": "projects/p/engines/e"}}},
        {"retrieval_types": ["vertex_ai_search"], "vertex_ai_search_config": {"engine": "projects/p/engines/e"}},
    ),
    (
        {"retrieval": {"vertexRagStore": RAG}},
        {
            "retrieval_types": ["rag_store"],
            "rag_store_config": {
                "rag_resources": [{"rag_corpus": "projects/p/locations/l/ragCorpora/c", "rag_file_ids": ["f"]}],
                "rag_retrieval_config": {
                    "top_k": 4,
                    "filter": {"metadata_filter": "a = 1", "vector_distance_threshold": 0.5},
                    "hybrid_search": {"alpha": 0.5},
                    "ranking": {"ranking_config": "rank_service", "rank_service": {"model_name": "r"}},
                },
            },
        },
    ),
    (
        {"exaAiSearch": {"apiKey": "k", "customConfigs": {"numResults": 3}}},
        {
            "retrieval_types": ["exa_ai_search"],
            "exa_ai_search_config": {"api_key": "k", "custom_config": {"numResults": 3}},
        },
    ),
    (
        {"parallelAiSearch": {"apiKey": "k"}},
        {"retrieval_types": ["parallel_ai_search"], "parallel_ai_search_config": {"api_key": "k"}},
    ),
]


def to_interactions(tool: Node) -> tuple[list[Node], list[tuple[str, str, str]]]:
    body = {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "tools": [tool]}
    assert ul.convert(body, source=GC, target=GC).value == body
    done = ul.convert(body, source=GC, target=INTERACTIONS)
    found = [(loss.path, loss.fate, loss.detail) for loss in done.losses if loss.path.startswith("/tools")]
    return done.value.get("tools", []), found


@pytest.mark.parametrize(("there", "here"), PAIRS)
def test_a_retrieval_searches_the_same_at_both(there: Node, here: Node) -> None:
    tool = {"type": "retrieval", **here}
    wire, losses = to_interactions(there)
    assert wire == [tool]
    assert [fate for _, fate, _ in losses if fate != "added"] == []
    body = {"model": "g", "store": False, "input": "q", "tools": [tool]}
    assert ul.convert(body, source=INTERACTIONS, target=INTERACTIONS).value == body
    done = ul.convert(body, source=INTERACTIONS, target=GC)
    assert done.value["tools"] == [there]
    assert not done.losses


def test_keys_in_snake_case_are_those_of_the_api() -> None:
    tool = {"retrieval": {"vertex_ai_search": {"engine": "e", "data_store_specs": [{"data_store": STORE}]}}}
    wire, losses = to_interactions(tool)
    assert wire[0]["vertex_ai_search_config"] == {"engine": "e", "datastores": [STORE]}
    assert not losses


def test_a_store_that_is_searched_with_a_filter_is_not_searched_without() -> None:
    for search in ({"datastore": STORE, "filter": "a = 1"}, {"dataStoreSpecs": [{"dataStore": "d", "filter": "a"}]}):
        wire, losses = to_interactions({"retrieval": {"vertexAiSearch": search}})
        assert wire == []
        key = "filter" if "filter" in search else "data_store_specs"
        why = f"withheld: the target cannot restrict it by data_store_config.{key}"
        assert losses == [("/tools/0/retrieval", "lost", why)]


def test_a_number_of_results_is_lost_where_it_is_and_the_store_is_searched() -> None:
    wire, losses = to_interactions({"retrieval": {"vertex_ai_search": {"datastore": STORE, "max_results": 3}}})
    assert wire[0]["vertex_ai_search_config"] == {"datastores": [STORE]}
    assert [loss[:2] for loss in losses] == [("/tools/0/retrieval/vertex_ai_search/max_results", "lost")]


def test_a_source_that_interactions_lacks_is_not_declared() -> None:
    wire, losses = to_interactions(
        {"retrieval": {"externalApi": {"apiSpec": "SIMPLE_SEARCH", "endpoint": "https://e"}}}
    )
    assert wire == []
    assert [loss[:2] for loss in losses] == [("/tools/0/retrieval", "lost")]


def test_several_stores_are_specified_one_by_one() -> None:
    tool = {"type": "retrieval", "retrieval_types": ["vertex_ai_search"]}
    tool["vertex_ai_search_config"] = {"engine": "e", "datastores": ["a", "b"]}
    done = ul.convert({"model": "g", "input": "q", "tools": [tool]}, source=INTERACTIONS, target=GC)
    search = {"engine": "e", "dataStoreSpecs": [{"dataStore": "a"}, {"dataStore": "b"}]}
    assert done.value["tools"] == [{"retrieval": {"vertexAiSearch": search}}]
