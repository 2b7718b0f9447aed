"""What data and adapters name as `module:name`; nothing is imported before it is needed.

So is what makes an upstream of an official SDK's client: the adapter package that supports it takes it apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self

from ...engine.registry import adapter, split
from ...foundation.lazy import load
from ...foundation.usage_errors import InvalidArgument
from ...models.endpoints import by_preference, provider

if TYPE_CHECKING:
    from .upstream import Upstream

__all__ = ["AUTO", "Copied", "from_sdk", "loaded"]

AUTO = "auto"
"""In the place of a protocol: whichever carries most of a request."""


def loaded(where: str) -> Any:
    """What `module:name` names, in a table of data or in an adapter's declaration.

    >>> loaded("json:loads")("[1]")
    [1]
    """
    module, _, name = where.partition(":")
    return getattr(load(module), name)


def from_sdk(*clients: Any, protocol: str | None = None, **changes: Any) -> Upstream:
    """See `Upstream.from_sdk`."""
    if not clients:
        raise InvalidArgument("from_sdk() requires a client of an official SDK")
    auto, protocol = protocol == AUTO, None if protocol == AUTO else protocol
    if len(clients) == 1 and hasattr(type(clients[0]), "as_upstream"):  # what answers by itself, and no SDK is for
        return clients[0].as_upstream().with_(**changes, **({"protocol": protocol} if protocol else {}))  # type: ignore[no-any-return]
    for spoken in (split(protocol)[0],) if protocol else map(adapter, by_preference()):
        for root, where in spoken.clients.items():
            if all(_is_of(client, root) for client in clients):
                made: Upstream = loaded(where)(*clients, protocol=protocol)
                if auto and made.provider is not None:
                    made = made.with_(others=tuple(_through(clients, where, made)))
                return made.with_(**changes) if changes else made
    told = f" for {protocol}" if protocol else ""
    kind = type(clients[0])
    raise InvalidArgument(
        f"{kind.__module__}.{kind.__qualname__} is not a client that an adapter{told} supports; pass a provider, "
        "'provider/model', the URL of a server, an Upstream or the client of an official SDK"
    )


def _through(clients: tuple[Any, ...], where: str, made: Upstream) -> Iterator[Upstream]:
    """The same clients in the other protocols that their SDK uses and their provider has."""
    for name in provider(str(made.provider)).protocols:
        if name != made.protocol.partition(":")[0] and where in adapter(name).clients.values():
            yield loaded(where)(*clients, protocol=name)


def _is_of(client: Any, root: str) -> bool:
    return any(f"{kind.__module__}.".startswith(f"{root}.") for kind in type(client).__mro__)


class Copied:
    """A frozen value: its copies are itself, with its login and its connections.

    In another process there is neither. Pickling raises `TypeError` for a login (which refuses by itself) and for an
    HTTP client, that of an upstream in this process above all.
    """

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        found = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        if found["http_client"] is not None or found["async_http_client"] is not None:
            name = getattr(self, "name", "")
            raise TypeError(f"{name}: an HTTP client cannot be pickled; create the Upstream in the other process")
        return _made, (type(self), found)


def _made(kind: type, found: dict[str, Any]) -> Any:
    return kind(**found)
