"""What the leaves of both documents are by themselves: empty, a position, in a schema; and where made ones are from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ...foundation.generated_ids import is_made
from ...foundation.json_paths import Keys, at, pointer
from ...losses.certificate import Made, Provenance
from ...provenance.opaque import looks_sealed
from .places import TAGS, scalars

if TYPE_CHECKING:
    from ...losses import Losses

__all__ = ["REFERENCES", "SCHEMAS", "is_empty", "is_position", "is_unset", "made", "tag"]


def made(
    claimed: set[str], value: Any, losses: Losses, http: Mapping[str, Any], came: Mapping[str, Any]
) -> Iterable[Made]:
    """The leaves of the target that nothing went to (`claimed` are all others), each with its origin."""
    added = {loss.path for loss in losses if loss.side == "target"}
    changed = any(loss.side == "source" and loss.fate != "lost" for loss in losses)
    for path, leaf in scalars(value):
        place = pointer(path)
        if place not in claimed:
            yield Made(place, _origin(path, leaf, added, http.get("status"), changed, came), leaf)


def _origin(
    path: Keys, leaf: Any, added: set[str], status: Any, changed: bool, http_in: Mapping[str, Any]
) -> Provenance:
    """Where a leaf of the target is from that nothing went to; `changed`: some values are there in another form."""
    if any(pointer(path[:depth]) in added for depth in range(len(path), -1, -1)):
        return "added"
    if is_empty(leaf):
        return "empty"
    if type(leaf) is str and is_made(leaf):
        return "generated"
    if type(leaf) is str and looks_sealed(leaf):
        return "envelope"
    if is_position(path, leaf):
        return "position"
    if type(leaf) is int and leaf == status:
        return "status"
    if _is_in(leaf, http_in):
        return "http"
    if type(leaf) is int and path[-1] in TOTALS:
        return "sum"
    if path == ("object",):
        return "constant"
    if not SCHEMAS.isdisjoint(path):
        return "schema"
    if tag(path) in TAGS:
        return "shape"
    return "reported" if changed else "constant"


def _is_in(leaf: Any, http: Mapping[str, Any]) -> bool:
    """Whether a value is in the route, the query or a header of the source."""
    if type(leaf) is bool:
        return leaf and "stream" in str(http.get("path", "")).lower()
    texts = [unquote(str(http.get("path", "")))]
    for key in ("query", "headers"):
        inner = http.get(key)
        texts += [text for text in inner.values() if type(text) is str] if isinstance(inner, Mapping) else []
    return type(leaf) is str and len(leaf) > 1 and any(leaf in text for text in texts)


def is_unset(path: Keys, value: Any, document: Any) -> bool:
    """Whether a number is zero in an object in which everything else is empty."""
    if not path or type(value) is not int or value != 0:
        return False
    beside = [inner for keys, inner in scalars(at(document, path[:-1])) if keys != path[-1:]]
    return bool(beside) and all(map(is_empty, beside))


def tag(path: Keys) -> Any:
    """The key of a leaf, or of the list that it is in."""
    return next((key for key in reversed(path[-2:]) if type(key) is str), None)


def is_position(path: Keys, value: Any) -> bool:
    """Whether a number is that of an element, or of a character, by its place or by its key."""
    if type(value) is not int:
        return False
    return path[-2:-1] == (value,) or any(
        ("ind" in str(key).lower() and "ex" in str(key).lower()) or "indices" in str(key).lower() for key in path[-2:]
    )


def is_empty(value: Any) -> bool:
    """Whether a value contains nothing, as JSON text too."""
    return value is None or value == [] or value == {} or (type(value) is str and value in ("", "{}", "[]"))


SCHEMAS = frozenset(
    (
        *("input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema", "schema", "responseSchema"),
        *("response_schema", "responseJsonSchema", "response_json_schema", "json", "inputSchema", "outputSchema"),
        *("jsonSchema", "json_schema", "response", "response_format", "definition"),
    )
)
"""Keys under which there are JSON schemas, which are written in the words that the target has for them."""

TOTALS = frozenset(
    (
        *("total_tokens", "totalTokens", "totalTokenCount", "input_tokens", "output_tokens"),
        *("prompt_tokens", "completion_tokens", "total_input_tokens", "total_output_tokens"),
    )
)
"""Keys of counts that are the sums of others, where a protocol has one."""

REFERENCES = frozenset(
    ("call_id", "tool_use_id", "toolUseId", "tool_call_id", "id", "mcp_server_name", "server_name", "server_label")
)
"""Keys of ids and names of an object that is elsewhere in the document."""
