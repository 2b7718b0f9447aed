"""What clients upload: the fields of a multipart body, file names and media types."""

from __future__ import annotations

import mimetypes
import re
from typing import NamedTuple

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from ..responses.replies import Refusal

__all__ = ["Field", "form_of", "media_type_of", "name_of"]

_MOST = 64  # fields of one body
_LONGEST = 512  # characters of a file name
_UNKNOWN = "application/octet-stream"
_TYPE = re.compile(r"[\w!#$&^.+-]{1,127}/[\w!#$&^.+-]{1,127}", re.ASCII)
# The types of this Python, not those of the machine: the same file has the same type on every node.
_TYPES = mimetypes.MimeTypes()
_BEGINNINGS = {
    b"%PDF-": "application/pdf",
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
}


class Field(NamedTuple):
    """One field of a form; `filename` is empty for what is not a file."""

    data: bytes
    filename: str = ""
    media_type: str = ""

    @property
    def text(self) -> str:
        """The value as text."""
        return self.data.decode("utf-8", "replace")


class _Fields:
    """Collects the fields while the body is parsed."""

    def __init__(self) -> None:
        self.found: dict[str, Field] = {}
        self._headers: dict[str, str] = {}
        self._pieces: list[bytes] = []
        self._name = self._value = b""
        self.count = 0
        self.is_complete = False

    def on_part_begin(self) -> None:
        self._headers, self._pieces = {}, []
        self.count += 1
        if self.count > _MOST:
            raise Refusal(400, "invalid_request", f"the form has more than {_MOST} fields")

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def on_header_end(self) -> None:
        self._headers[self._name.decode("latin-1").lower()] = self._value.decode("latin-1")
        self._name = self._value = b""

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        self._pieces.append(data[start:end])

    def on_part_end(self) -> None:
        _, options = parse_options_header(self._headers.get("content-disposition"))
        name = options.get(b"name", b"").decode("utf-8", "replace")
        filename = options.get(b"filename", b"").decode("utf-8", "replace")
        self.found[name] = Field(b"".join(self._pieces), filename, self._headers.get("content-type", ""))

    def on_end(self) -> None:
        self.is_complete = True


def form_of(content: bytes, content_type: str) -> dict[str, Field]:
    """The fields of a multipart body. Raises `Refusal` (400)."""
    _, options = parse_options_header(content_type)
    boundary = options.get(b"boundary", b"")
    if not boundary:
        raise Refusal(400, "invalid_request", "content-type has no multipart boundary")
    found = _Fields()
    names = ("part_begin", "header_field", "header_value", "header_end", "part_data", "part_end", "end")
    callbacks = {f"on_{name}": getattr(found, f"on_{name}") for name in names}
    try:
        parser = MultipartParser(boundary, callbacks)  # type: ignore[arg-type]
        parser.write(content)
        parser.finalize()
    except FormParserError as error:
        raise Refusal(400, "invalid_request", f"the body is not valid multipart/form-data: {error}") from None
    if not found.is_complete:
        raise Refusal(400, "invalid_request", "the multipart body is incomplete")
    return found.found


def name_of(given: str) -> str:
    """The name of a file without folders and control characters.

    >>> name_of("../../etc/passwd"), name_of("C:\\\\notes.txt"), name_of("")
    ('passwd', 'notes.txt', 'unnamed')
    """
    last = re.split(r"[/\\]", given)[-1]
    return "".join(each for each in last if each.isprintable())[:_LONGEST].strip() or "unnamed"


def media_type_of(given: str, filename: str, data: bytes = b"") -> str:
    """The media type of a file: as it was declared, else by its name, else by how its data begins.

    >>> media_type_of("", "a.pdf"), media_type_of("text/csv; charset=utf-8", "a"), media_type_of("", "a", b"GIF89a")
    ('application/pdf', 'text/csv', 'image/gif')
    """
    declared = given.partition(";")[0].strip().lower()
    if _TYPE.fullmatch(declared) and declared != _UNKNOWN:
        return declared
    by_name = _TYPES.guess_type(filename)[0]
    if by_name is not None:
        return by_name
    for beginning, media_type in _BEGINNINGS.items():
        if data.startswith(beginning):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    try:
        return "text/plain" if data and "\0" not in data.decode("utf-8") else _UNKNOWN
    except UnicodeDecodeError:
        return _UNKNOWN
