"""For each key of a dialect, something that is read or written with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import unified_llm as ul

Node = dict[str, Any]
Probe = Callable[[str], Any]

USER = {"role": "user", "content": "q"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "r"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
SAMPLES: Node = {
    "tools": [TOOL],
    "tool_choice": "auto",
    "parallel_tool_calls": False,
    "parallel_function_calling": False,
    "response_format": {"type": "json_object"},
    "stop": [str(n) for n in range(9)],
    "logit_bias": {"1": 1},
    "logprobs": True,
    "metadata": {"a": "b"},
    "audio": {"voice": "v", "format": "wav"},
    "modalities": ["text", "audio"],
    "prediction": {"type": "content", "content": "p"},
    "stream_options": {"include_usage": True},
    "web_search_options": {"search_context_size": "low"},
    "moderation": {"model": "m"},
    "reasoning_effort": "high",
    "service_tier": "flex",
    "prompt_cache_retention": "24h",
    "verbosity": "low",
    "truncation": "auto",
    "conversation": "conv_1",
    "prompt": {"id": "pmpt_1"},
    "previous_response_id": "resp_1",
    "store": True,
    "background": True,
    "user": "u",
    "safety_identifier": "s",
    "prompt_cache_key": "k",
    "safety_settings": [],
    "include": ["reasoning.encrypted_content"],
    "max_tool_calls": 3,
    "top_logprobs": 2,
}
PARTS: Node = {
    "text": {"type": "text", "text": "t"},
    "image_url": {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    "input_audio": {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
    "file": {"type": "file", "file": {"file_id": "file-1"}},
    "video_url": {"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}},
}
TEXT_PART = {"type": "text", "text": "q"}
CHOICES: Node = {
    "function": {"type": "function", "function": {"name": "f"}},
    "custom": {"type": "custom", "custom": {"name": "f"}},
}
SETTINGS: Node = {"control": "enabled", "budget_tokens": 4096, "summary": "auto", "include": True, "effort": "high"}
OPAQUE: Node = {
    "reasoning_details": {"reasoning_details": [{"type": "reasoning.encrypted", "data": "E", "index": 0}]},
    "reasoning_opaque": {"reasoning_text": "t", "reasoning_opaque": "O"},
    "thought_signature": {"tool_calls": [{**CALL, "extra_content": {"google": {"thought_signature": "S"}}}]},
}
CITING = {"role": "assistant", "content": [{"type": "text", "text": "a"}]}
SEARCH = {"include_domains": ["a.example"], "exclude_domains": ["b.example"], "user_location": {"type": "approximate"}}
REASONING = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "thought"}]}
ITEM_CALL = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
ITEM_RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "r"}
ITEM_USER = {"type": "message", "role": "user", "content": "q"}
TEXT = {"type": "input_text", "text": "q"}  # (a prompt of which nothing would be left is refused)
FILE_URL = {"type": "input_file", "file_url": "https://x/a.pdf"}
DRAWN = {"type": "output_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
MESSAGE = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}


def put(path: str, value: Any) -> Any:
    """A document with nothing but a value at a dotted path; numbers are places in lists."""
    for key in reversed(path.split(".")):
        value = [{}] * int(key) + [value] if key.isdigit() else {key: value}
    return value


def sent(**settings: Any) -> Probe:
    """A chat request of no particular provider, sent to the dialect."""
    body = {"model": "m", "messages": [USER], **settings}
    return lambda name: ul.convert(body, source=name.partition(":")[0], target=name)


def asked(items: list[Node], **settings: Any) -> Probe:
    return lambda name: ul.write({"model": "m", "input": items, **settings}, name)


def answered(**response: Any) -> Probe:
    """An answer, written for a client of the dialect."""
    body = {"id": "r", "created_at": 1, "model": "m", "output": [MESSAGE], **response}
    return lambda name: ul.write(body, name, "response")


def read(kind: str, body: Any) -> Probe:
    return lambda name: ul.read(body, name, kind).model_dump(exclude_unset=True)


def completion(**more: Any) -> Node:
    choice = {"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], **more}


def streamed(name: str) -> Any:
    """A stream for a client that requested no usage."""
    request = {"model": "m", "messages": [USER], "stream": True}
    exchange = ul.convert(request, source=name, target="openai-responses", repair="never").exchange
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    events = ul.decompose({"id": "r", "created_at": 1, "model": "m", "output": [MESSAGE], "usage": usage})
    wire = list(ul.write_stream(events, "openai-responses"))
    return list(ul.convert_stream(wire, source="openai-responses", target=name, exchange=exchange))


def searching(hub: str, source: str = "", own: Node | None = None) -> Probe:
    """A search of the web: as another protocol has it, to the dialect; or as the dialect has it, to that."""
    if own is not None:
        body = {"model": "m", "messages": [USER], **own}
        return lambda name: ul.convert(body, source=name, target="openai-responses", model="m")
    tool = put(hub, ["a.example"] if hub.startswith("filters") else {"type": "approximate"} if hub[0] == "u" else "low")
    body = {"model": "m", "input": "q", "tools": [{"type": "web_search", **({} if hub == "type" else tool)}]}
    return lambda name: ul.convert(body, source=source, target=name)


def reframed(name: str) -> Any:
    """A stream of the dialect for a client of the API."""
    response = {"id": "r", "object": "response", "status": "completed", "output": []}
    kinds = ("response.created", "response.completed")
    events = [{"event": kind, "data": {"type": kind, "response": response}} for kind in kinds]
    return list(ul.convert_stream(events, source=name, target="openai-responses"))


def parameter(key: str) -> Probe:
    return sent(**{key: SAMPLES.get(key, 1)})


def tool_kind(kind: str) -> Probe:
    return asked([ITEM_USER], tools=[{"type": kind, "name": "f", "parameters": {"type": "object", "properties": {}}}])


def repair(rule: str, value: Any) -> Probe:
    if rule == "result_media":
        media = {
            "type": value,
            **({"image_url": "https://x/a.png"} if value == "input_image" else {"file_id": "file-1"}),
        }
        body = {"model": "m", "input": [ITEM_USER, ITEM_CALL, {**ITEM_RESULT, "output": [media]}]}
        return lambda name: ul.convert(body, source="openai-responses", target=name)
    again = [{"role": "assistant", "content": None, "tool_calls": [CALL]}, RESULT]
    short = {**CALL, "id": "abc"}
    messages = {
        "call_id_form": [USER, *again, USER],
        "call_id_length": [USER, {**again[0], "tool_calls": [short]}, {**RESULT, "tool_call_id": "abc"}, USER],
        "unique": [USER, *again, USER, *again, USER],
        "named": [USER, again[0], {**RESULT, "name": "another"}, USER],
        "blank": [USER, {"role": "assistant", "content": ""}, USER],
        "bridged": [USER, *again, USER],
        "closes": [USER, {"role": "assistant", "content": "Sure:"}],
    }
    return sent(messages=messages[rule])


def exceeding(key: str) -> Probe:
    if "." in key:
        return sent(**put(key, 1))
    return sent(**{key: SAMPLES.get(key, 999)})


def choice(kind: str) -> Probe:
    chat = sent(tools=[TOOL], tool_choice=CHOICES.get(kind, kind))
    flat = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
    responses = asked([ITEM_USER], tools=[flat], tool_choice=kind)
    return lambda name: responses(name) if name.startswith("openai-responses") else chat(name)


def output_format(kind: str) -> Probe:
    format_ = {"type": kind, "name": "n", "schema": {"type": "object", "properties": {}}}
    return asked([ITEM_USER], text={"format": format_ if kind == "json_schema" else {"type": kind}})


def chosen(key: str, value: Any) -> Probe:
    return sent(**put(key, value))


def effort(word: str) -> Probe:
    return lambda name: asked([ITEM_USER], reasoning={"effort": word})(name)


def roles(role: str) -> Probe:
    return asked([{"type": "message", "role": role, "content": "x"}, ITEM_USER])


def fields(_: Any) -> Probe:
    def probe(name: str) -> Any:
        return [
            asked([ITEM_USER, REASONING, ITEM_CALL, ITEM_RESULT])(name),
            answered(output=[REASONING, MESSAGE])(name),
        ]

    return probe


def tagged(_: Any) -> Probe:
    choice = {"index": 0, "finish_reason": "stop"}
    contents = ["<think>t</think>a", "<thought>t</thought>a"]
    bodies = [completion(choices=[{**choice, "message": {"role": "assistant", "content": each}}]) for each in contents]
    return lambda name: [read("response", body)(name) for body in bodies]


def opaque(kind: str) -> Probe:
    message = {"role": "assistant", "content": None if "tool_calls" in OPAQUE[kind] else "a", **OPAQUE[kind]}
    return sent(messages=[USER, message, *([RESULT] if "tool_calls" in message else []), USER])


def usage(path: str) -> Probe:
    told = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10, **put(path, 3)}
    details = {"cached_tokens": 3, "cache_write_tokens": 3}
    counts = {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10, "input_tokens_details": details}
    counts["output_tokens_details"] = {"reasoning_tokens": 3}
    return lambda name: [read("response", completion(usage=told))(name), answered(usage=counts)(name)]


def error(**body: Any) -> Probe:
    return read("error", {"error": {"message": "m", **body}})


def misplaced(path: str) -> Probe:
    return read("error", {**put(path, "text"), **({} if path.startswith("error") else {"error": None})})


PROBES: dict[str, Callable[..., Probe]] = {
    "max_tokens": lambda word: lambda name: [asked([ITEM_USER], max_output_tokens=9)(name), sent(max_tokens=9)(name)],
    "refuses": parameter,
    "ignores": parameter,
    "takes": parameter,
    "renames": lambda key, own: parameter(key),
    "words": lambda key, word, own: sent(tools=[TOOL], **{key: word}),
    "only": lambda key, value: chosen(key, [value] if type(SAMPLES.get(key)) is list else value),
    "nearest": lambda key, value, sent_as: chosen(key, value),
    "least": lambda key, limit: sent(**put(key, -9 if "." not in key else 1), **_thinking(key)),
    "most": lambda key, limit: exceeding(key),
    "efforts": effort,
    "tool_kinds": tool_kind,
    "tool_choices": choice,
    "strict_tools": lambda _: asked([ITEM_USER], tools=[{"type": "function", "name": "f", "strict": True}]),
    "formats": output_format,
    "repair": repair,
    "schemas": lambda _: asked(
        [ITEM_USER],
        tools=[
            {"type": "function", "name": "n" * 99, "parameters": {"type": "object", "properties": {}, "$schema": "s"}}
        ],
    ),
    "roles": lambda role, own: roles(role),
    "parts": lambda kind: sent(messages=[{"role": "user", "content": [PARTS["text"], PARTS[kind]]}]),
    "file_part": lambda _: asked([{**ITEM_USER, "content": [TEXT, FILE_URL]}]),
    "cache_key": lambda _: asked([{**ITEM_USER, "content": [{**TEXT, "cache": {"mode": "explicit"}}]}]),
    "file_urls": lambda _: asked([{**ITEM_USER, "content": [TEXT, FILE_URL]}]),
    "annotations": lambda kind: sent(messages=[USER, {**CITING, "annotations": [{"type": kind, kind: {}}]}, USER]),
    "pictures": lambda _: answered(output=[{**MESSAGE, "content": [DRAWN]}]),
    "string_content": lambda role: sent(
        messages=[
            {"role": "system", "content": [PARTS["text"]]},
            USER,
            {"role": "assistant", "content": [PARTS["text"], PARTS["text"]], "tool_calls": [CALL]},
            {**RESULT, "content": [PARTS["text"]]},
            {"role": "user", "content": [PARTS["text"]]},
        ]
    ),
    "null_content": lambda _: asked([ITEM_USER, ITEM_CALL, ITEM_RESULT]),
    "result_names": lambda _: sent(
        messages=[USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}, RESULT]
    ),
    "names": lambda _: sent(messages=[{**USER, "name": "ann"}]),
    "reasoning_field": fields,
    "reasoning_replay": lambda _: asked([ITEM_USER, REASONING, MESSAGE, ITEM_USER]),
    "reasoning_required": lambda _: asked([ITEM_USER, ITEM_CALL, ITEM_RESULT]),
    "reasoning_tags": tagged,
    "search_tool": lambda hub, path: searching(hub, "openai-responses"),
    "search_plugin": lambda hub, path: searching(hub, own={"plugins": [{**SEARCH, "id": "web"}]}),
    "search_suffix": lambda suffix: searching("", own={"model": f"m{suffix}"}),
    "opaque": opaque,
    "control": lambda hub, path: asked([ITEM_USER], reasoning={hub: SETTINGS[hub]}),
    "control_words": lambda word, own: asked([ITEM_USER], reasoning={"control": word}),
    "one_control": lambda _: asked([ITEM_USER], reasoning={"effort": "high", "budget_tokens": 4096}),
    "usage": lambda hub, path: usage(path),
    "usage_apart": lambda _: answered(
        usage={
            "input_tokens": 5,
            "output_tokens": 5,
            "total_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 3},
        }
    ),
    "usage_always": lambda _: streamed,
    "finish": lambda word, reason: answered(finish={"reason": reason}),
    "error_types": lambda word, meant: read("error", {"error": "text", "error_type": word}),
    "error_codes": lambda code, meant: error(code=code),
    "error_message": misplaced,
    "error_code": misplaced,
    "error_type": lambda path: read("error", {"error": "text", **put(path, "word")}),
    # Responses
    "provider": lambda _: read(
        "response", {"id": "r", "object": "response", "output": [{"type": "reasoning", "encrypted_content": "E"}]}
    ),
    "strict": lambda _: answered(),
    "framed": lambda _: reframed,
    "penalties": lambda _: (
        lambda name: ul.convert(
            {"model": "m", "messages": [USER], "presence_penalty": 1}, source="openai-chat", target=name
        )
    ),
    "plain_reasoning": lambda _: (
        lambda name: ul.convert(
            {"model": "m", "messages": [USER, {"role": "assistant", "content": "a", "reasoning_content": "t"}, USER]},
            source="openai-chat",
            target=name,
        )
    ),
    "plain_field": lambda _: (
        lambda name: ul.convert(
            {
                "model": "m",
                "input": [
                    {"type": "user_input", "content": [{"type": "text", "text": "q"}]},
                    {"type": "thought", "summary": [{"type": "text", "text": "r"}]},
                    {"type": "model_output", "content": [{"type": "text", "text": "a"}]},
                ],
            },
            source="google-interactions",
            target=name,
        )
    ),
    "runs": lambda kind: read(
        "response",
        {"id": "r", "object": "response", "output": [{"type": kind, "call_id": "c", "name": "f", "input": "q"}]},
    ),
    "media": lambda _: (
        lambda name: ul.convert(
            {"model": "m", "messages": [{"role": "user", "content": [TEXT_PART, PARTS["video_url"]]}]},
            source="openai-chat",
            target=name,
        )
    ),
    "image_urls": lambda _: asked(
        [{**ITEM_USER, "content": [TEXT, {"type": "input_image", "image_url": "https://x/a.png"}]}]
    ),
    "prefix": lambda _: sent(messages=[USER, {"role": "assistant", "content": "Sure:"}]),
    "refused_parts": lambda kind: (
        lambda name: ul.write({"model": "m", "input": [{**ITEM_USER, "content": [TEXT, {"type": kind}]}]}, name)
    ),
    "message_keys": lambda key: (
        lambda name: ul.convert(
            {"model": "m", "messages": [USER, {"role": "assistant", "content": "a", key: "t"}, USER]},
            source="openai-chat",
            target=name,
        )
    ),
    "image_types": lambda kind: _sent_inline(kind),
    "audio_formats": lambda format_: _sent_inline(f"audio/{format_}"),
}


def _sent_inline(kind: str) -> Probe:
    parts = [{"text": "q"}, {"inlineData": {"mimeType": kind, "data": "AAAA"}}]
    body = {"contents": [{"role": "user", "parts": parts}]}
    return lambda name: ul.convert(body, source="google-generate-content", target=name)


def _thinking(key: str) -> Node:
    return {}
