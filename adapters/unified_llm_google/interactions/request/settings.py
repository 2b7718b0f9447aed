"""Settings that are more than a rename: `generation_config`, voices, safety, labels (output formats: formats.py).

https://ai.google.dev/api/interactions-api
"""

from __future__ import annotations

import re
from typing import Any

from unified_llm.engine.pairs.mapping import Fated, IllTyped, are_objects, take, take_all, take_whole
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.table import Table
from unified_llm.engine.pairs.writing import Writer
from unified_llm.models.effort import effort_of, nearest
from unified_llm.models.profiles import profile

from ..tools import read_choice, tools, write_choice, write_tools
from ..values.tables import GENERATION, OLD
from .formats import IMAGE, own, read_format, read_modalities, write_format

__all__ = ["read_settings", "write_settings"]

Node = dict[str, Any]


def read_settings(w: Node, c: Node, r: Reader, table: Table) -> None:
    """Move what request and response share from `w` to `c`."""
    if type(w.get("tools")) is list:
        c["tools"] = r.nodes(tools, w.pop("tools"))
    elif w.get("tools", 0) is None:
        c["tools"] = w.pop("tools")
    if type(w.get("generation_config")) is dict:
        _read_generation(w, c, r)
    if "response_format" in w or "response_mime_type" in w:
        read_format(w, c, r)
    if "response_modalities" in w:
        read_modalities(w, c, r)
    if "safety_settings" in w:
        _read_safety(w, c)
    table.read(w, c)


def write_settings(c: Node, wire: Node, w: Writer, table: Table) -> None:
    """The inverse of `read_settings`."""
    if type(c.get("tools")) is list:
        written = write_tools(c.pop("tools"), w)
        if written or not w.doc["tools"]:
            wire["tools"] = written
    elif "tools" in c:
        wire["tools"] = c.pop("tools")
    if "safety_settings" in c:
        _write_safety(c, wire)
    if not _SHAPING.isdisjoint(c):
        write_format(c, wire, w)
    if not c.get("agent") or w.source == w.protocol:  # An agent brings its own settings and refuses others.
        _write_generation(c, wire, w)
    if "metadata" in c and "labels" not in c:
        _write_labels(c, wire, w)
    table.write(c, wire, w, w.doc)


# Settings of the form of a response; `extra` holds their markers.
_SHAPING = frozenset(("text", "image", "audio", "modalities", "extra"))


# ---- generation_config ----------------------------------------------------------------------------------------------

_GENERATION = tuple((field.wire, tuple(field.path.split("."))) for field in GENERATION.fields)


def _read_generation(w: Node, c: Node, r: Reader) -> None:
    config = take(w, "generation_config")
    if not config:
        r.form(c, "generation_config", "empty")
        return
    at = "generation_config"
    if config.get("thinking_summaries") == "none":
        del config["thinking_summaries"]
        c.setdefault("reasoning", {})["include"] = False
        r.place(c, ("reasoning", "include"), (at, "thinking_summaries"))
    for key, hub in _GENERATION:
        if key in config:
            r.place(c, hub, (at, key))
    shown = config.pop("thinking_summaries", None) if config.get("thinking_summaries") not in (None, "auto") else None
    GENERATION.read(config, c)
    if shown is not None:
        config["thinking_summaries"] = shown  # a word of its own, not one of those that others share
    for key in OLD:
        if type(config.get(key)) in (int, float):
            c[key] = config.pop(key)
            r.form(c, key, "old")
            r.place(c, (key,), (at, key))
    if "tool_choice" in config:
        try:
            c["tool_choice"] = read_choice(config)
            r.place(c, ("tool_choice",), (at, "tool_choice"))
            _place_choice(c, (at, "tool_choice", "allowed_tools"), r)
            if not _has_functions(c):
                r.form(c, "tool_choice", "bare")
        except (IllTyped, TypeError):
            pass
    if "speech_config" in config:
        _read_speech(config, c, r)
    if type(config.get("image_config")) is dict and type(w.get("response_format")) not in (dict, list):
        image = take_whole(config, "image_config")
        c["image"] = {hub: image.pop(key) for key, hub in IMAGE[:2] if key in image}
        r.form(c, "image", "config")
        r.place(c, ("image",), (at, "image_config"))


def _place_choice(c: Node, allowed: tuple[Any, ...], r: Reader) -> None:
    """Note where the names and the mode of a choice among allowed tools stand."""
    choice = c["tool_choice"]
    if type(choice) is not dict:
        return
    if "mode" in choice:
        r.place(c, ("tool_choice", "mode"), (*allowed, "mode"))
    if "name" in choice:
        r.place(c, ("tool_choice", "name"), (*allowed, "tools", 0))
    if "tools" in choice:
        r.place(c, ("tool_choice", "tools"), (*allowed, "tools"))
        for index in range(len(choice["tools"])):
            r.place(c, ("tool_choice", "tools", index), (*allowed, "tools", index))


def _write_generation(c: Node, wire: Node, w: Writer) -> None:
    config: Node = {}
    if type(c.get("reasoning")) is dict:
        _write_reasoning(c, config, w)
    GENERATION.write(c, config, w, w.doc)
    if "extra" in c:
        for key in OLD:
            if key in c and w.form(c, key):
                config[key] = c.pop(key)
    if "tool_choice" in c:
        if _has_functions(w.doc) or w.form(c, "tool_choice") == "bare":
            write_choice(c, config)
        elif c["tool_choice"] is not None:
            c["tool_choice"] = Fated("lost", "tool_choice requires a function tool")
    audio = own(c, "audio")
    if audio is not None:
        _write_speech(c, audio, config, w)
    if "image" in c and w.form(c, "image") == "config" and type(c["image"]) is dict:
        image = take(c, "image")
        config["image_config"] = {key: image.pop(hub) for key, hub in IMAGE[:2] if hub in image}
    if config or ("extra" in c and w.form(c, "generation_config") == "empty"):
        wire["generation_config"] = config


def _has_functions(c: Node) -> bool:
    return any(type(tool) is dict and tool.get("type") in ("function", "custom") for tool in c.get("tools") or ())


def _write_reasoning(c: Node, config: Node, w: Writer) -> None:
    """Whether thoughts are shown, and how much to think as a level that the model takes (`unified_llm.models`)."""
    reasoning = take(c, "reasoning")
    if type(reasoning.get("include")) is bool and reasoning.get("summary") is None:
        shown = reasoning.pop("include")
        config["thinking_summaries"] = "auto" if shown else "none"
        if shown:
            w.report(w.doc, ("reasoning", "include"), "approximated", "sent as summaries")
    elif reasoning.get("display") in ("summarized", "omitted") and reasoning.get("summary") is None:
        config["thinking_summaries"] = "auto" if reasoning["display"] == "summarized" else "none"
        reasoning["display"] = Fated("approximated", "sent as summaries")
    elif w.crosses and w.facing == "provider" and reasoning.get("control") in ("enabled", "adaptive"):
        # Thinking that is switched on in words is shown by most of Anthropic's models; here it is not by itself.
        if reasoning.get("summary") is None and "display" not in reasoning:
            config["thinking_summaries"] = "auto"
            w.added(config, "thinking_summaries", "reasoning is returned only on request")
    if w.source != w.protocol and w.facing == "provider":
        _write_level(reasoning, config, w)


def _write_level(reasoning: Node, config: Node, w: Writer) -> None:
    facts = profile(w.model or w.doc.get("model"), w.protocol).reasoning
    effort, control = (reasoning.get(key) if type(reasoning.get(key)) is str else None for key in ("effort", "control"))
    budget = reasoning.get("budget_tokens") if type(reasoning.get("budget_tokens")) is int else None
    off = control == "disabled" or (control is None and (effort == "none" or budget == 0))
    if not facts.thinks:
        for key in ("effort", "control", "budget_tokens"):
            if reasoning.pop(key, None) is not None:
                fate = "approximated" if off else "lost"
                w.report(w.doc, ("reasoning", key), fate, "the model does not think")
        return
    if off:
        level = nearest("none", facts.efforts)
    elif effort is not None:
        level = nearest(effort, facts.efforts)
    elif budget is not None and budget > 0:
        level = effort_of(budget, facts.efforts)
    elif facts.default == "off" and (control in ("enabled", "adaptive") or budget is not None):
        level = nearest(facts.usual or "medium", facts.efforts)
    else:
        level = ""
    if level:
        config["thinking_level"] = level
    if off:
        detail = f"thinking cannot be switched off: level {level!r}"
    else:
        detail = f"sent as level {level!r}" if level else "as the model likes, which is what leaving it out means"
    said = [("effort", effort), ("budget_tokens", budget), ("control", control if control != "between_tools" else None)]
    for key, value in said:
        if value is not None:
            del reasoning[key]
            if value != level:
                w.report(w.doc, ("reasoning", key), "approximated", detail)


def _read_speech(config: Node, c: Node, r: Reader) -> None:
    speech = config["speech_config"]
    listed = type(speech) is list
    voices = speech if listed else speech.get("speakers") if type(speech) is dict else None
    if not are_objects(voices):
        return
    audio: Node = c.setdefault("audio", {})
    if listed and len(voices) == 1 and "speaker" not in voices[0] and type(voices[0].get("voice")) is str:
        voice = take_all(config, "speech_config")[0]
        audio.update((key, voice.pop(key)) for key in ("voice", "language") if key in voice)
        for key in ("voice", "language"):
            r.place(c, ("audio", key), ("generation_config", "speech_config", 0, key))
        return
    if listed:
        audio["speakers"] = config.pop("speech_config")
    else:
        audio["speakers"] = take(config, "speech_config").pop("speakers")
        r.form(c, "speech", "object")
    r.place(c, ("audio", "speakers"), ("generation_config", "speech_config", *(() if listed else ("speakers",))))


def _write_speech(c: Node, audio: Node, config: Node, w: Writer) -> None:
    if are_objects(audio.get("speakers")):
        speakers = audio.pop("speakers")
        config["speech_config"] = {"speakers": speakers} if w.form(c, "speech") == "object" else speakers
    elif type(audio.get("voice")) is str:
        config["speech_config"] = [{key: audio.pop(key) for key in ("voice", "language") if key in audio}]


# ---- safety and labels ----------------------------------------------------------------------------------------------

_SAFETY = (("type", "category"), ("threshold", "threshold"), ("method", "method"))


def _read_safety(w: Node, c: Node) -> None:
    if w["safety_settings"] is None:
        c["safety_settings"] = w.pop("safety_settings")
        return
    try:
        owned = take_all(w, "safety_settings")
    except IllTyped:
        return
    c["safety_settings"] = [{hub: each.pop(key) for key, hub in _SAFETY if key in each} for each in owned]
    if not owned:
        del w["safety_settings"]


def _write_safety(c: Node, wire: Node) -> None:
    if c["safety_settings"] is None:
        wire["safety_settings"] = c.pop("safety_settings")
        return
    owned = take_all(c, "safety_settings")
    wire["safety_settings"] = [{key: each.pop(hub) for key, hub in _SAFETY if hub in each} for each in owned]


_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_VALUE = re.compile(r"[a-z0-9_-]{0,63}")


def _write_labels(c: Node, wire: Node, w: Writer) -> None:
    """Metadata that make legal labels are sent as such; the others have no place."""
    if type(c["metadata"]) is not dict:
        return
    metadata = take(c, "metadata")
    for key in tuple(metadata):
        value = metadata[key]
        if _KEY.fullmatch(key) and type(value) is str and _VALUE.fullmatch(value):
            wire.setdefault("labels", {})[key] = value
            metadata[key] = Fated("approximated", "sent as a label")
