"""The media type of a file in base64 that comes without one: how it begins, else what its name ends in.

OpenAI's files may be bare base64 beside a name, and the APIs that take a type refuse or misread a file without it.
"""

from __future__ import annotations

from typing import Any

__all__ = ["TYPES", "USUAL_TYPES", "image_type", "is_other_image", "type_of_file"]

_OFFICE = "application/vnd.openxmlformats-officedocument"
TYPES = {
    "pdf": "application/pdf",
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "xml": "application/xml",
    "doc": "application/msword",
    "docx": f"{_OFFICE}.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    "pptx": f"{_OFFICE}.presentationml.presentation",
}
"""The types of documents, by what a name ends in."""

USUAL_TYPES = {"image_url": "image/png", "video_url": "video/mp4", "file_data": "application/pdf"}
"""What a target that requires a type is sent where nothing shows one, by the canonical key of the data."""


def type_of_file(name: Any, data: Any = None) -> str | None:
    """The media type of a document by its name and its base64 text; None where neither shows one.

    >>> type_of_file("report.PDF"), type_of_file("a.csv", "YSxi"), type_of_file("report", "JVBERi0xLjQ")
    ('application/pdf', 'text/csv', 'application/pdf')
    """
    if type(data) is str and data.startswith("JVBERi"):
        return TYPES["pdf"]
    return TYPES.get(name.rpartition(".")[2].lower()) if type(name) is str else None


def image_type(kind: str) -> str:
    """The media type of an image as APIs compare it: in lower case, in the registered spelling, with its parameters.

    >>> image_type("image/JPG"), image_type("image/webp;q=1")
    ('image/jpeg', 'image/webp;q=1')
    """
    bare, parameters, rest = kind.lower().partition(";")
    return f"{'image/jpeg' if bare.strip() == 'image/jpg' else bare.strip()}{parameters}{rest}"


def is_other_image(kind: str, known: frozenset[str]) -> bool:
    """Whether a media type is that of an image, and of none of the `known` types.

    >>> is_other_image("image/bmp", frozenset(["image/png"])), is_other_image("image/png;q=1", frozenset(["image/png"]))
    (True, False)
    """
    return kind.startswith("image/") and kind.partition(";")[0] not in known
