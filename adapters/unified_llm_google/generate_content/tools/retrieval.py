"""Retrieval from stores and from search partners: one object each here, one tool with several settings elsewhere.

https://cloud.google.com/vertex-ai/generative-ai/docs/grounding/overview
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from unified_llm.engine.pairs.mapping import lookup, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from ...renaming import Names, inverse, named, renamed
from ..values.spelling import snake
from .functions import grouped, tools

Node = dict[str, Any]

_SOURCES = {"vertexAiSearch": "vertex_ai_search", "vertexRagStore": "rag_store", "externalApi": "external_api"}
_PARTNERS = {"parallelAiSearch": "parallel_ai_search", "exaAiSearch": "exa_ai_search"}
_KEYED: Names = {"apiKey": ("api_key", None), "customConfigs": ("custom_config", None)}
_MODEL = named("modelName", snake)
_NAMES: dict[str, Names] = {
    "vertex_ai_search": named("engine filter maxResults", snake, dataStoreSpecs=named("dataStore filter", snake)),
    "rag_store": named(
        "ragCorpora similarityTopK storeContext vectorDistanceThreshold",
        snake,
        ragResources=named("ragCorpus ragFileIds", snake),
        ragRetrievalConfig=named(
            "topK",
            snake,
            filter=named("metadataFilter vectorDistanceThreshold vectorSimilarityThreshold", snake),
            hybridSearch=named("alpha", snake),
            ranking=named("", snake, llmRanker=_MODEL, rankService=_MODEL),
        ),
    ),
    "parallel_ai_search": _KEYED,
    "exa_ai_search": _KEYED,
}
_BACK = {source: inverse(names) for source, names in _NAMES.items()}
_ONE = "datastore"


def _config_of(source: str) -> str:
    """The canonical settings of a source."""
    return "data_store_config" if source == "vertex_ai_search" else f"{source}_config"


def _read_source(w: Node, key: str, source: str, tool: Node, r: Reader, at: tuple[str, ...]) -> None:
    """The settings of one source, from the object under `key` or from `w` itself."""
    if source not in _NAMES or (key and type(w.get(key)) is not dict):
        return
    own = take(w, key) if key else w
    config = renamed(own, _NAMES[source])
    name = _config_of(source)
    for hub, wire in _places(config, _BACK[source]):
        r.place(tool, (name, *hub), (*at, *wire))
    if source == "vertex_ai_search" and type(own.get(_ONE)) is str:
        config["datastores"] = [own.pop(_ONE)]
        r.place(tool, (name, "datastores"), (*at, _ONE))
    if config:
        tool[name] = config
        r.place(tool, (name,), at)


def _places(config: Any, back: Names) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Where everything in the settings of a source is in the object that they were read from."""
    for hub, value in config.items():
        key, below = back[hub]
        yield (hub,), (key,)
        many = enumerate(value) if type(value) is list else (((), value),)
        for index, inner in many if below else ():
            place = () if index == () else (index,)
            for deeper, wire in _places(inner, below) if type(inner) is dict else ():
                yield (hub, *place, *deeper), (key, *place, *wire)


@tools.read("retrieval")
def read_retrieval(w: Node, r: Reader) -> Node:
    """Read what is retrieved from Vertex AI's own stores."""
    tool: Node = {"type": "retrieval"}
    tool["retrieval_types"] = [_SOURCES[name] for name in w if name in _SOURCES and w[name] is not None]
    for name in tuple(w):
        if name in _SOURCES:
            _read_source(w, name, _SOURCES[name], tool, r, (name,))
            if w[name] == {}:
                del w[name]
    return tool


def _read_partner(key: str) -> Any:
    def read(w: Node, r: Reader) -> Node:
        tool: Node = {"type": "retrieval", "retrieval_types": [_PARTNERS[key]]}
        _read_source(w, "", _PARTNERS[key], tool, r, ())
        return tool

    return read


for _key in _PARTNERS:
    tools.read(_key)(_read_partner(_key))


def _write_source(c: Node, source: str) -> Node:
    """The settings of one source, as far as they are known here."""
    name = _config_of(source)
    if type(c.get(name)) is not dict or source not in _BACK:
        return {}
    own = take(c, name)
    ranking = (own.get("rag_retrieval_config") or {}).get("ranking") if source == "rag_store" else None
    wire = renamed(own, _BACK[source])
    if type(ranking) is dict and ranking.get("ranking_config") == "rank_service" and "rank_service" in ranking:
        left = own["rag_retrieval_config"]["ranking"]
        del left["ranking_config"]  # which of the two it is follows from its key
    stores = own.get("datastores")
    if type(stores) is list and all(type(store) is str for store in stores):
        if len(stores) == 1:
            wire[_ONE] = own.pop("datastores")[0]
        elif stores and "dataStoreSpecs" not in wire:
            wire["dataStoreSpecs"] = [{"dataStore": store} for store in own.pop("datastores")]
    return wire


def _write_partner(source: str, c: Node, w: Writer) -> Node:
    return _write_source(c, source)


@tools.write("retrieval")
def write_retrieval(c: Node, w: Writer) -> Node | None:
    """Write a retrieval tool under the key of its only type, else under `retrieval`; None where a type is unknown."""
    types = c.get("retrieval_types")
    if type(types) is not list:
        return None
    for key, source in _PARTNERS.items():
        if types == [source]:
            del c["retrieval_types"]
            return grouped(key, partial(_write_partner, source))(c, w)
    names = {source: name for name, source in _SOURCES.items()}
    if not all(lookup(names, each) for each in types):
        return None
    del c["retrieval_types"]
    return grouped("retrieval", lambda c, w: {names[each]: _write_source(c, each) for each in types})(c, w)


tools.cannot("retrieval", "a source that is not searched here")
