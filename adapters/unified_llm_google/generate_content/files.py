"""Files with resumable uploads, and cached contents.

A file has a name and a URI. The URI is on the provider's own host wherever the file is kept, because that is how
clients distinguish it from a public URL.

https://ai.google.dev/api/files https://ai.google.dev/api/caching
https://developers.google.com/photos/library/guides/resumable-uploads
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from unified_llm.engine.adapter import Paging, Route
from unified_llm.engine.file_api import CacheApi, FileApi, ResumableApi

__all__ = ["CACHES", "FILES", "FILE_ROUTES", "UPLOAD_MARK"]

Node = dict[str, Any]

_PREFIX = "x-goog-upload-"
UPLOAD_MARK = f"{_PREFIX}command"
_URI = "https://generativelanguage.googleapis.com/v1beta/files/{}"
_STATE = {"uploading": "PROCESSING", "ready": "ACTIVE", "cancelled": "FAILED"}

FILE_ROUTES = (
    Route("POST", "upload/{version}/files", "resumable_upload"),
    Route("GET", "files", "files"),
    Route("GET", "files/{file}", "file"),
    Route("DELETE", "files/{file}", "file"),
    Route("GET", "files/{file}:download", "file_content"),
    Route("POST", "cachedContents", "caches"),
    Route("GET", "cachedContents", "caches"),
    Route("GET", "cachedContents/{cache}", "cache"),
    Route("PATCH", "cachedContents/{cache}", "cache"),
    Route("DELETE", "cachedContents/{cache}", "cache"),
)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def write_file(file: Node) -> Node:
    """A file resource."""
    uri = _URI.format(file["id"])
    found: Node = {
        "name": f"files/{file['id']}",
        "mimeType": file["media_type"],
        "sizeBytes": str(file["size"]),
        "createTime": _time(file["created_at"]),
        "updateTime": _time(file["updated_at"]),
        "expirationTime": _time(file["expires_at"]),
        "uri": uri,
        "downloadUri": f"{uri}:download?alt=media",
        "state": _STATE[file["status"]],
        "source": "UPLOADED",
    }
    if file.get("filename"):
        found["displayName"] = file["filename"]
    if file.get("sha256"):
        found["sha256Hash"] = file["sha256"]
    return found


def write_list(files: list[Node], following: str | None) -> Node:
    """A page of file resources."""
    return {"files": [write_file(each) for each in files], **({"nextPageToken": following} if following else {})}


def write_deleted(file: Node) -> Node:
    """The body is empty after a deletion."""
    return {}


def write_cache(cache: Node) -> Node:
    """A cached content without its contents, which are never shown again."""
    found: Node = {
        "name": f"cachedContents/{cache['id']}",
        "model": cache["model"],
        "createTime": _time(cache["created_at"]),
        "updateTime": _time(cache["updated_at"]),
        "expireTime": _time(cache["expires_at"]),
        "usageMetadata": {"totalTokenCount": cache["tokens"]},
    }
    if cache.get("display_name"):
        found["displayName"] = cache["display_name"]
    return found


def write_caches(caches: list[Node], following: str | None) -> Node:
    """A page of cached contents."""
    found = [write_cache(each) for each in caches]
    return {"cachedContents": found, **({"nextPageToken": following} if following else {})}


FILES = FileApi(
    name="files/{}",
    pattern=r"(?:https://generativelanguage\.googleapis\.com/(?:[^?#]*/)?)?files/([0-9A-Za-z-]+)",
    marks=("fileUri", "file_uri", "uri"),
    write=write_file,
    write_list=write_list,
    write_deleted=write_deleted,
    paging=Paging("pageSize", "pageToken", "nextPageToken", 100),
    size=10,
    resumable=ResumableApi(
        prefix=_PREFIX,
        query="upload_id",
        envelope="file",
        fields={
            "id": ("name",),
            "filename": ("displayName", "display_name"),
            "media_type": ("mimeType", "mime_type"),
            "size": ("sizeBytes", "size_bytes"),
        },
    ),
)

_FIELDS = {
    "lifetime": ("ttl",),
    "expires": ("expireTime", "expire_time"),
    "display_name": ("displayName", "display_name"),
    "model": ("model",),
}

CACHES = CacheApi(
    name="cachedContents/{}",
    pattern=r"(?:projects/[^/]+/locations/[^/]+/)?cachedContents/([0-9A-Za-z-]+)",
    marks=("cachedContent", "cached_content"),
    fields=_FIELDS,
    own=frozenset(
        (
            *(name for names in _FIELDS.values() for name in names),
            *("name", "createTime", "create_time", "updateTime", "update_time", "usageMetadata", "usage_metadata"),
        )
    ),
    write=write_cache,
    write_list=write_caches,
    paging=Paging("pageSize", "pageToken", "nextPageToken", 1_000),
    size=50,
    settings={"instructions": "systemInstruction", "tools": "tools", "tool_choice": "toolConfig"},
    absent={"contents": []},
)
