"""The routes of files: upload in one request, in parts or resumable, list, get, download, delete.

How a protocol spells all of it is declared by its adapter (`file_api.py`); what is stored is the same for all, so a
file that was uploaded through one API is listed, and used, through every other one of the same tenant.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...client.transports.route_matching import Match
from ...engine.file_api import FileApi, ResumableApi, UploadApi
from ...engine.registry import adapter
from ...foundation.json_codec import parse
from ...foundation.secret import Secret
from ...foundation.urls import whole_number
from ..access.callers import Access, Key
from ..configuration.config import StateSettings
from ..requests.forms import form_of, media_type_of, name_of
from ..responses.replies import Refusal, Whole, json_reply
from ..state.file_references import file_id
from ..state.files import FILE, UPLOAD_LIFETIME, FileStore, StorageFull, StoredFile
from ..state.store import Conflict

__all__ = ["Files", "Sent", "listed", "object_of", "storage_full"]

_UPLOADS = frozenset(("files", "upload_parts", "resumable_upload"))
_ID = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z-]{0,62}[0-9A-Za-z])?")
_OVERHEAD = 1_000_000  # bytes of a multipart body beside the file
# A browser that opens a file must not run it as a page of the gateway.
_INERT = {
    "content-type": "application/octet-stream",
    "content-disposition": "attachment",
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox",
}


class Sent(NamedTuple):
    """A request to these routes; `url` is its own without the query."""

    match: Match
    tenant: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    content: bytes
    url: str


class Files:
    """The file routes of one gateway."""

    def __init__(self, files: FileStore, settings: StateSettings) -> None:
        self.files = files
        self.settings = settings

    def limit(self, match: Match | None) -> int | None:
        """The largest body of an upload; None for every other request."""
        if match is None or match.route.method != "POST" or match.route.kind not in _UPLOADS:
            return None
        return self.settings.max_file + _OVERHEAD

    def secret(self, match: Match | None, query: Mapping[str, str], headers: Mapping[str, str]) -> str:
        """The secret of the upload that a request goes on with: its URL is enough, such requests have no key."""
        api = adapter(match.protocol).files if match is not None and match.route.kind == "resumable_upload" else None
        if api is None or api.resumable is None:
            return ""
        commands = _commands(api.resumable, headers)
        if "start" in commands or (
            not commands and headers.get(f"{api.resumable.prefix}protocol", "").lower() == "raw"
        ):
            return ""  # a new file
        return query.get(api.resumable.query, "")

    async def admit(self, secret: str, headers: Mapping[str, str], access: Access) -> Key:
        """The owner of an upload as a key. Raises `Refusal` and `StoreUnavailable`."""
        access.check_page(headers)
        found = await self.files.find_upload(secret)
        if found is None or not access.is_served(found.tenant):
            raise Refusal(404, "not_found", "the upload is unknown or has expired", code="upload_not_found")
        return Key(tenant=found.tenant)

    async def reply(self, sent: Sent, secret: Secret) -> Whole:
        """The response of a route. Raises `Refusal` and `StoreUnavailable`."""
        api = adapter(sent.match.protocol).files
        assert api is not None
        kind, method = sent.match.route.kind, sent.match.route.method
        try:
            if kind == "resumable_upload" and api.resumable is not None:
                return await self._resumable(sent, api, api.resumable)
            if kind.startswith("upload") and api.uploads is not None:
                return await self._uploads(sent, api.uploads)
            if kind == "files" and method == "POST":
                return json_reply(api.write((await self._created(sent, api)).node))
        except StorageFull as error:
            raise storage_full(error) from None
        if kind == "files":
            rows = await self.files.list(sent.tenant, FILE)
            return json_reply(listed([each.node for each in rows], api, sent.query))
        file = await self._found(sent)
        if kind == "file_content":
            return Whole(200, dict(_INERT), await self.files.content(file))
        if method == "DELETE":
            if not await self.files.delete(sent.tenant, FILE, file.id):
                raise _missing(sent)
            return json_reply(api.write_deleted(file.node))
        return json_reply(api.write(file.node))

    async def _found(self, sent: Sent) -> StoredFile:
        found = await self.files.get(sent.tenant, FILE, file_id(sent.match.names["file"]))
        if found is None or found.status != "ready":
            raise _missing(sent)
        return found

    def check_size(self, size: int) -> None:
        """Raise `Refusal` (413) for a file that is too large."""
        if size > self.settings.max_file:
            reason = f"the file is larger than {self.settings.max_file} bytes"
            raise Refusal(413, "too_large", reason, code="file_too_large")

    # ---- in one request ----------------------------------------------------------------------------------------------

    async def _created(self, sent: Sent, api: FileApi) -> StoredFile:
        given = form_of(sent.content, sent.headers.get("content-type", ""))
        field = given.get(api.form["content"])
        if field is None:
            raise Refusal(400, "invalid_request", f"the form has no field {api.form['content']!r} with a file")
        self.check_size(len(field.data))
        filename = name_of(field.filename)
        head: dict[str, Any] = {
            "filename": filename,
            "media_type": media_type_of(field.media_type, filename, field.data),
        }
        if (purpose := given.get(api.form.get("purpose", ""))) is not None:
            head["purpose"] = purpose.text
        asked = given.get(api.form.get("lifetime", ""))
        lifetime = _seconds(api.form["lifetime"], asked.text) if asked is not None else None
        return await self.files.create(sent.tenant, FILE, head, data=field.data, lifetime=lifetime)

    # ---- in parts ----------------------------------------------------------------------------------------------------

    async def _uploads(self, sent: Sent, api: UploadApi) -> Whole:
        kind = sent.match.route.kind
        if kind == "uploads":
            return json_reply(api.write((await self._begun(sent, api)).node))
        file = await self.files.get(sent.tenant, FILE, file_id(sent.match.names["file"]))
        if file is None or "expected" not in file.head:
            raise _missing(sent, "upload")
        if kind == "upload_complete" and file.status == "ready":
            return json_reply(api.write(file.node))  # the response to the first request was lost
        if file.status != "uploading":
            raise _over(file)
        if kind == "upload_parts":
            given = form_of(sent.content, sent.headers.get("content-type", ""))
            if (field := given.get(api.part)) is None:
                raise Refusal(400, "invalid_request", f"the form has no field {api.part!r} with the data")
            part = secrets.token_hex(12)
            done = await self.files.append(file, part, field.data)
            if done is None:
                raise Refusal(400, "invalid_request", f"the parts have more bytes than the {file.reserved} declared")
            return json_reply(api.write_part({"id": file.id, "part": part, "created_at": done.updated / 1e6}))
        if kind == "upload_cancel":
            done = await self.files.cancel(file)
            if done is None:
                raise _over(await self.files.get(sent.tenant, FILE, file.id))
            return json_reply(api.write(done.node))
        body = object_of(sent.content)
        order, md5 = body.get(api.fields["parts"]), body.get(api.fields["md5"])
        before, _, after = api.part_name.partition("{}")
        if not isinstance(order, list) or not all(isinstance(each, str) for each in order):
            raise Refusal(400, "invalid_request", f"{api.fields['parts']} must be a list of ids")
        names = [each.removeprefix(before).removesuffix(after) for each in order]
        return json_reply(api.write((await self._completed(file, names, md5)).node))

    async def _begun(self, sent: Sent, api: UploadApi) -> StoredFile:
        body = object_of(sent.content)
        size, filename = body.get(api.fields["size"]), body.get(api.fields["filename"])
        if type(size) is not int or size < 0:
            raise Refusal(400, "invalid_request", f"{api.fields['size']} must be a number of bytes")
        self.check_size(size)
        head: dict[str, Any] = {"filename": name_of(str(filename or "")), "expected": size}
        head["media_type"] = media_type_of(str(body.get(api.fields["media_type"]) or ""), head["filename"])
        if isinstance(purpose := body.get(api.fields["purpose"]), str):
            head["purpose"] = purpose
        asked: Any = body
        for name in api.fields["lifetime"].split("."):
            asked = asked.get(name) if isinstance(asked, dict) else None
        if asked is not None:
            head["lifetime"] = _seconds(api.fields["lifetime"], asked)
        return await self.files.create(sent.tenant, FILE, head, expected=size, lifetime=api.lifetime)

    async def _completed(self, file: StoredFile, order: Sequence[str] | None, md5: Any = None) -> StoredFile:
        done = await self.files.complete(file, order, md5=md5 if isinstance(md5, str) else None)
        if isinstance(done, str):
            raise Refusal(400, "invalid_request", done, code="upload_incomplete")
        return done

    # ---- resumable ---------------------------------------------------------------------------------------------------

    async def _resumable(self, sent: Sent, api: FileApi, how: ResumableApi) -> Whole:
        """One request of a resumable upload. What was received already is taken for the repetition of a request whose
        response was lost."""
        commands = _commands(how, sent.headers)
        if "start" in commands:
            return await self._started(sent, how)
        if not commands and sent.headers.get(f"{how.prefix}protocol") == "raw":
            return await self._raw(sent, api, how)
        file = await self._upload(sent, how)
        if "cancel" in commands and file.status == "uploading":
            file = await self.files.cancel(file) or await self._upload(sent, how)
        if "upload" in commands and file.status == "uploading":
            file = await self._received(sent, how, file)
        if "finalize" in commands and file.status == "uploading":
            file = await self._completed(file, None)
        if file.status == "ready" and "finalize" in commands:
            return json_reply({how.envelope: api.write(file.node)}, headers=_progress(how, file))
        return Whole(200, _progress(how, file))

    async def _upload(self, sent: Sent, how: ResumableApi) -> StoredFile:
        """The upload of a URL. Raises `Refusal` (404)."""
        file = await self.files.find_upload(sent.query.get(how.query, ""))
        if file is None or file.tenant != sent.tenant:
            raise Refusal(404, "not_found", "the upload is unknown or has expired", code="upload_not_found")
        return file

    async def _started(self, sent: Sent, how: ResumableApi) -> Whole:
        body = object_of(sent.content) if sent.content.strip() else {}
        given = body.get(how.envelope)
        told = given if isinstance(given, dict) else {}

        def said(field: str) -> str:
            values = (told.get(name) for name in how.fields[field])
            return next((str(each) for each in values if isinstance(each, (str, int))), "")

        size = sent.headers.get(f"{how.prefix}header-content-length") or said("size")
        expected = whole_number(size)
        if expected is None:
            raise Refusal(400, "invalid_request", f"{how.prefix}header-content-length must be the size of the file")
        self.check_size(expected)
        filename = said("filename") or sent.headers.get(f"{how.prefix}file-name", "")
        filename = name_of(filename) if filename else ""
        declared = sent.headers.get(f"{how.prefix}header-content-type", "") or said("media_type")
        head = {"filename": filename, "media_type": media_type_of(declared, filename)}
        wanted = said("id")
        if wanted:
            wanted = file_id(wanted)
            if not _ID.fullmatch(wanted):
                raise Refusal(400, "invalid_request", "a file name consists of letters, digits and dashes")
        secret = secrets.token_urlsafe(32)
        try:
            file = await self.files.create(
                sent.tenant, FILE, head, expected=expected, id=wanted, secret=secret, lifetime=UPLOAD_LIFETIME
            )
        except Conflict:
            raise Refusal(409, "conflict", f"the file {wanted!r} exists already", code="already_exists") from None
        url = f"{sent.url}?{how.query}={secret}&upload_protocol=resumable"
        return Whole(200, {f"{how.prefix}url": url, **_progress(how, file)})

    async def _raw(self, sent: Sent, api: FileApi, how: ResumableApi) -> Whole:
        """All of a file as the body of one request."""
        self.check_size(len(sent.content))
        name = sent.headers.get(f"{how.prefix}file-name", "")
        declared = sent.headers.get(f"{how.prefix}header-content-type") or sent.headers.get("content-type", "")
        head = {"filename": name_of(name) if name else "", "media_type": media_type_of(declared, name, sent.content)}
        file = await self.files.create(sent.tenant, FILE, head, data=sent.content)
        return json_reply({how.envelope: api.write(file.node)}, headers=_progress(how, file))

    async def _received(self, sent: Sent, how: ResumableApi, file: StoredFile) -> StoredFile:
        given = sent.headers.get(f"{how.prefix}offset", "")
        offset = whole_number(given)
        if offset is None or offset > file.received:
            reason = f"{how.prefix}offset must be {file.received}, the bytes that were received, got {given[:40]!r}"
            raise Refusal(400, "invalid_request", reason, code="upload_offset", headers=_progress(how, file))
        new = sent.content[file.received - offset :]
        if not new:
            return file
        done = await self.files.append(file, f"{file.received}", new, place=file.received)
        if done is not None:
            return done
        if file.received + len(new) > file.reserved:
            raise Refusal(400, "invalid_request", f"more bytes than the {file.reserved} declared", code="upload_size")
        raise Refusal(409, "conflict", "another request has uploaded this part; query the state of the upload")


def _commands(how: ResumableApi, headers: Mapping[str, str]) -> set[str]:
    return {each.strip().lower() for each in headers.get(f"{how.prefix}command", "").split(",") if each.strip()}


def _progress(how: ResumableApi, file: StoredFile) -> dict[str, str]:
    status = {"uploading": "active", "ready": "final"}.get(file.status, "cancelled")
    return {f"{how.prefix}status": status, f"{how.prefix}size-received": str(file.received)}


# ---- shared with other routes ---------------------------------------------------------------------------------------


def _over(file: StoredFile | None) -> Refusal:
    state = "completed" if file is not None and file.status == "ready" else "cancelled"
    return Refusal(400, "invalid_request", f"the upload is {state}", code="upload_over")


def _missing(sent: Sent, what: str = "file") -> Refusal:
    return Refusal(404, "not_found", f"{what} {sent.match.names['file']!r} not found", code=f"{what}_not_found")


def storage_full(error: StorageFull) -> Refusal:
    """The refusal of what a tenant has no space for."""
    reason = f"the tenant has its limit of {error.limit}; delete files, or wait until they expire"
    return Refusal(429, "quota", reason, code="storage_full", headers={"x-should-retry": "false"})


def _seconds(name: str, given: Any) -> float:
    text = str(given)
    if not re.fullmatch(r"[1-9]\d{0,9}", text):
        raise Refusal(400, "invalid_request", f"{name} must be a number of seconds, got {text[:40]!r}")
    return float(text)


def object_of(content: bytes) -> dict[str, Any]:
    """The JSON object of a body. Raises `Refusal` (400)."""
    try:
        found = parse(content)
    except ValueError as error:
        raise Refusal(400, "invalid_request", str(error), code="invalid_json") from None
    if not isinstance(found, dict):
        raise Refusal(400, "invalid_request", "the body must be a JSON object", code="invalid_json")
    return found


def listed(nodes: Sequence[dict[str, Any]], api: Any, query: Mapping[str, str]) -> dict[str, Any]:
    """One page of canonical files or caches, in the client's format. Raises `Refusal` (400)."""
    for name in getattr(api, "unsupported", ()):
        if name in query:
            raise Refusal(400, "invalid_request", f"the parameter {name!r} is not supported", code="unsupported")
    for name, field in getattr(api, "filters", {}).items():
        if query.get(name):
            nodes = [each for each in nodes if each.get(field) == query[name]]
    if getattr(api, "order", "") and query.get(api.order) == "asc":
        nodes = nodes[::-1]
    paging = api.paging
    ids = [api.name.format(each["id"]) for each in nodes]
    given, after = query.get(paging.size, ""), query.get(paging.after, "")
    size = whole_number(given) if given else api.size
    if not size:
        raise Refusal(400, "invalid_request", f"{paging.size} must be a number above 0, got {given[:40]!r}")
    if after and after not in ids:
        raise Refusal(400, "invalid_request", f"{paging.after}: {after[:100]!r} is not in the list")
    start = ids.index(after) + 1 if after else 0
    end = start + min(size, paging.most)
    return api.write_list(list(nodes[start:end]), ids[end - 1] if end < len(ids) else None)  # type: ignore[no-any-return]
