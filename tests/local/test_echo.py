"""`local/echo` answers in every protocol what that protocol's strict oracle answers, and refuses next to nothing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unified_llm as ul
from local.echo_client import client, post
from oracles import mounts
from oracles.surfaces import (
    CHAT,
    CONTENT,
    GOOGLE,
    INTERACTIONS,
    MESSAGES,
    PROTOCOLS,
    RESPONSES,
    TOOLS,
    Node,
    path,
    request,
    then,
)
from oracles.test_mounts import JSON
from sdk_surfaces import NAME, SURFACES, Surface
from unified_llm_local import echo

TEXTS = [
    "Hello.",
    "[[reason Hm, so.]] One two. [[call *]]",
    "[[redact]] Yes.",
    "[[reason Only this.]]",
    "[[parallel 3]]",
    "[[reason Far.]] Tromsø is far. [[cite https://a.example title=A]]",
    "one two three four [[stop length]]",
    "one two [[stop filter]]",
    "hi [[usage input=100 output=50 cached=60 reasoning=20]]",
    '[[call get_weather {"city": "Tromsø", "days": 4}]]',
    "What is the weather?",
    "\\[[call get_weather]]",
]
every = pytest.mark.parametrize("protocol", PROTOCOLS)


def answer(protocol: str, body: Node, service: Any = None) -> Node:
    response = post(protocol, body, service)
    assert response.status_code == 200, response.text
    found: Node = response.json()
    return found


def streamed(protocol: str, body: Node, service: Any = None) -> Node:
    """The canonical response that a stream amounts to."""
    response = post(protocol, body, service, stream=True)
    assert response.headers["content-type"] == "text/event-stream"
    events = []
    for block in response.text.replace("\r\n", "\n").strip("\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        data = fields["data"]
        events.append({"event": fields.get("event"), "data": data if data == "[DONE]" else json.loads(data)})
    return ul.collect(ul.read_stream(events, protocol))


def canonical(protocol: str, wire: Node) -> Node:
    found: Node = ul.read(wire, protocol, kind="response").model_dump(mode="json", exclude_unset=True)
    return found


def read_error(protocol: str, response: httpx2.Response) -> Node:
    http = {"status": response.status_code, "headers": dict(response.headers)}
    found: Node = ul.read(response.json(), protocol, kind="error", http=http).model_dump(mode="json")["error"]
    return found


def substance(response: Node) -> Node:
    """The content of a response: ids, digests and how its parts are divided are each upstream's own."""
    said: Node = {"text": "", "reasoning": "", "calls": [], "signed": False, "cites": []}
    for item in response["output"]:
        said["signed"] |= bool(item.get("opaque"))
        if item["type"] == "reasoning":
            said["reasoning"] += "".join(part["text"] for part in [*item.get("summary", ()), *item.get("content", ())])
        elif item["type"] == "function_call":
            said["calls"].append((item["name"], json.loads(item["arguments"])))
        for part in item.get("content", ()) if item["type"] == "message" else ():
            said["signed"] |= bool(part.get("opaque"))
            said["text"] += part.get("text", "")
            said["cites"] += [(each["url"], each["title"]) for each in part.get("annotations") or ()]
    said["text"] = said["text"].split()
    said["signed"] &= bool(said["reasoning"])  # some providers sign all calls
    said["finish"] = (response.get("finish") or {}).get("reason") or response["status"]
    usage = response["usage"]
    said["usage"] = [usage["output_tokens"], usage.get("output_tokens_details", {}).get("reasoning_tokens") or 0]
    said["cached"] = usage.get("input_tokens_details", {}).get("cached_tokens") or 0
    return said


@every
@pytest.mark.parametrize("text", TEXTS)
def test_it_says_what_the_strict_oracle_says(protocol: str, text: str) -> None:
    """Each wire answer of an oracle is written by hand; those of `local/echo` are the adapters' work."""
    body = request(protocol, text, TOOLS)
    ours, theirs = (canonical(protocol, answer(protocol, body, each)) for each in (echo.Echo(), mounts.Oracle()))
    wanted = substance(theirs)
    assert substance(ours) == wanted
    counted = {"stream_options": {"include_usage": True}} if protocol == CHAT else {}
    assert substance(streamed(protocol, {**body, **counted})) == wanted


@every
def test_signatures_come_back_to_it(protocol: str) -> None:
    if protocol == CHAT:
        return  # which has no field for them
    service = echo.Echo()
    body = request(protocol, "[[reason Both.]] Look. [[parallel]] [[then]] Done: [[results]]", TOOLS)
    found = answer(protocol, body, service)
    item = next(item for item in canonical(protocol, found)["output"] if item.get("opaque"))
    again = answer(protocol, then(protocol, body, found), service)
    assert item["opaque"][0]["data"] in json.dumps(service.seen[-1].body)
    assert substance(canonical(protocol, again))["text"][:4] == ["Done:", "get_weather:", "result", "of"]


@pytest.mark.parametrize("mode", ["plain", "stream", "async plain", "async stream"])
@pytest.mark.parametrize("surface", SURFACES, ids=lambda each: each.protocol)
def test_the_official_sdks_take_it(surface: type[Surface], mode: str) -> None:
    inside = echo.transport(echo.Echo())
    sdk = surface(httpx2.Client(transport=inside), httpx2.AsyncClient(transport=inside))

    def call() -> Any:
        return asyncio.run(sdk.acall("stream" in mode)) if mode.startswith("async") else sdk.call("stream" in mode)

    sdk.ask(f"[[reason Hm.]] I will look. [[call {NAME} city=Oslo]] [[then]] It is said: [[results]]")
    first = call()
    assert (first.text.strip(), [(each.name, each.arguments) for each in first.calls]) == (
        "I will look.",
        [(NAME, {"city": "Oslo"})],
    )
    sdk.give(first.calls[0], "Rain")
    assert call().text == f"It is said: {NAME}: Rain"


# ---- lenient


LONELY = {
    CHAT: {"messages": [{"role": "tool", "tool_call_id": "call_1", "content": "4 degrees"}]},
    RESPONSES: {"input": [{"type": "function_call_output", "call_id": "call_1", "output": "4 degrees"}]},
    MESSAGES: {"messages": [{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "call_1", "content": "4 degrees"}]}]},
    CONTENT: {"contents": [{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"a": 1}}}]}]},
    INTERACTIONS: {"input": [{"type": "function_result", "call_id": "call_1", "result": "4 degrees"}]},
}  # fmt: skip


@every
def test_what_a_provider_refuses_it_takes(protocol: str) -> None:
    plain = request(protocol, "Hi.")
    for body in ({**plain, "no_such_key": 1}, {**plain, **LONELY[protocol]}, {**plain, "temperature": 99}):
        if not (protocol in GOOGLE and "temperature" in body) and body != {**plain, "temperature": 99}:
            assert post(protocol, body, mounts.Oracle()).status_code == 400
        assert post(protocol, body).status_code == 200
    with client(echo.Echo()) as http:  # without the version that Messages requires
        assert http.post(path(protocol), json=plain).status_code == 200


@every
@given(st.dictionaries(st.sampled_from(("model", "messages", "contents", "input", "tools", "tool_choice", "text", "n",
                                        "max_tokens", "generationConfig", "stop", "response_format", "stream",
                                        "previous_response_id", "store")), JSON, max_size=5))  # fmt: skip
def test_any_json_gets_an_answer_or_an_error(protocol: str, body: Node) -> None:
    plain = request(protocol, "Hi.")
    for sent in (body, {**plain, **body}):
        response = post(protocol, sent)
        assert response.status_code in (200, 400, 404), response.text
        if response.status_code != 200:
            assert response.json()["error"]["message"]


@pytest.mark.parametrize("text", ["[[frobnicate]]", "[[call", "[[stop maybe]]", "[[error 200]]", "[[slow x]]"])
@every
def test_an_unknown_directive_is_an_error_in_the_words_of_the_protocol(protocol: str, text: str) -> None:
    response = post(protocol, request(protocol, text, TOOLS))
    assert response.status_code == 400 and response.json()["error"]["message"].startswith("echo: ")
    assert read_error(protocol, response)["type"] == "invalid_request"


@every
@pytest.mark.parametrize("status", [401, 403, 404, 429, 500])
def test_an_error_on_request(protocol: str, status: int) -> None:
    body = request(protocol, f'[[error {status} retry-after=2 message="on purpose"]]')
    response = post(protocol, body)
    assert response.status_code == status
    told, theirs = (read_error(protocol, each) for each in (response, post(protocol, body, mounts.Oracle())))
    assert told["message"] == "on purpose" and told["type"] == theirs["type"] and told["retry_after"] == 2


@every
def test_cited_texts_are_apart(protocol: str) -> None:
    found = answer(protocol, request(protocol, "One [[cite https://a.example]] two. [[cite https://b.example]]"))
    made = canonical(protocol, found)["output"]
    assert substance({"output": made, "status": "", "usage": {"output_tokens": 0}})["text"] == ["One", "two."]
    parts = [part for item in made if item["type"] == "message" for part in item["content"]]
    cites = [(part["text"], each) for part in parts for each in part.get("annotations") or ()]
    assert [each["url"] for _, each in cites] == ["https://a.example", "https://b.example"]
    if protocol != MESSAGES:  # which has the cited text, and no places in it
        assert [text[each["start_index"] : each["end_index"]] for text, each in cites] == ["One", "two."]


# ---- what came before


def test_a_conversation_goes_on_from_a_stored_response() -> None:
    service = echo.Echo()
    first = answer(RESPONSES, request(RESPONSES, "[[call get_weather]] [[then]] So: [[results]]", TOOLS), service)
    output = {"type": "function_call_output", "call_id": first["output"][0]["call_id"], "output": "rain"}
    body = {"model": "echo", "input": [output], "previous_response_id": first["id"]}
    assert answer(RESPONSES, body, service)["output"][0]["content"][0]["text"] == "So: get_weather: rain"
    assert post(RESPONSES, body).status_code == 400
    unkept = answer(RESPONSES, {**request(RESPONSES, "Hi."), "store": False}, service)
    assert post(RESPONSES, {**body, "previous_response_id": unkept["id"]}, service).status_code == 400


@pytest.mark.parametrize("protocol", [RESPONSES, INTERACTIONS])
def test_background_work_is_polled_cancelled_and_streamed_from_the_middle(protocol: str) -> None:
    service = echo.Echo()
    with client(service) as http:
        made = http.post(path(protocol), json={**request(protocol, "a b c"), "background": True}).json()
        where = f"{path(protocol)}/{made['id']}"
        assert [made["status"]] + [http.get(where).json()["status"] for _ in range(2)] == [
            "in_progress", "in_progress", "completed",
        ]  # fmt: skip
        whole = http.get(f"{where}?stream=true").text.split("\n\n")
        rest = http.get(f"{where}?stream=true&starting_after=3&last_event_id=4").text.split("\n\n")
        assert 3 < len(rest) < len(whole) and whole[-len(rest) :] == rest
        assert http.post(f"{where}/cancel").json()["status"] == "completed"
        assert http.delete(where).status_code == 200 and http.get(where).status_code == 404
        other = http.post(path(protocol), json={**request(protocol, "d"), "background": True}).json()
        assert http.post(f"{path(protocol)}/{other['id']}/cancel").json()["status"] == "cancelled"


def test_the_input_of_a_stored_response_in_pages() -> None:
    service = echo.Echo()
    items = [{"role": "user", "content": f"{n}"} for n in range(3)]
    made = answer(RESPONSES, {"model": "echo", "input": items}, service)
    with client(service) as http:
        where = f"/v1/responses/{made['id']}/input_items"
        first = http.get(f"{where}?limit=2").json()
        assert [item["content"] for item in first["data"]] == ["2", "1"] and first["has_more"]
        last = http.get(f"{where}?after={first['last_id']}").json()
        assert [item["content"] for item in last["data"]] == ["0"] and not last["has_more"]


@every
def test_an_error_that_passes(protocol: str) -> None:
    service, body = echo.Echo(), request(protocol, "[[error 500 times=2]] Done.")
    assert [post(protocol, body, service).status_code for _ in range(3)] == [500, 500, 200]


@every
def test_a_stream_that_fails_or_breaks(protocol: str) -> None:
    service = echo.Echo()
    body = request(protocol, 'a b c d e [[error 503 after 3 message="on purpose"]]')
    try:
        failed = streamed(protocol, body, service)
    except ul.RemoteProtocolError as error:
        failed = {"status": "failed", "error": str(error)}
    assert failed["status"] == "failed" and "on purpose" in str(failed["error"])
    with pytest.raises(httpx2.RemoteProtocolError):
        post(protocol, request(protocol, "a b c [[break after 2]]"), service, stream=True)
    assert service.seen[-1].ended == "cut"
    with pytest.raises(ul.RemoteProtocolError):
        streamed(protocol, request(protocol, "a b c [[break after 2 quietly]]"), service)
    assert service.seen[-1].ended == "done"
    assert post(protocol, request(protocol, "x [[garble type]]"), service).headers["content-type"] == "text/html"
    with pytest.raises(ValueError):
        post(protocol, request(protocol, "x [[garble json]]"), service).json()


# ---- the rest


@every
def test_the_same_request_gets_the_same_bytes(protocol: str) -> None:
    body = request(protocol, "[[reason Hm.]] One. [[call *]]", TOOLS)
    replies = [post(protocol, body) for _ in range(2)]
    assert replies[0].content == replies[1].content and replies[0].headers == replies[1].headers
    assert post(protocol, body, stream=True).content == post(protocol, body, stream=True).content
    assert answer(CHAT, request(CHAT, "Hi."), echo.Echo(clock=lambda: 5.5))["created"] == 5


def test_it_shows_the_canonical_request() -> None:
    shown = [answer(protocol, request(protocol, "[[show tools]]", TOOLS)) for protocol in (CHAT, RESPONSES)]
    texts = [substance(canonical(p, found))["text"] for p, found in zip((CHAT, RESPONSES), shown)]
    assert texts[0] == texts[1] and {each["name"] for each in json.loads(" ".join(texts[0]))} == {*TOOLS}


def test_structured_output_media_and_choices() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    form = {"format": {"type": "json_schema", "name": "City", "schema": schema}}
    found = answer(RESPONSES, request(RESPONSES, "Somewhere.", (), text=form))
    assert json.loads(found["output"][0]["content"][0]["text"]) == {"city": "city"}
    parts = answer(CONTENT, request(CONTENT, "[[image]] [[audio]]"))["candidates"][0]["content"]["parts"]
    assert [part["inlineData"]["mimeType"] for part in parts] == ["image/png", "audio/wav"]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    asked = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]}
    seen = answer(CHAT, {"model": "echo", "messages": [asked], "n": 2})["choices"]
    assert [each["message"]["content"] for each in seen] == ["What is this? [image image/png]"] * 2


def test_tokens_are_counted_and_models_listed() -> None:
    with client(echo.Echo()) as http:
        assert http.post("/v1/messages/count_tokens", json=request(MESSAGES, "Hi.")).json()["input_tokens"] > 5
        assert http.post("/v1beta/models/echo:countTokens", json=request(CONTENT, "Hi.")).json()["totalTokens"] > 5
        assert [each["id"] for each in http.get("/v1/models").json()["data"]] == ["echo", "echo-mini"]
        assert http.get("/v1beta/models/echo").json()["name"] == "models/echo"
        assert http.get("/v1/models/other").status_code == 404
        assert http.post("/v1/embeddings", json={}).status_code == 404


def test_a_stream_as_a_json_array() -> None:
    with client(echo.Echo()) as http:
        response = http.post("/v1beta/models/echo:streamGenerateContent", json=request(CONTENT, "a b"))
    parts = [chunk["candidates"][0]["content"]["parts"][0]["text"] for chunk in response.json()]
    assert "".join(parts) == "a b" and response.headers["content-type"] == "application/json"
