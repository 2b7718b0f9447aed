"""The file and cache routes of a protocol, declared: how clients upload, name and list what a provider keeps for them.

An adapter declares `files` and `caches` beside the routes of these kinds: `files` (create and list), `file` (get and
delete), `file_content`, `uploads`, `upload_parts`, `upload_complete`, `upload_cancel`, `resumable_upload`,
`caches` (create and list), `cache` (get, change and delete). The gateway stores the data itself and serves these
routes over every upstream.

A canonical file is a dict: `id` (without the spelling of a protocol), `filename`, `media_type`, `size` and `expected`
(bytes), `purpose`, `sha256`, `created_at`, `updated_at` and `expires_at` (Unix seconds), `status` ("uploading",
"ready", "cancelled"). A canonical cache has `id`, `model`, `display_name`, `tokens` and the same times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from .adapter import Paging

__all__ = ["CACHE_KINDS", "KINDS", "CacheApi", "FileApi", "ResumableApi", "UploadApi"]

CACHE_KINDS = frozenset(("caches", "cache"))
KINDS = CACHE_KINDS | frozenset(
    "files file file_content uploads upload_parts upload_complete upload_cancel resumable_upload".split()
)
"""The kinds of these routes: none of them is a document that is converted."""

Node = dict[str, Any]
Resource = Callable[[Node], Node]
Page = Callable[[list[Node], str | None], Node]


class UploadApi(NamedTuple):
    """Uploads in parts: created with JSON, filled with multipart requests, then completed with the list of parts.

    `fields` gives the JSON field for each of `filename`, `media_type`, `size`, `purpose`, `lifetime` (a path with
    dots), `parts` and `md5`; `part` is the multipart field with the data. `name` and `part_name` are the spellings of
    ids, `{}` standing for the id.
    """

    name: str
    part_name: str
    part: str
    fields: Mapping[str, str]
    write: Resource
    write_part: Resource
    lifetime: float = 3_600.0


class ResumableApi(NamedTuple):
    """Uploads that can be resumed: the first request gives a URL, and each further one to it has the offset of its
    data.

    All of it is in headers, which begin with `prefix`: `protocol`, `command`, `offset`, `status`, `url`,
    `size-received`, `file-name`, `header-content-length`, `header-content-type`. `query` is the parameter of the URL
    with the secret of the upload. `envelope` is the key of the metadata in the JSON of the first request and in the
    last response; `fields` gives the names of `id`, `filename`, `media_type` and `size` in it, each spelling.
    """

    prefix: str
    query: str
    envelope: str
    fields: Mapping[str, tuple[str, ...]]


class FileApi(NamedTuple):
    """The files of a protocol.

    `name` is how an id is spelled, `{}` standing for it; `pattern` matches every spelling that clients use, with the
    id as its group. `marks` are the keys with which requests name files. `form` gives the multipart fields of
    `content`, `purpose` and `lifetime` (seconds). `filters` gives the query parameters of a list that select by a
    canonical field; `unsupported` are parameters that are refused. `order` is the one for the order, where it has one.
    `size` is the length of a page without one.
    """

    name: str
    pattern: str
    marks: tuple[str, ...]
    write: Resource
    write_list: Page
    write_deleted: Resource
    paging: Paging
    size: int
    form: Mapping[str, str] = MappingProxyType({})
    filters: Mapping[str, str] = MappingProxyType({})
    unsupported: tuple[str, ...] = ()
    order: str = ""
    uploads: UploadApi | None = None
    resumable: ResumableApi | None = None


class CacheApi(NamedTuple):
    """Cached prompts of a protocol: requests without an answer, kept under a name and put in front of later ones.

    `name`, `pattern`, `marks`, `write`, `write_list`, `paging` and `size` are as in `FileApi`. `own` are the fields of
    the resource that are not part of a request, each spelling; `fields` gives those of `lifetime` (a duration such as
    "300s"), `expires` (a time), `display_name` and `model`, each spelling. `settings` gives the fields of canonical
    settings, which a cache has in the place of the request, `absent` what a request must have and a cache need not.
    `lifetime` is the default in seconds.
    """

    name: str
    pattern: str
    marks: tuple[str, ...]
    fields: Mapping[str, tuple[str, ...]]
    own: frozenset[str]
    write: Resource
    write_list: Page
    paging: Paging
    size: int
    settings: Mapping[str, str]
    absent: Mapping[str, Any] = MappingProxyType({})
    lifetime: float = 3_600.0
