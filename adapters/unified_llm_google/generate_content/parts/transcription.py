"""The transcript of a recording, as a part: its text is text, its timed words are annotations of it.

https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

from typing import Any

from unified_llm.engine.pairs.mapping import take
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

__all__ = ["FORM", "KEY", "read_transcription", "write_transcription"]

Node = dict[str, Any]

KEY = "audioTranscription"
FORM = "transcription"
_WORD = (("word", "text"), ("startOffset", "start_offset"), ("endOffset", "end_offset"))
_NAMES = {name for name, _ in _WORD}


def read_transcription(w: Node, node: Node, r: Reader) -> Node:
    """The transcription under `KEY` as the text `node`."""
    own = take(w, KEY)
    node["text"] = own.pop("text") if type(own.get("text")) is str else ""
    r.place(node, ("text",), (KEY, "text"))
    r.form(node, "text", FORM)
    words = own.get("words")
    if type(words) is list and words and all(type(word) is dict and word.keys() <= _NAMES for word in words):
        del own["words"]
        notes = []
        for place, word in enumerate(words):
            note = {"type": "word_info", **{hub: word[name] for name, hub in _WORD if name in word}}
            notes.append(r.made(note, word))
            r.place(node, ("annotations", place), (KEY, "words", place))
        node["annotations"] = notes
    return node


def write_transcription(c: Node, w: Writer) -> Node:
    """The inverse, for a text that was one."""
    own: Node = {}
    text = c.pop("text", "")
    if text:
        own["text"] = text
    notes = c.get("annotations")
    if type(notes) is list and notes and all(note.get("type") == "word_info" for note in notes):
        del c["annotations"]
        own["words"] = [w.piece(_write_word, note) for note in notes]
    return {KEY: own}


def _write_word(c: Node, w: Writer) -> Node:
    return {name: c.pop(hub) for name, hub in _WORD if hub in c}
