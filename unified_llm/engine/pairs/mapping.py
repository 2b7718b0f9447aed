"""The mapping engine: consuming pairs.

One rule: a mapping owns its input and pops what it understands. What a reader leaves is kept under `extra[protocol]`,
so that its own writer restores it; what a writer leaves is a loss. No loss is reported by hand: none is forgotten.

A `Mapping` holds the pairs of one family of nodes (parts, items, tools), keyed by the node's tag. This file is what an
adapter declares with; `reading.py` and `writing.py` run the declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Mapping as MappingABC
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

if TYPE_CHECKING:
    from .. import Union
    from .reading import Reader
    from .writing import Writer

__all__ = [
    "NATIVE",
    "RESERVED",
    "Bimap",
    "Fated",
    "IllTyped",
    "Mapping",
    "Owned",
    "are_nodes",
    "are_objects",
    "fill",
    "lookup",
    "remade",
    "remainder",
    "says_nothing",
    "take",
    "take_all",
    "take_whole",
    "unpack",
    "without",
]

Node = dict[str, Any]
ReadPair = Callable[[Node, "Reader"], Any]
WritePair = Callable[[Node, "Writer"], Any]

NATIVE = "unified_llm:native"
"""The type of a canonical node that stands for a wire node which no pair could read."""


class IllTyped(ValueError):
    """A known key holds an unexpected JSON type: the node is kept as it is, unread."""


# What a pair may run into on a node that is not what its type promises; the node is then kept whole.
ILL_TYPED = (IllTyped, KeyError, TypeError, AttributeError, IndexError, ValueError)


class Fated(NamedTuple):
    """What a writing pair leaves in place of a value that it did write, in another form: reported with this fate."""

    fate: str
    detail: str = ""


class Owned(dict[str, Any]):
    """An object the engine handed out to be popped from; what remains in it is collected with its parent."""

    __slots__ = ()


def are_objects(value: Any) -> TypeGuard[list[Node]]:
    """Whether a value is a list of objects alone."""
    return type(value) is list and all(type(each) is dict for each in value)


def are_nodes(value: Any) -> TypeGuard[list[Node]]:
    """Whether a value is a list of objects that can be canonical nodes as they are.

    Some keys of nodes are the library's own: what a wire has under them would be taken for what a reader left there.
    """
    return are_objects(value) and all(RESERVED.isdisjoint(each) for each in value)


RESERVED = frozenset(("extra", "opaque", "turn"))
"""Keys of canonical nodes that are the library's own."""


def take(node: Node, key: str) -> Node:
    """The object under `key`, ours to pop from: the engine collects what is left in it.

    An empty object stays under its key: nothing is taken of it, and it is not the same as none.
    """
    value = node[key]
    if type(value) is not dict:
        raise IllTyped(f"{key} is not an object")
    owned = Owned(value)
    if owned:
        node[key] = owned
    return owned


def take_whole(node: Node, key: str) -> Node:
    """`take` for an object of which even an empty one becomes something: nothing of it is left over."""
    owned = take(node, key)
    if not owned:
        del node[key]
    return owned


def without(node: Node, known: Node) -> Node:
    """What is in an object beside what was understood of it: the engine collects it."""
    return (
        Owned([(key, value) for key, value in node.items() if key not in known]) if len(known) < len(node) else Owned()
    )


def take_all(node: Node, key: str) -> list[Node]:
    """The objects of the list under `key`, each ours to pop from: the engine collects what is left, holes kept."""
    value = node[key]
    if type(value) is not list or any(type(each) is not dict for each in value):
        raise IllTyped(f"{key} is not a list of objects")
    owned: list[Node] = [Owned(each) for each in value]
    node[key] = owned
    return owned


def unpack(node: Node, key: str, *names: str) -> list[Any]:
    """The values of these names of the object under `key`, consumed; what else it holds stays to be collected.

    The quick form of `take` for an object that is expected to hold exactly this. Raises `KeyError` for a missing name.
    """
    inner = node.pop(key)
    if type(inner) is not dict:
        raise IllTyped(f"{key} is not an object")
    values = [inner[name] for name in names]
    if len(inner) != len(names):
        node[key] = Owned((name, value) for name, value in inner.items() if name not in names)
    return values


def lookup(table: MappingABC[str, Any], word: Any, default: Any = None) -> Any:
    """The row of a table for a word off the wire, which may be no string at all."""
    return table.get(word, default) if type(word) is str else default


def remainder(node: Node) -> Node:
    """What was not taken of a consumed node, emptied containers left out."""
    out: Node = {}
    for key, value in node.items():
        if type(value) is Owned:
            value = remainder(value)
            if not value:
                continue
        elif type(value) is list and value and type(value[0]) is Owned:
            value = [remainder(each) for each in value]
            if not any(value):
                continue
        out[key] = value
    return out


def fill(node: Node, gaps: Node) -> Node:
    """`node` with the keys of `gaps` it lacks, objects filled in depth: extra fills gaps and never overwrites."""
    out = dict(node)
    for key, value in gaps.items():
        mine = out.get(key)
        if key not in out:
            out[key] = value
        elif type(mine) is dict and type(value) is dict:
            out[key] = fill(mine, value)
        elif type(mine) is list and alike(mine, value):
            out[key] = [fill(ours, gap) if gap else ours for ours, gap in zip(mine, value)]
    return out


def alike(mine: Any, gaps: Any) -> bool:
    """Whether a list has gaps that a list of as many objects can fill."""
    if type(mine) is not list or type(gaps) is not list or len(mine) != len(gaps):
        return False
    return all(type(gap) is dict and (not gap or type(ours) is dict) for ours, gap in zip(mine, gaps))


def says_nothing(value: Any) -> bool:
    """Whether nothing is lost with a value."""
    if type(value) is dict:
        return all(inner is None for inner in value.values())
    return value is None or value == "" or value == []


def remade(old: Node, new: Node, context: Node) -> None:
    """Remember what became of nodes to which something was added."""
    if id(old) in context["added"] and new is not old:
        context.setdefault("remade", {})[id(old)] = new
        context["added"].add(id(new))
    for key, value in old.items():
        if type(value) is dict:
            remade(value, new[key], context)


class Bimap:
    """A two-way table of enum values whose inverse is derived; one-way entries are named as such.

    `reading` holds wire values that share a meaning, `writing` canonical values that have to borrow a wire word: what
    goes through the latter comes back as something else, and is therefore an approximation.
    """

    __slots__ = ("reads", "writes")

    def __init__(
        self,
        both: MappingABC[Any, Any],
        *,
        reading: MappingABC[Any, Any] | None = None,
        writing: MappingABC[Any, Any] | None = None,
    ) -> None:
        self.reads: dict[Any, Any] = {**both, **(reading or {})}
        self.writes: dict[Any, Any] = {**{canonical: wire for wire, canonical in both.items()}, **(writing or {})}
        if len(set(both.values())) != len(both):
            raise ValueError("two wire values share one meaning: name the second under reading=")

    def read(self, value: Any) -> Any:
        """The canonical value; an unknown one passes as it is, since every enum on the wire is open."""
        return self.reads.get(value, value) if type(value) is str else value

    def write(self, value: Any) -> Any:
        """The wire value; an unknown one passes as it is."""
        return self.writes.get(value, value) if type(value) is str else value

    def exact(self, value: Any) -> bool:
        """True when `value` comes back from the wire as itself."""
        return bool(self.read(self.write(value)) == value)


_PYTHON: dict[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}
ANY = frozenset(_PYTHON.values())


def json_types(node: str) -> dict[str, frozenset[type]]:
    """The Python types that the keys of a canonical node may have in JSON, as the model declares them."""
    from ...types._tables import JSON_TYPES

    return {key: frozenset(_PYTHON[name] for name in names) for key, names in JSON_TYPES.get(node, {}).items()}


class Mapping:
    """The pairs of one family of nodes: `read` and `write` of one thing side by side, `cannot` for the impossible.

    `tag` is the wire key that distinguishes the kinds ("type", or "role" for chat messages), `default` the kind of a
    node without it. An empty `tag` is for a family whose nodes are distinguished by the key they hold
    (`{"text": ...}`): a kind is that key, and its pair gets the node with it. `same` declares kinds whose wire and
    canonical shapes agree key for key.
    """

    __slots__ = (
        "cannots",
        "cases",
        "default",
        "name",
        "reads",
        "same_keys",
        "same_lists",
        "same_needs",
        "same_types",
        "shaped",
        "tag",
        "writes",
    )

    def __init__(self, name: str, *, tag: str = "type", default: str | None = None) -> None:
        self.name: str = name
        self.tag: str = tag
        self.default: str | None = default
        self.reads: dict[Any, ReadPair] = {}
        self.writes: dict[Any, WritePair] = {}
        self.cannots: dict[str, str] = {}
        # The kinds that are shapes (`bridge.declare`), and their pairs, which take a node whole and consume nothing.
        self.cases: Union | None = None
        self.shaped: set[Any] = set()
        self.same_keys: dict[Any, frozenset[str]] = {}
        self.same_lists: dict[Any, tuple[tuple[str, Mapping], ...]] = {}
        # The canonical JSON types of the keys of a kind, and the keys that may not be missing or null.
        self.same_types: dict[Any, dict[str, frozenset[type]]] = {}
        self.same_needs: dict[Any, frozenset[str]] = {}

    def read(self, *kinds: str) -> Callable[[ReadPair], ReadPair]:
        """Declare how the wire kinds become canonical: the function pops what it understands of its node."""

        def declare(pair: ReadPair) -> ReadPair:
            for kind in kinds:
                if kind in self.reads or kind in self.same_keys:
                    raise ValueError(f"{self.name}: {kind} is read twice")
                self.reads[kind] = pair
            return pair

        return declare

    def write(self, *types: str) -> Callable[[WritePair], WritePair]:
        """Declare how the canonical types become wire; a pair returns None where nothing is to be written."""

        def declare(pair: WritePair) -> WritePair:
            for type_ in types:
                if type_ in self.writes:
                    raise ValueError(f"{self.name}: {type_} is written twice")
                self.writes[type_] = pair
            return pair

        return declare

    def same(self, kind: str, keys: str | Iterable[str], **lists: Mapping) -> None:
        """Declare a kind whose wire shape is the canonical shape, with these keys beside the tag.

        `lists` names keys that hold a list of nodes of another family (or a string, or null, which pass as they are).
        A key whose value has a JSON type that the canonical model does not declare stays unread; a node without one
        that must be there is unread as a whole.
        """
        names = frozenset(keys.split() if isinstance(keys, str) else keys) | {self.tag, *lists}
        if kind in self.reads:
            raise ValueError(f"{self.name}: {kind} is read twice")
        self.same_keys[kind] = names
        declared = json_types(kind)
        self.same_types[kind] = {key: declared.get(key, ANY) for key in names}
        self.same_needs[kind] = frozenset(
            key for key in names if key != self.tag and type(None) not in self.same_types[kind][key]
        )
        if lists:
            self.same_lists[kind] = tuple(lists.items())

    def cannot(self, types: str, reason: str) -> None:
        """Declare canonical types (space separated) that this protocol has no form for, with the reason to report."""
        for type_ in types.split():
            self.cannots[type_] = reason
