"""Requests of Messages, and those that only count their tokens.

System text is the canonical instructions; of another protocol's system and developer messages the leading run joins
it, later ones stay in the conversation, where this protocol has them too. The version of the API that a request needs
goes into the headers.

https://docs.claude.com/en/api/messages
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from unified_llm.engine.pairs.mapping import Fated, lookup
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.foundation.errors import InvalidBody
from unified_llm.models.profiles import ModelProfile

from .content import own_born, parts
from .mcp import read_servers, write_tools
from .messages import read_messages, write_messages
from .settings import only_allowed, read_settings, write_settings
from .tables import API_VERSION, BETAS, DEFAULT_MAX_TOKENS, LEGACY_VERSION, REQUEST, REQUEST_HEADERS
from .thinking import model_of
from .tools import tools

__all__ = ["read_request", "write_count_request", "write_request"]

Node = dict[str, Any]

_SAMPLING = ("temperature", "top_p", "top_k")


# ---- reading --------------------------------------------------------------------------------------------------------


def read_request(w: Node, r: Reader) -> Node:
    """Read a request. Raises `InvalidBody` without a list of messages."""
    messages = w.pop("messages", None)
    if type(messages) is not list:
        raise InvalidBody("/messages", "required field is missing or not a list")
    node: Node = {}
    r.form(node, "own", True)
    if type(w.get("system")) in (str, type(None)) and "system" in w:
        node["instructions"] = w.pop("system")
    elif type(w.get("system")) is list:
        node["instructions"] = r.nodes(parts, w.pop("system"))
    r.place(node, ("instructions",), ("system",))
    node["input"] = read_messages(messages, r)
    if type(w.get("tools")) is list:
        node["tools"] = r.nodes(tools, w.pop("tools"))
    elif w.get("tools", 0) is None:
        node["tools"] = w.pop("tools")
    if "mcp_servers" in w:
        read_servers(w, node, r)
    read_settings(w, node, r)
    REQUEST.read(w, node)
    headers = {key.lower(): value for key, value in (r.http.get("headers") or {}).items()}
    for header in REQUEST_HEADERS:
        if header in headers:
            r.extra(node).setdefault("headers", {})[header] = headers[header]
    return node


# ---- writing --------------------------------------------------------------------------------------------------------


def write_request(c: Node, w: Writer) -> Node:
    """Write a request; supplies `max_tokens`, which is required."""
    wire = _write_prompt(c, w)
    _write_limit(c, wire, w)
    if not own_born(w):
        if not c.keys().isdisjoint(_SAMPLING):
            _settle_sampling(c, wire, model_of(w))
        if c.get("stop"):
            _settle_stop(c, wire, w)
    for index, _ in enumerate(c.pop("include", None) or ()):
        w.report(w.doc, ("include", index), "lost")
    settled = {key: c.pop(key) for key in tuple(c) if type(c[key]) is Fated}
    REQUEST.write(c, wire, w, w.doc)
    c.update(settled)
    if w.model:
        wire["model"] = w.model
    _write_headers(c, wire, w)
    return wire


def write_count_request(c: Node, w: Writer) -> Node:
    """A request that counts tokens: what makes no difference to the count has no place in it."""
    wire = _write_prompt(c, w)
    for key in ("model", "cache"):
        if key in c:
            REQUEST.write({key: c.pop(key)}, wire, w, w.doc)
    if w.model:
        wire["model"] = w.model
    _write_headers(c, wire, w)
    w.http.update(method="POST", path="v1/messages/count_tokens")
    return wire


def _write_prompt(c: Node, w: Writer) -> Node:
    """Tools, system text, messages, in the order of the cache."""
    own = own_born(w)
    wire: Node = {}
    if "tools" in c:
        only_allowed(c, w)
        write_tools(c, wire, w)
    items = _write_system(c, wire, w)
    wire["messages"] = write_messages(items, w)
    if not own:
        if wire.get("tools") == []:
            del wire["tools"]
        if c.get("container") is not None and w.facing == "provider":
            c["container"] = Fated("lost", "foreign")
    write_settings(c, wire, w)
    return wire


def _write_system(c: Node, wire: Node, w: Writer) -> Any:
    """Write `system`; what remains of the conversation."""
    items = c.pop("input", None)
    instructions = c.pop("instructions", None) if "instructions" in c else ...
    leading: list[Node] = []
    if type(items) is list:
        leading = list(takewhile(lambda item: _is_leading(item, w), items))
        items = items[len(leading) :]
    if not leading:
        if instructions is not ... and (instructions is not None or own_born(w)):
            wire["system"] = w.parts(parts, instructions)
        return items
    texts = [instructions] if instructions is not ... and instructions is not None else []
    texts += [w.piece(_write_leading, item) for item in leading]
    texts = [text for text in texts if text]
    if len(texts) == 1:
        wire["system"] = w.parts(parts, texts[0])
    elif texts:
        wire["system"] = [block for text in texts for block in _as_blocks(text, w)]
    return items


def _is_leading(item: Node, w: Writer) -> bool:
    if item.get("type") != "message" or item.get("role") not in ("system", "developer"):
        return False
    return w.form(item, "place") is None


def _write_leading(c: Node, w: Writer) -> Any:
    if c.pop("role") == "developer":
        c["role"] = Fated("approximated", "sent as system text")
    return c.pop("content", None)


def _as_blocks(text: Any, w: Writer) -> list[Node]:
    return [{"type": "text", "text": text}] if type(text) is str else w.nodes(parts, text)


def _write_limit(c: Node, wire: Node, w: Writer) -> None:
    """`max_tokens`, without which there is no request."""
    wanted = w.context.get("max_tokens")
    if wanted is not None:
        wire["max_tokens"] = wanted
        if type(c.get("max_output_tokens")) is not Fated:
            w.added(wire, "max_tokens", "max_tokens is required; default written")
        return
    if own_born(w):
        return
    most = model_of(w).output_tokens
    limit = c.get("max_output_tokens")
    if limit is None:
        c.pop("max_output_tokens", None)
        usual = w.dialect.get("max_tokens", DEFAULT_MAX_TOKENS)
        wire["max_tokens"] = usual if most is None else min(usual, most)
        w.added(wire, "max_tokens", "max_tokens is required; default written")
    elif most is not None and type(limit) is int and limit > most:
        wire["max_tokens"] = most
        c["max_output_tokens"] = Fated("approximated", f"{most} is the most of this model")


def _settle_sampling(c: Node, wire: Node, model: ModelProfile) -> None:
    """Sampling as the API takes it: a temperature up to 1, not together with top_p, none of it beside thinking.

    Thinking wins over sampling.
    https://docs.claude.com/en/docs/build-with-claude/extended-thinking#feature-compatibility
    """
    for key in _SAMPLING:
        if c.get(key) is None:
            continue
        if model.refused(key, c[key], True):
            c[key] = Fated("lost", "the model refuses it")
        elif key in model.refuses:
            c[key] = Fated("approximated", "what the model does anyway")
    form = (wire.get("thinking") or {"type": "adaptive" if model.reasoning.default == "on" else "disabled"})["type"]
    if form in ("enabled", "adaptive", "between_tools"):
        for key in _SAMPLING:
            if type(c.get(key)) is Fated:
                continue
            if key == "temperature" and c.get(key) == 1:
                c[key] = Fated("approximated", "what thinking is done with")
            elif c.get(key) is not None:
                c[key] = Fated("lost", "no sampling beside thinking")
        return
    temperature = c.get("temperature")
    if type(temperature) is Fated:
        return
    if isinstance(temperature, (int, float)) and temperature > 1:
        wire["temperature"] = 1
        c["temperature"] = Fated("approximated", "1 is the most")
    if temperature is not None and c.get("top_p") is not None:
        c["top_p"] = Fated("lost", "not together with temperature")


def _settle_stop(c: Node, wire: Node, w: Writer) -> None:
    stop = c["stop"]
    blank = [type(text) is str and not text.strip() for text in stop] if type(stop) is list else []
    if not any(blank):
        return
    if all(blank):
        c["stop"] = Fated("lost", _BLANK)
        return
    wire["stop_sequences"] = [text for text, refused in zip(c.pop("stop"), blank) if not refused]
    for index, refused in enumerate(blank):
        if refused:
            w.report(w.doc, ("stop", index), "lost", _BLANK)


_BLANK = "blank texts are refused"


def _write_headers(c: Node, wire: Node, w: Writer) -> None:
    extra = c.get("extra")
    headers: Node = dict((extra.get(w.protocol) or {}).get("headers") or {}) if extra else {}
    if "anthropic-version" not in headers:
        unusual = w.context.get("unusual")
        legacy = not wire.keys().isdisjoint(_SAMPLING) or (unusual is not None and _has_legacy_blocks(unusual))
        headers["anthropic-version"] = LEGACY_VERSION if legacy else API_VERSION
    if not own_born(w):
        flags = [] if BETAS.keys().isdisjoint(wire) else [flag for key, flag in BETAS.items() if key in wire]
        for tool in wire.get("tools") or ():
            if type(tool) is dict and "type" in tool and lookup(BETAS, tool["type"]):
                flags.append(BETAS[tool["type"]])
        for edit in (wire.get("context_management") or {}).get("edits") or ():
            flags += [BETAS[edit["type"]]] if edit.get("type") in BETAS else []
        if flags:
            headers["anthropic-beta"] = ",".join(dict.fromkeys(flags))
    w.http |= {"method": "POST", "path": "v1/messages", "headers": headers}


def _has_legacy_blocks(messages: Iterable[Any]) -> bool:
    """Documents of the assistant and citations of the user, which the newer version refuses."""
    for message in messages:
        content = message.get("content") if type(message) is dict else None
        if type(content) is not list:
            continue
        for block in content:
            if type(block) is not dict:
                continue
            kind = block.get("type")
            if message.get("role") == "assistant" and kind == "document":
                return True
            if message.get("role") == "user" and kind == "text" and block.get("citations"):
                return True
    return False
