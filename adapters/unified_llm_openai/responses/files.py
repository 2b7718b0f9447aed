"""Files and uploads: the routes beside the Responses API that other requests name their documents by.

https://platform.openai.com/docs/api-reference/files https://platform.openai.com/docs/api-reference/uploads
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.adapter import Paging, Route
from unified_llm.engine.file_api import FileApi, UploadApi

__all__ = ["FILES", "FILE_ROUTES"]

Node = dict[str, Any]

_NAME = "file-{}"
_UPLOAD = "upload_{}"
_STATUS = {"uploading": "pending", "ready": "completed", "cancelled": "cancelled"}

FILE_ROUTES = (
    Route("POST", "files", "files"),
    Route("GET", "files", "files"),
    Route("GET", "files/{file}", "file"),
    Route("DELETE", "files/{file}", "file"),
    Route("GET", "files/{file}/content", "file_content"),
    Route("POST", "uploads", "uploads"),
    Route("POST", "uploads/{file}/parts", "upload_parts"),
    Route("POST", "uploads/{file}/complete", "upload_complete"),
    Route("POST", "uploads/{file}/cancel", "upload_cancel"),
)


def write_file(file: Node) -> Node:
    """A file object."""
    return {
        "id": _NAME.format(file["id"]),
        "object": "file",
        "bytes": file["size"],
        "created_at": int(file["created_at"]),
        "expires_at": int(file["expires_at"]),
        "filename": file["filename"] or "unnamed",
        "purpose": file.get("purpose") or "user_data",
        "status": "processed",
        "status_details": None,
    }


def write_list(files: list[Node], following: str | None) -> Node:
    """A page of file objects."""
    data = [write_file(each) for each in files]
    ends = {"first_id": data[0]["id"] if data else None, "last_id": data[-1]["id"] if data else None}
    return {"object": "list", "data": data, **ends, "has_more": following is not None}


def write_deleted(file: Node) -> Node:
    """What is left of a file."""
    return {"id": _NAME.format(file["id"]), "object": "file", "deleted": True}


def write_upload(file: Node) -> Node:
    """An upload object; a completed one has the file."""
    return {
        "id": _UPLOAD.format(file["id"]),
        "object": "upload",
        "bytes": file["expected"],
        "created_at": int(file["created_at"]),
        "expires_at": int(file["expires_at"]),
        "filename": file["filename"] or "unnamed",
        "purpose": file.get("purpose") or "user_data",
        "status": _STATUS[file["status"]],
        "file": write_file(file) if file["status"] == "ready" else None,
    }


def write_part(part: Node) -> Node:
    """A part of an upload."""
    return {
        "id": f"part_{part['part']}",
        "object": "upload.part",
        "created_at": int(part["created_at"]),
        "upload_id": _UPLOAD.format(part["id"]),
    }


FILES = FileApi(
    name=_NAME,
    pattern=r"(?:file-|upload_)([0-9A-Za-z-]+)",
    marks=("file_id",),
    write=write_file,
    write_list=write_list,
    write_deleted=write_deleted,
    paging=Paging("limit", "after", "last_id", 10_000, more="has_more"),
    size=10_000,
    form={"content": "file", "purpose": "purpose", "lifetime": "expires_after[seconds]"},
    filters={"purpose": "purpose"},
    order="order",
    uploads=UploadApi(
        name=_UPLOAD,
        part_name="part_{}",
        part="data",
        fields={
            "filename": "filename",
            "media_type": "mime_type",
            "size": "bytes",
            "purpose": "purpose",
            "lifetime": "expires_after.seconds",
            "parts": "part_ids",
            "md5": "md5",
        },
        write=write_upload,
        write_part=write_part,
    ),
)
