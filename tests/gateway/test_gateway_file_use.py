"""Files in requests: sent to every upstream, whichever API they were uploaded through, and errors for unknown ones."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from gateway.serving import PROTOCOLS, URL, House, Served
from gateway.test_gateway_files import GOOGLE, PDF, PNG, anthropic_of, google_of, openai_of, within
from gateway.test_gateway_socket import opened
from unified_llm.gateway.access.callers import new_key
from unified_llm.gateway.app import Gateway

Node = dict[str, Any]
SPELLINGS = {
    "openai-chat": "file-{}",
    "openai-responses": "file-{}",
    "anthropic-messages": "file_{}",
    "google-generate-content": "https://generativelanguage.googleapis.com/v1beta/files/{}",
    "google-interactions": "https://generativelanguage.googleapis.com/v1beta/files/{}",
}


def upload(house: House, gateway: Gateway, data: bytes, name: str, **headers: str) -> str:
    """The bare id of a file that was uploaded."""
    made = house.ask(gateway, "POST", "/v1/files", files={"file": (name, data)}, headers=headers)
    assert made.status_code == 200, made.text
    return str(made.json()["id"]).removeprefix("file-")


def request(surface: str, model: str, id: str, mime: str = "application/pdf") -> tuple[str, Node, Mapping[str, str]]:
    """A request that names a file: path, body and headers."""
    name = SPELLINGS[surface].format(id)
    image = mime.startswith("image")
    if surface == "openai-chat":
        parts = [{"type": "text", "text": "Read."}, {"type": "file", "file": {"file_id": name}}]
        return "/v1/chat/completions", {"model": model, "messages": [{"role": "user", "content": parts}]}, {}
    if surface == "openai-responses":
        part = {"type": "input_image" if image else "input_file", "file_id": name}
        parts = [{"type": "input_text", "text": "Read."}, part]
        return "/v1/responses", {"model": model, "input": [{"role": "user", "content": parts}]}, {}
    if surface == "anthropic-messages":
        part = {"type": "image" if image else "document", "source": {"type": "file", "file_id": name}}
        parts = [{"type": "text", "text": "Read."}, part]
        body = {"model": model, "max_tokens": 100, "messages": [{"role": "user", "content": parts}]}
        return "/v1/messages", body, {"anthropic-version": "2023-06-01"}
    if surface == "google-generate-content":
        parts = [{"text": "Read."}, {"fileData": {"fileUri": name, "mimeType": mime}}]
        body = {"contents": [{"role": "user", "parts": parts}]}
        return f"/v1beta/models/{model}:generateContent", body, GOOGLE
    parts = [
        {"type": "text", "text": "Read."},
        {"type": "image" if image else "document", "uri": name, "mime_type": mime},
    ]
    return "/v1beta/interactions", {"model": model, "input": parts}, GOOGLE


def ask(house: House, gateway: Gateway, surface: str, *given: str, **headers: str) -> Any:
    path, body, own = request(surface, *given)
    return house.ask(gateway, "POST", path, json=body, headers={**own, **headers})


@pytest.mark.parametrize("surface", PROTOCOLS)
def test_a_file_is_sent_to_every_upstream(house: House, surface: str) -> None:
    gateway = house.gateway()
    document, picture = upload(house, gateway, PDF, "report.pdf"), upload(house, gateway, PNG, "a.png")
    for protocol in PROTOCOLS:
        for id, data, mime in ((document, PDF, "application/pdf"), (picture, PNG, "image/png")):
            done = ask(house, gateway, surface, protocol, id, mime)
            assert done.status_code == 200, (protocol, mime, done.text)
            sent = json.dumps(house.seen[-1].body)
            assert base64.b64encode(data).decode() in sent, (protocol, mime)
            assert id not in sent, "no id of ours goes upstream"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_official_sdks_use_what_another_one_uploaded(house: House, protocol: str) -> None:
    async def use(http: Any) -> None:
        one, two, three = openai_of(http), anthropic_of(http), google_of(http)
        uploaded = await two.beta.files.upload(file=("notes.txt", b"Some notes."))
        id = uploaded.id.removeprefix("file_")
        said = await one.responses.create(
            model=protocol,
            input=[{"role": "user", "content": [{"type": "input_file", "file_id": f"file-{id}"}]}],
        )
        assert said.status == "completed"
        file = await three.aio.files.get(name=f"files/{id}")
        found = await three.aio.models.generate_content(model=protocol, contents=["Read.", file])
        assert found.text
        source: Any = {"type": "file", "file_id": uploaded.id}
        content: Any = [{"type": "text", "text": "Read."}, {"type": "document", "source": source}]
        async with two.messages.stream(
            model=protocol, max_tokens=50, messages=[{"role": "user", "content": content}]
        ) as stream:
            assert await stream.get_final_text()

    within(house, use, house.gateway())
    notes = base64.b64encode(b"Some notes.").decode()
    for seen in house.seen:
        assert notes in json.dumps(seen.body) or "Some notes." in json.dumps(seen.body), seen.body


@pytest.mark.parametrize("surface", PROTOCOLS)
def test_an_unknown_file_is_the_apis_own_error(house: House, surface: str) -> None:
    gateway = house.gateway()
    for model, upstream in (("openai-chat", {}), (surface, {}), ("echo", {"x-llm-upstream": surface})):
        done = ask(house, gateway, surface, model, "unknown1", **upstream)
        assert done.status_code == 404 and "unknown1" in done.text
        assert "error" in done.json()
    assert not house.seen, "not even for an upstream of the same protocol"


def test_an_unknown_file_raises_the_sdks_errors(house: House) -> None:
    async def use(http: Any) -> None:
        file: Any = {"type": "input_file", "file_id": "file-unknown"}
        with pytest.raises(openai.NotFoundError, match="file-unknown"):
            await openai_of(http).responses.create(
                model="openai-responses", input=[{"role": "user", "content": [file]}]
            )
        block: Any = {"type": "document", "source": {"type": "file", "file_id": "file_unknown"}}
        with pytest.raises(anthropic.NotFoundError, match="file_unknown"):
            await anthropic_of(http).messages.count_tokens(
                model="anthropic-messages", messages=[{"role": "user", "content": [block]}]
            )

    within(house, use, house.gateway())


def test_urls_and_buckets_are_no_files_of_ours(house: House) -> None:
    gateway = house.gateway()
    for uri in ("https://www.youtube.com/watch?v=1", "gs://bucket/files/a", "https://example.com/v1beta/files/a"):
        body = {"contents": [{"role": "user", "parts": [{"fileData": {"fileUri": uri, "mimeType": "video/mp4"}}]}]}
        path = "/v1beta/models/google-generate-content:generateContent"
        assert house.ask(gateway, "POST", path, json=body, headers=GOOGLE).status_code == 200
        assert uri in json.dumps(house.seen[-1].body)


def test_a_key_that_is_spelled_with_escapes_is_found(house: House) -> None:
    gateway = house.gateway()
    path, body, _ = request("openai-chat", "openai-chat", "unknown1")
    content = json.dumps(body).replace("file_id", "file\\u005fid").encode()
    done = house.ask(gateway, "POST", path, content=content, headers={"content-type": "application/json"})
    assert done.status_code == 404 and not house.seen


def test_text_of_any_type_can_be_given_to_messages(house: House) -> None:
    gateway = house.gateway()
    id = upload(house, gateway, b"a,b\n1,2", "table.csv")
    assert ask(house, gateway, "anthropic-messages", "anthropic-messages", id).status_code == 200
    source = house.seen[-1].body["messages"][0]["content"][1]["source"]
    assert source == {"type": "text", "media_type": "text/plain", "data": "a,b\n1,2"}


def test_audio_keeps_its_format(house: House) -> None:
    gateway = house.gateway()
    id = upload(house, gateway, b"RIFF....WAVE", "a.wav")
    assert ask(house, gateway, "google-generate-content", "openai-chat", id, "audio/wav").status_code == 200
    audio = house.seen[-1].body["messages"][0]["content"][1]["input_audio"]
    assert audio == {"data": base64.b64encode(b"RIFF....WAVE").decode(), "format": "wav"}


def test_all_files_of_a_request_are_bounded(house: House) -> None:
    gateway = house.gateway(state={"url": "sqlite://", "max_file": 100})
    id = upload(house, gateway, b"x" * 60, "a.txt")
    assert ask(house, gateway, "openai-responses", "openai-chat", id).status_code == 200
    path, body, _ = request("openai-responses", "openai-chat", id)
    body["input"].append(body["input"][0])
    done = house.ask(gateway, "POST", path, json=body)
    assert done.status_code == 413 and "100 bytes" in done.text and len(house.seen) == 1


@pytest.mark.parametrize("path", ["/v1/responses", "/v1beta/interactions"])
def test_a_file_stays_in_a_stored_conversation(house: House, path: str, database: str) -> None:
    gateway = house.gateway(state={"url": database})
    surface = "openai-responses" if "responses" in path else "google-interactions"
    previous = "previous_response_id" if "responses" in path else "previous_interaction_id"
    id = upload(house, gateway, PDF, "report.pdf")
    done = ask(house, gateway, surface, "anthropic-messages", id)
    assert done.status_code == 200, done.text
    first = done.json()["id"]
    assert SPELLINGS[surface].format(id) in house.ask(gateway, "GET", f"{path}/{first}/input_items").text or (
        surface != "openai-responses"
    ), "the client sees its own request"
    body = {"model": "openai-chat", "input": "And?", previous: first}
    assert house.ask(gateway, "POST", path, json=body).status_code == 200
    assert base64.b64encode(PDF).decode() in json.dumps(house.seen[-1].body)
    house.ask(gateway, "DELETE", f"/v1/files/file-{id}")
    gone = house.ask(gateway, "POST", path, json=body)
    assert gone.status_code == 404 and id in gone.text


def test_a_run_in_the_background_reads_its_file(house: House) -> None:
    gateway = house.gateway()
    id = upload(house, gateway, PDF, "report.pdf")
    path, body, _ = request("openai-responses", "anthropic-messages", id)

    async def use(http: Any) -> None:
        client = openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key="x", http_client=http, max_retries=0)
        stream: Any = await client.responses.create(**body, background=True, stream=True)
        events = [each async for each in stream]
        assert events[-1].type == "response.completed"
        body["input"][0]["content"][1]["file_id"] = "file-unknown"
        with pytest.raises(openai.NotFoundError, match="file-unknown"):
            await client.responses.create(**body, background=True)

    within(house, use, gateway)
    assert base64.b64encode(PDF).decode() in json.dumps(house.seen[-1].body) and path


def test_a_socket_reads_files_in_each_turn(served: Served, house: House) -> None:
    made = httpx2.post(f"{served.url}/v1/files", files={"file": ("report.pdf", PDF)}).json()
    _, body, _ = request("openai-responses", "anthropic-messages", made["id"].removeprefix("file-"))
    with opened(served) as socket:
        first = socket.ask(**body)["response"]["id"]
        socket.ask(model="openai-chat", input="And?", previous_response_id=first)
        body["input"][0]["content"][1]["file_id"] = "file-unknown"
        socket.send(**body)
        assert "file-unknown" in str(socket.turn()[-1])
    assert [base64.b64encode(PDF).decode() in json.dumps(each.body) for each in house.seen] == [True, True]


# ---- tenants --------------------------------------------------------------------------------------------------------


def test_tenants_never_meet_and_a_rotated_key_keeps_its_files(house: House, database: str) -> None:
    keys = {name: new_key() for name in ("blue", "blue2", "red")}
    gateway = house.gateway(
        state={"url": database},
        keys={name: {"sha256": digest, "tenant": name.removesuffix("2")} for name, (_, digest) in keys.items()},
    )
    blue, rotated, red = ({"authorization": f"Bearer {key}"} for key, _ in keys.values())
    id = upload(house, gateway, PDF, "report.pdf", **blue)
    for surface in PROTOCOLS:
        foreign = ask(house, gateway, surface, "openai-chat", id, **red)
        assert foreign.status_code == 404 and id in foreign.text
        unknown = ask(house, gateway, surface, "openai-chat", "0" * 32, **red)
        assert unknown.text.replace("0" * 32, id) == foreign.text, "as one that never was"
        assert ask(house, gateway, surface, "openai-chat", id, **rotated).status_code == 200
    for method, path in (
        ("GET", f"/v1/files/file-{id}"),
        ("GET", f"/v1/files/file-{id}/content"),
        ("DELETE", f"/v1/files/file-{id}"),
        ("POST", f"/v1/uploads/upload_{id}/cancel"),
    ):
        assert house.ask(gateway, method, path, headers=red).status_code == 404
    assert house.ask(gateway, "GET", "/v1/files", headers=red).json()["data"] == []
    assert house.ask(gateway, "GET", f"/v1/files?after=file-{id}", headers=red).status_code == 400
    listed = house.ask(gateway, "GET", "/v1/files", headers=rotated).json()["data"]
    assert [each["id"] for each in listed] == [f"file-{id}"]
    # The same name may be given by both: names are the tenant's.
    raw = {"x-goog-upload-protocol": "resumable", "x-goog-upload-command": "start",
           "x-goog-upload-header-content-length": "1"}  # fmt: skip
    for key, status in ((blue, 200), (red, 200), (rotated, 409)):
        done = house.ask(
            gateway, "POST", "/upload/v1beta/files", headers={**raw, **key}, json={"file": {"name": "files/mine"}}
        )
        assert done.status_code == status


# ---- deletion -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("background", [False, True])
def test_a_deleted_response_takes_the_files_that_are_its_alone(house: House, database: str, background: bool) -> None:
    gateway = house.gateway(state={"url": database})
    alone, shared, other = (upload(house, gateway, each, "a.txt") for each in (b"alone", b"shared", b"other"))

    def create(*ids: str) -> str:
        path, body, _ = request("openai-responses", "openai-chat", ids[0])
        body["input"][0]["content"] += [{"type": "input_file", "file_id": f"file-{each}"} for each in ids[1:]]
        done = house.ask(gateway, "POST", path, json={**body, "background": background})
        assert done.status_code == 200, done.text
        return str(done.json()["id"])

    def present() -> set[str]:
        return {each["id"] for each in house.ask(gateway, "GET", "/v1/files").json()["data"]}

    one, two = create(alone, shared), create(shared)
    assert present() == {f"file-{each}" for each in (alone, shared, other)}
    assert house.ask(gateway, "DELETE", f"/v1/responses/{one}").status_code == 200
    assert present() == {f"file-{each}" for each in (shared, other)}, "what another response refers to stays"
    assert house.ask(gateway, "DELETE", f"/v1/responses/{two}").status_code == 200
    assert present() == {f"file-{other}"}, "what no response refers to is its owner's to delete"


def test_user_data_with_a_type_of_its_own_names_no_file(house: House) -> None:
    gateway = house.gateway(state={"url": "sqlite://"})
    attributes = {"year": {"type": {}, "file_id": "x"}}
    result = {"file_id": "file-1", "filename": "a.md", "score": 0.5, "attributes": attributes}
    found = {"type": "file_search_call", "id": "fs_1", "queries": [], "status": "completed", "results": [result]}
    body = {"model": "openai-chat", "input": [{"role": "user", "content": "Go"}, found]}
    answer = house.ask(gateway, "POST", "/v1/responses", json=body)
    assert answer.status_code == 200, answer.text
