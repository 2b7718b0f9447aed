"""Files through the official SDKs: uploaded, listed, fetched and deleted, spelled as in each API, within limits."""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from google import genai

from gateway.serving import URL, House, Served
from unified_llm.gateway.app import Gateway

PDF = b"%PDF-1.4 a small document"
PNG = b"\x89PNG\r\n\x1a\n a small picture"
GOOGLE = {"x-goog-api-key": "unused"}


def openai_of(http: Any, **more: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{URL}/v1", http_client=http, max_retries=0, **{"api_key": "x", **more})


def anthropic_of(http: Any, **more: Any) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=URL, http_client=http, max_retries=0, **{"api_key": "x", **more})


def google_of(http: Any, **more: Any) -> genai.Client:
    options = {"base_url": URL, "httpx_async_client": http}
    return genai.Client(http_options=options, **{"api_key": "x", **more})  # type: ignore[arg-type]


def within(house: House, use: Callable[[Any], Any], gateway: Gateway | None = None, **state: Any) -> Any:
    """Run `use` with an HTTP client of a gateway."""

    async def used() -> Any:
        made = gateway or house.gateway(state={"url": "sqlite://", **state})
        async with house.http(made) as http:
            return await use(http)

    return house.run(used())


# ---- the official SDKs ----------------------------------------------------------------------------------------------


def test_files_by_the_openai_sdk(house: House, database: str) -> None:
    async def use(http: Any) -> None:
        files = openai_of(http).files
        made = await files.create(
            file=("report.pdf", PDF), purpose="user_data", expires_after={"anchor": "created_at", "seconds": 3600}
        )
        assert (made.filename, made.bytes, made.purpose, made.object) == ("report.pdf", len(PDF), "user_data", "file")
        assert made.id.startswith("file-") and made.expires_at == made.created_at + 3600
        other = await files.create(file=("b.txt", b"text"), purpose="assistants")
        assert [each.id async for each in files.list()] == [other.id, made.id]
        assert [each.id async for each in files.list(limit=1, order="asc")] == [made.id, other.id], "two pages"
        assert [each.id async for each in files.list(purpose="assistants")] == [other.id]
        assert (await files.retrieve(made.id)) == made
        assert (await files.content(made.id)).content == PDF
        assert (await files.delete(made.id)).deleted
        for gone in (files.retrieve(made.id), files.content(made.id), files.delete(made.id)):
            with pytest.raises(openai.NotFoundError, match=made.id):
                await gone

    within(house, use, url=database)


def test_uploads_by_the_openai_sdk(house: House, database: str) -> None:
    async def use(http: Any) -> None:
        client = openai_of(http)
        uploads = client.uploads
        md5 = hashlib.md5(b"one two").hexdigest()
        made = await uploads.create(bytes=7, filename="a.txt", mime_type="text/plain", purpose="user_data")
        assert (made.status, made.bytes, made.file) == ("pending", 7, None)
        late = await uploads.parts.create(made.id, data=b" two")
        first = await uploads.parts.create(made.id, data=b"one")
        assert [each async for each in client.files.list()] == [], "not before it is complete"
        with pytest.raises(openai.BadRequestError, match="MD5"):
            await uploads.complete(made.id, part_ids=[first.id, late.id], md5="0" * 32)
        with pytest.raises(openai.BadRequestError, match="3 bytes"):
            await uploads.complete(made.id, part_ids=[first.id])
        with pytest.raises(openai.BadRequestError, match="unknown part"):
            await uploads.complete(made.id, part_ids=["part_none"])
        done = await uploads.complete(made.id, part_ids=[first.id, late.id], md5=md5)
        assert done.status == "completed" and done.file is not None
        assert (await client.files.content(done.file.id)).content == b"one two"
        again = await uploads.complete(made.id, part_ids=[first.id, late.id])
        assert again.file is not None and again.file.id == done.file.id, "the first response may have been lost"
        with pytest.raises(openai.BadRequestError, match="completed"):
            await uploads.parts.create(made.id, data=b"more")
        other = await uploads.create(bytes=3, filename="b.txt", mime_type="text/plain", purpose="user_data")
        with pytest.raises(openai.BadRequestError, match="3 declared"):
            await uploads.parts.create(other.id, data=b"four")
        assert (await uploads.cancel(other.id)).status == "cancelled"
        with pytest.raises(openai.BadRequestError, match="cancelled"):
            await uploads.parts.create(other.id, data=b"one")
        with pytest.raises(openai.NotFoundError):
            await uploads.cancel("upload_unknown")

    within(house, use, url=database)


def test_files_by_the_anthropic_sdk(house: House, database: str) -> None:
    async def use(http: Any) -> None:
        client = anthropic_of(http)
        for files in (client.beta.files, client.files):
            made = await files.upload(file=("report.pdf", PDF, "application/pdf"))
            assert (made.filename, made.mime_type, made.size_bytes) == ("report.pdf", "application/pdf", len(PDF))
            assert made.id.startswith("file_") and made.expires_at is not None
            other = await files.upload(file=("b.txt", b"text"), expires_in_seconds=3600)
            assert [each.id async for each in files.list()] == [other.id, made.id]
            assert [each.id async for each in files.list(limit=1)] == [other.id, made.id], "two pages"
            with pytest.raises(anthropic.BadRequestError, match="not supported"):
                await files.list(ids=[made.id])
            assert (await files.retrieve_metadata(made.id)) == made
            assert await (await files.download(made.id)).read() == PDF
            assert (await files.delete(made.id)).id == made.id
            for gone in (files.retrieve_metadata(made.id), files.download(made.id), files.delete(made.id)):
                with pytest.raises(anthropic.NotFoundError, match=made.id):
                    await gone
            await files.delete(other.id)

    within(house, use, url=database)


def test_files_by_the_google_sdk(house: House, database: str) -> None:
    async def use(http: Any) -> None:
        files = google_of(http).aio.files
        made = await files.upload(
            file=io.BytesIO(PDF),
            config={"mime_type": "application/pdf", "display_name": "A report", "name": "report-1"},
        )
        assert (made.name, made.display_name, made.mime_type) == ("files/report-1", "A report", "application/pdf")
        assert made.size_bytes == len(PDF) and made.state is not None and made.state.name == "ACTIVE"
        with pytest.raises(genai.errors.ClientError, match="exists"):
            await files.upload(file=io.BytesIO(PDF), config={"mime_type": "text/plain", "name": "report-1"})
        other = await files.upload(file=io.BytesIO(b""), config={"mime_type": "text/plain"})
        assert [each.name async for each in await files.list(config={"page_size": 1})] == [other.name, made.name]
        assert await files.get(name=made.name or "") == made
        assert await files.download(file=made) == PDF
        await files.delete(name=made.name or "")
        for gone in (files.get(name="report-1"), files.delete(name="report-1")):
            with pytest.raises(genai.errors.ClientError, match="report-1") as caught:
                await gone
            assert caught.value.code == 404 and caught.value.status == "NOT_FOUND"

    within(house, use, url=database)


def test_the_synchronous_sdks_over_a_server(served: Served, tmp_path: Path) -> None:
    path = tmp_path / "notes.pdf"
    path.write_bytes(PDF)
    with httpx2.Client() as http:
        one = openai.OpenAI(base_url=f"{served.url}/v1", api_key="x", http_client=http)
        with path.open("rb") as file:
            made = one.files.create(file=file, purpose="user_data")
        assert one.files.content(made.id).content == PDF and made.filename == "notes.pdf"
        sent = one.uploads.upload_file_chunked(
            file=PDF, filename="c.pdf", bytes=len(PDF), mime_type="application/pdf", purpose="user_data", part_size=10
        )
        assert sent.file is not None and one.files.content(sent.file.id).content == PDF
        two = anthropic.Anthropic(base_url=served.url, api_key="x", http_client=http)
        upload = two.beta.files.upload(file=path)
        assert two.beta.files.download(upload.id).read() == PDF
        three = genai.Client(api_key="x", http_options={"base_url": served.url})
        stored = three.files.upload(file=str(path))
        assert stored.size_bytes == len(PDF) and three.files.download(file=stored) == PDF
        names = {stored.name, *(f"files/{each.id[5:]}" for each in (made, sent.file, upload))}
        assert names <= {each.name for each in three.files.list()}, "one list, in which others may be"
        for each in (made.id, sent.file.id, upload.id, f"file-{(stored.name or '').removeprefix('files/')}"):
            one.files.delete(each)  # in any API's spelling
        assert not names & {each.name for each in three.files.list()}


# ---- limits ---------------------------------------------------------------------------------------------------------


def test_files_and_storage_are_bounded(house: House, database: str) -> None:
    async def use(http: Any) -> None:
        one, two, three = openai_of(http), anthropic_of(http), google_of(http)
        with pytest.raises(openai.APIStatusError, match="100 bytes") as caught:
            await one.files.create(file=("a", b"x" * 101), purpose="user_data")
        assert caught.value.status_code == 413
        with pytest.raises(openai.APIStatusError) as caught:
            await one.uploads.create(bytes=101, filename="a", mime_type="text/plain", purpose="user_data")
        assert caught.value.status_code == 413
        with pytest.raises(anthropic.RequestTooLargeError):
            await two.beta.files.upload(file=("a", b"x" * 101))
        with pytest.raises((genai.errors.ClientError, KeyError)):
            await three.aio.files.upload(file=io.BytesIO(b"x" * 101), config={"mime_type": "text/plain"})
        large = await http.post("/v1/files", content=b"x" * 1_000_200, headers={"content-type": "text/plain"})
        assert large.status_code == 413
        made = [await one.files.create(file=("a", b"x" * 100), purpose="user_data") for _ in range(2)]
        for again in (
            one.files.create(file=("a", b"x"), purpose="user_data"),
            one.uploads.create(bytes=1, filename="a", mime_type="text/plain", purpose="user_data"),
        ):
            with pytest.raises(openai.RateLimitError, match="limit of 200 bytes") as full:
                await again
            assert full.value.response.headers["x-should-retry"] == "false"
        with pytest.raises(anthropic.RateLimitError):
            await two.beta.files.upload(file=("a", b"x"))
        await one.files.delete(made[0].id)
        upload = await one.uploads.create(bytes=100, filename="a", mime_type="text/plain", purpose="user_data")
        with pytest.raises(openai.RateLimitError, match="200 bytes"):
            await one.files.create(file=("a", b"x"), purpose="user_data")  # what is declared is reserved
        await one.uploads.cancel(upload.id)
        await one.files.create(file=("a", b"x" * 100), purpose="user_data")

    within(house, use, url=database, max_file=100, max_files_size=200)


def test_parallel_uploads_stay_below_the_limit(house: House, database: str) -> None:
    async def use(http: Any) -> None:
        client = openai_of(http)
        made = (client.files.create(file=("a", b"x" * 40), purpose="user_data") for _ in range(8))
        done = await asyncio.gather(*made, return_exceptions=True)
        assert sum(not isinstance(each, BaseException) for each in done) == 2
        assert all(isinstance(each, (openai.RateLimitError, openai.types.FileObject)) for each in done), done

    within(house, use, url=database, max_files_size=100)


def test_the_number_of_files_is_bounded_and_they_expire(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unified_llm.gateway.state import files as stores

    gateway = house.gateway(state={"url": database, "max_files": 1, "files_keep": "1h"})

    async def use(http: Any) -> None:
        files = openai_of(http).files
        made = await files.create(file=("a", b"x"), purpose="user_data")
        with pytest.raises(openai.RateLimitError, match="1 files"):
            await files.create(file=("a", b"x"), purpose="user_data")
        later = stores.time.time_ns() + 3_601 * 10**9
        monkeypatch.setattr(stores.time, "time_ns", lambda: later)
        with pytest.raises(openai.NotFoundError):
            await files.retrieve(made.id)
        other = await files.create(file=("a", b"x"), purpose="user_data")
        assert [each.id async for each in files.list()] == [other.id]
        assert await gateway.store.expire() == 1 and await gateway.store.expire() == 0

    within(house, use, gateway)


@pytest.mark.parametrize(
    ("headers", "content", "said"),
    [
        ({"content-type": "multipart/form-data; boundary=x"}, b"--x\r\na: b\r\n\r\n1", "incomplete"),
        ({"content-type": "multipart/form-data; boundary=x"}, b"nothing of a form", "multipart"),
        ({"content-type": "multipart/form-data"}, b"--x--", "boundary"),
        ({"content-type": "application/json"}, b"{}", "boundary"),
        ({"content-type": "multipart/form-data; boundary=x"}, b"--x\r\ncontent-disposition: form-data; name=a\r\n\r\n1"
         b"\r\n--x--\r\n", "'file'"),
    ],
)  # fmt: skip
def test_bodies_that_are_no_upload(house: House, headers: dict[str, str], content: bytes, said: str) -> None:
    done = house.ask(house.gateway(), "POST", "/v1/files", headers=headers, content=content)
    assert done.status_code == 400 and said in done.json()["error"]["message"]


def test_a_file_is_not_a_page_of_the_gateway(house: House) -> None:
    """A browser neither runs what was uploaded nor sends an upload for another page."""

    async def use(http: Any) -> None:
        made = await openai_of(http).files.create(file=("a.html", b"<script>", "text/html"), purpose="user_data")
        shown = await http.get(f"/v1/files/{made.id}/content")
        assert shown.headers["content-type"] == "application/octet-stream"
        assert shown.headers["content-disposition"] == "attachment"
        assert shown.headers["x-content-type-options"] == "nosniff"
        for page in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
            refused = await http.post("/v1/files", headers=page, files={"file": ("a", b"x")})
            assert refused.status_code == 403

    within(house, use)


def test_without_the_database_files_are_unavailable(house: House) -> None:
    gateway = house.gateway(state={"url": "sqlite:////nowhere/at/all.db"})
    for path, headers in (("/v1/files", {}), ("/v1beta/files", GOOGLE)):
        assert house.ask(gateway, "GET", path, headers=headers).status_code == 503
