"""Keyword arguments that several functions take, declared once: for type checkers, `help()` and `inspect.signature`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

if TYPE_CHECKING:
    from ..foundation.exchange import Exchange
    from ..foundation.secret import SecretLike
    from ..losses import Levels
    from ..models.names import ProtocolName
    from ..provenance.vault import Vault
    from .convert import Facing
    from .pipeline import Repair

__all__ = ["BytesKeywords", "ConvertKeywords", "StreamKeywords", "spelled_out", "texts_in"]

F = TypeVar("F", bound=Callable[..., Any])
# A field of a class, with the text under it. (An alias of a type may have one too.)
_FIELD = re.compile(r'^    (\w+): (?!TypeAlias\b)[^\n]+\n    """(.+?)"""$', re.MULTILINE | re.DOTALL)


class StreamKeywords(TypedDict, total=False):
    """What the functions that convert a stream take, as `convert` does."""

    model: str | None
    http: Mapping[str, Any] | None
    on_loss: Levels
    facing: Facing | None
    exchange: Exchange | None
    vault: Vault | None
    secret: SecretLike
    scope: str | None


class BytesKeywords(StreamKeywords, total=False):
    """What the functions that convert the bytes of a stream take."""

    array: bool | None


class _Ends(TypedDict):
    source: ProtocolName
    target: ProtocolName


class ConvertKeywords(_Ends, StreamKeywords, total=False):
    """What `convert` takes."""

    kind: str
    repair: Repair


class _Bare(str):
    """An annotation that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _Deferred(inspect.Signature):
    """The signature of a function with the keywords of `fields`, made when it is looked at: few programs do."""

    __slots__ = ("_made_of",)

    def __init__(
        self,
        function: Callable[..., Any],
        fields: Mapping[str, str],
        required: frozenset[str],
        defaults: Callable[..., Any] | None,
    ) -> None:
        self._made_of = (function, fields, required, defaults)

    def __getattr__(self, name: str) -> Any:
        if name not in ("_parameters", "_return_annotation"):
            raise AttributeError(name)
        function, fields, required, defaults = self._made_of
        usual = inspect.signature(defaults).parameters if defaults is not None else {}
        shown = _own(function)
        own = [each for each in shown.parameters.values() if each.kind is not each.VAR_KEYWORD]
        more = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if name in required else usual[name].default if name in usual else None,
                annotation=_Bare(kind),
            )
            for name, kind in fields.items()
        ]
        named = [each.replace(annotation=_bare(each.annotation)) for each in own]
        super().__init__([*named, *more], return_annotation=_bare(shown.return_annotation))
        return object.__getattribute__(self, name)

    def replace(self, **changes: Any) -> Any:
        """A plain signature with the changes, as that of a bound method is made of this one."""
        plain = inspect.Signature([*self.parameters.values()], return_annotation=self.return_annotation)
        return plain.replace(**changes)

    __replace__ = replace

    def __reduce__(self) -> Any:
        return self.replace().__reduce__()


def _own(function: Any) -> inspect.Signature:
    """The signature that a function is written with, whatever it shows."""
    written = FunctionType(function.__code__, {}, argdefs=function.__defaults__, closure=function.__closure__)
    written.__kwdefaults__, written.__annotations__ = function.__kwdefaults__, function.__annotations__
    return inspect.signature(written)


def _own_names(code: CodeType) -> frozenset[str]:
    """The names of a function's parameters, without the one for further keywords."""
    return frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def spelled_out(
    given: type, defaults: Callable[..., Any] | None = None, meanings: Callable[[], Mapping[str, str]] | None = None
) -> Callable[[F], F]:
    """Give a function with `**keywords: Unpack[given]` the signature and the documentation of the TypedDict's fields.

    Defaults other than None are those of the function `defaults`. `meanings` gives the text for each field; without
    it the documentation refers to `defaults`.

    >>> @spelled_out(StreamKeywords)
    ... def copied(events, **keywords): ...
    >>> list(inspect.signature(copied).parameters)
    ['events', 'model', 'http', 'on_loss', 'facing', 'exchange', 'vault', 'secret', 'scope']
    """
    required: frozenset[str] = getattr(given, "__required_keys__", frozenset())

    def decorate(function: F) -> F:
        own: Any = function
        names = _own_names(own.__code__)
        fields = {name: kind for name, kind in _fields(given).items() if name not in names}
        own.__signature__ = _Deferred(own, fields, required, defaults)
        if function.__doc__:
            said = meanings() if meanings is not None else {}
            lines = [f"    {name}: {said[name]}" for name in fields if name in said]
            if meanings is None and defaults is not None:
                lines = [f"    {', '.join(fields)}: as in `{defaults.__name__}`."]
            function.__doc__ = "\n".join((inspect.cleandoc(function.__doc__), "", "Args:", *lines))
        return function

    return decorate


def _bare(annotation: Any) -> Any:
    return _Bare(annotation) if isinstance(annotation, str) else annotation


def _fields(given: type) -> dict[str, str]:
    """Names and annotations, the request's fields first."""
    bases = [each for each in getattr(given, "__orig_bases__", ()) if hasattr(each, "__total__")]
    out: dict[str, str] = {}
    for each in bases:
        out.update(_fields(each))
    for name, kind in given.__annotations__.items():
        out.setdefault(name, getattr(kind, "__forward_arg__", str(kind)))
    return out


@cache
def texts_in(file: str) -> dict[str, str]:
    """The text under each declaration of a field in a source file; nothing where there is no source.

    It runs when the client is imported, so the source is searched and not parsed: a field is one line.
    """
    try:
        with open(file, encoding="utf-8") as opened:
            source = opened.read()
    except OSError:
        return {}
    return {name: text.strip() for name, text in _FIELD.findall(source)}
