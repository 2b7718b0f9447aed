"""Enums as numbers: JSON made from protobuf messages holds either the name or the number of an enum's value.

Google's REST transport requests numbers (`enum-encoding=int`). They are read as their names; a marker of form notes
whose numbers they are, since the Gemini API and Vertex AI number some enums differently.

https://github.com/googleapis/googleapis/tree/master/google/ai/generativelanguage/v1beta
https://github.com/googleapis/googleapis/tree/master/google/cloud/aiplatform/v1beta1
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

__all__ = ["GEMINI", "MARKER", "VERTEX", "all_named", "marked", "name_of", "number_of", "numbers_of", "take_name"]

Node = dict[str, Any]

GEMINI, VERTEX = "gemini", "vertex"
MARKER = "numbers"
"""The marker of form of a node with numbers for names; its value is whose they are."""


def _harms(words: str) -> str:
    return " ".join(f"HARM_CATEGORY_{word}" for word in words.split())


_PATH = "publishers/"
_BLOCKED = "BLOCK_REASON_UNSPECIFIED SAFETY OTHER BLOCKLIST PROHIBITED_CONTENT"
_CALLING = "MODE_UNSPECIFIED AUTO ANY NONE"
_FINISH = "FINISH_REASON_UNSPECIFIED STOP MAX_TOKENS SAFETY RECITATION OTHER"
# The names of each enum in the order of their numbers, `-` for a number that is none.
_ALIKE = {
    "HarmBlockMethod": "HARM_BLOCK_METHOD_UNSPECIFIED SEVERITY PROBABILITY",
    "HarmBlockThreshold": "HARM_BLOCK_THRESHOLD_UNSPECIFIED BLOCK_LOW_AND_ABOVE BLOCK_MEDIUM_AND_ABOVE BLOCK_ONLY_HIGH"
    " BLOCK_NONE OFF",
    "Language": "LANGUAGE_UNSPECIFIED PYTHON",
    "Modality": "MODALITY_UNSPECIFIED TEXT IMAGE VIDEO AUDIO DOCUMENT",
    "Outcome": "OUTCOME_UNSPECIFIED OUTCOME_OK OUTCOME_FAILED OUTCOME_DEADLINE_EXCEEDED",
    "ResponseModality": "MODALITY_UNSPECIFIED TEXT IMAGE AUDIO",
    "Type": "TYPE_UNSPECIFIED STRING NUMBER INTEGER BOOLEAN ARRAY OBJECT NULL",
    "UrlRetrievalStatus": "URL_RETRIEVAL_STATUS_UNSPECIFIED URL_RETRIEVAL_STATUS_SUCCESS URL_RETRIEVAL_STATUS_ERROR"
    " URL_RETRIEVAL_STATUS_PAYWALL URL_RETRIEVAL_STATUS_UNSAFE",
}
_DECLARED = {
    GEMINI: {
        **_ALIKE,
        "BlockReason": f"{_BLOCKED} IMAGE_SAFETY",
        "FinishReason": f"{_FINISH} LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII MALFORMED_FUNCTION_CALL IMAGE_SAFETY"
        " UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS IMAGE_PROHIBITED_CONTENT IMAGE_OTHER NO_IMAGE IMAGE_RECITATION",
        "HarmCategory": _harms(
            "UNSPECIFIED DEROGATORY TOXICITY VIOLENCE SEXUAL MEDICAL DANGEROUS HARASSMENT HATE_SPEECH"
            " SEXUALLY_EXPLICIT DANGEROUS_CONTENT CIVIC_INTEGRITY"
        ),
        "Mode": f"{_CALLING} VALIDATED",
        "ThinkingLevel": "",  # there, none are published
    },
    VERTEX: {
        **_ALIKE,
        "BlockReason": f"{_BLOCKED} MODEL_ARMOR JAILBREAK",
        "FinishReason": f"{_FINISH} BLOCKLIST PROHIBITED_CONTENT SPII MALFORMED_FUNCTION_CALL MODEL_ARMOR IMAGE_SAFETY"
        " IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION IMAGE_OTHER UNEXPECTED_TOOL_CALL NO_IMAGE",
        "HarmCategory": _harms(
            "UNSPECIFIED HATE_SPEECH DANGEROUS_CONTENT HARASSMENT SEXUALLY_EXPLICIT CIVIC_INTEGRITY JAILBREAK"
        ),
        "Mode": f"{_CALLING} - VALIDATED",
        "ThinkingLevel": "THINKING_LEVEL_UNSPECIFIED LOW MEDIUM HIGH MINIMAL",
    },
}
_UNSAID = frozenset(("MODE_UNSPECIFIED", "THINKING_LEVEL_UNSPECIFIED"))
_NAMES = {whose: {enum: names.split() for enum, names in enums.items()} for whose, enums in _DECLARED.items()}
_NUMBERS = {
    whose: {enum: {name: number for number, name in enumerate(names) if name != "-"} for enum, names in enums.items()}
    for whose, enums in _NAMES.items()
}


def numbers_of(r: Reader) -> str:
    """Whose numbers a document has: the dialect's. Vertex AI alone has publishers in paths and types of traffic."""
    usage = r.doc.get("usageMetadata") if type(r.doc) is dict else None
    counted = type(usage) is dict and "trafficType" in usage
    return VERTEX if r.dialect.get("publishers") or counted or _PATH in str(r.http.get("path") or "") else GEMINI


def name_of(number: Any, enum: str, whose: str = GEMINI) -> str | None:
    """The name of an enum's value; None for what is not one of its numbers."""
    names = _NAMES[whose][enum]
    if type(number) is not int or not 0 <= number < len(names) or names[number] == "-":
        return None
    return names[number]


def number_of(name: Any, enum: str, whose: Any = GEMINI) -> Any:
    """The number of a name; the name itself where it has none, or where there were no numbers."""
    declared = _NUMBERS.get(whose) if type(whose) is str else None
    return name if declared is None else declared[enum].get(name, name)


def marked(node: Node, w: Writer, marker: str = MARKER) -> Any:
    """Whose numbers the settings of a request had; None where it is sent to another platform, which has other ones."""
    return w.form(node, marker) if w.same or w.source is None else None


def take_name(own: Node, key: str, enum: str, node: Node, r: Reader, marker: str = MARKER) -> None:
    """Put the name in the place of a number in `own`, our own copy, and note on `node` that it was one."""
    if type(own.get(key)) is int:
        whose = numbers_of(r)
        name = name_of(own[key], enum, whose)
        if name is not None and name not in _UNSAID:
            own[key] = name
            r.form(node, marker, whose)


def all_named(given: list[Node], enums: dict[str, str], node: Node, r: Reader, marker: str) -> list[Node]:
    """Objects of nothing but numbers with the names in their place; the same objects where that is not all of them."""
    numbers = [(each, key) for each in given for key in each]
    if not numbers or any(type(each[key]) is not int for each, key in numbers):
        return given
    whose = numbers_of(r)
    named = [{key: name_of(each[key], enums[key], whose) for key in each} for each in given]
    if any(None in each.values() for each in named):
        return given
    r.form(node, marker, whose)
    return named
