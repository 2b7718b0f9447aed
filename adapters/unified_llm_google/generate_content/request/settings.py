"""The settings of a request: `generationConfig`, `safetySettings` and what stands beside them.

Most are renames. Structured output is a media type and one of two schema fields, thinking a level or a budget (never
both), a voice one of several nested objects; each `_read_x` stands beside its `_write_x`.

https://ai.google.dev/api/generate-content#generationconfig
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from unified_llm.engine.pairs.mapping import Bimap, Fated, Owned, take, take_all, take_whole
from unified_llm.engine.pairs.reading import Reader
from unified_llm.engine.pairs.writing import Writer

from ..schema import from_dialect, to_dialect
from ..values.enums import all_named, marked, number_of
from ..values.spelling import actual
from ..values.tables import SERVICE_TIERS
from .formats import FORM, owned, read_formats, write_formats
from .thinking import read_thinking, write_thinking

__all__ = ["read_settings", "write_settings"]

Node = dict[str, Any]
Place = tuple[Any, ...]

_LOGPROBS = "message.output_text.logprobs"
_NUMBER = (int, float, type(None))
_WHOLE = (int, type(None))
# Wire key, canonical key, JSON types.
_CONFIG: tuple[tuple[str, str, tuple[type, ...]], ...] = (
    ("temperature", "temperature", _NUMBER),
    ("topP", "top_p", _NUMBER),
    ("topK", "top_k", _NUMBER),
    ("candidateCount", "n", _WHOLE),
    ("maxOutputTokens", "max_output_tokens", _WHOLE),
    ("stopSequences", "stop", (list, type(None))),
    ("seed", "seed", _WHOLE),
    ("presencePenalty", "presence_penalty", _NUMBER),
    ("frequencyPenalty", "frequency_penalty", _NUMBER),
    ("logprobs", "top_logprobs", _WHOLE),
)
_BESIDE: tuple[tuple[str, str, tuple[type, ...]], ...] = (
    ("cachedContent", "cached_content", (str, type(None))),
    ("labels", "labels", (dict, type(None))),
    ("continuationToken", "continuation_token", (str, type(None))),
    ("store", "store", (bool, type(None))),
)
_CONFIG_KEY = "generationConfig"
_EXACT = 2**53


def read_settings(w: Node, c: Node, r: Reader, spelled: list[str]) -> None:
    """Read `generationConfig` and the other settings of a request into `c`; `spelled` are the keys in snake_case."""
    told: dict[Place, Place] = {}

    def place(hub: Place, *wire: Any) -> None:
        told[hub] = actual(wire, spelled) if spelled else wire

    _read_settings(w, c, r, spelled, place)
    if told:
        r.lay(c, tuple(told.items()))


def _read_settings(w: Node, c: Node, r: Reader, spelled: list[str], place: Callable[..., None]) -> None:
    for name, hub, types in _BESIDE:
        if name in w and type(w[name]) in types:
            c[hub] = w.pop(name)
            place((hub,), name)
    tier = w.get("serviceTier")
    if type(tier) is str:
        if SERVICE_TIERS.write(SERVICE_TIERS.read(tier)) == tier:
            c["service_tier"] = SERVICE_TIERS.read(w.pop("serviceTier"))
        place(("service_tier",), "serviceTier")
    if "safetySettings" in w:
        _read_safety(w, c, r)
        place(("safety_settings",), "safetySettings")
    if type(w.get(_CONFIG_KEY)) is not dict:
        return
    config = take(w, _CONFIG_KEY)
    if not config:
        r.form(c, "config", "empty")
    for name, hub, types in _CONFIG:
        if name in config and type(config[name]) in types:
            c[hub] = config.pop(name)
            place((hub,), _CONFIG_KEY, name)
    if type(c.get("top_k")) is float and c["top_k"].is_integer() and abs(c["top_k"]) < _EXACT:
        c["top_k"] = int(c["top_k"])  # the vendor's own SDK sends a float, others take whole numbers
        r.form(c, "topK", "float")
    if type(config.get("responseLogprobs")) is bool:
        if config.pop("responseLogprobs"):
            c["include"] = [_LOGPROBS]
            place(("include",), _CONFIG_KEY, "responseLogprobs")
        else:
            r.form(c, "logprobs", "false")
    _read_modalities(config, c, r)
    if "modalities" in c:
        place(("modalities",), _CONFIG_KEY, "responseModalities")
    _read_format(config, c, r)
    if "text" in c:
        place(("text",), _CONFIG_KEY, "responseMimeType")
        subset = actual((_CONFIG_KEY, "responseSchema"), spelled)
        key = "responseSchema" if subset[1] in r.doc.get(subset[0], ()) else "responseJsonSchema"
        place(("text", "format", "schema"), _CONFIG_KEY, key)
    if "responseFormat" in config:
        read_formats(config, c, r, partial(_place_below, place))
    if type(config.get("thinkingConfig")) is dict:
        read_thinking(config, c, r)
        for name, hub in (
            ("includeThoughts", "include"),
            ("thinkingLevel", "effort"),
            ("thinkingBudget", "budget_tokens"),
        ):
            place(("reasoning", hub), _CONFIG_KEY, "thinkingConfig", name)
    if type(config.get("speechConfig")) is dict:
        _read_speech(config, c, r)
        place(("audio",), _CONFIG_KEY, "speechConfig")
        for hub, *names in _SPEECH:
            if hub in c["audio"]:
                place(("audio", hub), _CONFIG_KEY, "speechConfig", *names)
    if type(config.get("imageConfig")) is dict:
        image = take_whole(config, "imageConfig")
        c["image"] = {hub: image.pop(name) for name, hub in _IMAGE if type(image.get(name)) is str}
        for name, hub in _IMAGE:
            place(("image", hub), _CONFIG_KEY, "imageConfig", name)


def _place_below(place: Callable[..., None], hub: Place, *wire: Any) -> None:
    place(hub, _CONFIG_KEY, *wire)


def write_settings(c: Node, wire: Node, w: Writer) -> None:
    """Write the settings of a request into `wire`, and report those that the protocol lacks."""
    config: Node = {}
    for name, hub, types in _CONFIG:
        if hub in c and type(c[hub]) in types:
            config[name] = c.pop(hub)
    marked = "extra" in c
    if marked and type(config.get("topK")) is int and w.form(c, "topK") == "float":
        config["topK"] = float(config["topK"])
    if marked or "include" in c or "logprobs" in config:
        _write_logprobs(c, config, w)
    if marked:
        write_formats(c, config, w)
    if "modalities" in c:
        _write_modalities(c, config, w)
    if "text" in c:
        _write_format(c, config, w)
    if marked or "reasoning" in c:
        write_thinking(c, config, w)
    if "audio" in c:
        _write_speech(c, config, w)
    if "image" in c:
        _write_image(c, config)
    if config or (marked and w.form(c, "config") == "empty"):
        wire[_CONFIG_KEY] = config
    if "safety_settings" in c:
        _write_safety(c, wire, w)
    lacks = w.dialect.get("lacks", ()) if w.source not in (None, w.protocol) else ()
    for name, hub, types in _BESIDE:
        if hub in c and type(c[hub]) in types and name not in lacks:
            wire[name] = c.pop(hub)
    tier = c.get("service_tier")
    if type(tier) is str:
        wire["serviceTier"] = SERVICE_TIERS.write(c.pop("service_tier"))
        if not SERVICE_TIERS.exact(tier):
            c["service_tier"] = Fated("approximated", f"sent as {wire['serviceTier']!r}")


# ---- log probabilities, modalities ----------------------------------------------------------------------------------


def _write_logprobs(c: Node, config: Node, w: Writer) -> None:
    include = c.get("include")
    if type(include) is list and _LOGPROBS in include:
        config["responseLogprobs"] = True
        for index, value in enumerate(c.pop("include")):
            if value != _LOGPROBS:
                w.report(w.doc, ("include", index), "lost")
    elif w.form(c, "logprobs"):
        config["responseLogprobs"] = False
    elif config.get("logprobs") == 0 and w.crosses:
        # No alternatives to what is not returned: the default of others, and a request for log probabilities here.
        del config["logprobs"]
        w.report(w.doc, ("top_logprobs",), "lost", "it has no effect without log probabilities")
    elif type(config.get("logprobs")) is int and w.crosses:
        config["responseLogprobs"] = True
        w.added(config, "responseLogprobs", "required beside the number of alternatives")


_MODALITIES = Bimap({"TEXT": "text", "IMAGE": "image", "AUDIO": "audio", "VIDEO": "video"})


_MODALITY = "ResponseModality"
_MODALITY_FORM = "modality numbers"
_UNSAID = "MODALITY_UNSPECIFIED"


def _read_modalities(config: Node, c: Node, r: Reader) -> None:
    value = config.get("responseModalities")
    if type(value) is not list:
        return
    words = [each[""] for each in all_named([{"": word} for word in value], {"": _MODALITY}, c, r, _MODALITY_FORM)]
    if all(type(each) is str and each not in _MODALITIES.writes and each != _UNSAID for each in words):
        c["modalities"] = [_MODALITIES.read(each) for each in words]
        del config["responseModalities"]


def _write_modalities(c: Node, config: Node, w: Writer) -> None:
    if type(c.get("modalities")) is list:
        form = marked(c, w, _MODALITY_FORM)
        words = [_MODALITIES.write(each) for each in c.pop("modalities")]
        config["responseModalities"] = [number_of(each, _MODALITY, form) for each in words]


# ---- structured output ----------------------------------------------------------------------------------------------

_JSON = "application/json"
_PLAIN = "text/plain"


def _read_format(config: Node, c: Node, r: Reader) -> None:
    kind = config.get("responseMimeType")
    if type(kind) is not str:
        return
    form: Node = {}
    for old in ("responseJsonSchema", "responseSchema"):
        if type(config.get(old)) is dict and "schema" not in form:
            schema = config.pop(old)
            if old == "responseSchema":
                schema, marks = from_dialect(schema)
                r.form(c, "schema", "as is" if marks is None else marks)
            form["schema"] = schema
    del config["responseMimeType"]
    form["type"] = "json_schema" if "schema" in form else "json_object" if kind == _JSON else "text"
    if kind != (_PLAIN if form["type"] == "text" else _JSON):
        form["media_type"] = kind
    c["text"] = {"format": form}


def _write_format(c: Node, config: Node, w: Writer) -> None:
    if type(c.get("text")) is not dict or type(c["text"].get("format")) is not dict:
        return
    text = take(c, "text")
    form = take(text, "format")
    kind = form.get("type")
    if kind not in ("text", "json_object", "json_schema"):
        return
    del form["type"]
    own = w.form(c, "schema")
    named = form.pop("media_type", None) if kind != "json_object" else None  # which is JSON and nothing else
    config["responseMimeType"] = named or (_PLAIN if kind == "text" else _JSON)
    # A schema is refused beside plain text, and makes of any JSON what it describes.
    if kind == "json_schema" and type(form.get("schema")) is dict:
        if own is None:
            subset = w.dialect.get("schemas") == "openapi"
            config["responseSchema" if subset else "responseJsonSchema"] = form.pop("schema")
        else:
            schema = form.pop("schema")
            config["responseSchema"] = to_dialect(schema, own) if type(own) is list else schema


# ---- voices, images -------------------------------------------------------------------------------------------------

_IMAGE = (("aspectRatio", "aspect_ratio"), ("imageSize", "size"))


def _read_voice(config: Node) -> Any:
    """The name of a prebuilt voice, popped; None where the voice is something else."""
    if type(config.get("voiceConfig")) is not dict or config["voiceConfig"].keys() != {"prebuiltVoiceConfig"}:
        return None
    inner = config["voiceConfig"]["prebuiltVoiceConfig"]
    if type(inner) is not dict or inner.keys() != {"voiceName"} or type(inner["voiceName"]) is not str:
        return None
    voice = inner["voiceName"]
    del config["voiceConfig"]
    return voice


def _voice_config(voice: str) -> Node:
    return {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": voice}}}


_SPEECH = (
    ("voice", "voiceConfig", "prebuiltVoiceConfig", "voiceName"),
    ("language", "languageCode"),
    ("speakers", "multiSpeakerVoiceConfig", "speakerVoiceConfigs"),
)


def _read_speech(config: Node, c: Node, r: Reader) -> None:
    speech = take_whole(config, "speechConfig")
    audio: Node = {}
    voice = _read_voice(speech)
    if voice is not None:
        audio["voice"] = voice
    if type(speech.get("languageCode")) is str:
        audio["language"] = speech.pop("languageCode")
    several = speech.get("multiSpeakerVoiceConfig")
    if (
        type(several) is dict
        and several.keys() == {"speakerVoiceConfigs"}
        and type(several["speakerVoiceConfigs"]) is list
    ):
        speakers = []
        for each in several["speakerVoiceConfigs"]:
            own = Owned(each) if type(each) is dict else {}
            name, voice = own.pop("speaker", None), _read_voice(own)
            if type(name) is str and voice is not None and not own:
                speakers.append({"speaker": name, "voice": voice})
        if len(speakers) == len(several["speakerVoiceConfigs"]):
            del speech["multiSpeakerVoiceConfig"]
            audio["speakers"] = speakers
    c["audio"] = {**c.get("audio", {}), **audio}


def _is_speaker(each: Any) -> bool:
    if type(each) is not dict or not {"speaker", "voice"} <= each.keys() <= {"speaker", "voice", "language"}:
        return False
    return all(type(value) is str for value in each.values())


def _write_speech(c: Node, config: Node, w: Writer) -> None:
    audio = owned(c, "audio")
    if audio is None:
        return
    speech: Node = {}
    if type(audio.get("voice")) is str:
        speech.update(_voice_config(audio.pop("voice")))
    if "language" in audio:
        speech["languageCode"] = audio.pop("language")
    speakers = audio.get("speakers")
    if type(speakers) is list and all(map(_is_speaker, speakers)):
        del audio["speakers"]
        languages = [each.get("language") for each in speakers]
        if "languageCode" in speech or len({*languages}) > 1:
            for index, language in enumerate(languages):
                if language is not None:
                    w.report(w.doc, ("audio", "speakers", index, "language"), "lost", "one language for all voices")
        elif languages and languages[0] is not None:
            speech["languageCode"] = languages[0]
        speech["multiSpeakerVoiceConfig"] = {
            "speakerVoiceConfigs": [{"speaker": each["speaker"], **_voice_config(each["voice"])} for each in speakers]
        }
    if speech or (w.source in (None, w.protocol) and w.form(c, FORM) is None):
        config["speechConfig"] = speech


def _write_image(c: Node, config: Node) -> None:
    if type(c.get("image")) is dict:
        image = take(c, "image")
        written = {name: image.pop(hub) for name, hub in _IMAGE if hub in image}
        if written or not image:
            config["imageConfig"] = written


# ---- safety ---------------------------------------------------------------------------------------------------------

_HARM = "HARM_CATEGORY_"
_SAFETY = {"category": "HarmCategory", "threshold": "HarmBlockThreshold", "method": "HarmBlockMethod"}
_SAFETY_FORM = "safety numbers"


def _read_safety(w: Node, c: Node, r: Reader) -> None:
    """All settings or none: one that is more than category, threshold and method keeps the list as it is."""
    value = w["safetySettings"]
    if type(value) is not list or not all(type(each) is dict and each.keys() <= _SAFETY.keys() for each in value):
        return
    value = all_named(value, _SAFETY, c, r, _SAFETY_FORM)
    for each in value:
        if not all(type(word) is str and word.isupper() for word in each.values()):
            return
        if not each.get("category", _HARM).startswith(_HARM):
            return
    c["safety_settings"] = [{key: word.removeprefix(_HARM).lower() for key, word in each.items()} for each in value]
    del w["safetySettings"]


def _write_safety(c: Node, wire: Node, w: Writer) -> None:
    if type(c["safety_settings"]) is not list:
        wire["safetySettings"] = c.pop("safety_settings")
        return
    out = []
    # What is measured can be chosen on the cloud platform alone.
    chosen = w.dialect.get("publishers") or w.source in (None, w.protocol)
    keys = ("category", "threshold", "method") if chosen else ("category", "threshold")
    form = marked(c, w, _SAFETY_FORM)
    for each in take_all(c, "safety_settings"):
        setting = {key: str(each.pop(key)).upper() for key in keys if each.get(key)}
        if "category" in setting:
            setting["category"] = _HARM + setting["category"]
        out.append({key: number_of(word, _SAFETY[key], form) for key, word in setting.items()} if form else setting)
    wire["safetySettings"] = out
