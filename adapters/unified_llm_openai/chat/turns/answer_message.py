"""The message of an answer: all items of a choice joined into one.

Content is one string: several messages are joined by a blank line, the parts of one without any, and sources are
shifted with their text. Refusal, sources, audio and log probabilities stand beside it. What has no form in a chat
message is dropped with its reason.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from unified_llm.engine.pairs.mapping import Fated, Mapping
from unified_llm.engine.pairs.writing import Writer
from unified_llm.engine.shared.answer_ends import RAN, is_run_by_provider
from unified_llm.foundation.generated_ids import made_id

from ...logprobs import NO_ALTERNATIVES, take_logprobs
from ..parts.audio_pieces import goes_on, joined_base64
from ..parts.content import assistant_parts, citations, has_pictures, pictures
from ..tools import write_arguments
from ..values.tables import REFUSES
from .messages import AUDIO_KEYS, HOLLOW, is_call, report_moved, tagged_content, write_call, write_legacy_call
from .reasoning import seal_message, write_reasoning

__all__ = [
    "after_text",
    "answer_parts",
    "complete_audio",
    "is_answered",
    "leave_answered_call",
    "message_fields",
    "write_answer",
]

Node = dict[str, Any]

answer_parts = Mapping("openai-chat answer parts")
answer_items = Mapping("openai-chat answer items")
for _type, _reason in REFUSES.items():
    answer_items.cannot(_type, _reason)
answer_items.cannot("function_call_output custom_tool_call_output", "an answer of Chat holds no results")
_ANSWERED = ("function_call_output", "custom_tool_call_output")


@answer_parts.write("output_text", "input_text", "text")
def write_text(c: Node, w: Writer) -> Node:
    text = c.pop("text", "")
    piece: Node = {"text": text if type(text) is str else ""}
    if type(c.get("annotations")) is list:
        written = c.pop("annotations")
        w.context["text length"] = len(piece["text"])
        piece["annotations"] = w.nodes(citations, written) if written else []
    if "logprobs" in c:
        piece["content logprobs"] = take_logprobs(c, w)
    _seal(c, w)
    return piece


@answer_parts.write("refusal")
def write_refusal(c: Node, w: Writer) -> Node:
    refusal = c.pop("refusal", "")
    piece: Node = {"refusal": refusal if type(refusal) is str else ""}
    if "logprobs" in c:
        piece["refusal logprobs"] = take_logprobs(c, w)
    return piece


@answer_parts.write("output_audio")
def write_audio(c: Node, w: Writer) -> Node:
    return {"audio": {key: c.pop(key) for key in AUDIO_KEYS if key in c}}


answer_parts.cannot("output_image output_file output_video", "an answer of Chat holds text and audio only")


def _seal(c: Node, w: Writer) -> None:
    """A part signed by another provider: the whole message travels in an envelope, where a client echoes it."""
    pieces = c.get("opaque")
    if pieces and w.facing == "client":
        del c["opaque"]
        w.context["signed"] = True


def message_fields(c: Node, w: Writer) -> Node:
    """The fields of one message item: text, annotations, refusal, audio and log probabilities, each where present."""
    c.pop("role", None)
    content = c.pop("content", None)
    out: Node = {}
    if type(content) is str:
        out["text"] = content
    elif w.form(c, "content") == "parts":
        out["parts"] = w.nodes(assistant_parts, content or [])
    else:
        start, said = w.context.get("offset", 0), 0
        texts: dict[str, list[str]] = {}  # in pieces, where there are several
        sounds: list[Node] = []
        for part in content or ():
            if part.get("type") == "output_audio":
                if sounds and goes_on(sounds, part):
                    sounds.append(part)
                    continue
                if w.context.get("heard"):
                    w.drop(part, "an answer of Chat holds one audio part")
                    continue
                sounds.append(part)
                if "heard" in w.context:
                    w.context["heard"] = True
            if part.get("type") == "output_image" and has_pictures(w):
                out.setdefault("images", []).extend(w.nodes(pictures, [part]))
                continue
            w.context["offset"] = start + said
            for piece in w.nodes(answer_parts, (part,)):
                if "text" in piece and "refusal" in out:
                    w.report(part, (), "approximated", "stands beside the refusal", "item.turn")
                for key, value in piece.items():
                    if value is None:
                        continue
                    if key == "text":
                        said += len(value)
                    if key not in out or key == "audio":
                        out[key] = [*value] if type(value) is list else value
                    elif type(out[key]) is list:
                        out[key] += value
                    else:
                        texts.setdefault(key, [out[key]]).append(value)
        out.update({key: "".join(pieces) for key, pieces in texts.items()})
        w.context["offset"] = start
        if len(sounds) > 1 and "audio" in out:
            # A stream of generateContent has the audio in pieces, each a part of its own.
            more = [w.piece(write_audio, part)["audio"]["data"] for part in sounds[1:]]
            out["audio"]["data"] = joined_base64([sounds[0]["data"], *more])
    if "name" in c:
        out["name"] = c.pop("name")
    return out


def _write_result(c: Node, w: Writer) -> Node:
    """Nothing of a result is shown, but that its call waits for none: the end of the answer shows it."""
    c["call_id"] = Fated("approximated", "represented by finish_reason")
    for key in ("output", "name"):
        if key in c:
            c[key] = Fated("lost", answer_items.cannots["function_call_output"])
    return {}


def leave_answered_call(item: Node, w: Writer) -> None:
    """Report a call that was answered where it was made, or is executed there: a client would make it again."""
    if is_run_by_provider(item):
        w.drop(item, RAN)
    else:
        w.piece(_write_answered_call, item)


def _write_answered_call(c: Node, w: Writer) -> Node:
    for key in c:
        if key not in ("extra", "turn"):
            c[key] = Fated("lost", "answered already: a client would make the call again")
    c["type"] = Fated("lost", "answered already: a client would make the call again")
    c["call_id"] = Fated("approximated", "represented by finish_reason")
    return {}


def is_answered(item: Node, settled: Collection[Any], w: Writer) -> bool:
    """Whether a call is not shown: its result is in the answer (`settled` has such ids), or its provider runs it."""
    done = bool(settled) and item.get("call_id") in settled and not item.get("opaque")
    return (done or is_run_by_provider(item)) and is_call(item, w)


def after_text(output: list[Node]) -> set[int]:
    """The identities of what comes after the first message that is shown."""
    for place, item in enumerate(output):
        if item.get("type") == "message" and item.get("role") in (None, "assistant"):
            return {id(after) for after in output[place:]}
    return set()


def write_answer(output: list[Node], w: Writer) -> tuple[Node, Node]:
    """The message of a choice, and its log probabilities (empty where there are none)."""
    wire: Node = {"role": "assistant"}
    logprobs: Node = {}
    texts: list[str] | None = None
    size = 0  # of all texts
    parts: list[Any] | None = None
    tool_calls: list[Node] = []
    thinking = [item for item in output if item.get("type") == "reasoning"]
    if thinking:
        wire.update(write_reasoning(thinking, w, late=after_text(output)))
        parts = wire.pop("content", None)
    before = wire.pop("tagged", None)
    calls = {item.get("call_id") for item in output if is_call(item, w)}
    calls.discard(None)
    settled = {item.get("call_id") for item in output if item.get("type") in _ANSWERED} & calls if calls else calls
    messages = 0
    w.context["heard"] = False
    for item in output:
        kind = item.get("type")
        if kind == "message" and item.get("role") in (None, "assistant"):
            w.context["offset"] = size + 2 if size else 0
            fields = w.piece(message_fields, item)
            messages += 1
            if messages > 1:
                w.report(item, (), "approximated", "joined with the message before", "item.turn")
            elif tool_calls:
                report_moved(item, w)
            if "text" in fields:
                texts = texts if texts is not None and size else []
                texts.append(f"\n\n{fields['text']}" if texts and fields["text"] else fields["text"])
                size += len(texts[-1])
            if "parts" in fields:
                parts = parts or []
                parts += fields["parts"]
            for key in ("refusal", "annotations", "audio", "images", "name"):
                if key in fields and (key not in wire or key == "audio"):
                    wire[key] = fields[key]
                elif key in fields:
                    wire[key] += fields[key]
            for key in ("content", "refusal"):
                if fields.get(f"{key} logprobs") is not None:
                    logprobs.setdefault(key, []).extend(fields[f"{key} logprobs"])
            if w.context.pop("signed", None):
                wire.setdefault("reasoning_details", []).append(seal_message(item, w))
        elif is_answered(item, settled, w):
            leave_answered_call(item, w)
        elif kind == "function_call" and w.form(item, "legacy"):
            wire["function_call"] = w.piece(write_legacy_call, item)
        elif is_call(item, w):
            tool_calls += write_call(item, w, len(tool_calls))
        elif kind in _ANSWERED and item.get("call_id") in calls and item.get("executor") != "provider":
            w.piece(_write_result, item)
        elif kind != "reasoning":
            w.native(item, answer_items.name, answer_items.cannots.get(kind, "") if type(kind) is str else "")
    w.context.pop("offset", None)
    w.context.pop("heard", None)
    text = None if texts is None else "".join(texts)
    _set_content(wire, text, parts, output[0] if output else None, w)
    if w.crosses:
        _complete(wire, logprobs, w)
    if before is not None:
        wire["content"] = tagged_content(before, wire.get("content"))
    marked = w.marked(output[0]) if output else ()
    if marked and not HOLLOW.keys().isdisjoint(marked):
        for key, hollow in HOLLOW.items():
            if key in marked and w.form(output[0], key):
                wire.setdefault(key, hollow)
    if tool_calls:
        wire["tool_calls"] = tool_calls
    return wire, logprobs


def _complete(wire: Node, logprobs: Node, w: Writer) -> None:
    """What the API's clients demand of generated audio and of log probabilities, and other protocols do not have."""
    if type(wire.get("audio")) is dict:
        complete_audio(wire["audio"], w, wire["audio"].get("data"))
    for tokens in logprobs.values():
        for place, token in enumerate(tokens):
            if type(token) is dict and type(token.get("top_logprobs")) is not list:
                tokens[place] = token = {**token, "top_logprobs": []}
                w.added(token, "top_logprobs", NO_ALTERNATIVES)


def complete_audio(audio: Node, w: Writer, data: Any, told: Collection[str] = ()) -> None:
    """Give generated audio with these data the keys that it lacks, but for those that a stream sent before."""
    if type(audio.get("id")) is not str and "id" not in told:
        audio["id"] = made_id("audio", str(data))
        w.added(audio, "id")
    for key, value in _AUDIO.items():
        if audio.get(key) is None and key not in told:
            audio[key] = value
            w.added(audio, key, "required; not in the source")


# An audio that the server does not keep has expired.
_AUDIO = {"data": "", "expires_at": 0, "transcript": ""}


def _set_content(wire: Node, text: str | None, parts: list[Any] | None, first: Node | None, w: Writer) -> None:
    chat_born = first is not None and w.form(first, "turn") == "choice"
    form = w.form(first, "content") if first is not None else None
    if parts is not None:
        wire["content"] = parts if text is None else [*parts, {"type": "text", "text": text}]
    elif text is not None and not (text == "" and form):
        wire["content"] = write_arguments(text, form) if form == "object" else text
    elif not chat_born or form == "null":
        wire["content"] = None
    elif form == "empty":
        wire["content"] = ""
    if not chat_born:
        wire.setdefault("refusal", None)
