"""The upstreams that a transport was given, with the credentials that are for each of them."""

from __future__ import annotations

from typing import Any

from ...foundation.usage_errors import InvalidArgument
from ..upstreams.logins import credited
from ..upstreams.upstream import Upstream
from ..upstreams.upstream import upstream as choose

__all__ = ["Given"]


class Given:
    """Upstreams in the order in which they are tried: names, URLs, SDK clients, `Upstream`s, or None for any.

    `options` are those of `Upstream.of`, of which `api_key`, `headers`, `query` and `auth` are for the origin of the
    first. Raises what `Upstream.of` raises, at once for what needs no model.
    """

    def __init__(self, upstreams: Any, options: dict[str, Any]) -> None:
        given = list(upstreams) if isinstance(upstreams, (list, tuple)) else [upstreams]
        key, headers, query = (options.pop(name, None) for name in ("api_key", "headers", "query"))
        self._credentials = (key, headers or {}, query or {})
        self._auth = options.pop("auth", None)
        self._options = options
        # What needs no model is looked up once, and a wrong name fails at once.
        self._refs: list[Any] = []
        for each in given:
            self._refs.append(each if _open(each) else self._entitled(choose(each, **options), each, len(self._refs)))
        self._chosen: dict[tuple[int, str | None], Upstream] = {}

    @property
    def is_fixed(self) -> bool:
        """Whether none of the providers depends on the model that a request names."""
        return None not in self._refs

    def of(self, model: str | None) -> list[Upstream]:
        """The upstreams for a model. Raises `InvalidArgument` where the model would have to name a provider."""
        return [self._upstream(place, ref, model) for place, ref in enumerate(self._refs)]

    def _entitled(self, made: Upstream, ref: Any, place: int, model: str | None = None) -> Upstream:
        """An upstream with the credentials that are for it: those of the first one's origin (`Core._entitled`)."""
        key, headers, query = self._credentials
        entitled = place == 0 or made.origin == self._upstream(0, self._refs[0], model).origin
        if not isinstance(ref, (str, Upstream)) and ref is not None:
            key = None  # an SDK's client logs in by itself
        if self._auth is not None and entitled:
            made = made.with_(auth=self._auth)
        made = credited(made, entitled, key, {}, query)
        if entitled and headers:
            made = made.with_(headers={**made.headers, **headers})
        return made

    def _upstream(self, place: int, ref: Any, model: str | None) -> Upstream:
        if isinstance(ref, Upstream):
            return ref
        found = self._chosen.get((place, model))
        if found is None:
            if ref is None and (not model or "/" not in model or "://" in model):
                hint = f"use 'provider/{model}' or http_client('provider/model')"
                raise InvalidArgument(f"model {model!r} has no provider prefix; {hint}")
            name = model if ref is None else f"{ref}/{model}" if model else ref
            found = self._entitled(choose(name, **self._options), name, place, model)
            if len(self._chosen) < 1_000:
                self._chosen[place, model] = found
        return found


def _open(ref: Any) -> bool:
    """Whether a reference waits for the model a request names."""
    return ref is None or (isinstance(ref, str) and "/" not in ref)
