"""Cached prompts: kept for the tenant, and put in front of the requests that name them (`state/file_references.py`).

No upstream gets a request for a cache of its own: that would belong to the gateway's credential, and so to every
tenant. The upstream gets the whole prompt with each request, and reads it from its own prompt cache where it has one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import datetime
from typing import Any

from ...engine.file_api import CacheApi
from ...engine.registry import adapter
from ...foundation.errors import APIError, InvalidBody
from ...foundation.json_codec import dump
from ...foundation.secret import Secret
from ..configuration.config import StateSettings
from ..responses.replies import Refusal, Whole, json_reply
from ..state.file_references import find_references, has_prompt
from ..state.files import CACHE, FileStore, StorageFull, StoredFile
from .files import Sent, listed, object_of, storage_full

__all__ = ["Caches"]

_SECONDS = re.compile(r"(\d{1,10}(?:\.\d{1,9})?)s")


class Caches:
    """The routes of cached prompts."""

    def __init__(self, files: FileStore, settings: StateSettings) -> None:
        self.files = files
        self.settings = settings

    async def reply(self, sent: Sent, secret: Secret) -> Whole:
        """The response of a route. Raises `Refusal` and `StoreUnavailable`."""
        api = adapter(sent.match.protocol).caches
        assert api is not None
        method = sent.match.route.method
        if sent.match.route.kind == "caches":
            if method == "POST":
                return json_reply(api.write((await self._created(sent, api, secret)).node))
            rows = await self.files.list(sent.tenant, CACHE)
            return json_reply(listed([each.node for each in rows], api, sent.query))
        name = sent.match.names["cache"]
        found = await self.files.get(sent.tenant, CACHE, name)
        if found is None or (method == "DELETE" and not await self.files.delete(sent.tenant, CACHE, name)):
            raise Refusal(404, "not_found", f"{api.name.format(name)} not found", code="cache_not_found")
        if method == "DELETE":
            return json_reply({})
        if method == "PATCH":
            lifetime = _lifetime(api, object_of(sent.content))
            if lifetime is None:
                reason = f"only the expiry can be changed: {' or '.join(_names(api, 'lifetime', 'expires'))}"
                raise Refusal(400, "invalid_request", reason)
            lifetime = min(lifetime, self.settings.files_keep)
            found = await self.files.change(found, expires=int((time.time() + lifetime) * 1e6))
        return json_reply(api.write(found.node))

    async def _created(self, sent: Sent, api: CacheApi, secret: Secret) -> StoredFile:
        body = object_of(sent.content)
        model, name = (_first_of(body, api.fields[field]) for field in ("model", "display_name"))
        if not isinstance(model, str) or not model:
            raise Refusal(400, "invalid_request", f"{api.fields['model'][0]} is required", code="missing_model")
        lifetime = _lifetime(api, body)
        surface = sent.match.protocol
        prompt: Any = {**api.absent, **{key: value for key, value in body.items() if key not in api.own}}
        content = dump(prompt)
        # With its files in it: they may be deleted before it is.
        references = await find_references(self.files, sent.tenant, (surface, "request", content), (), secret)
        async with references.loaded() if references is not None else nullcontext():
            try:
                if not has_prompt(surface, prompt, secret):
                    raise Refusal(400, "invalid_request", "the cached prompt is empty")
                if references is not None:
                    content = dump(references.put(prompt, surface, ()))
            except (APIError, InvalidBody) as error:
                status = getattr(error, "status", None) or 400
                raise Refusal(status, "not_found" if status == 404 else "invalid_request", str(error)) from None
            if len(content) > self.settings.max_file:
                reason = f"the cached prompt is larger than {self.settings.max_file} bytes"
                raise Refusal(413, "too_large", reason, code="cache_too_large")
            head = {"model": model, "surface": surface, "tokens": max(1, len(content) // 4)}
            if isinstance(name, str):
                head["display_name"] = name
            lifetime = api.lifetime if lifetime is None else lifetime
            try:
                return await self.files.create(sent.tenant, CACHE, head, data=content, lifetime=lifetime)
            except StorageFull as error:
                raise storage_full(error) from None


def _names(api: CacheApi, *fields: str) -> list[str]:
    return [api.fields[field][0] for field in fields]


def _first_of(body: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((body[name] for name in names if name in body), None)


def _lifetime(api: CacheApi, body: Mapping[str, Any]) -> float | None:
    """The seconds that a client requests for a cache; None where it has no value. Raises `Refusal` (400)."""
    given, until = _first_of(body, api.fields["lifetime"]), _first_of(body, api.fields["expires"])
    if given is not None:
        found = _SECONDS.fullmatch(given) if isinstance(given, str) else None
        if found is None or float(found[1]) <= 0:
            reason = f"{api.fields['lifetime'][0]} must be a duration such as '300s', got {str(given)[:40]!r}"
            raise Refusal(400, "invalid_request", reason)
        return float(found[1])
    if until is None:
        return None
    try:
        seconds = datetime.fromisoformat(str(until)).timestamp() - time.time()
    except (ValueError, OverflowError):  # no time, or one before all that this system has
        seconds = 0.0
    if seconds <= 0:
        reason = f"{api.fields['expires'][0]} must be a time in the future, got {str(until)[:40]!r}"
        raise Refusal(400, "invalid_request", reason)
    return seconds
