"""Lists of models: read to their end over the pages of each provider, and given in the pages of each surface.

Pages are as the references have them: Messages `limit`, `after_id`, `before_id` with `has_more` and `last_id`;
generateContent `pageSize` and `pageToken` with `nextPageToken`; the OpenAI protocols give the whole list.
"""

from __future__ import annotations

from typing import Any

import anthropic
import httpx2
import openai
import pytest
from google import genai

import unified_llm as ul
from unified_llm.engine.adapter import Adapter
from unified_llm.engine.registry import adapter
from upstreams import Canned

IDS = [f"m-{n}" for n in range(7)]


def messages(query: httpx2.QueryParams) -> dict[str, Any]:
    size = int(query.get("limit", 20))
    start = IDS.index(query["after_id"]) + 1 if "after_id" in query else 0
    # A provider cuts as it likes, whatever is requested.
    shown = IDS[start : start + min(size, 3)]
    data = [{"type": "model", "id": each, "display_name": each.upper()} for each in shown]
    more = start + len(shown) < len(IDS)
    return {"data": data, "has_more": more, "first_id": shown[0], "last_id": shown[-1]}


def content(query: httpx2.QueryParams) -> dict[str, Any]:
    start = int(query.get("pageToken", "t0")[1:])
    size = min(int(query["pageSize"]), 3)
    page = {"models": [{"name": f"models/{each}", "version": "1"} for each in IDS[start : start + size]]}
    return page if start + size >= len(IDS) else {**page, "nextPageToken": f"t{start + size}"}


def chat(query: httpx2.QueryParams) -> dict[str, Any]:
    assert not query
    return {"object": "list", "data": [{"id": each, "object": "model", "created": 1, "owned_by": "o"} for each in IDS]}


ANSWERS = {"anthropic-messages": messages, "google-generate-content": content, "openai-chat": chat}


def provider(protocol: str, **fields: Any) -> Canned:
    made = Canned(protocol=protocol, **fields)
    made.answers = [lambda: httpx2.Response(200, json=ANSWERS[protocol](made.seen[-1].url.params))]
    return made


@pytest.mark.parametrize(("protocol", "asked"), [(each, 1 if each == "openai-chat" else 3) for each in ANSWERS])
def test_a_list_is_read_to_its_end(protocol: str, asked: int) -> None:
    there = provider(protocol)
    assert [each.id for each in ul.Client(there.upstream).models.list()] == IDS
    assert len(there.seen) == asked


async def _all(client: ul.AsyncClient) -> list[str]:
    async with client:
        return [each.id for each in await client.models.list()]


def test_in_an_event_loop_too() -> None:
    import asyncio

    assert asyncio.run(_all(ul.AsyncClient(provider("anthropic-messages").upstream))) == IDS


@pytest.mark.parametrize("protocol", ANSWERS)
def test_no_more_is_asked_for_than_is_wanted(protocol: str) -> None:
    there = provider(protocol)
    found = ul.Client(there.upstream).models.list(limit=2)
    assert [(each.id, each.provider) for each in found] == [("m-0", "canned"), ("m-1", "canned")]
    assert len(there.seen) == 1


def test_a_list_that_goes_round_has_an_end() -> None:
    again = {**messages(httpx2.QueryParams()), "has_more": True}
    there = Canned(again, protocol="anthropic-messages")
    assert [each.id for each in ul.Client(there.upstream).models.list()] == IDS[:3]
    assert len(there.seen) == 2


def test_several_upstreams_are_heard_and_one_that_fails_is_passed_by() -> None:
    one, two = provider("anthropic-messages", provider="one"), provider("openai-chat", provider="two")
    down = Canned(httpx2.Response(500, json={"error": {"message": "no"}}), provider="down")
    client = ul.Client(retry=ul.Retry.never())
    found = client.models.list([down.upstream, one.upstream, two.upstream, one.upstream])
    assert [each.provider for each in found] == ["one"] * 7 + ["two"] * 7
    assert len(one.seen) == 3
    with pytest.raises(ul.ServerError, match="no"):
        client.models.list([down.upstream])
    assert [each.id for each in client.models.list([one.upstream, two.upstream], limit=8)] == [*IDS, "m-0"]


def test_another_protocol_of_the_place_may_have_the_list() -> None:
    assert [each.id for each in ul.Client("local/echo", protocol="google-interactions").models.list()] == [
        "echo",
        "echo-mini",
    ]


def test_a_protocol_without_a_list_says_so() -> None:
    streams = adapter("openai-chat").streams
    mute = Adapter(protocol="mute", title="Mute", url="", kinds={}, streams=streams, family="mute")
    ul.register(mute)
    try:
        with pytest.raises(ul.CapabilityRefused, match="Mute has no model-list route"):
            ul.Client(ul.Upstream(protocol="mute", base_url="http://mute")).models.list()
    finally:
        from unified_llm.engine import registry

        registry._loaded.pop("mute")


# ---- the pages of surfaces ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ANSWERS)
def test_sdks_read_lists_of_others_to_their_end(protocol: str) -> None:
    http = ul.http_client(provider(protocol).upstream)
    assert [each.id for each in openai.OpenAI(api_key="-", http_client=http).models.list()] == IDS
    claude = anthropic.Anthropic(api_key="-", http_client=http)
    assert [each.id for each in claude.models.list(limit=2)] == IDS
    assert [each.id for each in claude.models.list(limit=3, before_id="m-5").data] == ["m-2", "m-3", "m-4"]
    options = genai.types.HttpOptions(httpx_client=http)
    gemini = genai.Client(api_key="-", http_options=options)
    assert [each.name for each in gemini.models.list(config={"page_size": 2})] == [f"models/{each}" for each in IDS]


def test_a_page_says_whether_there_is_another() -> None:
    http = ul.http_client(provider("openai-chat").upstream)
    ask = {"headers": {"anthropic-version": "2023-06-01"}}
    first = http.get("http://any/v1/models?limit=5", **ask).json()
    last = http.get("http://any/v1/models?limit=5&after_id=m-4", **ask).json()
    assert (first["has_more"], first["first_id"], first["last_id"]) == (True, "m-0", "m-4")
    assert (last["has_more"], last["first_id"], last["last_id"]) == (False, "m-5", "m-6")
    google = http.get("http://any/v1beta/models?pageSize=6", headers={"x-goog-api-key": "-"}).json()
    assert google["nextPageToken"] == "m-5" and len(google["models"]) == 6
    rest = http.get("http://any/v1beta/models?pageToken=m-5", headers={"x-goog-api-key": "-"}).json()
    assert [each["name"] for each in rest["models"]] == ["models/m-6"] and "nextPageToken" not in rest


@pytest.mark.parametrize("query", ["after_id=nothing", "limit=0", "limit=many"])
def test_a_page_that_is_none(query: str) -> None:
    http = ul.http_client(provider("openai-chat").upstream)
    answer = http.get(f"http://any/v1/models?{query}", headers={"anthropic-version": "2023-06-01"})
    assert answer.status_code == 400 and answer.json()["error"]["type"] == "invalid_request_error"


def test_the_same_protocol_keeps_all_it_says_of_a_model() -> None:
    http = ul.http_client(provider("google-generate-content").upstream)
    found = http.get("http://any/v1beta/models", headers={"x-goog-api-key": "-"}).json()
    assert found == {"models": [{"name": f"models/{each}", "version": "1"} for each in IDS]}


def test_a_transport_lists_the_models_of_all_its_upstreams_once() -> None:
    one, two = provider("anthropic-messages", provider="one"), provider("openai-chat", provider="two")
    down = Canned(httpx2.Response(500, json={"error": {"message": "no"}}), provider="down")
    answer = ul.http_client([down.upstream, one.upstream, two.upstream]).get("http://any/v1/models")
    assert [each["id"] for each in answer.json()["data"]] == IDS
    assert "down" in answer.headers["x-unified-llm-hops"]


# ---- one model ------------------------------------------------------------------------------------------------------


def test_one_model_in_the_shape_of_each_surface() -> None:
    for name in ANSWERS:
        there = provider(name)
        with ul.http_client(there.upstream) as http:
            sdk = openai.OpenAI(api_key="x", http_client=http, max_retries=0)
            assert (found := sdk.models.retrieve("m-4")).id == "m-4" and found.object == "model"
            claude = anthropic.Anthropic(api_key="x", http_client=http, max_retries=0)
            assert (one := claude.models.retrieve("m-4")).id == "m-4" and one.type == "model" and one.display_name
            gemini = genai.Client(api_key="x", http_options={"httpx_client": http})
            assert gemini.models.get(model="m-4").name == "models/m-4"
            with pytest.raises(openai.NotFoundError, match="m-9"):
                sdk.models.retrieve("m-9")
            with pytest.raises(anthropic.NotFoundError, match="m-9"):
                claude.models.retrieve("m-9")


def test_a_list_under_the_root_of_a_provider_is_in_its_shape() -> None:
    with ul.http_client(provider("openai-chat").upstream) as http:
        for path, key in (
            ("v1beta/models?key=K", "models"),
            ("gateway/v1beta/models", "models"),
            ("v1beta/openai/models", "data"),
            ("v1/models", "data"),
        ):
            assert [*http.get(f"http://sdk/{path}").json()][-1] == key
        assert http.get("http://sdk/v1beta/models/m-2?key=K").json()["name"] == "models/m-2"


def test_an_id_that_leaves_its_collection_is_refused() -> None:
    there = Canned({"id": "x"}, protocol="openai-responses")
    client = ul.Client(there.upstream)
    for wrong in ("../../files", "..", ".", "", "a/../b", "a\\..\\b", "a\r\nb", "a\x00", "\ud800"):
        for ask in (client.responses.retrieve, client.responses.delete, client.responses.cancel):
            with pytest.raises(ul.InvalidBody, match="/id"):
                ask(wrong)
    assert not there.seen
    client.responses.delete("a/b?c=d#e%2e é")
    assert there.seen[0].url.raw_path == b"/v1/responses/a%2Fb%3Fc%3Dd%23e%252e%20%C3%A9"
    with ul.http_client(there.upstream) as http:
        assert http.get("http://sdk/v1/responses/..%2F..%2Ffiles").status_code == 400
        http.get("http://sdk/v1/responses/a%2Fb%3Fc")
    assert [each.url.raw_path for each in there.seen[1:]] == [b"/v1/responses/a%2Fb%3Fc"]


NAMES = {
    "m": "models/m",
    "models/m": "models/m",
    "tunedModels/t-1": "tunedModels/t-1",
    "publishers/p/models/m": "publishers/p/models/m",
    "projects/a/locations/b/publishers/c/models/m": "projects/a/locations/b/publishers/c/models/m",
    "org/m": "models/org%2Fm",
    "m?key=1#x": "models/m%3Fkey%3D1%23x",
    "m%2e%2e": "models/m%252e%252e",
    "m:streamGenerateContent": "models/m%3AstreamGenerateContent",
    "ü b": "models/%C3%BC%20b",
    "claude@2026": "models/claude@2026",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_model_in_a_url_is_one_name(name: str) -> None:
    there = Canned({"candidates": []}, protocol="google-generate-content", base_url="http://up/v1beta", model=name)
    try:
        ul.Client(there.upstream).responses.create(input="Hi")
    except ul.APIError:
        pass  # the content of the answer does not matter here
    assert there.seen[0].url.raw_path.decode() == f"/v1beta/{NAMES[name]}:generateContent"


@pytest.mark.parametrize("name", ["..", "../files/x", "models/../x", "a\r\nb", "a\x00", "\ud800", "a/./b"])
@pytest.mark.parametrize("protocol", ["google-generate-content", "google-generate-content:vertex", "openai-chat"])
def test_a_model_that_no_url_can_hold_is_refused(protocol: str, name: str) -> None:
    if protocol == "openai-chat" and "." in name:
        return  # it is in the body there, and anything may be called so
    there = Canned({}, protocol=protocol, model=None)
    with pytest.raises(ul.InvalidBody, match="/model"):
        ul.Client(there.upstream.with_(model=name)).responses.create(input="Hi")
    with ul.http_client(there.upstream) as http:
        body = {"model": name, "messages": [{"role": "user", "content": "Hi"}]}
        if name != "\ud800":
            assert http.post("http://sdk/v1/chat/completions", json=body).status_code == 400
    assert not there.seen
