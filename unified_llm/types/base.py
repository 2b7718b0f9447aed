"""What every canonical class shares: open, strict, and true to what was there.

Law: `dump(validate(d)) == d`. Absent keys stay absent, nulls stay null, unknown keys stay where they were, no value is
coerced. Every field names the capability that is lost with it (`cap`), every class the one lost with the whole node.
Classes register themselves by kind and `type`, so the Unknown* fallbacks can refuse every known type.

Only a caller's own code calls a constructor: documents are validated past it, nested nodes too. So the constructor
alone refuses keywords that are no fields, and a wire document keeps every key it has.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, PrivateAttr
from pydantic.fields import FieldInfo

from ..foundation.capabilities import CAPABILITIES
from ..foundation.errors import InvalidBody
from ..foundation.json_paths import pointer
from .descriptions import describe
from .descriptions.signatures import Described, signature_of

__all__ = [
    "FREE",
    "KNOWN",
    "NATIVE_TYPE",
    "Cache",
    "Capability",
    "Kind",
    "Model",
    "Narrowing",
    "Node",
    "Opaque",
    "Origin",
    "Unknown",
    "Values",
    "cap",
    "narrows",
]

NATIVE_TYPE: Final = "unified_llm:native"
"""The `type` of a node that stands for a wire node whose own type name means something else in the canonical model."""

KNOWN: Final[dict[str, dict[str, "type[Model]"]]] = {}
"""kind ("item", "part", "annotation", "tool", "tool_choice", "event") -> type -> class."""


@dataclass(frozen=True, slots=True)
class Capability:
    """Field metadata: the capability that is lost with the field."""

    name: str


@dataclass(frozen=True, slots=True)
class Kind:
    """Metadata of a union alias: the kind of node it holds."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)  # values of JSON have no hash, and metadata needs one
class Narrowing:
    """Metadata of a tool's field: whether it narrows what the tool may do, reach or call (`restrictions.py`).

    `unless` lists values that restrict nothing. `at` names the keys that narrow, where the field is an untyped object.
    """

    narrows: bool
    unless: tuple[Any, ...] = ()
    at: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Values:
    """Metadata of a field: the values that a caller may choose. A wire document may have others."""

    allowed: tuple[str, ...]


FREE: Final = Narrowing(False)
"""The field of a tool restricts nothing: without it the tool may do no more than with it."""


def narrows(*unless: Any, at: tuple[str, ...] = ()) -> Narrowing:
    """Annotate a field that restricts its tool, unless it has one of these values: a target that cannot express it is
    not given the tool."""
    return Narrowing(True, unless, at)


def cap(name: str) -> Capability:
    """Annotate a field with its capability; a name outside the closed list is a mistake and raises at once."""
    if name not in CAPABILITIES:
        raise ValueError(f"{name!r} is not in unified_llm.foundation.capabilities.CAPABILITIES")
    return Capability(name)


_SIGNATURE = Described(lambda cls: signature_of(cls.__pydantic_fields__, cls.__annotations__, Kind))


class Model(BaseModel):
    """Base of every canonical class. Build it with keywords or validate JSON; `dump()` gives the JSON back."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="allow",
        strict=True,
        defer_build=True,
        protected_namespaces=(),
        ser_json_inf_nan="constants",
        hide_input_in_errors=True,
        use_attribute_docstrings=False,
    )

    node_kind: ClassVar[str] = "struct"
    node_name: ClassVar[str] = ""
    node_capability: ClassVar[str] = "native.field"

    if not TYPE_CHECKING:  # for checkers the fields themselves are the signature
        __signature__ = _SIGNATURE

        @classmethod
        def __pydantic_on_complete__(cls) -> None:
            cls.__signature__ = _SIGNATURE  # pydantic's own has unknown keywords and the metadata of each field

    def __init__(self, /, **data: Any) -> None:
        """Build the node from its fields.

        Raises `InvalidBody` for an unknown keyword, or a value that is not one of the field's, and pydantic's
        `ValidationError` for a value of another type. What only one protocol has goes into `extra`.

        >>> from unified_llm.types import Message
        >>> try:
        ...     Message(role="user", contents="Hi")
        ... except InvalidBody as error:
        ...     print(str(error).partition("?")[0])
        /contents: Message has no field 'contents'; did you mean 'content'
        """
        data = self._checked(data)
        # A node built by hand must print its type like one that was read: defaults are left out of a dump.
        if "type" not in data:
            field = type(self).__pydantic_fields__.get("type")
            if field is not None and not field.is_required() and field.default is not None:
                data["type"] = field.default
        self.__pydantic_validator__.validate_python(data, self_instance=self)

    # The validator need not call __init__ for nested nodes: those come with their type. BaseModel marks its own so.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        """The keywords of a constructor by their keys in JSON."""
        keys, values = _keywords(cls)
        for name in data:
            if name not in keys:
                raise InvalidBody(pointer((name,)), f"{cls.__name__} has no field {name!r}; {_hint(name, keys)}")
        for name in values.keys() & data.keys():
            value, allowed = data[name], values[name]
            if type(value) is str and value not in allowed:
                raise InvalidBody(pointer((name,)), f"{value!r} is not a value of {name}; {_hint(value, allowed)}")
        return {keys[name]: value for name, value in data.items()}

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if cls.node_capability not in CAPABILITIES:
            raise ValueError(f"{cls.__name__}: {cls.node_capability!r} is not a capability")
        for key, info in cls.__pydantic_fields__.items():
            info.description = describe(cls.__mro__, info.alias or key)
        for name in types_of(cls):
            KNOWN.setdefault(cls.node_kind, {}).setdefault(name, cls)

    @classmethod
    def model_rebuild(
        cls, *, raise_errors: bool = True, _parent_namespace_depth: int = 2, **options: Any
    ) -> bool | None:
        """Build the validator, which pydantic does on first use.

        It would look for the names in annotations in the frame that uses the class first: a `Tool` or a `Message` there
        would be taken for ours. That frame has its turn only if a name is nowhere else, for a subclass.
        """
        found = super().model_rebuild(raise_errors=False, **{"_types_namespace": {}, **options})
        if found is not False:
            return found
        return super().model_rebuild(
            raise_errors=raise_errors, _parent_namespace_depth=_parent_namespace_depth + 1, **options
        )

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        given = self.__pydantic_fields_set__
        for name, value in super().__repr_args__():
            if name not in type(self).__pydantic_fields__ or name in given:
                yield name, value

    def dump(self) -> dict[str, Any]:
        """The JSON form: exactly the keys that were given, and `type`.

        >>> from unified_llm.types import FunctionCall
        >>> FunctionCall(call_id="c1", name="now", arguments="{}").dump()
        {'type': 'function_call', 'call_id': 'c1', 'name': 'now', 'arguments': '{}'}
        """
        return _dump(self)


def types_of(cls: type[Model]) -> tuple[str, ...]:
    """The `type` literals of a class, none for untyped and open ones."""
    field = cls.__pydantic_fields__.get("type")
    if field is None or cls.node_kind == "struct":
        return ()
    return tuple(value for value in get_args(field.annotation) if isinstance(value, str))


@cache
def _keywords(cls: type[Model]) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """The names of a class's fields with their keys in JSON, its own before those of its bases; and listed values."""
    keys: dict[str, str] = {}
    values: dict[str, tuple[str, ...]] = {}
    own = cls.__annotations__
    for name, info in sorted(cls.__pydantic_fields__.items(), key=lambda field: field[0] not in own):
        key = info.alias or name
        keys[name] = keys[key] = key
        for mark in info.metadata:
            if isinstance(mark, Values):
                values[key] = mark.allowed
    return keys, values


def _hint(given: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    names = list(known)
    near = get_close_matches(given, names, 1)
    return f"{f'did you mean {near[0]!r}? I' if near else 'i'}t is one of: {', '.join(names)}"


_DUMPERS: dict[type[Model], tuple[tuple[str, str], ...]] = {}


def _dump(node: Model) -> dict[str, Any]:
    cls = type(node)
    fields = _DUMPERS.get(cls)
    if fields is None:
        names = sorted(cls.__pydantic_fields__, key="type".__ne__)
        fields = _DUMPERS[cls] = tuple((name, cls.__pydantic_fields__[name].alias or name) for name in names)
    given = node.__pydantic_fields_set__
    values = node.__dict__
    out = {key: _json(values[name]) for name, key in fields if name in given}
    for key, value in (node.__pydantic_extra__ or {}).items():
        out[key] = _json(value)
    return out


def _json(value: Any) -> Any:
    kind = type(value)
    if kind is str or value is None or kind is int or kind is bool or kind is float:
        return value
    if isinstance(value, Model):
        return _dump(value)
    if kind is list:
        return [_json(each) for each in value]
    if kind is dict:
        return {key: _json(each) for key, each in value.items()}
    return value


class Origin(Model):
    """Where opaque data was created: protocol, provider, a credential or deployment label, model."""

    node_name: ClassVar[str] = "opaque.origin"
    node_capability: ClassVar[str] = "reasoning.signature"

    protocol: Annotated[str | None, cap("reasoning.signature")] = None
    provider: Annotated[str | None, cap("reasoning.signature")] = None
    scope: Annotated[str | None, cap("reasoning.signature")] = None
    model: Annotated[str | None, cap("reasoning.signature")] = None


class Opaque(Model):
    """Opaque data: only the provider that created it can read it.

    `kind` is signature, encrypted_content, redacted, thought_signature, fingerprint, ...; `data` is kept byte for byte,
    `carried_on` names the wire node that held it, if that is not the wire node of this one.
    """

    node_name: ClassVar[str] = "opaque"
    node_capability: ClassVar[str] = "reasoning.signature"

    kind: Annotated[str, cap("reasoning.signature")]
    data: Annotated[Any, cap("reasoning.signature")]
    origin: Annotated[Origin | None, cap("reasoning.signature")] = None
    carried_on: Annotated[Any, cap("reasoning.signature")] = None


class Cache(Model):
    """A cache breakpoint: the prompt up to and with this node may be cached.

    https://platform.openai.com/docs/guides/prompt-caching https://docs.claude.com/en/docs/build-with-claude/prompt-caching
    """

    node_name: ClassVar[str] = "cache"
    node_capability: ClassVar[str] = "cache.breakpoint"

    mode: Annotated[str | None, cap("cache.breakpoint")] = None
    ttl: Annotated[str | None, cap("cache.breakpoint")] = None


class Node(Model):
    """Base of the classes that can hold fields of one protocol only: `extra[protocol] = {rest, form, turn, frame}`."""

    extra: Annotated[dict[str, dict[str, Any]] | None, cap("native.field")] = None


class Unknown(Node):
    """A node of an unknown type, or an ill-typed one of a known type (then `problems` has the reasons)."""

    if TYPE_CHECKING:
        # Any string; for checkers one that no known class has, so that comparing `type` narrows a union.
        type: Literal["unified_llm:unknown"]

        def __getattr__(self, name: str) -> Any: ...  # its keys are attributes
    else:
        type: Annotated[str, AfterValidator(lambda name: _refuse(name)), cap("native.field")]

    _problems: tuple[str, ...] = PrivateAttr(default=())

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Anything: the fields of such a node are unknown."""
        return data

    @property
    def problems(self) -> tuple[str, ...]:
        """Why a node of a known type could not be read as such; empty for an unknown type."""
        return self._problems

    @classmethod
    def holding(cls, data: dict[str, Any], problems: tuple[str, ...]) -> Self:
        """The node for ill-typed `data`: kept whole, unchecked, with the reasons."""
        given = {key: value for key, value in data.items() if key in cls.__pydantic_fields__}
        node = cls.model_construct(set(given), **data)
        if "type" not in data:
            node.__dict__.setdefault("type", "")
        node._problems = problems
        return node


def _refuse(name: str) -> str:
    from ._tables import KNOWN_TYPES

    # The table has the types of classes that are not loaded; the other has those of a caller's own.
    if name in KNOWN_TYPES or any(name in known for kind, known in KNOWN.items() if kind != "tool_choice"):
        raise ValueError(f"{name!r} is a known type")
    return name


def field_capability(info: FieldInfo) -> str | None:
    """The capability a field is annotated with."""
    for mark in info.metadata:
        if isinstance(mark, Capability):
            return mark.name
    return None
