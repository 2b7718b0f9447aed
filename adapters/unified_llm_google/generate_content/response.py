"""Answers: candidates to output and choices, and what stands around them.

The first candidate is the output. A blocked prompt has none and is an answer that ended for safety. Function calls
end with STOP here, which is read with the calls as what it means. What a candidate holds beside its parts stays at
its place.

https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

from unified_llm.engine.pairs.mapping import Fated, are_objects, take, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from .calls.calls_and_results import answers_among, names_of
from .errors import read_error_node, write_error_body
from .parts.grounding import read_sources, write_sources
from .parts.searches import is_search
from .turns.contents import joined, read_parts, write_item
from .turns.signature import sealed_text
from .values.finish import is_refused, read_block, read_finish, write_block, write_finish
from .values.logprobs import read_logprobs
from .values.tables import SERVICE_TIERS
from .values.usage import read_usage, write_usage

__all__ = [
    "read_answer",
    "read_response",
    "read_time",
    "timestamp",
    "write_end",
    "write_head",
    "write_response",
]

Node = dict[str, Any]

_LAST_SECOND = 253_402_300_800  # the year 9999
_PLAIN_NAMES = (("responseId", "id"), ("modelVersion", "model"))


# ---- reading --------------------------------------------------------------------------------------------------------


def read_response(w: Node, r: Reader) -> Node:
    """Read a response, or the error document of a failed request."""
    if type(w.get("error")) is dict and not w.get("candidates"):
        # The body of a failed request, whatever its status was.
        return {"status": "failed", "error": read_error_node(w, r.doc, r)}
    return read_answer(w, r, None)


def read_answer(w: Node, r: Reader, ready: list[list[Node]] | None) -> Node:
    """A whole answer; or the fields of a stream's frames beside their parts, `ready` the nodes these became."""
    node: Node = {}
    read_head(w, node, r)
    r.seed = str(node.get("id") or "")
    wires = w.get("candidates")
    node["output"] = []
    if are_objects(wires):
        owned = take_all(w, "candidates")
        if not owned:
            del w["candidates"]
            r.form(node, "candidates", "empty")
        choices = []
        for place, (own, wire) in enumerate(zip(owned, wires)):
            home: Node = node if place == 0 else {"index": place}
            home["output"] = read_candidate(own, wire, place, home, r, None if ready is None else ready[place])
            if place:
                choices.append(r.made(home, wire))
        if choices:
            node["choices"] = choices
    else:
        r.form(node, "candidates", "odd" if "candidates" in w else "absent")
    if not node["output"]:
        read_block(w, node, r)
    return node


def read_head(w: Node, node: Node, r: Reader) -> None:
    """What every chunk of an answer repeats: id, model, time, usage."""
    for name, hub in _PLAIN_NAMES:
        if type(w.get(name)) is str:
            node[hub] = w.pop(name)
            r.place(node, (hub,), (name,))
    read_time(w, node, r)
    if type(w.get("usageMetadata")) is dict:
        wire = w["usageMetadata"]
        del w["usageMetadata"]
        tier = wire.get("serviceTier")
        if type(tier) is str and SERVICE_TIERS.write(SERVICE_TIERS.read(tier)) == tier:
            node["service_tier"] = SERVICE_TIERS.read(tier)
            r.place(node, ("service_tier",), ("usageMetadata", "serviceTier"))
            node["usage"] = read_usage({key: value for key, value in wire.items() if key != "serviceTier"}, r)
            r.made(node["usage"], wire)
            if len(wire) == 1:
                r.form(node, "usage", "tier")
        else:
            node["usage"] = read_usage(wire, r)


def read_time(w: Node, node: Node, r: Reader) -> None:
    """When the answer was made, with the digits of the source."""
    created = _seconds(w.get("createTime"))
    if created is not None:
        node["created_at"] = created
        if timestamp(created) != w["createTime"]:
            r.form(node, "createTime", len(w["createTime"].rpartition(".")[2]) - 1)
        del w["createTime"]
        r.place(node, ("created_at",), ("createTime",))


def _seconds(value: Any) -> int | float | None:
    """Seconds since 1970 of a time that can be written again to the letter."""
    if type(value) is not str or not value.endswith("Z"):
        return None
    whole, dot, digits = value[:-1].partition(".")
    try:
        moment = datetime.fromisoformat(whole + "+00:00").timestamp()
    except ValueError:
        return None
    seconds: int | float = round(moment + float("0." + digits), 6) if dot and digits.isdigit() else int(moment)
    return seconds if timestamp(seconds, len(digits)) == value else None


def timestamp(seconds: int | float, digits: int | None = None) -> str:
    """A time as the API prints it, with the given number of digits (else none, or six)."""
    if digits is None:
        digits = 0 if type(seconds) is int or float(seconds).is_integer() else 6
    micro = round(seconds * 1_000_000)
    text = datetime.fromtimestamp(micro // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return text + (f".{micro % 1_000_000:06d}"[: digits + 1] if digits else "") + "Z"


def read_candidate(
    own: Node, wire: Node, place: int, home: Node, r: Reader, ready: list[Node] | None = None
) -> list[Node]:
    """The items of one candidate, popped from `own`; `home` (the response, or a choice) has its end and its markers.

    Where its nodes are `ready`, only the items beside the content are returned.
    """
    above = ("candidates", place) if place == 0 else ()
    output: list[Node] = []
    texts: dict[int, Node] = {}
    content = wire.get("content")
    if ready is not None:
        texts = {index: node for index, node in enumerate(ready) if node["type"] == "output_text"}
    elif content == {}:
        del own["content"]
        r.form(home, "content", "empty")
    elif type(content) is dict:
        output, texts = _read_content(take(own, "content"), content, place, home, r)
    else:
        r.form(home, "content", "absent")  # or among what is left over
    if type(own.get("index")) is int and own["index"] == place:
        del own["index"]
    elif type(own.get("index")) is int and place:
        home["index"] = own.pop("index")
    elif ready is None:
        r.form(home, "index", "absent")
    output += read_sources(own, wire, texts, home, r)
    if texts:
        read_logprobs(own, texts[min(texts)], ("candidates", place), r)
    read_finish(own, home, [*output, *(ready or ())], above, r)
    if type(own.get("continuationToken")) is str and place == 0:
        home["continuation_token"] = own.pop("continuationToken")
        r.place(home, ("continuation_token",), (*above, "continuationToken"))
    return output


def _read_content(own: Node, wire: Node, place: int, home: Node, r: Reader) -> tuple[list[Node], dict[int, Node]]:
    if own.get("role") == "model":
        del own["role"]
    else:
        r.form(home, "role", "other" if "role" in own else "absent")
    wires = own.get("parts")
    if type(wires) is not list:
        if "parts" not in own:
            r.form(home, "parts", "absent")
        return [], {}
    del own["parts"]
    if not wires:
        r.form(home, "parts", "empty")
    mark = len(r.trace)
    r.context["answers"] = answers_among(wires)
    output = read_parts(wires, True, r, (place,), wire)
    # A part may have carried other items besides.
    made = {id(source): node for node, source in r.trace[mark:] if node.get("type") == "output_text"}
    texts = {index: made[id(part)] for index, part in enumerate(wires) if id(part) in made}
    return output, texts


# ---- writing --------------------------------------------------------------------------------------------------------


def write_response(c: Node, w: Writer) -> Any:
    """Write a response; one that failed becomes an error document."""
    if c.get("error") and (c.get("status") == "failed" or not c.get("output")):
        return _write_failure(c, w)
    wire: Node = {}
    output = c.pop("output", None) or []
    choices = c.pop("choices", None) or []
    if w.form(c, "blocked") and not output and c.get("finish"):
        wire["promptFeedback"] = write_block(c, w)
    form = w.form(c, "candidates")
    if form == "empty" and not (output or choices):
        wire["candidates"] = []
    elif not (form in ("absent", "odd") and not (output or choices or c.get("finish"))):
        wire["candidates"] = [write_candidate(c, w.doc, output, 0, w)]
        for place, choice in enumerate(choices, 1):
            wire["candidates"].append(w.piece(partial(_write_choice, node=choice, place=place), choice))
    write_head(c, wire, w)
    return wire


def _write_choice(c: Node, w: Writer, node: Node, place: int) -> Node:
    index = c.pop("index", place)
    wire = write_candidate(c, node, c.pop("output", None) or [], place, w)
    if "index" in wire:
        wire["index"] = index
    return wire


def write_head(c: Node, wire: Node, w: Writer) -> None:
    """Id, model, time and usage; the client's own name for the model, the resolved one beside it."""
    for name, hub in _PLAIN_NAMES:
        if type(c.get(hub)) is str:
            wire[name] = c.pop(hub)
    alias = w.exchange.alias if w.exchange is not None else None
    if alias and wire.get("modelVersion") != alias:
        if wire.get("modelVersion"):
            w.http.setdefault("headers", {})["x-resolved-model"] = wire["modelVersion"]
        wire["modelVersion"] = alias
    if type(c.get("created_at")) in (int, float) and 0 <= c["created_at"] < _LAST_SECOND:
        wire["createTime"] = timestamp(c.pop("created_at"), w.form(c, "createTime"))
    if type(c.get("usage")) is dict:
        usage = c.pop("usage")
        counts = w.piece(write_usage, usage)
        if counts or not usage or w.source == w.protocol:
            wire["usageMetadata"] = counts
    if type(c.get("service_tier")) is str:
        tier = c.pop("service_tier")
        wire.setdefault("usageMetadata", {})["serviceTier"] = SERVICE_TIERS.write(tier)
        if not SERVICE_TIERS.exact(tier):
            c["service_tier"] = Fated("approximated", f"sent as {SERVICE_TIERS.write(tier)!r}")
    if w.crosses and w.facing == "client" and "usageMetadata" not in wire:
        # Every answer of the API has one, and clients (LiteLLM) refuse an answer without; a count would be made up.
        wire["usageMetadata"] = {}
        w.added(wire, "usageMetadata", "no counts in the source")


def write_candidate(c: Node, node: Node, output: list[Node], place: int, w: Writer) -> Node:
    """One candidate: `c` is the copy being consumed of `node`, the response or a choice."""
    searches: list[Node] = []
    rest: list[Node] = []
    for item in output:
        (searches if is_search(item, w) else rest).append(item)
    written, texts = write_output(rest, w)
    wire: Node = {}
    form = w.form(c, "content")
    role = {} if w.form(c, "role") else {"role": "model"}
    content: Node = {} if form else role
    if written:
        content = {**role, "parts": written}
    elif w.form(c, "parts") == "empty":
        content["parts"] = []
    if written or form != "absent":
        wire["content"] = content
    if w.form(c, "index") != "absent":
        wire["index"] = place
    write_end(c, node, wire, texts, searches, place, w, output)
    return wire


def write_end(
    c: Node,
    node: Node,
    wire: Node,
    texts: list[tuple[int, Node]],
    searches: list[Node],
    place: int,
    w: Writer,
    output: list[Node],
) -> None:
    """The fields of a candidate beside its content: why it ended, its sources, its log probabilities."""
    w.context["refused"] = is_refused(output)
    write_finish(c, wire, w)
    write_sources(texts, searches, wire, node, w)
    tokens = w.context.pop("logprobs", None)
    if tokens:
        wire["logprobsResult"] = tokens
    if place == 0 and type(c.get("continuation_token")) is str:
        wire["continuationToken"] = c.pop("continuation_token")


def write_output(output: list[Node], w: Writer) -> tuple[list[Any], list[tuple[int, Node]]]:
    """The parts of a candidate's items, and which canonical text parts (their places with them) may have sources."""
    texts: list[tuple[int, Node]] = []
    w.context.update(names=names_of(output), citations=texts)
    written: list[Any] = []
    for item in output:
        before = len(written)
        written += write_item(item, w)
        if item.get("type") == "message" and type(item.get("content")) is list:
            nodes = item["content"]
            step = int(len(written) - before == len(nodes))
            texts += [(before + i * step, part) for i, part in enumerate(nodes) if part.get("type") == "output_text"]
    del w.context["citations"]
    carrier = sealed_text(w)
    if carrier is not None:
        written.append(carrier)
    return joined(written), texts


def _write_failure(c: Node, w: Writer) -> Node:
    """A failed response as the error body of a failed request."""
    if c.get("status") == "failed":
        del c["status"]
    if not c.get("output"):
        c.pop("output", None)
    error = c.pop("error")
    return write_error_body(error, w)
