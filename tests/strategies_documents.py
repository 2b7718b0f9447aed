"""Canonical documents, generated: conversations that hang together.

Calls are answered, call ids pair, roles fit their parts, settings have values a provider would know.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from strategies import ANSWER_PARTS, STRUCTURE, UNDIRECTED_PARTS, WORDS, Doc, Draw, Maker, name_of, png
from unified_llm.types import Model, Request, Response
from unified_llm.types.base import KNOWN

__all__ = ["conversations", "requests", "responses"]


def _message(maker: Maker, role: str) -> Doc:
    message: Doc = {"type": "message", "role": role}
    if maker.draw(st.booleans()):
        message["content"] = name_of(role, maker.names)
    else:
        kinds = ANSWER_PARTS if role == "assistant" else UNDIRECTED_PARTS if role == "user" else ("input_text",)
        chosen = maker.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
        message["content"] = [_part(maker, kind) for kind in chosen]
    if role == "assistant" and maker.draw(st.integers(0, 4)) == 0:
        message["phase"] = maker.draw(st.sampled_from(WORDS["phase"]))
    return message


def _part(maker: Maker, kind: str) -> Doc:
    number = next(maker.names)
    if kind == "output_text":
        part: Doc = {"type": kind, "text": f"text {number}", "annotations": []}
        if maker.draw(st.integers(0, 2)) == 0:
            url = f"https://example.com/{number}"
            part["annotations"] = [
                {"type": "url_citation", "url": url, "title": f"title {number}", "start_index": 0, "end_index": 4}
            ]
        return part
    if kind == "refusal":
        return {"type": kind, "refusal": f"refusal {number}"}
    if kind == "input_text":
        return {"type": kind, "text": f"text {number}"}
    if kind == "input_image":
        source = maker.draw(st.sampled_from(("url", "data", "id")))
        if source == "id":
            return {"type": kind, "file_id": f"file_{number}"}
        url = f"https://example.com/{number}.png" if source == "url" else f"data:image/png;base64,{png(number)}"
        return {"type": kind, "image_url": url, "detail": maker.draw(st.sampled_from(("auto", "low", "high")))}
    if kind == "input_file":
        source = maker.draw(st.sampled_from(("url", "data", "id")))
        if source == "id":
            return {"type": kind, "file_id": f"file_{number}"}
        if source == "url":
            return {"type": kind, "file_url": f"https://example.com/{number}.pdf"}
        return {"type": kind, "filename": f"{number}.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"}
    if kind == "input_audio":
        return {"type": kind, "data": f"UklGR{number:07d}", "format": maker.draw(st.sampled_from(("wav", "mp3")))}
    return {"type": kind, "video_url": f"https://example.com/{number}.mp4"}


def _calls(maker: Maker, *, answered: bool, functions: list[str]) -> list[Doc]:
    made: list[Doc] = []
    results: list[Doc] = []
    for _ in range(maker.draw(st.integers(1, 3))):
        number = next(maker.names)
        call_id = f"call_{number}"
        name = maker.draw(st.sampled_from(functions))
        if maker.draw(st.integers(0, 4)) == 0:
            made.append(
                {"type": "custom_tool_call", "call_id": call_id, "name": f"custom_{number}", "input": f"raw {number}"}
            )
            results.append({"type": "custom_tool_call_output", "call_id": call_id, "output": f"done {number}"})
            continue
        made.append({"type": "function_call", "call_id": call_id, "name": name, "arguments": f'{{"n":"{number}"}}'})
        output: Any = f"result {number}"
        if maker.draw(st.integers(0, 3)) == 0:
            chosen = maker.draw(st.lists(st.sampled_from(("input_text", "input_image")), min_size=1, max_size=2))
            output = [_part(maker, kind) for kind in chosen]
        results.append({"type": "function_call_output", "call_id": call_id, "output": output})
    return made + results if answered else made


def _reasoning(maker: Maker) -> Doc:
    number = next(maker.names)
    return {
        "type": "reasoning",
        "id": f"rs_{number}",
        "summary": [{"type": "summary_text", "text": f"thought {number}"}],
    }


def _turns(maker: Maker, functions: list[str], count: int) -> list[Doc]:
    out: list[Doc] = []
    for _ in range(count):
        out.append(_message(maker, "user"))
        shape = maker.draw(st.sampled_from(("text", "calls", "both", "thought")))
        if shape in ("thought", "both"):
            out.append(_reasoning(maker))
        if shape in ("calls", "both"):
            out.extend(_calls(maker, answered=True, functions=functions))
        out.append(_message(maker, "assistant"))
    return out


@st.composite
def conversations(draw: Draw) -> list[Doc]:
    """Items that a provider would take: turns of user and assistant, every call answered."""
    maker = Maker(draw, nulls=False, structure=False, foreign=False)
    return _turns(maker, ["look_up", "now"], draw(st.integers(1, 3)))


_SETTINGS = frozenset(
    key
    for key in Request.__pydantic_fields__
    if key
    not in STRUCTURE | {"input", "instructions", "model", "tools", "tool_choice", "stream", "stream_options", "include"}
)


def _settings(maker: Maker, cls: type[Model]) -> Doc:
    only = _SETTINGS & frozenset(cls.__pydantic_fields__)
    out = maker.node(cls, 2, only=only)
    if "user" in out and "safety_identifier" in out:
        del out["user"]
    return out


@st.composite
def requests(draw: Draw) -> Doc:
    """A canonical request that hangs together."""
    maker = Maker(draw, nulls=False, structure=False, foreign=False)
    functions = [f"function_{next(maker.names)}" for _ in range(draw(st.integers(1, 2)))]
    out: Doc = {"model": name_of("model", maker.names).replace(" ", "-"), **_settings(maker, Request)}
    if draw(st.integers(0, 3)) == 0:
        out["input"] = name_of("user", maker.names)
    else:
        leading = [_message(maker, draw(st.sampled_from(("system", "developer"))))] if draw(st.booleans()) else []
        out["input"] = [*leading, *_turns(maker, functions, draw(st.integers(0, 2))), _message(maker, "user")]
    if draw(st.booleans()):
        out["instructions"] = name_of("instructions", maker.names)
    if draw(st.booleans()):
        out["tools"] = [
            {**maker.node(KNOWN["tool"]["function"], 2, keep=("description", "parameters")), "name": name}
            for name in functions
        ]
        choice = draw(st.sampled_from((None, "auto", "none", "required", "named")))
        if choice is not None:
            out["tool_choice"] = {"type": "function", "name": functions[0]} if choice == "named" else choice
    if draw(st.booleans()):
        out["stream"] = draw(st.booleans())
    return out


@st.composite
def responses(draw: Draw) -> Doc:
    """A canonical response that hangs together; its finish and status fit its output."""
    maker = Maker(draw, nulls=False, structure=False, foreign=False)
    output: list[Doc] = []
    if draw(st.integers(0, 2)) == 0:
        output.append(_reasoning(maker))
    if draw(st.integers(0, 4)) > 0:
        number = next(maker.names)
        content = [_part(maker, draw(st.sampled_from(("output_text", "output_text", "refusal"))))]
        output.append(
            {"type": "message", "id": f"msg_{number}", "status": "completed", "role": "assistant", "content": content}
        )
    calls = _calls(maker, answered=False, functions=["look_up", "now"]) if draw(st.integers(0, 2)) == 0 else []
    for call in calls:
        output.append({**call, "id": f"fc_{next(maker.names)}", "status": "completed"})
    number = next(maker.names)
    out: Doc = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_700_000_000 + number,
        "model": f"model-{number}",
        "status": "completed",
        "output": output,
        "usage": _usage(draw),
    }
    ending = draw(st.sampled_from(("silent", "said", "cut")))
    if ending == "said":
        out["finish"] = {"reason": "tool_calls" if calls else "stop"}
    elif ending == "cut" and not calls:
        out["status"] = "incomplete"
        out["finish"] = {"reason": "length"}
    for key, value in _settings(maker, Response).items():
        out.setdefault(key, value)
    return out


def _usage(draw: Draw) -> Doc:
    cached, fresh = draw(st.integers(0, 50)), draw(st.integers(1, 50))
    thought, said = draw(st.integers(0, 50)), draw(st.integers(1, 50))
    return {
        "input_tokens": cached + fresh,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": thought + said,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": cached + fresh + thought + said,
    }
