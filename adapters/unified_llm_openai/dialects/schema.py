"""The keys a dialect may have, their meaning, and the check that a file has no others.

A key is declared with the shape of its value and one sentence; the page docs/dialects.md is made of both. Names of
parameters are those of the wire, dotted where they lie deeper; settings behind `control` and `usage` are the canonical
ones. The default of a key is OpenAI's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

__all__ = ["ABOUT", "KEYS", "Key", "checked"]

Table = Mapping[str, Any]


class Key(NamedTuple):
    """A key of a dialect: the shape of its value (see `SHAPES`), its meaning, and the words it is limited to."""

    shape: str
    says: str
    words: tuple[str, ...] = ()


_NUMBER = (int, float)
_REASONS = tuple(
    """stop stop_sequence length context_window tool_calls refusal safety recitation malformed_call pause cancelled
    error other""".split()
)
_ERRORS = tuple(
    """invalid_request authentication permission not_found conflict too_large rate_limit quota overloaded server_error
    timeout context_overflow content_filter other""".split()
)

ABOUT = {
    "title": Key("text", "The vendor's name."),
    "sources": Key("texts", "Where the facts are from."),
    "as_of": Key("text", "The day of which they are."),
}
"""The keys at the top of a file."""

_BOTH = {
    "refuses": Key("texts", "Parameters it does not take, most with an error: they are not sent."),
    "ignores": Key("texts", "Parameters that change nothing: they are not sent."),
    "only": Key("lists", "Values a parameter, or an entry of its list, may have; another is not sent, or the nearest."),
    "nearest": Key("tables", "What is sent for a value that the server has not."),
    "least": Key("numbers", "The least value of a parameter."),
    "most": Key("numbers", "The greatest value of a parameter, or the most entries of its list."),
    "efforts": Key("texts", "The efforts of reasoning there are; another is sent as the nearest."),
    "provider": Key("no", "It is a form that any server may use, and no vendor's own."),
    "tool_kinds": Key("texts", "Kinds of tools it takes."),
    "tool_choices": Key("texts", "Kinds of `tool_choice` it takes; the nearest is sent for another."),
    "formats": Key("texts", "Kinds of output formats it takes."),
    "image_types": Key("texts", "The media types of images that it takes."),
    "image_urls": Key("no", "It takes images as data only."),
    "schemas": Key("word", "The profile of JSON schemas that it takes.", ("plain", "open")),
    "cache_key": Key(
        "word",
        "How it spells a cache breakpoint of a part; without it none is sent.",
        ("cache_control", "prompt_cache_breakpoint"),
    ),
    "repair": Key("rules", "What it demands of a history beside what the protocol does."),
}

KEYS: dict[str, dict[str, Key]] = {
    "chat": {
        **_BOTH,
        "strict_tools": Key("no", "`strict` of a tool is not understood."),
        "takes": Key("texts", "Its own parameters; any other unknown one is answered with an error."),
        "max_tokens": Key("word", "How it spells the limit of output.", ("max_tokens", "max_completion_tokens")),
        "renames": Key("words", "Parameters with a name of their own."),
        "words": Key("tables", "Values with a word of their own."),
        "roles": Key("words", "Roles that it does not support, with the ones it reads them as."),
        "parts": Key("texts", "Kinds of content a user's message may have."),
        "audio_formats": Key("texts", "The formats of audio that it takes."),
        "file_part": Key("word", "The part that holds a file by its URL.", ("document_url",)),
        "file_urls": Key("yes", "`file_data` may be a URL."),
        "string_content": Key("texts", "Roles of messages whose content has to be a string."),
        "null_content": Key("no", "The content of a message with calls may not be null: it is empty."),
        "annotations": Key("texts", "Kinds of annotations of an answer that it takes back."),
        "pictures": Key("yes", "`images` of a message holds what the model drew."),
        "message_keys": Key("texts", "What messages may have beside text and calls; it answers others with an error."),
        "names": Key("no", "`name` of a message is not understood."),
        "prefix": Key("word", "The flag of a message of the model's at the end, with which the answer goes on."),
        "result_names": Key("yes", "A tool's message names the function that was called."),
        "reasoning_field": Key(
            "word",
            "Where reasoning is in an answer, and where it goes back.",
            ("reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "thinking", "tags"),
        ),
        "reasoning_replay": Key("word", "Which messages may have it when they go back.", ("calls", "never")),
        "reasoning_required": Key("yes", "A message with calls has to have the field, if only empty."),
        "reasoning_tags": Key("texts", "The tags around reasoning at the beginning of a content."),
        "search_tool": Key("words", "The kind of tool that searches the web there, and the names of its settings."),
        "search_plugin": Key("words", "The entry of `plugins` that does, and the names of its settings."),
        "search_suffix": Key("word", "The end of a model's name that does."),
        "opaque": Key(
            "texts",
            "Opaque pieces it takes back.",
            ("reasoning_details", "reasoning_opaque", "thought_signature"),
        ),
        "control": Key("words", "Where the controls of reasoning are; `!` before a switch with the opposite meaning."),
        "control_words": Key("values", "The words that switch reasoning on and off."),
        "one_control": Key("yes", "Effort and budget exclude each other."),
        "usage": Key("words", "Other places of its token counts."),
        "usage_apart": Key("yes", "`completion_tokens` leaves out what was spent on reasoning."),
        "usage_always": Key("yes", "A stream contains its usage by default."),
        "finish": Key("words", "Its own words for the end of an answer.", _REASONS),
        "error_types": Key("words", "Its own words for kinds of errors.", _ERRORS),
        "error_codes": Key("words", "What its codes of errors mean.", _ERRORS),
        "error_message": Key("texts", "Where else the text of an error is."),
        "error_code": Key("texts", "Where else the code of an error is."),
        "error_type": Key("texts", "Where else the kind of an error is."),
    },
    "responses": {
        **_BOTH,
        "strict": Key("yes", "What is written fits the schema of Open Responses."),
        "penalties": Key("yes", "It takes penalties in requests."),
        "framed": Key("no", "Its streams lack numbers and places that clients of the API follow, or repeat them."),
        "plain_reasoning": Key("yes", "It takes reasoning back in clear."),
        "plain_field": Key(
            "word", "The only field in which it reads that reasoning.", ("content", "encrypted_content")
        ),
        "media": Key("texts", "Kinds of media beside OpenAI's."),
        "refused_parts": Key("texts", "Kinds of content that it does not take."),
        "runs": Key("texts", "Kinds of calls that it executes itself: no client has to answer them."),
    },
}
"""The keys of a dialect, by protocol."""


def _texts(value: Any) -> bool:
    return type(value) is list and bool(value) and all(type(each) is str for each in value)


def _table_of(value: Any, fits: Callable[[Any], bool]) -> bool:
    return type(value) is dict and bool(value) and all(map(fits, value.values()))


SHAPES: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: type(value) is str and bool(value),
    "word": lambda value: type(value) is str,
    "texts": _texts,
    "yes": lambda value: value is True,
    "no": lambda value: value is False,
    "numbers": lambda value: _table_of(value, lambda each: type(each) in _NUMBER),
    "lists": lambda value: _table_of(value, lambda each: type(each) is list and bool(each)),
    "words": lambda value: _table_of(value, lambda each: type(each) is str),
    "values": lambda value: _table_of(value, lambda each: type(each) in (str, bool)),
    "tables": lambda value: _table_of(value, lambda each: _table_of(each, lambda one: type(one) in (str, bool, int))),
    "rules": lambda value: _table_of(value, lambda each: True),
}
"""The shapes of values: whether a value has one."""


def checked(vendor: str, file: Table) -> Table:
    """The file, if every key is declared and every value of its shape.

    >>> checked("x", {"title": "X", "sources": ["https://x"], "as_of": "2026-11-21", "chat": {"color": "red"}})
    Traceback (most recent call last):
    ValueError: dialect x: [chat] color: there is no such key
    """
    protocols = {name: table for name, table in file.items() if name in KEYS}
    _check(vendor, "", {key: value for key, value in file.items() if key not in KEYS}, ABOUT)
    for key in ABOUT:
        if key not in file:
            raise ValueError(f"dialect {vendor}: {key} is missing")
    if not protocols:
        raise ValueError(f"dialect {vendor}: neither [chat] nor [responses]")
    for protocol, table in protocols.items():
        _check(vendor, f"[{protocol}] ", table, KEYS[protocol])
        unknown = table.get("repair", {}).keys() - _rules()
        if unknown:
            raise ValueError(f"dialect {vendor}: [{protocol}] repair: there are no rules {', '.join(sorted(unknown))}")
    return file


def _rules() -> frozenset[str]:
    from unified_llm.passes.repair import Rules

    return frozenset(Rules._fields) - {"images", "reasoning_form"}  # functions of the adapter's


def _check(vendor: str, where: str, table: Table, keys: Mapping[str, Key]) -> None:
    for name, value in table.items():
        key = keys.get(name)
        if key is None:
            raise ValueError(f"dialect {vendor}: {where}{name}: there is no such key")
        if not SHAPES[key.shape](value):
            raise ValueError(f"dialect {vendor}: {where}{name}: {value!r} is not of the shape {key.shape!r}")
        said = value.values() if type(value) is dict else value if type(value) is list else (value,)
        for word in said if key.words else ():
            if word not in key.words:
                raise ValueError(f"dialect {vendor}: {where}{name}: {word!r} is none of {', '.join(key.words)}")
