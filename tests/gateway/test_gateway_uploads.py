"""Uploads in parts and resumable ones: cut, repeated, raced, and for how long their URL is valid."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import httpx2
import openai
import pytest

from gateway.serving import URL, House
from gateway.test_gateway_files import GOOGLE, PDF, PNG, google_of, openai_of, within
from unified_llm.gateway.access.callers import new_key
from unified_llm.gateway.state import files as stores

START = {**GOOGLE, "x-goog-upload-protocol": "resumable", "x-goog-upload-command": "start"}
LAST = {"x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "0"}


def test_an_upload_that_was_cut_is_resumed(house: House, database: str) -> None:
    async def use(http: Any) -> None:
        start = {**GOOGLE, "x-goog-upload-protocol": "resumable", "x-goog-upload-command": "start",
                 "x-goog-upload-header-content-length": "10",
                 "x-goog-upload-header-content-type": "text/plain"}  # fmt: skip
        begun = await http.post("/upload/v1beta/files", headers=start, json={"file": {"displayName": "ten"}})
        assert begun.status_code == 200 and begun.headers["x-goog-upload-status"] == "active" and not begun.content
        url = begun.headers["x-goog-upload-url"]
        assert url.startswith(f"{URL}/upload/v1beta/files?upload_id=")

        async def go(command: str, offset: int | None = None, content: bytes = b"") -> httpx2.Response:
            place = {} if offset is None else {"x-goog-upload-offset": str(offset)}
            done = await http.post(url, headers={"x-goog-upload-command": command, **place}, content=content)
            return done  # type: ignore[no-any-return]

        one = await go("upload", 0, b"0123")
        assert (one.headers["x-goog-upload-status"], one.headers["x-goog-upload-size-received"]) == ("active", "4")
        assert (await go("query")).headers["x-goog-upload-size-received"] == "4"
        gap = await go("upload", 6, b"67")
        assert gap.status_code == 400 and gap.headers["x-goog-upload-size-received"] == "4"
        again = await go("upload", 0, b"012345")  # its response was lost, and the client sends more this time
        assert again.headers["x-goog-upload-size-received"] == "6"
        early = await go("finalize")
        assert early.status_code == 400 and "6 bytes were uploaded" in early.text
        over = await go("upload", 6, b"6789A")
        assert over.status_code == 400 and "10 declared" in over.text
        for _ in range(2):  # the response to the first one was lost
            done = await go("upload, finalize", 6, b"6789")
            assert done.headers["x-goog-upload-status"] == "final" and done.json()["file"]["sizeBytes"] == "10"
        name = done.json()["file"]["name"]
        assert (await http.get(f"/v1beta/{name}:download?alt=media", headers=GOOGLE)).content == b"0123456789"
        assert (await go("query")).headers["x-goog-upload-status"] == "final"

        other = await http.post("/upload/v1beta/files", headers=start, json={})
        gone = await http.post(other.headers["x-goog-upload-url"], headers={"x-goog-upload-command": "cancel"})
        assert gone.headers["x-goog-upload-status"] == "cancelled"
        unknown = await http.post(f"{URL}/upload/v1beta/files?upload_id=x", headers={"x-goog-upload-command": "query"})
        assert unknown.status_code == 404 and unknown.json()["error"]["status"] == "NOT_FOUND"
        raw = {**GOOGLE, "x-goog-upload-protocol": "raw", "content-type": "image/png"}
        whole = await http.post("/upload/v1beta/files", headers=raw, content=PNG)
        assert whole.json()["file"]["mimeType"] == "image/png"

    within(house, use, url=database)


def test_the_url_of_an_upload_stands_for_its_key(house: House) -> None:
    key, digest = new_key()
    gateway = house.gateway(keys={"blue": {"sha256": digest}})

    async def use(http: Any) -> None:
        client = google_of(http, api_key=key)
        made = await client.aio.files.upload(file=io.BytesIO(PDF), config={"mime_type": "application/pdf"})
        assert made.size_bytes == len(PDF)
        for headers in ({}, {"x-goog-upload-command": "start", "x-goog-upload-protocol": "resumable"}):
            refused = await http.post("/upload/v1beta/files?upload_id=", headers=headers)
            assert refused.status_code == 401
        start = {**GOOGLE, "x-goog-upload-protocol": "resumable", "x-goog-upload-command": "start",
                 "x-goog-upload-header-content-length": "4"}  # fmt: skip
        begun = await http.post("/upload/v1beta/files", headers={**start, "x-goog-api-key": key}, json={})
        url = begun.headers["x-goog-upload-url"]
        last = {"x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "0"}
        assert (await http.post(url, headers=last, content=b"0123")).status_code == 200
        # With a mark of the API the route is its own; without one the URL would be no upload at all.
        for protocol, command in (("raw", None), ("RAW", None), ("resumable", "start")):
            headers = {"x-goog-api-client": "any", "x-goog-upload-protocol": protocol, "content-type": "text/plain"}
            headers |= {} if command is None else {"x-goog-upload-command": command}
            another = await http.post(url, headers=headers, content=b"evil")
            assert another.status_code == 401, "the URL goes on with its own upload, and makes no other file"
        own = {"x-goog-api-key": key}
        assert len((await http.get("/v1beta/files", headers=own)).json()["files"]) == 2

    within(house, use, gateway)


def test_two_that_upload_the_same_part_store_it_once(house: House, database: str) -> None:
    async def use(http: Any) -> None:
        start = {**GOOGLE, "x-goog-upload-protocol": "resumable", "x-goog-upload-command": "start",
                 "x-goog-upload-header-content-length": "8"}  # fmt: skip
        url = (await http.post("/upload/v1beta/files", headers=start, json={})).headers["x-goog-upload-url"]
        headers = {"x-goog-upload-command": "upload", "x-goog-upload-offset": "0"}
        both = await asyncio.gather(*(http.post(url, headers=headers, content=b"0123") for _ in range(4)))
        assert {each.status_code for each in both} <= {200, 409} and any(each.status_code == 200 for each in both)
        last = {"x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "4"}
        done = await http.post(url, headers=last, content=b"4567")
        assert done.json()["file"]["sizeBytes"] == "8"

    within(house, use, url=database)


@pytest.mark.parametrize("which", ["in parts", "resumable"])
def test_two_that_complete_an_upload_get_the_same_file(house: House, database: str, which: str) -> None:
    async def use(http: Any) -> None:
        uploads = openai_of(http).uploads
        for _ in range(8):
            if which == "in parts":
                made = await uploads.create(bytes=4, filename="a.txt", mime_type="text/plain", purpose="user_data")
                part = await uploads.parts.create(made.id, data=b"0123")
                path, sent = f"/v1/uploads/{made.id}/complete", {"json": {"part_ids": [part.id]}}
            else:
                start = {**START, "x-goog-upload-header-content-length": "4"}
                path = (await http.post("/upload/v1beta/files", headers=start, json={})).headers["x-goog-upload-url"]
                await http.post(path, headers={**LAST, "x-goog-upload-command": "upload"}, content=b"0123")
                sent = {"headers": {"x-goog-upload-command": "finalize"}}
            both = await asyncio.gather(*(http.post(path, **sent) for _ in range(4)))
            assert [each.status_code for each in both] == [200] * 4, [each.text for each in both]
            assert len({str(each.json()) for each in both}) == 1

    within(house, use, url=database)


def test_an_upload_that_is_completed_and_cancelled_is_one_of_both(house: House, database: str) -> None:
    async def use(http: Any) -> None:
        client = openai_of(http)
        for _ in range(8):
            made = await client.uploads.create(bytes=4, filename="a.txt", mime_type="text/plain", purpose="user_data")
            part = await client.uploads.parts.create(made.id, data=b"0123")
            done, cancelled = await asyncio.gather(
                client.uploads.complete(made.id, part_ids=[part.id]),
                client.uploads.cancel(made.id),
                return_exceptions=True,
            )
            assert isinstance(done, BaseException) != isinstance(cancelled, BaseException), (done, cancelled)
            for failure in (done, cancelled):
                assert not isinstance(failure, BaseException) or isinstance(failure, openai.BadRequestError), failure
            if not isinstance(done, BaseException) and done.file is not None:
                assert (await client.files.content(done.file.id)).content == b"0123"

    within(house, use, url=database)


def test_the_url_of_an_upload_is_valid_for_a_day(house: House, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(http: Any) -> None:
        start = {**START, "x-goog-upload-header-content-length": "4"}
        urls = [
            (await http.post("/upload/v1beta/files", headers=start, json={})).headers["x-goog-upload-url"]
            for _ in range(2)
        ]
        done = await http.post(urls[0], headers=LAST, content=b"0123")
        name = done.json()["file"]["name"]
        query = {"x-goog-upload-command": "query"}
        now = stores.time.time_ns()
        for hours, status in ((23, 200), (25, 404)):
            monkeypatch.setattr(stores.time, "time_ns", lambda later=hours * 3_600 * 10**9: now + later)
            assert [(await http.post(url, headers=query)).status_code for url in urls] == [status] * 2
        assert (await http.get(f"/v1beta/{name}", headers=GOOGLE)).status_code == 200, "the file is kept for longer"

    within(house, use, url=database)


LONG = "9" * 5_000


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status"),
    [
        ("GET", f"/v1/files?limit={LONG}", {}, None, 400),
        ("GET", f"/v1beta/files?pageSize={LONG}", GOOGLE, None, 400),
        ("POST", "/upload/v1beta/files", {**START, "x-goog-upload-header-content-length": LONG}, "{}", 400),
        ("POST", "/upload/v1beta/files", START, f'{{"file": {{"sizeBytes": "{LONG}"}}}}', 400),
        ("POST", "/upload/v1beta/files", START, f'{{"file": {{"sizeBytes": {LONG}}}}}', 400),
        ("POST", "/v1/uploads", {}, f'{{"bytes": {LONG}, "filename": "a", "purpose": "user_data"}}', 400),
        ("GET", f"/requests?limit={LONG}", {}, None, 400),
    ],
)  # fmt: skip
def test_a_number_of_many_digits_is_refused(
    house: House, method: str, path: str, headers: dict[str, str], body: str | None, status: int
) -> None:
    gateway = house.gateway(telemetry={"log": "stderr"})
    typed = {"content-type": "application/json"} if body is not None else {}
    done = house.ask(gateway, method, path, headers={**headers, **typed}, content=body)
    assert done.status_code == status and len(done.text) < 1_000, done.text


def test_an_offset_of_many_digits_is_refused(house: House) -> None:
    async def use(http: Any) -> None:
        start = {**START, "x-goog-upload-header-content-length": "4"}
        url = (await http.post("/upload/v1beta/files", headers=start, json={})).headers["x-goog-upload-url"]
        refused = await http.post(url, headers={**LAST, "x-goog-upload-offset": LONG}, content=b"0123")
        assert refused.status_code == 400 and len(refused.text) < 1_000, refused.text

    within(house, use)


def test_pages_of_many_digits(house: House) -> None:
    gateway = house.gateway()
    body = {"model": "openai-chat", "input": "Hi"}
    id_ = house.ask(gateway, "POST", "/v1/responses", json=body).json()["id"]
    done = house.ask(gateway, "GET", f"/v1/responses/{id_}/input_items?limit={LONG}")
    assert done.status_code == 200 and len(done.json()["data"]) == 1
