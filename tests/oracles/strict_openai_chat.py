"""What Chat Completions takes: roles, parts, the pairing of calls and results, settings that go together.

Written from OpenAI's API description and recorded refusals. `strangers` is for the dialects of other vendors: unknown
keys,
other kinds of parts, empty lists and their ways with tools pass; roles, pairs and types are looked at all the same.
"""

from __future__ import annotations

from typing import Any

from oracles.shapes import Node, Path
from oracles.strict_openai import OpenAI, mentions_json

BODY = """model!:s messages!:a stream?:b stream_options?:o n?:i temperature?:n top_p?:n frequency_penalty?:n
presence_penalty?:n logit_bias?:o logprobs?:b top_logprobs?:i stop?:s/a max_completion_tokens?:i max_tokens?:i seed?:i
tools:a tool_choice:s/o parallel_tool_calls:b functions:a function_call:s/o response_format?:o
reasoning_effort?=none|minimal|low|medium|high|xhigh|max verbosity?=low|medium|high modalities?:a audio?:o prediction?:o
web_search_options:o store?:b metadata?:o service_tier?:s safety_identifier:s
prompt_cache_key:s prompt_cache_options:o prompt_cache_retention?=in_memory|in-memory|24h moderation?:o user:s"""
MESSAGES = {
    "developer": "role! content!:s/a name:s",
    "system": "role! content!:s/a name?:s",
    "user": "role! content!:s/a name?:s",
    # reasoning_content: what the oracle itself answers with comes back to it
    "assistant": "role! content?:s/a refusal?:s tool_calls:a function_call?:o audio?:o name:s annotations?:a "
    "reasoning_content?:s",
    "tool": "role! content!:s/a tool_call_id!:s name?:s",  # LangChain.js and older SDKs send the name
    "function": "role! content!?:s name!:s",
}
PARTS = {
    "text": "type! text!:s prompt_cache_breakpoint:o",
    "image_url": "type! image_url!:o prompt_cache_breakpoint:o",
    "input_audio": "type! input_audio!:o prompt_cache_breakpoint:o",
    "file": "type! file!:o prompt_cache_breakpoint:o",
    "refusal": "type! refusal!:s",
}
TAKES = {"user": ("text", "image_url", "input_audio", "file"), "assistant": ("text", "refusal")}
INNER = {
    "image_url": "url!:s detail=auto|low|high|original",
    "input_audio": "data!:s format!=wav|mp3",
    "file": "file_data:s file_id:s filename:s",
}
CALLS = {"function": "name!:s arguments!:s", "custom": "name!:s input!:s"}
TIERS = ("auto", "default", "flex", "scale", "priority", "fast")
GRAMMAR = {"text": "type!", "grammar": "type! grammar!:o"}


def check(body: Any, strangers: bool = False) -> None:
    """Raise `Refused` for a request that Chat Completions does not take."""
    Chat(strangers).body(body)


class Chat(OpenAI):
    """The walk through a request."""

    def __init__(self, strangers: bool = False) -> None:
        self.strangers = strangers

    def body(self, body: Any) -> None:
        self.object(body, (), BODY, self.strangers)
        if not body["messages"]:
            self.refuse(("messages",), "Invalid 'messages': empty array. Expected an array with minimum length 1, but "
                        "got an empty array instead.", "empty_array")  # fmt: skip
        for place, message in enumerate(body["messages"]):
            self.message(message, ("messages", place))
        self.pairs(body["messages"])
        self.settings(body)
        names = self.tools(body)
        self.functions(body)
        self.choice(body, names)
        self.format(body.get("response_format"), ("response_format",), body["messages"])

    def settings(self, body: Node) -> None:
        for name, low, high in (("temperature", 0, 2), ("top_p", 0, 1), ("n", 1, 128), ("top_logprobs", 0, 20),
                                ("frequency_penalty", -2, 2), ("presence_penalty", -2, 2), ("max_tokens", 1, None),
                                ("max_completion_tokens", 1, None)):  # fmt: skip
            self.range(body, (), name, low, high)
        if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
            self.refuse(("max_tokens",), "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not "
                        "supported.", "invalid_parameter_combination")  # fmt: skip
        if body.get("top_logprobs") is not None and not body.get("logprobs"):
            self.refuse(("top_logprobs",), "'top_logprobs' is only allowed when 'logprobs' is true.")
        if body.get("stream_options") is not None:
            if not body.get("stream"):
                self.refuse(
                    ("stream_options",), "The 'stream_options' parameter is only allowed when 'stream' is enabled."
                )
            self.object(
                body["stream_options"], ("stream_options",), "include_usage:b include_obfuscation:b", self.strangers
            )
        stop = body.get("stop")
        if isinstance(stop, list):
            if not 1 <= len(stop) <= 4:
                self.refuse(("stop",), f"Invalid 'stop': expected an array with 1 to 4 members, but got {len(stop)} "
                            "instead.", "array_above_max_length")  # fmt: skip
            for place, each in enumerate(stop):
                if not isinstance(each, str):
                    self.wrong(("stop", place), "string", each)
        if "audio" in (body.get("modalities") or ()) and not body.get("audio"):
            self.missing(("audio",))
        for key, value in (body.get("logit_bias") or {}).items():
            if not isinstance(value, (int, float)) or not -100 <= value <= 100:
                self.refuse(("logit_bias", key), "Invalid 'logit_bias': expected values from -100 to 100.")
        if not body.get("tools") and "parallel_tool_calls" in body and not self.strangers:
            self.refuse(("parallel_tool_calls",), "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is "
                        "only allowed when 'tools' are specified.")  # fmt: skip
        if not self.strangers and body.get("service_tier") not in (None, *TIERS):
            self.value(("service_tier",), TIERS, body["service_tier"])
        self.metadata(body.get("metadata"), ("metadata",))

    def message(self, message: Any, path: Path) -> None:
        if not isinstance(message, dict):
            self.wrong(path, "object", message)
        if "role" not in message:
            self.missing((*path, "role"))
        role = message["role"]
        if not isinstance(role, str):
            self.wrong((*path, "role"), "string", role)
        if role not in MESSAGES:
            self.value((*path, "role"), tuple(MESSAGES), role)
        self.object(message, path, MESSAGES[role], self.strangers)
        content = message.get("content")
        if role == "assistant":
            if content is None and not any(message.get(k) for k in ("tool_calls", "function_call", "audio", "refusal")):
                self.refuse((*path, "content"), "Invalid value for 'content': expected a string, got null. "
                            f"({self.path(path)})")  # fmt: skip
            self.calls(message, path)
        if isinstance(content, list):
            if not content and not self.strangers:
                self.refuse((*path, "content"), f"Invalid '{self.path((*path, 'content'))}': empty array. Expected an "
                            "array with minimum length 1, but got an empty array instead.", "empty_array")  # fmt: skip
            for place, part in enumerate(content):
                self.part(part, (*path, "content", place), TAKES.get(role, ("text",)))
        if message.get("name") is not None and role != "function":
            self.longest(message["name"], (*path, "name"), 64)
            if any(letter in message["name"] for letter in " \t\n<|\\/>"):
                self.refuse((*path, "name"), f"Invalid '{self.path((*path, 'name'))}': string does not match pattern. "
                            "Expected a string that matches the pattern "
                            "'^[^\\s<|\\\\/>]+$'.", "invalid_value")  # fmt: skip

    def part(self, part: Any, path: Path, takes: tuple[str, ...]) -> None:
        if not isinstance(part, dict):
            self.wrong(path, "object", part)
        if "type" not in part:
            self.missing((*path, "type"))
        kind = part["type"]
        if kind not in takes and self.strangers:
            return
        if kind not in takes:
            self.value((*path, "type"), takes, kind)
        self.object(part, path, PARTS[kind], self.strangers)
        if kind in INNER:
            inner = self.object(part[kind], (*path, kind), INNER[kind], self.strangers)
            if kind == "image_url":
                url = inner["url"]
                if not url.startswith(("http://", "https://", "data:image/")):
                    self.refuse((*path, kind, "url"), "Invalid image URL. Expected a valid URL, but got a value with "
                                "an invalid format.", "invalid_image_url")  # fmt: skip
            if kind == "file" and not ("file_id" in inner or "file_data" in inner):
                self.missing((*path, kind, "file_id"))

    def calls(self, message: Node, path: Path) -> None:
        calls = message.get("tool_calls")
        if calls is not None and not calls and not self.strangers:
            self.refuse((*path, "tool_calls"), f"Invalid '{self.path((*path, 'tool_calls'))}': empty array. Expected "
                        "an array with minimum length 1, but got an empty array instead.", "empty_array")  # fmt: skip
        for place, call in enumerate(calls or ()):
            at = (*path, "tool_calls", place)
            kind = self.object(call, at, "id!:s type!=function|custom", True)["type"]
            self.object(call, at, f"id!:s type! {kind}!:o index extra_content", self.strangers)
            self.object(call[kind], (*at, kind), CALLS[kind], self.strangers)
            self.name(call[kind]["name"], (*at, kind, "name"))
            self.longest(call["id"], (*at, "id"), 64)

    def pairs(self, messages: list[Node]) -> None:
        """Every call is answered before any other message, and every answer has its call before it."""
        open_: list[str] = []
        called: set[str] = set()
        before: Node = {}
        for place, message in enumerate(messages):
            if message["role"] == "tool":
                if before.get("role") not in ("assistant", "tool") or not called:
                    self.refuse(("messages", place, "role"), "Invalid parameter: messages with role 'tool' must be a "
                                "response to a preceeding message with 'tool_calls'.")  # fmt: skip
                if message["tool_call_id"] not in called:
                    self.refuse(("messages", place, "tool_call_id"), "Invalid parameter: 'tool_call_id' of "
                                f"'{message['tool_call_id']}' not found in 'tool_calls' of previous "
                                "message.")  # fmt: skip
                open_ = [each for each in open_ if each != message["tool_call_id"]]
            else:
                self.answered(open_, place)
                open_ = [call["id"] for call in message.get("tool_calls") or ()]
                called = set(open_)
            before = message
        self.answered(open_, len(messages))

    def answered(self, open_: list[str], place: int) -> None:
        if open_:
            self.refuse(("messages", place, "role"), "An assistant message with 'tool_calls' must be followed by tool "
                        "messages responding to each 'tool_call_id'. The following tool_call_ids did not have "
                        f"response messages: {', '.join(open_)}")  # fmt: skip

    def tools(self, body: Node) -> list[str]:
        names: list[str] = []
        if body.get("tools") is not None and not body["tools"] and not self.strangers:
            self.refuse(("tools",), "Invalid 'tools': empty array. Expected an array with minimum length 1, but got "
                        "an empty array instead.", "empty_array")  # fmt: skip
        for place, tool in enumerate(body.get("tools") or ()):
            at: Path = ("tools", place)
            if self.strangers and isinstance(tool, dict):
                tool = {"type": "function", **tool}
            kind = self.object(tool, at, "type!:s", True)["type"]
            if kind not in CALLS:
                if self.strangers:
                    continue
                self.value((*at, "type"), tuple(CALLS), kind)
            self.object(tool, at, f"type! {kind}!:o", self.strangers)
            line = "name!:s description:s " + ("parameters:o strict?:b" if kind == "function" else "format:o")
            inner = self.object(tool[kind], (*at, kind), line, True)  # recorded: unknown keys pass here
            self.name(inner["name"], (*at, kind, "name"))
            if kind == "function":
                strict = None if self.strangers else inner.get("strict")
                self.parameters(inner.get("parameters"), (*at, kind, "parameters"), inner["name"], strict)
            elif "format" in inner:
                form = self.object(inner["format"], (*at, kind, "format"), "type!=text|grammar", True)
                self.object(form, (*at, kind, "format"), GRAMMAR[form["type"]])
                if form["type"] == "grammar":
                    line = "syntax!=lark|regex definition!:s"
                    self.object(form["grammar"], (*at, kind, "format", "grammar"), line)
            names.append(inner["name"])
        return names

    def functions(self, body: Node) -> None:
        """The older form of tools."""
        for place, each in enumerate(body.get("functions") or ()):
            at: Path = ("functions", place)
            self.object(each, at, "name!:s description:s parameters:o", self.strangers)
            self.name(each["name"], (*at, "name"))
            self.parameters(each.get("parameters"), (*at, "parameters"), each["name"], None)
        if isinstance(body.get("function_call"), dict):
            self.object(body["function_call"], ("function_call",), "name!:s")

    def choice(self, body: Node, names: list[str]) -> None:
        choice = body.get("tool_choice")
        if choice is None:
            return
        if not body.get("tools") and choice != "none" and not self.strangers:
            self.refuse(("tool_choice",), "Invalid value for 'tool_choice': 'tool_choice' is only allowed when "
                        "'tools' are specified.")  # fmt: skip
        if isinstance(choice, str):
            if choice not in ("none", "auto", "required") and not self.strangers:
                self.value(("tool_choice",), ("none", "auto", "required"), choice)
            return
        if self.strangers:
            choice = {"type": "function", **choice}
        kind = self.object(choice, ("tool_choice",), "type!=function|custom|allowed_tools", True)["type"]
        inner = self.object(choice, ("tool_choice",), f"type! {kind}!:o")[kind]
        chosen = [inner]
        if kind == "allowed_tools":
            self.object(inner, ("tool_choice", kind), "mode!=auto|required tools!:a")
            for place, tool in enumerate(inner["tools"]):
                its = self.object(tool, ("tool_choice", kind, "tools", place), "type!=function|custom", True)["type"]
                self.object(tool, ("tool_choice", kind, "tools", place), f"type! {its}!:o")
            chosen = [tool[tool["type"]] for tool in inner["tools"]]
        for each in chosen:
            if each.get("name") not in names:
                self.refuse(("tool_choice",), f"Invalid value for 'tool_choice': tool '{each.get('name')}' not found "
                            "in 'tools'.")  # fmt: skip

    def format(self, form: Any, path: Path, messages: Any) -> None:
        if form is None:
            return
        kind = self.object(form, path, "type!=text|json_object|json_schema", True)["type"]
        self.object(form, path, "type!" + (" json_schema!:o" if kind == "json_schema" else ""), self.strangers)
        if kind == "json_object" and not mentions_json(messages):
            self.refuse(("messages",), "'messages' must contain the word 'json' in some form, to use "
                        "'response_format' of type 'json_object'.")  # fmt: skip
        if kind == "json_schema":
            at = (*path, kind)
            inner = self.object(form[kind], at, "name!:s schema:o strict?:b description:s", self.strangers)
            self.name(inner["name"], (*at, "name"))
            if "schema" in inner:
                self.schema(inner["schema"], (*at, "schema"))
                if inner.get("strict"):
                    self.strict(inner["schema"], path, f"response_format '{inner['name']}'", "invalid_json_schema")
