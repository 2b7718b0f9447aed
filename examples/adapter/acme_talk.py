"""A whole adapter for a protocol that does not exist, small enough to be read in one go (docs/adapters.md).

A conversation of Acme Talk is a list of steps, distinguished by `step`; an answer is a list of them too. A stream is an
`open`, text in pieces (`more`), other steps whole, and a `close`. It keeps the laws of `unified_llm.suite`.
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine import (
    Context,
    Shape,
    Union,
    boolean,
    codec,
    constant,
    enum,
    integer,
    json,
    number,
    string,
    union,
)
from unified_llm.engine.adapter import Adapter, Framing, Kind, Route, Streams
from unified_llm.engine.bridge import cases_of, declare, read_part, reads, write_part, writes
from unified_llm.engine.pairs.mapping import Bimap, Fated, IllTyped, Mapping, fill, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.table import Field, Table
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.error_headers import HINTS, read_http, settle_status, write_hints
from unified_llm.engine.source_places import settings_of
from unified_llm.passes.repair import Rules

__all__ = ["adapter"]

Node = dict[str, Any]

# ---- nodes: each looks like the wire object, with canonical keys at its leaves (`?`: the key may be absent) ----------

parts = Mapping("acme-talk parts", tag="is")
answers = Mapping("acme-talk answers", tag="is")
steps = Mapping("acme-talk steps", tag="step")
tools = Mapping("acme-talk tools", tag="sort", default="function")
citations = Mapping("acme-talk citations")
citations.cannot("url_citation file_citation container_file_citation", "Acme has no citations")

WORDS = {"is": "words", "text": string("text").required("")}
asked, answered = Union(parts.name, tag="is"), Union(answers.name, tag="is")
asked.case(WORDS, "input_text", "output_text", "text")
asked.case({"is": "picture", "url": string("image_url")}, "input_image")
answered.case(WORDS, "output_text", "input_text", "text")


def said(key: str, family: Mapping) -> Any:
    """A text, or a list of parts."""
    return union(key, cases_of(family), text=True).required("")


talk = Union(steps.name, tag="step", items=True)
# Two cases of one tag: the first that reads a step is its case; a node is written as the one whose constants it has.
talk.case({"step": "say", "who": "assistant", "what": said("content", answers)}, "message", role="assistant")
talk.case({"step": "say", "who": string("role").required("user"), "what": said("content", parts)}, "message")
NO = {"no": string("call_id").required("")}
ARGUMENTS = string("arguments").required("{}", "no arguments in the source")
talk.case({"step": "ask", **NO, "tool": string("name").required(""), "with": ARGUMENTS}, "function_call")
talk.case({"step": "gave", **NO, "what": said("output", parts)}, "function_call_output")

functions = Union(tools.name, tag="sort")
TAKES = json("parameters", dict).required({"type": "object", "properties": {}})
functions.case(
    {"sort?": constant("function", written=False), "name": string("name").required(""), "takes": TAKES}, "function"
)


def without_citations(c: Node, w: Writer, x: Context) -> Node:
    """What is not one to one is a function before writing: each citation is a node of its own, reported by itself."""
    if type(c.get("annotations")) is not list:
        return c
    w.nodes(citations, c["annotations"])
    return x.replaced(c, {key: value for key, value in c.items() if key != "annotations"})


for family, cases in (parts, asked), (answers, answered):
    declare(family, cases, dict.fromkeys(("output_text", "input_text", "text"), without_citations))
declare(steps, talk)
declare(tools, functions)

# ---- documents ------------------------------------------------------------------------------------------------------

USAGE = Table("usage", Field("heard", "input_tokens"), Field("said", "output_tokens"))


def read_usage(wire: Node, x: Any) -> Node:
    """What is not one to one is a codec of two functions, which take from a copy what they understand."""
    rest, usage = wire.copy(), dict[str, Any]()
    x.reader.made(usage, wire)  # so its losses are found
    USAGE.read(rest, usage)
    x.reader.keep(usage, rest)
    return usage


def write_usage(c: Node, w: Writer) -> Node:
    wire: Node = {}
    USAGE.write(c, wire, w, c)
    if c.get("total_tokens") == sum(wire.get(key) or 0 for key in ("heard", "said")):
        c["total_tokens"] = Fated("approximated", "represented by `heard` and `said`")
    for key in ("input_tokens_details", "output_tokens_details"):
        if type(c.get(key)) is dict:
            take(c, key)  # the rest is reported leaf by leaf
    return wire


SETTINGS = {
    "engine?": string("model"),
    "limit?": integer("max_output_tokens").required(4096, "the API demands one"),
    "heat?": number("temperature"),
    "live?": boolean("stream"),
}
PROMPT = {"tools?": union("tools", cases_of(tools)), "talk": union("input", cases_of(steps)).required([])}
REQUEST = Shape({**SETTINGS, **PROMPT}, name="acme-talk request", node="request")
HEAD = {"ref?": string("id"), "engine?": string("model")}
END = {
    "end?": enum("finish.reason", {"over": "stop", "limit": "length", "asks": "tool_calls"}),
    "tokens?": codec(
        "usage", dict, read=read_usage, write=lambda c, x: x.writer.piece(write_usage, c), canonical=(dict,), exact=True
    ),
}
TALK = {"talk": union("output", cases_of(steps)).required([])}
RESPONSE = Shape({**HEAD, **TALK, **END}, name="acme-talk response", node="response")
OPEN = Shape({"is": "open", **HEAD}, name="acme-talk open", node="response")  # the first and last frame of a stream
CLOSE = Shape({"is": "close", **END}, name="acme-talk close", node="response")
# Errors are pairs of functions: half of one is in the HTTP status and headers.
FAULTS = Bimap({"busy": "overloaded", "slow": "rate_limit", "wrong": "invalid_request"})


def is_own(w: Writer) -> bool:
    """Whether the document came from this protocol: in a conversion by its source, after `ul.read` by our marker.

    That it came from another dialect of it makes no difference here; where one does, `w.same` is also required.
    """
    return w.source == w.protocol or (w.source is None and w.form(w.doc, "own") is True)


def read_request(w: Node, r: Reader) -> Node:
    w.clear()  # all of it is the shape's
    node = read_part(REQUEST, r.doc, r, whole=False)
    r.form(node, "own", True)  # see `is_own`
    return node


def write_request(c: Node, w: Writer) -> Node:
    wire = write_part(REQUEST, w.doc, w, whole=False, own=is_own(w), settle=as_steps, node=c)
    c.clear()
    if w.model:
        wire["engine"] = w.model
    w.http.update(method="POST", path="talk")
    return wire


def as_steps(c: Node, w: Writer, x: Context) -> None:
    """A pass over the copy that is written: a conversation may be one text."""
    if type(c.get("input")) is str:
        c["input"] = [{"type": "message", "role": "user", "content": c["input"]}]


def read_error(w: Node, r: Reader) -> Node:
    fault = take(w, "fault")
    if not (type(fault["kind"]) is type(fault["text"]) is str):
        raise IllTyped("fault")
    kind = fault.pop("kind")
    error = {"type": FAULTS.reads.get(kind, "other"), "message": fault.pop("text")}
    if error["type"] == "other":
        error["native_type"] = kind
    read_http(error, r)
    node: Node = {"error": error}
    r.form(node, "own", True)
    return node


def write_error(c: Node, w: Writer) -> Node:
    error = c.pop("error")
    kind = FAULTS.writes.get(error.get("type"), "other")
    w.http.update(status=error.get("status") or 500, headers=write_hints(error))

    def write_fault(c: Node, w: Writer) -> Node:
        own = c.pop("native_type", kind) if is_own(w) else kind
        if "native_type" in c:
            c["native_type"] = Fated("approximated", "represented by the kind")
        settle_status(c, w)
        for hint in HINTS:
            c.pop(hint, None)
        return {"kind": own, "text": c.pop("message", None) or ""}

    return {"fault": w.piece(write_fault, error)}


# ---- streams: no I/O, no clock; canonical events satisfy the grammar of `unified_llm.streams.grammar` ------------


class TalkReader:
    """`open`, then `more` text or a whole `step`, then `close`, the end."""

    def __init__(self, reader: Reader) -> None:
        self.r, self.output = reader, list[Node]()
        self.response: Node = {}
        self.said: list[str] | None = None  # of the text that is open
        self.state = "idle"

    def feed(self, event: Node) -> list[Node]:
        data = event["data"]
        kind = data.get("is") if type(data) is dict else None
        if kind == "open" and self.state == "idle":
            self.state = "open"
            rest = self._fields(OPEN, data)
            return [self._kept({"type": "response.created", "response": {**self.response}}, rest, data)]
        if kind == "more" and self.state == "open" and type(data.get("text")) is str:
            return self._more(data)
        if kind == "step" and self.state == "open" and type(data.get("what")) is dict:
            ends = self._end_text()
            self.output.append(self.r.node(steps, data["what"]))
            place = {"output_index": len(self.output) - 1, "item": self.output[-1]}
            rest = {key: value for key, value in data.items() if key != "what"}
            added = self._made({"type": "response.output_item.added", **place})
            done = self._kept({"type": "response.output_item.done", **place}, rest, data)
            return [*ends, added, done]
        if kind == "close" and self.state == "open":
            return self._close(data)
        if kind == "fault" and self.state != "closed":
            self.state = "closed"
            return [{"type": "error", **self.r.root(read_error, {key: data[key] for key in data if key != "is"})}]
        # An unknown frame: kept whole for this protocol, and reported at the others where it stands.
        return [self.r.unread(data, "frame")]

    def close(self) -> list[Node]:
        if self.state == "closed":
            return []
        error = {"type": "server_error", "code": "stream_truncated", "message": "the stream ended before the answer"}
        return [self._made({"type": "error", "error": error})]

    def _fields(self, shape: Shape, data: Node) -> Node:
        """Read the fields of a frame into the response; what is left of the frame."""
        node = read_part(shape, data, self.r, whole=False)
        rest: Node = node.pop("extra", {}).get(self.r.protocol, {}).get("rest", {})
        self.response.update(node)
        return rest

    def _more(self, data: Node) -> list[Node]:
        place = {"output_index": len(self.output), "content_index": 0}
        begun: list[Node] = []
        if self.said is None:
            self.said = []
            item = {"type": "message", "role": "assistant", "content": []}
            begun = [
                {"type": "response.output_item.added", "output_index": place["output_index"], "item": item},
                {"type": "response.content_part.added", **place, "part": {"type": "output_text", "text": ""}},
            ]
        rest = data.copy()
        self.said.append(rest.pop("text"))
        delta = {"type": "response.output_text.delta", **place, "delta": self.said[-1]}
        return [*map(self._made, begun), self._kept(delta, rest, data)]

    def _end_text(self) -> list[Node]:
        if self.said is None:
            return []
        part = {"type": "output_text", "text": "".join(self.said)}
        self.output.append(item := {"type": "message", "role": "assistant", "content": [part]})
        place, self.said = {"output_index": len(self.output) - 1, "content_index": 0}, None
        ends: list[Node] = [
            {"type": "response.output_text.done", **place, "text": part["text"]},
            {"type": "response.content_part.done", **place, "part": part},
            {"type": "response.output_item.done", "output_index": place["output_index"], "item": item},
        ]
        return [self._made(event) for event in ends]

    def _close(self, data: Node) -> list[Node]:
        self.state = "closed"
        ends = self._end_text()
        rest = self._fields(CLOSE, data)
        self.response["output"] = self.output
        short = self.response.get("finish", {}).get("reason") == "length"
        kind = "response.incomplete" if short else "response.completed"
        return [*ends, self._kept({"type": kind, "response": self.response}, rest, data)]

    def _made(self, event: Node) -> Node:
        """An event that the wire did not announce: our own writer leaves it out."""
        return {**event, "extra": {self.r.protocol: {"frame": {"synthetic": True}}}}

    def _kept(self, event: Node, rest: Node, data: Node) -> Node:
        """An event with what was left of its frame."""
        rest.pop("is", None)
        own = self.r.extra(event)
        own["frame"] = {"is": data.get("is") if type(data) is dict else None}
        if rest:
            own["rest"] = rest
        return self.r.made(event, data)


class TalkWriter:
    """The mirror: text goes out as it comes, any other item whole, the end when it is known."""

    def __init__(self, writer: Writer) -> None:
        self.w = writer
        self.failed = False
        self.told = ""  # of the text that is open
        self.whole = set[int]()  # the places of items that the model did not write: they are steps of their own

    def feed(self, event: Node) -> list[Node]:
        own = (event.get("extra") or {}).get(self.w.protocol) or {}
        if (own.get("frame") or {}).get("synthetic"):
            return []
        return [{"event": None, "data": wire} for wire in self._wires(event["type"], event, own.get("rest", {}))]

    def close(self) -> list[Node]:
        return []

    def _wires(self, kind: str, event: Node, rest: Node) -> list[Any]:
        if self.w.form(event, "native") == "frame":
            return [rest]
        if event.get("choice"):
            if kind == "response.output_item.done":
                self.w.drop(event["item"], "Acme gives one answer")
            return []
        if kind == "response.created":
            return [fill({"is": "open", **self._fields(OPEN, event["response"])}, rest)]
        if kind == "response.output_item.added" and event["item"].get("role", "assistant") != "assistant":
            self.whole.add(event["output_index"])
        if kind == "response.output_text.delta" and event["output_index"] not in self.whole:
            self.told += event["delta"]
            return [fill({"is": "more", "text": event["delta"]}, rest)]
        if kind == "response.output_item.done":
            return [fill(wire, rest) for wire in self._item(event["item"])]
        if kind in ("response.completed", "response.incomplete"):
            return [fill({"is": "close", **self._fields(CLOSE, event["response"])}, rest)]
        if kind == "error" or (kind == "response.failed" and not self.failed):
            self.failed = True
            error = event.get("error") or (event.get("response") or {}).get("error") or {}
            return [{"is": "fault", **self.w.root(write_error, {"error": error})}]
        return []

    def _fields(self, shape: Shape, response: Node) -> Node:
        """Those of a response that a frame has. All are written, so that the others have their losses reported."""
        wire = self.w.root(writes(RESPONSE, whole=False, settle=without_output), response)
        return {key: wire[key] for key in wire if (key,) in shape.places.values()}

    def _item(self, item: Node) -> list[Node]:
        step = self.w.node(steps, item)
        if type(step) is not dict or step.get("step") != "say" or step.get("who") != "assistant":
            return [] if step is None else [{"is": "step", "what": step}]
        # Deltas are only a preview: the finished item is the truth, and may come without any.
        content: Any = item.get("content") or ""
        told = self.told
        words = content if type(content) is str else "".join(part.get("text") or "" for part in content)
        self.told = ""
        return [{"is": "more", "text": words.removeprefix(told)}] if words != told else []


def without_output(c: Node, w: Writer, x: Context) -> None:
    """Items were written when they were done."""
    c["output"] = []


# Everything else that a conversation may hold: a reason for each, which the report contains.
_BEYOND = """
    additional_tools agent_message apply_patch apply_patch_call apply_patch_call_output code_interpreter
    code_interpreter_call code_interpreter_result compaction compaction_trigger computer computer_call
    computer_call_output computer_screenshot computer_use_preview configuration_update custom custom_tool_call
    custom_tool_call_output encrypted_content fallback file_search file_search_call file_search_result
    image_generation image_generation_call input_audio input_file input_video item_reference local_shell
    local_shell_call local_shell_call_output maps maps_call maps_result mcp mcp_approval_request
    mcp_approval_response mcp_call mcp_list_tools mcp_result multi_agent_call multi_agent_call_output namespace
    output_audio output_file output_image output_video processing_call processing_result program program_output
    programmatic_tool_calling reasoning reasoning_text refusal retrieval retrieval_call retrieval_result
    search_result shell shell_call shell_call_output summary_text tool_change tool_reference tool_search
    tool_search_call tool_search_output tool_search_result url_fetch web_fetch web_fetch_call web_fetch_result
    web_search web_search_2025_08_26 web_search_call web_search_preview web_search_preview_2025_03_11
    web_search_result
""".split()

# ---- the declaration ------------------------------------------------------------------------------------------------

adapter = Adapter(
    protocol="acme-talk",
    title="Acme Talk",
    url="https://example.com/talk",
    kinds={
        "request": Kind(read_request, write_request, "request", "provider"),
        "response": Kind(reads(RESPONSE, whole=False), writes(RESPONSE, whole=False), "response"),
        "error": Kind(read_error, write_error, "error"),
    },
    streams=Streams(TalkReader, TalkWriter, Framing(named=False)),
    mappings=(parts, answers, citations, steps, tools),
    settings={"request": settings_of(REQUEST), "response": settings_of(RESPONSE)},
    natives={"mood": "native.field"},
    refuses={"seed": "Acme has no seed", **dict.fromkeys(_BEYOND, "Acme has text, images and calls")},
    routes=(Route("POST", "talk", "request"),),
    auth=(("x-acme-key", "{}"),),
    family="acme",
    repair=Rules(paired=True),
)
