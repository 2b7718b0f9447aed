"""Files that requests name: fetched for the tenant, and put into the request in the place of their names.

An upstream never gets an id of ours, and no id of its own from a client either: what it keeps belongs to the gateway's
credential, and so to every tenant. A name that is not a file of the tenant is an error.

The data is in memory for as long as the request is converted and waits for its upstream, and no longer: a small request
may name large files. What all requests hold at the same time is bounded (`files.FileBudget`).
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from typing import Any, NamedTuple

from ...client.state.response_memory import Turn
from ...client.state.store import takes
from ...client.upstreams.upstream import Upstream
from ...engine.pairs.reading import Reader
from ...engine.registry import adapter, protocols, provider_of, split
from ...foundation.errors import CapabilityRefused, InvalidBody, InvalidRequestError, NotFoundError
from ...foundation.json_codec import copied, dump, escapes_ascii, parse
from ...foundation.secret import Secret
from ...losses import Loss, Losses
from ...passes.convert import write
from ..responses.replies import Refusal
from .files import CACHE, FILE, FileStore, StoredFile

__all__ = ["References", "cache_id", "file_id", "find_references", "has_prompt", "has_references"]

Node = dict[str, Any]

_MEDIA = {
    "input_image": "image_url",
    "computer_screenshot": "image_url",
    "input_video": "video_url",
    "input_file": "file_data",
    "input_audio": "data",
}
"""Canonical part -> the field for its data."""
_CACHED = ("instructions", "tools", "tool_choice")  # what a cached prompt has beside its input
_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav"}
_TEXTS = ("text/", "application/json", "application/xml", "application/yaml", "application/x-yaml")
_MOST = 500  # different files of one request and its history


@lru_cache(64)
def _marks(surface: str) -> tuple[bytes, ...]:
    """The keys, as JSON has them, with which requests of a protocol name files and cached prompts.

    They are those of its own APIs, and of the APIs whose keys it writes for a file or a prompt.
    """
    apis = [api for name in protocols() for api in (adapter(name).files, adapter(name).caches) if api is not None]
    marks = {id(api): [f'"{key}"'.encode() for key in api.marks] for api in apis}
    known = adapter(surface.partition(":")[0])
    written = b""
    for part in [{"type": each, name: "x"} for each in _MEDIA for name in ("file_id", "file_uri")]:
        node = {"input": [{"type": "message", "role": "user", "content": [part]}], "cached_content": "x", "model": "m"}
        with suppress(CapabilityRefused, InvalidBody):
            written += dump(write(node, surface, "request").value)
    own = [each for each in apis if each in (known.files, known.caches)]
    found = [each for each in apis if each in own or any(mark in written for mark in marks[id(each)])]
    return tuple(dict.fromkeys(mark for each in found or apis for mark in marks[id(each)]))


@lru_cache(1)
def _patterns() -> tuple[re.Pattern[str], ...]:
    """How the installed protocols name files."""
    return tuple(re.compile(api.pattern) for name in protocols() if (api := adapter(name).files) is not None)


def file_id(name: str) -> str:
    """The id of a file in any protocol's spelling of it."""
    return _file_id(name) or name


def _file_id(name: str) -> str | None:
    for pattern in _patterns():
        if (found := pattern.fullmatch(name)) is not None:
            return found[1]
    return None


def cache_id(name: str) -> str:
    """The id of a cached prompt in any protocol's spelling of it."""
    for each in protocols():
        api = adapter(each).caches
        if api is not None and (found := re.fullmatch(api.pattern, name)) is not None:
            return str(found[1])
    return name


def has_prompt(surface: str, body: Any, secret: Secret) -> bool:
    """Whether a request has a prompt. Raises `InvalidBody`."""
    node = _read(surface, "request", body, secret)
    return any(node.get(key) for key in ("input", *_CACHED))


def has_references(surface: str, content: bytes) -> bool:
    """Whether a request may name files or a cached prompt: a look at its bytes.

    >>> has_references("openai-chat", b'{"file": {"file_id": "file-1"}}'), has_references("openai-chat", b'{"a": "b"}')
    (True, False)
    """
    return any(mark in content for mark in _marks(surface)) or escapes_ascii(content)


class _Named(NamedTuple):
    """A part of a canonical request that names a file, where it is, and the name."""

    part: Node
    path: str
    name: str


def _named(node: Any, path: str = "") -> Iterator[_Named]:
    """The parts that name files, from the canonical input down."""
    if type(node) is list:
        for place, each in enumerate(node):
            yield from _named(each, f"{path}/{place}")
    elif type(node) is dict:
        name = node.get("file_id")
        if type(name) is not str:
            name = node.get("file_uri")
            # A URI that does not name an uploaded file is one in a bucket, or on the web.
            name = name if type(name) is str and _file_id(name) is not None else None
        kind = node.get("type")
        if name and type(kind) is str and kind in _MEDIA:
            yield _Named(node, path, name)
        for key, each in node.items():
            if key != "extra" and type(each) in (list, dict):
                yield from _named(each, f"{path}/{key}")


def _read(surface: str, kind: str, content: Any, secret: Secret) -> Node:
    known, dialect = split(surface)
    provider = provider_of(surface, dialect)
    reader = Reader(known, dialect=dialect, facing="client", provider=provider, opens=True, secret=secret)
    node: Node = reader.root(known.kinds[kind].read, content)
    return node


class References:
    """The files that one request, with its history, names; `own` are the ids in the request itself."""

    def __init__(self, files: FileStore, kind: str, secret: Secret) -> None:
        self._files = files
        self.kind = kind
        self.secret = secret
        self.own: tuple[str, ...] = ()
        self.losses: Losses = Losses()
        self._cache: tuple[StoredFile, str] | None = None
        self._found: dict[str, StoredFile] = {}
        self._size = 0
        self._is_whole, self._is_loaded = True, False
        self._cached: Node | None = None
        self._data: dict[str, str] = {}

    async def find(self, tenant: str, names: Sequence[str]) -> None:
        """Look for the files. Raises `Refusal` (413) where they are too many, or too large together."""
        counted = Counter(file_id(each) for each in names)
        if len(counted) > _MOST:
            reason = f"a request and its history name {len(counted)} different files; at most {_MOST} are allowed"
            raise Refusal(413, "too_large", reason, code="too_many_files")
        size, most = 0, self._files.settings.max_file
        for id, count in counted.items():
            found = await self._files.get(tenant, FILE, id)
            if found is None or found.status != "ready":
                self._is_whole = False
                break  # it is reported where its data would be put, and no file is needed
            size += found.received * count
            if size > most:
                reason = f"the files of this request have more than {most} bytes together"
                raise Refusal(413, "too_large", reason, code="files_too_large")
            self._found[id] = found
        self._size += size

    @asynccontextmanager
    async def loaded(self) -> AsyncIterator[None]:
        """With the data of the files and of the cached prompt in memory, for `put`.

        Raises `Refusal` (429) where other requests hold too much, and `StoreUnavailable`.
        """
        size = self._size if self._is_whole else 0
        self._files.budget.take(size)
        try:
            if self._is_whole:
                await self._load()
            self._is_loaded = True
            yield
        finally:
            self._is_loaded, self._data, self._cached = False, {}, None
            self._files.budget.give(size)

    async def _load(self) -> None:
        for id, file in list(self._found.items()):
            data = await self._files.content(file)
            if len(data) == file.received:
                self._data[id] = base64.b64encode(data).decode()
            else:
                del self._found[id]  # it was deleted in the meantime
        if self._cache is not None:
            file, surface = self._cache
            self._cached = _read(surface, "request", parse(await self._files.content(file)), self.secret)

    async def find_cache(self, tenant: str, surface: str, name: str, model: Any) -> None:
        """Look for a cached prompt. Raises `Refusal` (400 for another model, 404)."""
        found = await self._files.get(tenant, CACHE, cache_id(name))
        if found is None:
            raise Refusal(404, "not_found", f"cached content {name!r} not found", code="cache_not_found")
        if isinstance(model, str) and _plain(model) != _plain(found.head["model"]):
            reason = f"the cached content is for model {found.head['model']!r}, the request for {model!r}"
            raise Refusal(400, "invalid_request", reason, code="cache_model")
        self._cache = found, found.head["surface"]
        self._size += found.received
        path, reason = f"/{_field(surface, 'cached_content')}", "sent as a part of the request"
        self.losses = Losses([Loss(path, "cache.key", "emulated", reason)])

    def _joined(self, node: Node, surface: str) -> None:
        """Put the cached prompt in front of a request."""
        assert self._cached is not None
        twice = [key for key in _CACHED if node.get(key) and node[key] != "auto"]
        if twice:
            names = ", ".join(_field(surface, key) for key in twice)
            reason = f"{names}: set in the cached content, leave it out of requests that use it"
            raise InvalidRequestError(reason, error={"type": "invalid_request"}, status=400)
        del node["cached_content"]
        cached = copied(self._cached)
        for key in _CACHED:
            if cached.get(key):
                node[key] = cached[key]
        for name, own in (cached.get("extra") or {}).items():  # how it was spelled, and what no other API has
            there = node.setdefault("extra", {}).setdefault(name, {})
            for key in ("form", "rest"):
                if own.get(key):
                    there[key] = {**own[key], **there.get(key, {})}
        before, after = _items(cached), _items(node)
        shift = max((each.get("turn", -1) for each in before), default=-1) + 1
        for each in after:
            if "turn" in each:
                each["turn"] += shift
        node["input"] = [*before, *after]

    def put(self, body: Any, surface: str, asked: Sequence[Upstream]) -> Any:
        """The body with its files in it, while they are `loaded`.

        Raises `NotFoundError`, and `InvalidRequestError` for what a protocol cannot hold.
        """
        assert self._is_loaded
        node = _read(surface, self.kind, body, self.secret)
        if self._cached is not None and node.get("cached_content"):
            self._joined(node, surface)
        elif not list(_named(node.get("input"))):
            return body
        named = list(_named(node.get("input"), "/input"))
        files = [self._file(each.name) for each in named]
        before = [dict(each.part) for each in named]
        # Between two protocols data is converted to what the target takes; the same protocol gets it as it is here.
        own = any(each.protocol.partition(":")[0] == surface.partition(":")[0] for each in asked[:1])
        texts = [own and found.head["media_type"].startswith(_TEXTS) for found, _ in files]
        for as_text in (True, False):
            for each, was, (found, data), is_text in zip(named, before, files, texts):
                each.part.clear()
                each.part.update(_inlined(was, found, data, as_text=as_text and is_text))
            done = write(node, surface, self.kind, facing="client", secret=self.secret)
            bad = [_is_hurt(each.path, done.losses) for each in named]
            if not any(bad):
                break
            texts = [is_text and not is_bad for is_text, is_bad in zip(texts, bad)]
        else:
            each, (found, _) = next(pair for pair, is_bad in zip(zip(named, files), bad) if is_bad)
            reason = f"file {each.name!r} of type {found.head['media_type']} cannot be used in this place"
            raise InvalidRequestError(reason, error={"type": "invalid_request"}, status=400)
        return done.value

    def _file(self, name: str) -> tuple[StoredFile, str]:
        id = file_id(name)
        found = self._found.get(id)
        if found is None:
            raise NotFoundError(
                f"file {name!r} not found", error={"type": "not_found", "code": "file_not_found"}, status=404
            )
        return found, self._data.get(id, "")  # without data only where another file is unknown


def _field(surface: str, name: str) -> str:
    """The field of a protocol's requests for a canonical setting."""
    known = split(surface)[0]
    if known.caches is not None:
        return known.caches.marks[0] if name == "cached_content" else known.caches.settings.get(name, name)
    return takes(known, name) or name


def _items(node: Node) -> list[Node]:
    given = node.get("input")
    return given if type(given) is list else [{"type": "message", "role": "user", "content": given}] if given else []


def _plain(model: str) -> str:
    """The name of a model without the path of a resource."""
    return re.sub(r"^(?:.*/)?models/", "", model)


def _is_hurt(path: str, losses: Losses) -> bool:
    """Whether the data of a part was lost; its name, which no client has set, may be."""
    data = {f"{path}/{key}" for key in (*_MEDIA.values(), "text")}
    return any(each.fate == "lost" and (each.path in data or f"{path}/".startswith(f"{each.path}/")) for each in losses)


def _inlined(part: Node, file: StoredFile, data: str, *, as_text: bool) -> Node:
    """A part with the data of a file in the place of its name."""
    new = {key: value for key, value in part.items() if key not in ("file_id", "file_uri", "media_type")}
    media_type = part.get("media_type") or file.head["media_type"]
    family, _, subtype = media_type.partition("/")
    if part["type"] == "input_file":
        if family == "image":
            new["type"] = "input_image"
        elif file.head.get("filename"):
            new.setdefault("filename", file.head["filename"])
    key = _MEDIA[new["type"]]
    if as_text and key == "file_data":
        return {**new, "text": base64.b64decode(data).decode("utf-8", "replace"), "media_type": "text/plain"}
    if key == "data":
        return {**new, "data": data, "format": _FORMATS.get(subtype, subtype)}
    return {**new, key: f"data:{media_type};base64,{data}"}


async def find_references(
    files: FileStore,
    tenant: str,
    request: tuple[str, str, bytes],
    turns: Sequence[Turn],
    secret: Secret,
    model: Any = None,
) -> References | None:
    """What a request (surface, kind, body) and its history name; None where that is nothing.

    Raises `Refusal` (404 for a cached prompt, 413) and `StoreUnavailable`.
    """
    surface, kind, content = request
    documents = [(turn.surface, "request", turn.asked) for turn in turns if has_references(turn.surface, turn.asked)]
    own, cache = _names(surface, kind, content, secret) if has_references(surface, content) else ([], None)
    names = [*own, *(name for each in documents for name in _names(*each, secret)[0])]
    if not names and cache is None:
        return None
    found = References(files, kind, secret)
    if cache is not None:
        await found.find_cache(tenant, surface, cache, model)
    found.own = tuple(dict.fromkeys(map(file_id, own)))
    await found.find(tenant, names)
    return found


def _names(surface: str, kind: str, content: bytes, secret: Secret) -> tuple[list[str], str | None]:
    """The files, and the cached prompt, that a request names."""
    try:
        node = _read(surface, kind, parse(content), secret)
    except InvalidBody:
        return [], None  # raised where it is converted
    cache = node.get("cached_content")
    return [each.name for each in _named(node.get("input"))], cache if type(cache) is str and cache else None
