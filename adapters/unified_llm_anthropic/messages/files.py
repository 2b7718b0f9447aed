"""Files that messages name by their id.

https://docs.claude.com/en/docs/build-with-claude/files https://docs.claude.com/en/api/files-create
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from unified_llm.engine.adapter import Paging, Route
from unified_llm.engine.file_api import FileApi

__all__ = ["FILES", "FILE_ROUTES"]

Node = dict[str, Any]

_NAME = "file_{}"

FILE_ROUTES = (
    Route("POST", "v1/files", "files"),
    Route("GET", "v1/files", "files"),
    Route("GET", "v1/files/{file}", "file"),
    Route("DELETE", "v1/files/{file}", "file"),
    Route("GET", "v1/files/{file}/content", "file_content"),
)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def write_file(file: Node) -> Node:
    """The metadata of a file."""
    return {
        "id": _NAME.format(file["id"]),
        "type": "file",
        "filename": file["filename"] or "unnamed",
        "mime_type": file["media_type"],
        "size_bytes": file["size"],
        "created_at": _time(file["created_at"]),
        "expires_at": _time(file["expires_at"]),
        "downloadable": True,
    }


def write_list(files: list[Node], following: str | None) -> Node:
    """A page of metadata. `next_page` is for newer clients, the other fields are for older ones."""
    data = [write_file(each) for each in files]
    ends = {"first_id": data[0]["id"] if data else None, "last_id": data[-1]["id"] if data else None}
    return {"data": data, "next_page": following, **ends, "has_more": following is not None}


def write_deleted(file: Node) -> Node:
    """What is left of a file."""
    return {"id": _NAME.format(file["id"]), "type": "file_deleted"}


FILES = FileApi(
    name=_NAME,
    pattern=r"file_([0-9A-Za-z-]+)",
    marks=("file_id",),
    write=write_file,
    write_list=write_list,
    write_deleted=write_deleted,
    paging=Paging("limit", "page", "next_page", 1_000),
    size=20,
    form={"content": "file", "lifetime": "expires_in_seconds"},
    unsupported=("ids", "ids[]", "scope_id"),
)
