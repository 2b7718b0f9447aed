"""Names of methods that do not exist: what other SDKs call what is meant, and how it is done here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Hinted"]

_CREATE = "use client.responses.create(model=..., input=...)"
_STREAM = "use client.responses.create(model=..., input=..., stream=True)"
_PARSE = "structured output is client.responses.parse(text_format=...)"
_PREVIOUS = "a conversation is continued with client.responses.create(previous=result, input=...)"
_ELSEWHERE = "this library has no such endpoint; use the provider's SDK for it"
_TOKENS = "use client.count_tokens(model=..., input=...)"
_KNOWN = "unified_llm.models.get('provider/model') describes a model, client.models.list() lists those of a provider"
_SETTINGS = "options are arguments of each call, such as timeout= and extra_headers=, or of the client itself"
_RAW = "a result has .raw, .headers and .request_id"
_METHODS = "cancel create delete parse resume retrieve run"
# What has no attribute of the name, by the class without its prefix for event loops.
_HINTS: dict[str, dict[str, str]] = {
    "Client": {
        **dict.fromkeys(
            """chat complete completion completions converse generate generate_content generate_text interactions
            invoke message messages predict prompt""".split(),
            _CREATE,
        ),
        **dict.fromkeys("astream converse_stream generate_content_stream stream stream_text".split(), _STREAM),
        **dict.fromkeys("beta generate_object with_structured_output".split(), _PARSE),
        **dict.fromkeys("chats conversations start_chat threads".split(), _PREVIOUS),
        **dict.fromkeys(
            """audio batches caches embed embeddings evals files fine_tuning fine_tunes images live moderations realtime
            skills uploads vector_stores videos""".split(),
            _ELSEWHERE,
        ),
        **{name: f"use client.responses.{name}(...)" for name in _METHODS.split()},
        "aio": "use unified_llm.AsyncClient()",
        "input_tokens": _TOKENS,
        "list_models": "use client.models.list()",
        "copy": _SETTINGS,
        "with_options": _SETTINGS,
        "with_raw_response": _RAW,
        "with_streaming_response": _RAW,
    },
    "Responses": {
        **dict.fromkeys("complete completions generate generate_content invoke messages send".split(), _CREATE),
        "count_tokens": _TOKENS,
        "stream": _STREAM,
        "with_raw_response": _RAW,
        "with_streaming_response": _RAW,
    },
    "Models": {
        **dict.fromkeys("generate generate_content".split(), _CREATE),
        "generate_content_stream": _STREAM,
        **dict.fromkeys("delete embed_content generate_images generate_videos".split(), _ELSEWHERE),
        **dict.fromkeys("get retrieve".split(), _KNOWN),
        "count_tokens": _TOKENS,
    },
}


class Hinted:
    """A class whose missing attributes are named in the error with what to use instead."""

    if not TYPE_CHECKING:  # a checker must see that they are missing

        def __getattr__(self, name: str) -> Any:
            """Raise `AttributeError`: Python looks here for what is nowhere else.

            >>> import unified_llm as ul
            >>> try:
            ...     ul.Client().chat
            ... except AttributeError as error:
            ...     print(error)
            'Client' object has no attribute 'chat'; use client.responses.create(model=..., input=...)
            """
            kind = type(self).__name__
            hint = None if name.startswith("_") else _hint(type(self), name)
            raise AttributeError(f"{kind!r} object has no attribute {name!r}{f'; {hint}' if hint else ''}")


def _hint(kind: type, name: str) -> str | None:
    bases = [base.__name__.removeprefix("Async") for base in kind.__mro__]
    hints = next((_HINTS[base] for base in bases if base in _HINTS), {})
    if name in hints:
        return hints[name]
    from difflib import get_close_matches

    own = [each for each in dir(kind) if each[0] != "_"]
    if "close" in own or "aclose" in own:
        own += ["models", "responses"]
        if name in ("close", "aclose"):
            return "use client.close()" if "close" in own else "use await client.aclose()"
    near = get_close_matches(name, own, 1, 0.8)
    return f"did you mean {near[0]!r}?" if near else None
