"""A whole adapter for a protocol that does not exist, small enough to be read in one go (docs/adapters.md).

A conversation of Acme Talk is a list of steps, distinguished by `step`; an answer is a list of them too. A stream is an
`open`, text in pieces (`more`), other steps whole, and a `close`. It keeps the laws of `unified_llm.suite`.
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.adapter import Adapter, Framing, Kind, Route, Streams
from unified_llm.engine.pairs.mapping import Bimap, Fated, IllTyped, Mapping, fill, remainder, take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.table import Field, Table
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.error_headers import HINTS, read_http, settle_status, write_hints
from unified_llm.foundation.errors import InvalidBody
from unified_llm.passes.repair import Rules

__all__ = ["adapter"]

Node = dict[str, Any]

# ---- what is a table: wire name, canonical name (where it differs), words -------------------------------------------

REQUEST = Table(
    "request",
    Field("engine", "model"),
    Field("limit", "max_output_tokens"),
    Field("heat", "temperature"),
    Field("live", "stream"),
)
RESPONSE = Table("response", Field("ref", "id"), Field("engine", "model"))
USAGE = Table("usage", Field("heard", "input_tokens"), Field("said", "output_tokens"))
ENDS = Bimap({"over": "stop", "limit": "length", "asks": "tool_calls"})
FAULTS = Bimap({"busy": "overloaded", "slow": "rate_limit", "wrong": "invalid_request"})

# ---- nodes: a pair pops what it understands of its node, and the engine sees to the rest ----------------------------

parts = Mapping("acme-talk parts", tag="is")
answers = Mapping("acme-talk answers", tag="is")
citations = Mapping("acme-talk citations")
citations.cannot("url_citation file_citation container_file_citation", "Acme has no citations")
steps = Mapping("acme-talk steps", tag="step")
tools = Mapping("acme-talk tools", tag="sort", default="function")


def text(w: Node, key: str) -> str:
    """A string: the next writer may look it up or join it."""
    if type(w.get(key)) is not str:
        raise IllTyped(key)
    value: str = w.pop(key)
    return value


@parts.read("words")
def read_words(w: Node, r: Reader) -> Node:
    return {"type": "input_text", "text": text(w, "text")}


@answers.read("words")
def read_answer(w: Node, r: Reader) -> Node:
    return {"type": "output_text", "text": text(w, "text")}


@answers.write("output_text", "input_text", "text")
@parts.write("input_text", "output_text", "text")
def write_words(c: Node, w: Writer) -> Node:
    if type(c.get("annotations")) is list:
        w.nodes(citations, c.pop("annotations"))  # nodes of their own, reported one by one
    return {"is": "words", "text": c.pop("text", "")}


@parts.read("picture")
def read_picture(w: Node, r: Reader) -> Node:
    return {"type": "input_image", "image_url": text(w, "url")}


@parts.write("input_image")
def write_picture(c: Node, w: Writer) -> Node | None:
    return {"is": "picture", "url": c.pop("image_url")} if type(c.get("image_url")) is str else None


@steps.read("say")
def read_say(w: Node, r: Reader) -> Node:
    who = text(w, "who")
    return {"type": "message", "role": who, "content": r.parts(answers if who == "assistant" else parts, w.pop("what"))}


@steps.write("message")
def write_say(c: Node, w: Writer) -> Node:
    who = c.pop("role", "user")
    what = w.parts(answers if who == "assistant" else parts, c.pop("content", None))
    return {"step": "say", "who": who, "what": what or ""}


@steps.read("ask")
def read_ask(w: Node, r: Reader) -> Node:
    return {"type": "function_call", "call_id": text(w, "no"), "name": text(w, "tool"), "arguments": text(w, "with")}


@steps.write("function_call")
def write_ask(c: Node, w: Writer) -> Node:
    wire = {"step": "ask", "no": c.pop("call_id", ""), "tool": c.pop("name", ""), "with": c.pop("arguments", None)}
    if wire["with"] is None:
        wire["with"] = "{}"
        w.added(wire, "with", "no arguments in the source")
    return wire


@steps.read("gave")
def read_gave(w: Node, r: Reader) -> Node:
    return {"type": "function_call_output", "call_id": text(w, "no"), "output": r.parts(parts, w.pop("what"))}


@steps.write("function_call_output")
def write_gave(c: Node, w: Writer) -> Node:
    return {"step": "gave", "no": c.pop("call_id", ""), "what": w.parts(parts, c.pop("output", "")) or ""}


@tools.read("function")
def read_tool(w: Node, r: Reader) -> Node:
    return {"type": "function", "name": text(w, "name"), "parameters": w.pop("takes")}


@tools.write("function")
def write_tool(c: Node, w: Writer) -> Node:
    takes = c.pop("parameters", None) or {"type": "object", "properties": {}}
    wire = {"sort": "function", "name": c.pop("name", ""), "takes": takes}
    if w.form(c, "tag") == "absent":  # the engine's: the node had no `sort`, which is the default
        del wire["sort"]
    return wire


# ---- documents ------------------------------------------------------------------------------------------------------


def is_own(w: Writer) -> bool:
    """Whether the document came from this protocol: in a conversion by its source, after `ul.read` by our marker.

    That it came from another dialect of it makes no difference here; where one does, `w.same` is also required.
    """
    return w.source == w.protocol or (w.source is None and w.form(w.doc, "own") is True)


def read_request(w: Node, r: Reader) -> Node:
    if type(w.get("talk")) is not list:
        raise InvalidBody("/talk", "a list of steps is required")
    node: Node = {"input": r.nodes(steps, w.pop("talk"))}
    r.form(node, "own", True)  # see `is_own`
    if type(w.get("tools")) is list:
        node["tools"] = r.nodes(tools, w.pop("tools"))
    REQUEST.read(w, node)
    return node


def write_request(c: Node, w: Writer) -> Node:
    items = c.pop("input", None) or []
    if type(items) is str:
        items = [{"type": "message", "role": "user", "content": items}]
    wire: Node = {"talk": w.nodes(steps, items)}
    if type(c.get("tools")) is list:
        wire["tools"] = w.nodes(tools, c.pop("tools"))
    REQUEST.write(c, wire, w, w.doc)
    if w.model:
        wire["engine"] = w.model
    if "limit" not in wire and not is_own(w):
        wire["limit"] = 4096
        w.added(wire, "limit", "the API demands one")
    w.http.update(method="POST", path="talk")
    return wire


def read_response(w: Node, r: Reader) -> Node:
    node: Node = {"output": r.nodes(steps, w.pop("talk"))}
    RESPONSE.read(w, node)
    read_end(w, node, r)
    return node


def read_end(w: Node, node: Node, r: Reader) -> None:
    if type(w.get("end")) is str:
        node["finish"] = {"reason": ENDS.read(w.pop("end"))}
        r.place(node, ("finish", "reason"), (..., "end"))  # of a stream, in its last event
    if type(w.get("tokens")) is dict:
        node["usage"] = r.made({}, w["tokens"])  # built by hand: so a loss in it is found
        USAGE.read(take(w, "tokens"), node["usage"])


def write_response(c: Node, w: Writer) -> Node:
    wire: Node = {"talk": w.nodes(steps, c.pop("output", None) or [])}
    RESPONSE.write(c, wire, w, w.doc)
    write_end(c, wire, w)
    return wire


def write_end(c: Node, wire: Node, w: Writer) -> None:
    finish = take(c, "finish") if type(c.get("finish")) is dict else {}
    if "reason" in finish:
        wire["end"] = ENDS.write(finish.pop("reason"))
    if type(c.get("usage")) is dict:
        wire["tokens"] = w.piece(write_usage, c.pop("usage"))


def write_usage(c: Node, w: Writer) -> Node:
    wire: Node = {}
    USAGE.write(c, wire, w, c)
    if c.get("total_tokens") == sum(wire.get(key) or 0 for key in ("heard", "said")):
        c["total_tokens"] = Fated("approximated", "represented by `heard` and `said`")
    for key in ("input_tokens_details", "output_tokens_details"):
        if type(c.get(key)) is dict:
            take(c, key)  # the rest is reported leaf by leaf
    return wire


def read_error(w: Node, r: Reader) -> Node:
    fault = take(w, "fault")
    kind = text(fault, "kind")
    error = {"type": FAULTS.reads.get(kind, "other"), "message": text(fault, "text")}
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
            RESPONSE.read(rest := data.copy(), self.r.made(self.response, data))
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
        rest = data.copy()
        read_end(rest, self.response, self.r)
        self.response["output"] = self.output
        short = self.response.get("finish", {}).get("reason") == "length"
        kind = "response.incomplete" if short else "response.completed"
        return [*ends, self._kept({"type": kind, "response": self.response}, remainder(rest), data)]

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
            return [fill({"is": "open", **self.w.root(write_head, event["response"])}, rest)]
        if kind == "response.output_item.added" and event["item"].get("role", "assistant") != "assistant":
            self.whole.add(event["output_index"])
        if kind == "response.output_text.delta" and event["output_index"] not in self.whole:
            self.told += event["delta"]
            return [fill({"is": "more", "text": event["delta"]}, rest)]
        if kind == "response.output_item.done":
            return [fill(wire, rest) for wire in self._item(event["item"])]
        if kind in ("response.completed", "response.incomplete"):
            return [fill({"is": "close", **self.w.root(write_close, event["response"])}, rest)]
        if kind == "error" or (kind == "response.failed" and not self.failed):
            self.failed = True
            error = event.get("error") or (event.get("response") or {}).get("error") or {}
            return [{"is": "fault", **self.w.root(write_error, {"error": error})}]
        return []

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


def write_head(c: Node, w: Writer) -> Node:
    wire: Node = {}
    c.pop("output", None)
    RESPONSE.write(c, wire, w, w.doc)
    return wire


def write_close(c: Node, w: Writer) -> Node:
    write_head(c, w)  # its losses are reported already
    wire: Node = {}
    write_end(c, wire, w)
    return wire


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
        "response": Kind(read_response, write_response, "response"),
        "error": Kind(read_error, write_error, "error"),
    },
    streams=Streams(TalkReader, TalkWriter, Framing(named=False)),
    mappings=(parts, answers, citations, steps, tools),
    settings={"request": REQUEST, "response": RESPONSE},
    natives={"mood": "native.field"},
    refuses={"seed": "Acme has no seed", **dict.fromkeys(_BEYOND, "Acme has text, images and calls")},
    routes=(Route("POST", "talk", "request"),),
    auth=(("x-acme-key", "{}"),),
    family="acme",
    repair=Rules(paired=True),
)
