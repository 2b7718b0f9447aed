"""Content parts of Messages: text, images, documents, search results, each read and written side by side.

Text of the user is `input_text`, text of the assistant `output_text`; everything else means the same wherever it
stands. A source in base64 becomes a data URL and the other way round, byte for byte. A file id is a handle of the
provider that gave it, so one that came through another protocol is never sent.

https://docs.claude.com/en/api/messages
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine import Context, Field, Mismatch, Union, boolean, codec, flatten, string, union
from unified_llm.engine.bridge import cases_of, declare
from unified_llm.engine.pairs.mapping import IllTyped, Mapping
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.file_types import image_type, type_of_file
from unified_llm.engine.shared.nearest_values import fit_lifetime
from unified_llm.engine.shared.text_fallbacks import transcript_as_text

from ..values.tables import CACHE, LIFETIMES, PROTOCOL, read_cache, write_cache
from .citations import citations
from .plaintext import plain_text

__all__ = [
    "answer_parts",
    "is_own_born",
    "move_cache_in",
    "move_cache_out",
    "own_born",
    "parts",
    "said",
]

Node = dict[str, Any]

parts = Mapping("anthropic-messages parts")
answer_parts = Mapping("anthropic-messages assistant parts")


def own_born(w: Writer) -> bool:
    """Whether the document being written was read from this protocol: then it is left as it is."""
    own = w.context.get("own")
    if own is None:
        own = w.context["own"] = is_own_born(w.doc, w)
    return bool(own)


def is_own_born(doc: Any, w: Writer) -> bool:
    """The same of a document that is to be written."""
    extra = doc.get("extra") if type(doc) is dict else None
    return w.source == w.protocol or PROTOCOL in (extra or {})


def move_cache_in(w: Node, node: Node, r: Reader) -> Node:
    """Read a cache breakpoint, if there is one that reads as such."""
    if "cache_control" in w:
        if w["cache_control"] is None:
            node["cache"] = w.pop("cache_control")
            return node
        try:
            node["cache"] = read_cache(w["cache_control"])
        except IllTyped:
            return node
        del w["cache_control"]
        r.place(node, ("cache",), ("cache_control",))
    return node


def move_cache_out(c: Node, wire: Node, w: Writer) -> Node:
    """Move the cache breakpoint of a part to its block, as `cache_control`. Consumes `cache` of `c`."""
    if "cache" in c:
        if c["cache"] is None:
            wire["cache_control"] = c.pop("cache")
            return wire
        try:
            wire["cache_control"] = cache = write_cache(c["cache"])
        except IllTyped:
            return wire
        if cache.get("ttl") is None or cache["ttl"] in LIFETIMES or own_born(w):
            del c["cache"]
        else:
            fit_lifetime(c, cache, LIFETIMES)
    return wire


# ---- sources --------------------------------------------------------------------------------------------------------


def split_data_url(url: str) -> tuple[str, str] | None:
    """Media type and base64 data of a data URL (RFC 2397), None for anything else.

    >>> split_data_url("data:image/png;base64,iVBO")
    ('image/png', 'iVBO')
    """
    if url[:5].lower() != "data:":
        return None
    head, comma, data = url[5:].partition(",")
    if not comma or not head.lower().endswith(";base64"):
        return None
    return head[: -len(";base64")], data


def _base64(key: str) -> Field:
    """A source in base64, as a data URL."""

    def read(source: Node, x: Context) -> str:
        media_type, data = source["media_type"], source["data"]
        if type(media_type) is not str or type(data) is not str or ";base64," in media_type:
            raise Mismatch
        return f"data:{media_type};base64,{data}"

    def write(url: str, x: Context) -> Node:
        found = split_data_url(url)
        if found is None:
            raise Mismatch
        return {"type": "base64", "media_type": found[0], "data": found[1]}

    return codec(key, dict, read=read, write=write, canonical=(str,), exact=True)


# The first base64 characters of what the API accepts and checks.
_MAGIC = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
    "JVBERi": "application/pdf",
}
# What the API takes as an image: a request with another type is refused.
# https://docs.claude.com/en/api/messages#body-messages-content-source-media-type
_IMAGES = frozenset(kind for kind in _MAGIC.values() if kind.startswith("image/"))


def _fitted(c: Node, key: str, x: Context) -> Node | None:
    """A node whose data URL is as the API takes it; None for a data URL that is not in base64."""
    found = split_data_url(c[key])
    if found is None:
        return None if c[key][:5].lower() == "data:" else c
    clean, kind = "".join(found[1].split()), image_type(found[0].partition(";")[0].strip())
    if not kind:
        kind = c["media_type"] if type(c.get("media_type")) is str else "text/plain"
    kind = next((real for magic, real in _MAGIC.items() if clean.startswith(magic)), kind)
    if (kind, clean) == found:
        return c
    x.approximated(c, (key,), f"sent as {kind}")
    return x.replaced(c, {**c, key: f"data:{kind};base64,{clean}"})


images = Union("image source")
images.whole("base64", _base64("image_url"))
images.case({"type": "url", "url": string("image_url")})
images.case({"type": "file", "file_id": string("file_id")})
files = Union("document source")
files.whole("base64", _base64("file_data"))
files.case({"type": "text", "media_type?": string("media_type"), "data": string("text")})
files.case({"type": "content", "content": union("content", cases_of(parts), text=True)})
files.case({"type": "url", "url": string("file_url")})
files.case({"type": "file", "file_id": string("file_id")})

# ---- parts ----------------------------------------------------------------------------------------------------------

_CITABLE = {"citations?": {"enabled?": boolean("citations.enabled").nullable()}}


def _declared(name: str, texts: tuple[str, ...], pictures: tuple[str, ...], papers: tuple[str, ...]) -> Union:
    """The parts of one side of a conversation; the first type of each is what it is read as."""
    cases = Union(name)
    cited = union("annotations", cases_of(citations)).nullable().filled()
    cases.case({"type": "text", "text": string("text").growing(), "citations?": cited, **CACHE}, *texts)
    cases.case({"type": "image", "source": flatten(images), **CACHE}, *pictures)
    titles = {"title?": string("title").nullable(), "context?": string("context").nullable()}
    cases.case({"type": "document", "source": flatten(files), **titles, **_CITABLE, **CACHE}, *papers)
    cases.case(
        {
            "type": "search_result",
            "source": string("source"),
            "title": string("title").required(""),
            "content": union("content", cases_of(parts), text=True).required([]),
            **_CITABLE,
            **CACHE,
        },
        "search_result",
    )
    return cases


_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
_PICTURES = ("input_image", "output_image", "computer_screenshot")
_PAPERS = ("input_file", "output_file")
asked = _declared(parts.name, _TEXTS, _PICTURES, _PAPERS)
asked.case({"type": "tool_reference", "tool_name": string("name"), **CACHE}, "tool_reference")
answered = _declared(answer_parts.name, ("output_text", "input_text", "text"), ("input_image",), ("input_file",))

# ---- what is not one to one -----------------------------------------------------------------------------------------


def said(content: list[Node], w: Writer) -> list[Node]:
    """Parts without those that are empty text and nothing else: the API refuses them, and nothing is lost with them."""
    if own_born(w):
        return content
    return [part for part in content if part.get("text") != "" or not _is_silent(part)]


_SILENT = frozenset(("type", "text", "annotations", "logprobs", "extra"))


def _is_silent(part: Node) -> bool:
    """Whether an empty text has nothing beside it; how another protocol spelled it is nothing."""
    spelled = (drawer.keys() <= {"form"} for drawer in (part.get("extra") or {}).values())
    return _SILENT.issuperset(part) and not part.get("annotations") and all(spelled)


def _text(c: Node, w: Writer, x: Context) -> Node | None:
    if not c["text"] and not x.own:
        # The API refuses empty text, in the answers that clients send back too; there is nothing in it to lose.
        return None
    if "annotations" in c:
        w.context["text length"] = len(c["text"])
    return c


def _refusal(c: Node, w: Writer, x: Context) -> Node | None:
    """Refusals are ordinary text here; the stop reason of an answer marks them."""
    if type(c.get("refusal")) is not str or not c["refusal"]:
        return None
    for key in ("type", "refusal"):
        x.approximated(c, (key,), "sent as text")
    made = {key: value for key, value in c.items() if key != "refusal"}
    return x.replaced(c, {**made, "type": "output_text", "text": c["refusal"]})


def _image(c: Node, w: Writer, x: Context) -> Node | None:
    if type(c.get("image_url")) is str:
        fitted = c if x.own else _fitted(c, "image_url", x)
        if fitted is None or x.own:
            return fitted
        found = split_data_url(fitted["image_url"])
        return fitted if found is None or found[0] in _IMAGES else None
    return None if w.facing == "provider" and not x.own else c


def _document(c: Node, w: Writer, x: Context) -> Node | None:
    made, media_type = c, c["media_type"] if type(c.get("media_type")) is str else None
    if type(c.get("file_data")) is str:
        if c["file_data"][:5].lower() != "data:":
            if not media_type and not x.own:
                media_type = type_of_file(c.get("filename"), c["file_data"])
                if media_type in ("application/pdf", "text/plain"):
                    named = type(c.get("filename")) is str  # else the type is missing anywhere in the part
                    x.approximated(c, ("file_data",) if named else (), f"sent as {media_type}")
            if media_type:
                made = x.replaced(c, {**c, "file_data": f"data:{media_type};base64,{c['file_data']}"})
                made.pop("media_type", None)
        fitted = made if x.own else _fitted(made, "file_data", x)
        if fitted is None:
            return None
        made = fitted if x.own else _as_text(fitted, x)
    elif type(c.get("text")) is str:
        made = c if x.own or media_type else x.replaced(c, {**c, "media_type": "text/plain"})
    elif c.get("content") is None and type(c.get("file_url")) is not str and w.facing == "provider" and not x.own:
        return None  # a file id is a handle of the provider that gave it
    if "title" not in made and type(c.get("filename")) is str:
        x.approximated(c, ("filename",), "as the title")
        made = x.replaced(c, {**made, "title": c["filename"]})
        del made["filename"]
    return made


def _as_text(c: Node, x: Context) -> Node:
    """A document in base64, as text if it is not a PDF."""
    media_type, data = split_data_url(c["file_data"]) or ("", "")
    if media_type == "application/pdf":
        return c
    text = plain_text({"media_type": media_type, "data": data})
    if text is None:
        raise Mismatch((), f"documents are PDF or text, not {media_type}")
    if media_type != "text/plain":
        x.approximated(c, ("file_data",), "sent as plain text")
    made = {key: value for key, value in c.items() if key != "file_data"}
    return x.replaced(c, {**made, "text": text["data"], "media_type": "text/plain"})


def _found(c: Node, w: Writer, x: Context) -> Node:
    if type(c.get("content")) is not str or x.own:
        return c
    return x.replaced(c, {**c, "content": [{"type": "input_text", "text": c["content"]}]})


_HOOKS: dict[str, Any] = {
    **dict.fromkeys(_TEXTS, _text),
    **dict.fromkeys(_PICTURES, _image),
    **dict.fromkeys(_PAPERS, _document),
    "search_result": _found,
}
declare(parts, asked, _HOOKS)
declare(
    answer_parts,
    answered,
    {**{type_: hook for type_, hook in _HOOKS.items() if type_ in answered.by_type}, "refusal": _refusal},
)


@answer_parts.write("output_audio")
def _transcript(c: Node, w: Writer) -> Node | None:
    text = transcript_as_text(c)
    return None if text is None else {"type": "text", "text": text}


parts.cannot("input_audio output_audio", "anthropic-messages has no audio input")
parts.cannot(" ".join(_PICTURES), "images are JPEG, PNG, GIF or WebP")
parts.cannot(" ".join(_PAPERS), "documents are PDF or text")
parts.cannot("encrypted_content", "only its own provider can read it")
parts.cannot("input_video output_video", "anthropic-messages has no video input")
answer_parts.cannot("output_image output_audio output_video output_file", "an assistant message holds text alone")
