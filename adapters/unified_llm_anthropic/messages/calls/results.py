"""Results of the provider's own tools: what was found, read, run and loaded.

An error is an object in place of the result. Pieces in cipher (search hits, output of ciphered code) are opaque and go
back to this provider alone; the hits of another search travel to a client in an envelope in the same slot.

https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine import Context, Field, Mismatch, Shape, Union, codec, integer, nested, opaque, string, union
from unified_llm.engine.bridge import After, cases_of, declare
from unified_llm.engine.pairs.mapping import Fated, Mapping
from unified_llm.engine.pairs.origins import is_own
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.record import NOTE
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.code_results import failed, said_by, take_printed
from unified_llm.provenance.opaque import is_envelope, open_sealed, seal

from ..blocks import after, before, cases, ordered
from ..parts.content import parts
from ..values.tables import CACHE, PROTOCOL
from .client_calls import CALLER, called_by
from .hosted import at_provider, is_hosted

__all__ = ["hits"]

Node = dict[str, Any]


def _result(kind: str, type_: str, *contents: Any, **constants: Any) -> None:
    """The cases of a result: an error, and what else its content may be."""
    error = {
        "type": f"{kind}_error",
        "error_code": string("error.code").nullable().required(None),
        "error_message?": string("error.message").nullable(),
    }
    for content in (error, *contents):
        cases.case(
            {
                "type": kind,
                "tool_use_id": string("call_id").required(None),
                "content": content,
                **CALLER,
                **CACHE,
            },
            type_,
            when=_has_failed if content is error else _is_ciphered if "encrypted_stdout" in content else None,
            **constants,
        )


def _has_failed(c: Node) -> bool:
    return type(c.get("error")) is dict and bool(c["error"])


def _is_ciphered(c: Node) -> bool:
    return any(piece.get("kind") == "encrypted_stdout" for piece in c.get("opaque") or ())


def _read_lone(key: str) -> After:
    """What a lone element left is kept with the result, whose content it is."""

    def read(node: Node, w: Node, r: Reader) -> Node:
        if "executor" in node:
            r.form(node, "hosted", True)
        extra = node[key][0].pop("extra", None) if key in node else None
        if extra is not None:
            r.extra(node).setdefault("rest", {})["content"] = extra[r.protocol]["rest"]
        return node

    return read


# ---- searches -------------------------------------------------------------------------------------------------------

hits = Mapping(f"{PROTOCOL} web search results")
_hits = Union(hits.name)
_hits.case(
    {
        "type": "web_search_result",
        "url?": string("url").nullable(),
        "title?": string("title").nullable(),
        "page_age?": string("page_age").nullable(),
        "encrypted_content?": opaque("encrypted_content"),
    }
)


def _opened(node: Node, w: Node, r: Reader) -> Node:
    """A hit that traveled in an envelope; of one that anybody may have made only its opaque data."""
    if not is_envelope(w.get("encrypted_content"), r):
        return node
    found = open_sealed(w["encrypted_content"], f"url:{w.get('url')}", r)
    if found is None:
        return node
    if r.secret is not None:
        return {**found, **({"extra": node["extra"]} if "extra" in node else {})}
    return {**node, "opaque": found["opaque"]} if found.get("opaque") else node


def _sealed(c: Node, w: Writer, x: Context) -> Node:
    pieces = c.get("opaque") or []
    foreign = [piece for piece in pieces if not is_own(piece, w)]
    if x.own or len(foreign) < len(pieces):
        return c
    made = {"url": "", "title": "", **{key: value for key, value in c.items() if key not in ("opaque", "snippet")}}
    data = seal(ordered(dict(c)), f"url:{made['url']}", w.secret)
    made["opaque"] = [{"kind": "encrypted_content", "data": data, "origin": {"protocol": w.protocol}}]
    if foreign:
        w.report(c, ("opaque",), "parked", NOTE)
    return x.replaced(c, made)


declare(hits, _hits, {None: _sealed}, {"web_search_result": _opened})
_result("web_search_tool_result", "web_search_result", union("results", cases_of(hits)))


def _as_error(c: Node, code: str, x: Context) -> Node:
    """A result that failed elsewhere without a code: one of the codes of this protocol, in place of the result."""
    key = "is_error" if c.get("is_error") is True else "status" if c.get("status") == "failed" else None
    if x.own or key is None or c.get("error"):
        return c
    x.approximated(c, (key,), f"sent as the error {code!r}")
    made = {name: value for name, value in c.items() if name != key}
    return x.replaced(c, {**made, "error": {"code": code}})


def _found(c: Node, w: Writer, x: Context) -> Node | None:
    c = _as_error(c, "unavailable", x)
    if c.get("call_id") is None and not c.get("results") and not x.own:
        return None  # what came with a search that has no id here, and no hits
    found = c.get("results") or []
    if w.facing == "provider" and not x.own and not _has_failed(c) and not all(_is_ours(hit, w) for hit in found):
        return None
    return called_by(c if c.get("results") is not None else x.replaced(c, {**c, "results": []}), w, x)


def _is_ours(hit: Node, w: Writer) -> bool:
    pieces = hit.get("opaque") or ()
    return bool(pieces) and all((piece.get("origin") or {}).get("protocol") == w.protocol for piece in pieces)


before["web_search_result"] = _found

_page = Shape(
    {
        "type": "web_fetch_result",
        "url?": string("url"),
        "retrieved_at?": string("retrieved_at").nullable(),
        "content?": union("document", cases_of(parts), one=True),
    },
    name=f"{PROTOCOL} page",
)
_result("web_fetch_tool_result", "web_fetch_result", nested("results", _page, listed=True))


_UNREAD = "url_not_accessible"


def _of_failed_page(c: Node, x: Context) -> Node:
    """A result whose one page was not retrieved, which is an error here."""
    pages = c.get("results")
    page = pages[0] if type(pages) is list and len(pages) == 1 else None
    if x.own or c.get("error") or c.get("call_id") is None or type(page) is not dict or "document" in page:
        return c
    if page.get("status") in (None, "success", "unspecified"):
        return c
    x.approximated(c, ("results", 0, "status"), f"sent as the error {_UNREAD!r}")
    for key in page.keys() & {"url"}:
        x.approximated(c, ("results", 0, key), "its call has it")
    for key in page.keys() - {"url", "status"}:
        x.lost(c, ("results", 0, key))
    made = {name: value for name, value in c.items() if name != "results"}
    return x.replaced(c, {**made, "error": {"code": _UNREAD}})


def _fetched(c: Node, w: Writer, x: Context) -> Node | None:
    c = _of_failed_page(_as_error(c, _UNREAD, x), x)
    pages = c.get("results")
    is_whole = type(pages) is list and bool(pages) and "document" in pages[0]
    # What another provider fetched is not sent as if Claude had; its own page comes back from any client.
    is_sent = w.facing == "client" or bool(w.form(c, "home"))
    if not x.own and not _has_failed(c) and not (is_whole and is_sent):
        return None
    return called_by(c, w, x)


before["web_fetch_result"] = _fetched
after["web_fetch_tool_result"] = _read_lone("results")

# ---- code -----------------------------------------------------------------------------------------------------------


def _files(key: str, name: str) -> Field:
    """The files that code wrote, if there is nothing else among them."""

    def read(outputs: list[Any], x: Context) -> list[Node]:
        return [{"type": "file", "file_id": _id(each, f"{name}_output")} for each in outputs]

    def write(files: list[Any], x: Context) -> list[Node]:
        return [{"type": f"{name}_output", "file_id": _id(each, "file")} for each in files]

    return codec(key, list, read=read, write=write, canonical=(list,), exact=True)


def _id(each: Any, type_: str) -> Any:
    if type(each) is not dict or each.keys() != {"type", "file_id"} or each["type"] != type_:
        raise Mismatch
    return each["file_id"]


_ALL = "contained in the result"
_printed = {
    "stderr?": string("stderr").required("", _ALL),
    "return_code?": integer("return_code").required(0, _ALL),
    "content?": _files("outputs", "code_execution").required([], _ALL),
}
_cipher = {"type": "encrypted_code_execution_result", "encrypted_stdout": opaque("encrypted_stdout"), **_printed}
_plain = {"type": "code_execution_result", "stdout?": string("stdout").required("", _ALL), **_printed}
_result("code_execution_tool_result", "code_interpreter_result", _cipher, _plain)


def _ran(c: Node, w: Writer, x: Context) -> Node | None:
    if any(not is_own(piece, w) for piece in c.get("opaque") or ()):
        return None
    if x.own or _has_failed(c):
        return called_by(c, w, x)
    return None if w.facing == "provider" and "return_code" not in c else x.replaced(c, w.piece(_completed, c))


def _completed(c: Node, w: Writer) -> Node:
    """A result in the words of this one."""
    bad = failed(c)
    kept = ("call_id", "cache", "caller", "extra", "opaque", "turn")
    made: Node = {"type": "code_interpreter_result", **{key: c.pop(key) for key in kept if key in c}}
    made.update({key: c.pop(key) for key in ("stdout", "stderr", "return_code") if c.get(key) is not None})
    files = c.get("outputs")
    if type(files) is list and all(type(each) is dict and each.keys() == {"type", "file_id"} for each in files):
        made["outputs"] = c.pop("outputs")
    if "stdout" not in made and "stderr" not in made:
        printed = take_printed(c)
        if printed is not None:
            made["stderr" if bad else "stdout"] = printed
    said_by(c, "return_code")
    if c.get("status") in ("completed", "failed"):
        c["status"] = Fated("approximated", "represented by return_code")
    # A code that follows from what the source contains is not added; it is, where the source has no outcome.
    return made if bad is None else {"return_code": int(bad), **made}


before["code_interpreter_result"] = _ran

_outcome = codec(
    "outcome",
    int,
    read=lambda code, x: {"type": "exit", "exit_code": code},
    write=lambda outcome, x: _exit_code(outcome),
    canonical=(dict,),
)


def _exit_code(outcome: Node) -> Any:
    if outcome.keys() != {"type", "exit_code"} or outcome["type"] != "exit":
        raise Mismatch
    return outcome["exit_code"]


_shell = Shape(
    {
        "type": "bash_code_execution_result",
        "stdout?": string("stdout"),
        "stderr?": string("stderr"),
        "return_code?": _outcome,
        "content?": _files("files", "bash_code_execution").required([], _ALL),
    },
    name=f"{PROTOCOL} shell output",
)
_result(
    "bash_code_execution_tool_result", "shell_call_output", nested("output", _shell, listed=True), executor="provider"
)


def _ran_bash(c: Node, w: Writer, x: Context) -> Node | None:
    outputs = c.get("output")
    if is_hosted(c, w):
        return called_by(at_provider(c, x), w, x)
    # Of a shell of the client's: the result of a call of the tool `bash`.
    if (
        type(outputs) is not list
        or type(c.get("call_id")) is not str
        or any(type(each) is not dict for each in outputs)
    ):
        return None
    texts = []
    for number, out in enumerate(outputs):
        for key, value in out.items():
            if key in ("stdout", "stderr"):
                if value:
                    texts.append(str(value))
                    x.approximated(c, ("output", number, key), "as the text of a tool result")
            else:
                x.lost(c, ("output", number, key))
    made = {key: value for key, value in c.items() if key != "executor"}
    return x.replaced(c, {**made, "type": "function_call_output", "output": "\n".join(texts)})


before["shell_call_output"] = _ran_bash
after["bash_code_execution_tool_result"] = _read_lone("output")

# ---- tool search ----------------------------------------------------------------------------------------------------

_loaded = {"type": "tool_search_tool_search_result", "tool_references": union("content", cases_of(parts))}
_result("tool_search_tool_result", "tool_search_result", _loaded)
before["tool_search_result"] = called_by
