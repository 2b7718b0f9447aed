"""Results of the provider's own tools: what was found, read, run and loaded.

An error is an object in place of the result. Pieces in cipher (search hits, output of ciphered code) are opaque and go
back to this provider alone; the hits of another search travel to a client in an envelope in the same slot.

https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, Mapping, take, take_all
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.code_results import failed, said_by, take_printed
from unified_llm.provenance.opaque import is_envelope, opaque_piece, open_sealed, seal, split_opaque

from .blocks import blocks, ordered
from .calls import move_caller_in, move_caller_out, take_text
from .content import move_cache_in, move_cache_out, own_born, parts, withhold

__all__ = ["hits"]

Node = dict[str, Any]

hits = Mapping("anthropic-messages web search results")


def _read_failure(w: Node, item: Node, kind: str, r: Reader) -> bool:
    """Whether the content is an error object; the item then says so."""
    content = w["content"]
    if type(content) is not dict or content.get("type") != f"{kind}_error":
        return False
    own = take(w, "content")
    del own["type"]
    item["error"] = {"code": own.pop("error_code", None)}
    if "error_message" in own:
        item["error"]["message"] = own.pop("error_message")
    for key in item["error"]:
        r.place(item, ("error", key), ("content", f"error_{key}"))
    return True


def _write_failure(c: Node, wire: Node, kind: str) -> bool:
    error = c.get("error")
    if type(error) is not dict or not error:
        return False
    own = take(c, "error")
    wire["content"] = {"type": f"{kind}_error", "error_code": own.pop("code", None)}
    if "message" in own:
        wire["content"]["error_message"] = own.pop("message")
    return True


def _result(w: Node, type_: str) -> Node:
    return {"type": type_, "call_id": take_text(w, "tool_use_id")}


def _ended(w: Node, item: Node, r: Reader) -> Node:
    if w:
        move_caller_in(w, item, r)
        move_cache_in(w, item, r)
    return item


def _written(c: Node, wire: Node, w: Writer) -> Node:
    if c:
        withhold(c, w)
        move_caller_out(c, wire, w)
        move_cache_out(c, wire, w)
    return wire


_HIT = ("url", "title", "page_age")


@hits.read("web_search_result")
def read_hit(w: Node, r: Reader) -> Node:
    cipher = w.get("encrypted_content")
    opened = None
    if sealed := is_envelope(cipher, r):
        opened = open_sealed(w.pop("encrypted_content"), f"url:{w.get('url')}", r)
        if opened is not None and r.secret is not None:
            for key in _HIT:
                w.pop(key, None)
            return opened
    hit: Node = {key: w.pop(key) for key in _HIT if key in w}
    if opened is not None and opened.get("opaque"):
        hit["opaque"] = opened["opaque"]
    if type(cipher) is str and cipher and not sealed:
        hit["opaque"] = [opaque_piece("encrypted_content", w.pop("encrypted_content"), r)]
        r.place(hit, ("opaque",), ("encrypted_content",))
    return hit


def _write_hit(c: Node, w: Writer) -> Node:
    node = dict(c)
    own, foreign = split_opaque(c, w)
    wire: Node = {"type": "web_search_result", **{key: c.pop(key) for key in _HIT if key in c}}
    kinds = {piece.get("kind"): piece["data"] for piece in own}
    if kinds.keys() == {"encrypted_content"}:
        wire["encrypted_content"] = kinds["encrypted_content"]
    elif own:
        c["opaque"] = own
    if not own and not own_born(w):
        wire.setdefault("url", "")
        wire.setdefault("title", "")
        wire["encrypted_content"] = seal(ordered(node), f"url:{wire['url']}", w.secret)
        c.pop("snippet", None)
        if foreign:
            c["opaque"] = Fated("parked", "kept in an envelope")
    return wire


@blocks.read("web_search_tool_result")
def read_search_result(w: Node, r: Reader) -> Node:
    item = _result(w, "web_search_result")
    if not _read_failure(w, item, "web_search_tool_result", r):
        item["results"] = r.nodes(hits, w["content"])
        r.place(item, ("results",), ("content",))
        del w["content"]
    return _ended(w, item, r)


@blocks.write("web_search_result")
def write_search_result(c: Node, w: Writer) -> Node | None:
    if c.get("call_id") is None and not c.get("results") and not own_born(w):
        return None  # what came with a search that has no id here, and no hits
    wire: Node = {"type": "web_search_tool_result", "tool_use_id": c.pop("call_id", None)}
    if not _write_failure(c, wire, "web_search_tool_result"):
        found = c.pop("results", None) or []
        if w.facing == "provider" and not own_born(w) and not all(_ours(hit, w) for hit in found):
            c["results"] = found
            return None
        wire["content"] = write_hits(found, w)
    return _written(c, wire, w)


def write_hits(found: list[Node], w: Writer) -> list[Node]:
    """The hits of a search; a hit the reader could not read goes back as it was."""
    out: list[Node] = []
    for hit in found:
        if "type" in hit:
            out += w.nodes(hits, (hit,))
        else:
            doc = w.doc
            out.append(w.root(_write_hit, hit))
            w.doc = doc
    return out


def _ours(hit: Node, w: Writer) -> bool:
    pieces = hit.get("opaque") or ()
    return bool(pieces) and all((piece.get("origin") or {}).get("protocol") == w.protocol for piece in pieces)


@blocks.read("web_fetch_tool_result")
def read_fetch_result(w: Node, r: Reader) -> Node:
    item = _result(w, "web_fetch_result")
    if not _read_failure(w, item, "web_fetch_tool_result", r):
        content = take(w, "content")
        if content.pop("type") != "web_fetch_result":
            raise IllTyped("content")
        page: Node = {key: content.pop(key) for key in ("url", "retrieved_at") if key in content}
        for key in page:
            r.place(item, ("results", 0, key), ("content", key))
        if "content" in content:
            page["document"] = r.node(parts, content.pop("content"))
            r.place(item, ("results", 0, "document"), ("content", "content"))
        item["results"] = [page]
    return _ended(w, item, r)


@blocks.write("web_fetch_result")
def write_fetch_result(c: Node, w: Writer) -> Node | None:
    wire: Node = {"type": "web_fetch_tool_result", "tool_use_id": c.pop("call_id", None)}
    if not _write_failure(c, wire, "web_fetch_tool_result"):
        pages = c.get("results")
        if type(pages) is not list or len(pages) != 1 or (w.facing == "provider" and not own_born(w)):
            return None
        if "document" not in pages[0]:
            return None
        page = take_all(c, "results")[0]
        content: Node = {"type": "web_fetch_result", **{k: page.pop(k) for k in ("url", "retrieved_at") if k in page}}
        document = w.node(parts, page.pop("document"))
        if document is not None:
            content["content"] = document
        wire["content"] = content
    return _written(c, wire, w)


# ---- code -----------------------------------------------------------------------------------------------------------


def _read_files(own: Node, name: str) -> list[Node] | None:
    """The files that code wrote; None, and left where they are, if there is anything else among them."""
    outputs = own.get("content")
    if type(outputs) is not list or any(
        type(x) is not dict or x.keys() != {"type", "file_id"} or x["type"] != f"{name}_output" for x in outputs
    ):
        return None
    del own["content"]
    return [{"type": "file", "file_id": x["file_id"]} for x in outputs]


@blocks.read("code_execution_tool_result")
def read_code_result(w: Node, r: Reader) -> Node:
    item = _result(w, "code_interpreter_result")
    if not _read_failure(w, item, "code_execution_tool_result", r):
        own = take(w, "content")
        kind = own.pop("type")
        if kind not in ("code_execution_result", "encrypted_code_execution_result"):
            raise IllTyped("content")
        for key in ("stdout", "stderr", "return_code"):
            if key in own:
                item[key] = own.pop(key)
                r.place(item, (key,), ("content", key))
        if kind.startswith("encrypted"):
            cipher = take_text(own, "encrypted_stdout")
            item["opaque"] = [opaque_piece("encrypted_stdout", cipher, r)]
            r.place(item, ("opaque",), ("content", "encrypted_stdout"))
        files = _read_files(own, "code_execution")
        if files is not None:
            item["outputs"] = files
            r.place(item, ("outputs",), ("content", "content"))
    return _ended(w, item, r)


@blocks.write("code_interpreter_result")
def write_code_result(c: Node, w: Writer) -> Node | None:
    own, foreign = split_opaque(c, w)
    if foreign:
        c["opaque"] = own + foreign
        return None
    wire: Node = {"type": "code_execution_tool_result", "tool_use_id": c.pop("call_id", None)}
    if _write_failure(c, wire, "code_execution_tool_result"):
        return _written(c, wire, w)
    if w.facing == "provider" and not own_born(w) and "return_code" not in c:
        return None
    content: Node = {"type": "encrypted_code_execution_result" if own else "code_execution_result"}
    for piece in own:
        if piece.get("kind") == "encrypted_stdout":
            content["encrypted_stdout"] = piece["data"]
        else:
            c["opaque"] = [piece]
    bad = failed(c)
    for key in ("stdout", "stderr", "return_code"):
        if key in c:
            content[key] = c.pop(key)
    _write_files(c, "outputs", content, "code_execution", w)
    if not own_born(w):
        if "stdout" not in content and "stderr" not in content:
            printed = take_printed(c)
            if printed is not None:
                content["stderr" if bad else "stdout"] = printed
        said_by(c, "return_code")
        if c.get("status") in ("completed", "failed"):
            c["status"] = Fated("approximated", "said by return_code")
        for key, default in (("stdout", ""), ("stderr", ""), ("return_code", int(bool(bad))), ("content", [])):
            if key not in content and not (own and key == "stdout"):
                content[key] = default
                w.added(content, key, "a result says all of this")
    wire["content"] = content
    return _written(c, wire, w)


def _write_files(c: Node, key: str, content: Node, name: str, w: Writer) -> None:
    files = c.get(key)
    if type(files) is list and all(type(x) is dict and x.keys() == {"type", "file_id"} for x in files):
        content["content"] = [{"type": f"{name}_output", "file_id": x["file_id"]} for x in c.pop(key)]


_BASH = {"stdout": "stdout", "stderr": "stderr", "outcome": "return_code", "files": "content"}


@blocks.read("bash_code_execution_tool_result")
def read_bash_result(w: Node, r: Reader) -> Node:
    item = _result(w, "shell_call_output")
    item["executor"] = "provider"
    r.form(item, "hosted", True)
    for key in ("type", "executor"):
        r.place(item, (key,), ("type",))
    if not _read_failure(w, item, "bash_code_execution_tool_result", r):
        own = take(w, "content")
        if own.pop("type") != "bash_code_execution_result":
            raise IllTyped("content")
        output: Node = {key: take_text(own, key) for key in ("stdout", "stderr") if key in own}
        if "return_code" in own:
            output["outcome"] = {"type": "exit", "exit_code": own.pop("return_code")}
        files = _read_files(own, "bash_code_execution")
        if files is not None:
            output["files"] = files
        item["output"] = [output]
        for key, told in _BASH.items():
            r.place(item, ("output", 0, key), ("content", told))
    return _ended(w, item, r)


@blocks.write("shell_call_output")
def write_bash_result(c: Node, w: Writer) -> Node | None:
    if c.get("executor") == "provider":
        del c["executor"]
    elif not w.form(c, "hosted"):
        return _client_bash_result(c, w)
    outputs = c.get("output")
    failed = type(c.get("error")) is dict and bool(c["error"])
    if not failed and (type(outputs) is not list or len(outputs) != 1):
        return None
    wire: Node = {"type": "bash_code_execution_tool_result", "tool_use_id": c.pop("call_id", None)}
    if not _write_failure(c, wire, "bash_code_execution_tool_result"):
        own = take_all(c, "output")[0]
        content: Node = {"type": "bash_code_execution_result"}
        for key in ("stdout", "stderr"):
            if key in own:
                content[key] = own.pop(key)
        outcome = own.get("outcome")
        if type(outcome) is dict and outcome.get("type") == "exit" and outcome.keys() == {"type", "exit_code"}:
            content["return_code"] = take(own, "outcome").pop("exit_code")
            own["outcome"].pop("type")
        _write_files(own, "files", content, "bash_code_execution", w)
        wire["content"] = content
    return _written(c, wire, w)


def _client_bash_result(c: Node, w: Writer) -> Node | None:
    outputs = c.get("output")
    if type(outputs) is not list or type(c.get("call_id")) is not str:
        return None
    if any(type(out) is not dict for out in outputs):
        return None
    texts = []
    for out in take_all(c, "output"):
        for key in ("stdout", "stderr"):
            if out.get(key):
                texts.append(str(out[key]))
                out[key] = Fated("approximated", "as the text of a tool result")
    c.pop("executor", None)
    return {"type": "tool_result", "tool_use_id": c.pop("call_id"), "content": "\n".join(texts)}


# ---- tool search ----------------------------------------------------------------------------------------------------


@blocks.read("tool_search_tool_result")
def read_tool_search_result(w: Node, r: Reader) -> Node:
    item = _result(w, "tool_search_result")
    if not _read_failure(w, item, "tool_search_tool_result", r):
        own = take(w, "content")
        if own.pop("type") != "tool_search_tool_search_result":
            raise IllTyped("content")
        item["content"] = r.nodes(parts, own.pop("tool_references"))
        r.place(item, ("content",), ("content", "tool_references"))
    return _ended(w, item, r)


@blocks.write("tool_search_result")
def write_tool_search_result(c: Node, w: Writer) -> Node | None:
    wire: Node = {"type": "tool_search_tool_result", "tool_use_id": c.pop("call_id", None)}
    if not _write_failure(c, wire, "tool_search_tool_result"):
        if type(c.get("content")) is not list:
            return None
        references = w.nodes(parts, c.pop("content"))
        wire["content"] = {"type": "tool_search_tool_search_result", "tool_references": references}
    return _written(c, wire, w)
