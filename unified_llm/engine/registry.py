"""The lookup of adapters: by name, through entry points, loaded when first used.

Our own adapters are found the same way as foreign ones. Two packages that claim one name are an error, and a protocol
that is known but not installed names what to install.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..foundation.errors import UnknownProtocol
from ..foundation.lazy import load
from .adapter import Adapter, Surface
from .adapter_checks import check_adapter

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "adapter",
    "adapters",
    "dialect",
    "installed",
    "is_current",
    "likeliest",
    "loaded",
    "protocols",
    "provider_of",
    "register",
    "split",
    "surface",
]

GROUP = "unified_llm.adapters"
PROVIDERS = "unified_llm.providers"
_loaded: dict[str, Adapter] = {}
_surfaces: dict[str, Surface] = {}


def register(adapter: Adapter) -> None:
    """Make an adapter known without an entry point, e.g. in a test. `ValueError` for a name that another has taken.

    `DeclarationError`, which is a `ValueError`, names the field of a declaration that cannot work.

    >>> from unified_llm.engine.registry import adapter, register
    >>> register(adapter("openai-chat"))  # the very same again is none
    """
    check_adapter(adapter)
    if _loaded.setdefault(adapter.protocol, adapter) is not adapter:
        raise ValueError(f"the protocol {adapter.protocol!r} is registered already")
    _declare(adapter)


def adapter(name: str) -> Adapter:
    """The adapter of a protocol id; a `:dialect` behind it is ignored here.

    Raises `UnknownProtocol` when nothing provides it, and `ValueError` when two do or its declaration is wrong.
    """
    protocol = name.partition(":")[0] if ":" in name else name
    found = _loaded.get(protocol)
    if found is None:
        found = _loaded[protocol] = _load(protocol)
    return found


def likeliest(headers: Mapping[str, str]) -> Adapter:
    """The adapter whose client sent a request on a route that no protocol has: that of a header only it uses.

    Without such a header it is the first protocol that has none. `headers` are named in lower case.

    >>> likeliest({"anthropic-version": "2023-06-01"}).protocol
    'anthropic-messages'
    """
    every = [adapter(name) for name in protocols()]
    marked = [each for each in every if any(mark in headers for mark in each.marks)]
    return (marked or [each for each in every if not each.marks] or every)[0]


def loaded() -> tuple[str, ...]:
    """The protocols whose adapters were used or registered so far."""
    return tuple(_loaded)


def adapters() -> tuple[Adapter, ...]:
    """The adapters that were used or registered so far.

    >>> adapter("openai-chat") in adapters()
    True
    """
    return tuple(_loaded.values())


def protocols() -> list[str]:
    """Every protocol id there is, sorted; dialects (`openai-chat:groq`) are not counted.

    >>> "openai-chat" in protocols()
    True
    """
    return sorted({*_loaded, *_installed()[GROUP]})


def dialect(name: str) -> Mapping[str, Any]:
    """The dialect behind `protocol:dialect`; an empty one without a colon."""
    protocol, colon, wanted = name.partition(":")
    if not colon:
        return {}
    known = adapter(protocol).dialects
    if wanted not in known:
        meant = _near(wanted, known)
        hint = f"did you mean {meant}? Available" if meant else "available"
        there = ", ".join(sorted(known)) or "none"
        raise UnknownProtocol(f"unknown dialect {wanted!r} for {protocol}; {hint}: {there}")
    return known[wanted]


def split(name: str) -> tuple[Adapter, Mapping[str, Any]]:
    """The adapter and the dialect behind `protocol[:dialect]`."""
    if not isinstance(name, str):
        raise TypeError(f"a protocol is named by a string, protocol[:dialect], not by {type(name).__name__}")
    found = _loaded.get(name)
    if found is not None:
        return found, {}
    return adapter(name), (dialect(name) if ":" in name else {})


def surface(name: str) -> Surface:
    """What `split` gives, with the provider. It is kept by name, since every conversion needs two."""
    try:
        found = _surfaces.get(name)
    except TypeError:
        found = None
    if found is None or not is_current(found, name, found, name):
        known, own = split(name)
        found = _surfaces[name] = Surface(known, own, provider_of(name, own))
    return found


def is_current(here: Surface, its: str, there: Surface, theirs: str) -> bool:
    """Whether neither the adapters nor the dialects of two surfaces, by their names, were replaced since."""
    one, other = here.adapter, there.adapter
    if _loaded.get(one.protocol) is not one or _loaded.get(other.protocol) is not other:
        return False
    if here.dialect and one.dialects[its.partition(":")[2]] is not here.dialect:
        return False
    return not there.dialect or other.dialects[theirs.partition(":")[2]] is there.dialect


def provider_of(name: str, dialect: Mapping[str, Any]) -> str | None:
    """Whose documents `protocol[:dialect]` are: the dialect's, unless it declares that it stands for no provider."""
    if "provider" in dialect:
        found: str | None = dialect["provider"]
        return found
    return name.partition(":")[2] or None if ":" in name else None


def _near(name: str, known: Iterable[str]) -> str:
    """Which of the known names may be meant: those that hold it, else those that look like it."""
    from difflib import get_close_matches

    low, names = name.casefold().replace("_", "-"), sorted(known)
    return " or ".join([each for each in names if len(low) > 2 and low in each] or get_close_matches(low, names, 2))


def installed(group: str) -> Mapping[str, EntryPoint]:
    """The entry points of a group by name, as they were when first needed.

    Raises `ValueError` for a name that two packages claim.
    """
    return {name: _only(points) for name, points in _installed()[group].items()}


def _only(points: Sequence[EntryPoint]) -> EntryPoint:
    if len({point.value for point in points}) > 1:
        what = "provider" if points[0].group == PROVIDERS else "protocol"
        claims = ", ".join(sorted(point.value for point in points))
        raise ValueError(f"two packages claim the {what} {points[0].name!r}: {claims}")
    return points[0]


@lru_cache(1)  # to look through all installed packages takes longer than a conversion
def _installed() -> Mapping[str, Mapping[str, tuple[EntryPoint, ...]]]:
    from importlib.metadata import entry_points

    every = entry_points()
    found: dict[str, dict[str, tuple[EntryPoint, ...]]] = {GROUP: {}, PROVIDERS: {}}
    for group, its in found.items():
        for point in every.select(group=group):
            its[point.name] = (*its.get(point.name, ()), point)
    return found


def _load(protocol: str) -> Adapter:
    points = _installed()[GROUP].get(protocol, ())
    if not points:
        known = protocols()
        meant = _near(protocol, known)
        raise UnknownProtocol(
            f"unknown protocol {protocol!r}; {f'did you mean {meant}? Installed' if meant else 'installed'}: "
            f"{', '.join(known) or 'none'}. Adapters register in the entry-point group {GROUP!r}."
        )
    point = _only(points)
    try:
        load(point.module)
        found = point.load()
    except ModuleNotFoundError as error:
        raise UnknownProtocol(f"the adapter for {protocol!r} needs {error.name}, which is not installed") from error
    if not isinstance(found, Adapter) or found.protocol != protocol:
        raise ValueError(f"the entry point {protocol!r} ({point.value}) is not the adapter of that protocol")
    check_adapter(found)
    _declare(found)
    return found


def _declare(found: Adapter) -> None:
    """Hand on the documented defaults of a protocol that the packaged table does not have."""
    if found.defaults:
        from ..losses.defaults.tables import declare

        declare(found.protocol, found.defaults)
