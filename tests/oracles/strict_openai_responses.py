"""What Responses takes: items and their ids, parts by role, calls with their outputs, reasoning before what it led to.

Written from OpenAI's API description and recorded refusals. `seal` recognizes the oracle's own `encrypted_content`;
without
it any is taken. `earlier` are the items that `previous_response_id` stands for, None where they are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from oracles.items import (
    ANSWERS,
    INCLUDE,
    INPUT,
    ITEMS,
    MADE,
    MESSAGE,
    OUTPUT,
    PARTS,
    PREFIXES,
    SAME_TOOL,
    TOOLS,
)  # fmt: skip
from oracles.seal import Seal, digest_of
from oracles.shapes import Node, Path
from oracles.strict_openai import OpenAI, mentions_json

BODY = """model?:s input:s/a instructions?:s previous_response_id?:s conversation?:s/o prompt?:o include?:a store?:b
stream?:b
stream_options?:o background?:b temperature?:n top_p?:n max_output_tokens?:i max_tool_calls?:i parallel_tool_calls?:b
tools:a tool_choice?:s/o text?:o reasoning?:o truncation?=auto|disabled context_management?:a metadata?:o
top_logprobs?:i
service_tier?=auto|default|flex|scale|priority|fast|ultrafast safety_identifier?:s prompt_cache_key?:s
prompt_cache_options?:o prompt_cache_retention?=in_memory|in-memory|24h user?:s moderation?:o image?:o
access_programs?:o
client_metadata?:o"""
HOSTED = ("file_search", "web_search", "web_search_preview", "web_search_preview_2025_03_11", "computer",
          "computer_use_preview", "computer_use", "image_generation", "code_interpreter", "apply_patch", "shell",
          "programmatic_tool_calling")  # fmt: skip
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
LED = re.compile(r"[a-z]+_[0-9a-f]{24}r")
"""Ids that the oracle gives to items that a reasoning item led to; the API knows it from what it stored."""


def reasoning_id(encrypted: str) -> str:
    """The id of the oracle's reasoning item with this encrypted content."""
    return f"rs_{digest_of(encrypted)[:24]}"


def anchor(item: Node) -> str:
    """What a reasoning item is bound to: the call that follows it, or the text of a message."""
    content = item.get("content")
    parts = content if isinstance(content, list) else [{"text": content}] if isinstance(content, str) else []
    said = "".join(str(part.get("text") or part.get("refusal") or "") for part in parts)
    return str(item.get("call_id") or said.strip() or item.get("type") or "message")


def check(
    body: Any, strangers: bool = False, *, seal: Seal | None = None, earlier: Sequence[Node] | None = None
) -> None:
    """Raise `Refused` for a request that Responses does not take."""
    Responses(strangers, seal).body(body, earlier)


class Responses(OpenAI):
    """The walk through a request."""

    def __init__(self, strangers: bool, seal: Seal | None) -> None:
        self.strangers, self.seal = strangers, seal

    def body(self, body: Any, earlier: Sequence[Node] | None) -> None:
        self.object(body, (), BODY, self.strangers)
        self.settings(body)
        items = body.get("input")
        if "input" not in body and not body.get("prompt") and not body.get("conversation"):
            self.missing(("input",))
        if isinstance(items, list):
            for place, item in enumerate(items):
                self.item(item, ("input", place), body)
            self.reasoning(items)
        known = body.get("previous_response_id") is None and body.get("conversation") is None
        if known or earlier is not None:
            self.pairs(items if isinstance(items, list) else [], list(earlier or ()))
        names = [
            name for place, tool in enumerate(body.get("tools") or ()) for name in self.tool(tool, ("tools", place))
        ]
        self.choice(body, names)
        if body.get("text") is not None:
            self.object(body["text"], ("text",), "format?:o verbosity?=low|medium|high", self.strangers)
            self.format(body["text"].get("format"), body.get("input"))

    def settings(self, body: Node) -> None:
        for name, low, high in (("temperature", 0, 2), ("top_p", 0, 1), ("top_logprobs", 0, 20),
                                ("max_tool_calls", 1, None), ("max_output_tokens", 16, None)):  # fmt: skip
            self.range(body, (), name, low, high)
        for place, each in enumerate(body.get("include") or ()):
            if each not in INCLUDE and not self.strangers:
                self.value(("include", place), INCLUDE, each)
        if body.get("previous_response_id") is not None and body.get("conversation") is not None:
            self.refuse(("previous_response_id",), "Mutually exclusive parameters: Ensure you are only providing one "
                        "of: 'previous_response_id' or 'conversation'.", "mutually_exclusive_parameters")  # fmt: skip
        if body.get("stream_options") is not None and not body.get("stream"):
            self.refuse(("stream_options",), "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
        if body.get("reasoning") is not None:
            self.object(
                body["reasoning"], ("reasoning",), "effort?=none|minimal|low|medium|high|xhigh|max context?:s mode?:s "
                                                   "summary?=auto|concise|detailed "
                                                   "generate_summary?=auto|concise|detailed", self.strangers,
            )  # fmt: skip
        self.longest(body.get("safety_identifier"), ("safety_identifier",), 128)
        self.metadata(body.get("metadata"), ("metadata",))

    # ---- items

    def item(self, item: Any, path: Path, body: Node) -> None:
        if not isinstance(item, dict):
            self.wrong(path, "object", item)
        kind = item.get("type") or ("message" if "role" in item else "item_reference" if "id" in item else None)
        if not isinstance(kind, str | None):
            self.wrong((*path, "type"), "string", kind)
        if kind == "message":
            self.object(item, path, f"type?=message {MESSAGE}", self.strangers)
            self.parts(item["content"], (*path, "content"), OUTPUT if item["role"] == "assistant" else INPUT)
        elif kind is None:
            self.missing((*path, "type"))
        elif kind not in ITEMS:
            if not self.strangers:
                self.value((*path, "type"), ("message", *ITEMS), kind)
            return
        else:
            self.object(item, path, f"type? {ITEMS[kind]}", self.strangers)
        self.ids(item, path, kind)
        if kind == "reasoning":
            for place, part in enumerate(item["summary"]):
                self.object(part, (*path, "summary", place), "type!=summary_text text!:s")
            for place, part in enumerate(item.get("content") or ()):
                self.object(part, (*path, "content", place), "type!=reasoning_text text!:s")
        if kind in ANSWERS and isinstance(item.get("output"), list) and kind.startswith(("function", "custom")):
            self.parts(item["output"], (*path, "output"), INPUT)
        if kind in ("additional_tools", "tool_search_output"):
            for place, tool in enumerate(item["tools"]):
                self.tool(tool, (*path, "tools", place))
        if kind in ("function_call", "custom_tool_call"):
            self.name(item["name"], (*path, "name"), 128)
        if kind == "compaction_trigger" and item is not body["input"][-1]:
            self.refuse((*path, "type"), "'compaction_trigger' must be the final input item.")
        if self.seal is not None and item.get("encrypted_content") and not self.seal.own(item["encrypted_content"]):
            self.refuse(path, f"The encrypted content for item {item.get('id')} could not be verified. Reason: "
                        "Encrypted content could not be decrypted or "
                        "parsed.", "invalid_encrypted_content")  # fmt: skip

    def parts(self, parts: Any, path: Path, takes: tuple[str, ...]) -> None:
        if isinstance(parts, str):
            return
        for place, part in enumerate(parts):
            at = (*path, place)
            kind = self.object(part, at, "type!:s", True)["type"]
            if kind not in takes:
                self.value((*at, "type"), takes, kind)
            self.object(part, at, PARTS[kind], self.strangers)
            if kind == "input_image" and part.get("image_url") is None and part.get("file_id") is None:
                self.missing((*at, "image_url"))
            if kind == "input_image" and not (part.get("image_url") or "data:image/").startswith(
                ("http://", "https://", "data:image/")
            ):
                self.refuse((*at, "image_url"), f"Invalid '{self.path((*at, 'image_url'))}'. Expected a valid URL, but "
                            "got a value with an invalid format.", "invalid_value")  # fmt: skip
            if kind == "input_file" and not any(part.get(key) for key in ("file_id", "file_url", "file_data")):
                self.missing((*at, "file_id"))

    def ids(self, item: Node, path: Path, kind: str) -> None:
        given = item.get("id")
        if isinstance(given, str) and kind in PREFIXES and not self.strangers:
            if not given.startswith(PREFIXES[kind]):
                self.refuse((*path, "id"), f"Invalid '{self.path((*path, 'id'))}': '{given}'. Expected an ID that "
                            f"begins with '{PREFIXES[kind]}'.", "invalid_value")  # fmt: skip
            if not ID.fullmatch(given):
                self.refuse((*path, "id"), f"Invalid '{self.path((*path, 'id'))}': '{given}'. Expected an ID that "
                            "contains letters, numbers, underscores, or dashes, but this value contained additional "
                            "characters or is too long.", "invalid_value")  # fmt: skip
        call = item.get("call_id")
        if isinstance(call, str):
            if not call:
                self.refuse((*path, "call_id"), f"Invalid '{self.path((*path, 'call_id'))}': empty string. Expected a "
                            "string with minimum length 1, but got an empty string "
                            "instead.", "empty_string")  # fmt: skip
            self.longest(call, (*path, "call_id"), 64)

    # ---- what belongs together

    def pairs(self, items: list[Node], earlier: list[Node]) -> None:
        """Every call of the client has its output in the input, every output its call before it."""
        called: dict[str, str] = {}
        for item in earlier:
            if item.get("type") in ANSWERS.values():
                called[item["call_id"]] = item["type"]
        answered = {item["call_id"] for item in earlier if item.get("type") in ANSWERS and item.get("call_id")}
        seen: set[str] = set()
        for place, item in enumerate(items):
            kind = str(item.get("type"))
            if kind != "item_reference" and isinstance(item.get("id"), str) and item["id"]:
                if item["id"] in seen and not self.strangers:
                    self.refuse(("input",), f"Duplicate item found with id {item['id']}. Remove duplicate items from "
                                "your input and try again.")  # fmt: skip
                seen.add(item["id"])
            if kind in ANSWERS.values():
                called[item["call_id"]] = kind
                if any(
                    other.get("call_id") == item["call_id"] for other in items[:place] if other.get("type") in ANSWERS
                ):
                    answered.discard(item["call_id"])
            elif kind == "tool_search_call" and item.get("call_id"):
                called[item["call_id"]] = "tool_search_call"
            elif kind in ANSWERS and item.get("call_id") is not None:
                if called.get(item["call_id"]) not in (ANSWERS[kind], "tool_search_call") and not self.referring(
                    items[:place]
                ):
                    self.refuse(("input",), f"No tool call found for {ANSWERS[kind].replace('_', ' ')} output with "
                                f"call_id {item['call_id']}.")  # fmt: skip
                answered.add(item["call_id"])
        for item in [*earlier, *items]:
            if item.get("type") in ANSWERS.values() and item["call_id"] not in answered:
                if item.get("async") or (item.get("caller") or {}).get("type") == "program":
                    continue
                self.refuse(("input",), f"No tool output found for {item['type'].replace('_', ' ')} {item['call_id']}.")

    @staticmethod
    def referring(items: list[Node]) -> bool:
        """Whether calls may hide behind references to stored items."""
        return any(
            item.get("type", "item_reference" if "role" not in item else "") == "item_reference" for item in items
        )

    def reasoning(self, items: list[Node]) -> None:
        """Reasoning stands before the item it led to, and that item, if the API remembers it, behind its reasoning."""
        for place, item in enumerate(items):
            kind = item.get("type") or "message"
            after = next((each for each in items[place + 1 :] if each.get("type") != "reasoning"), None)
            if kind == "reasoning":
                follows = after is not None and (after.get("type") or "message") in (*MADE, "item_reference")
                if after is None or not follows or after.get("role", "assistant") != "assistant":
                    self.refuse(("input",), f"Item '{item.get('id')}' of type 'reasoning' was provided without its "
                                "required following item.")  # fmt: skip
                self.sealed(item, after)
            elif self.seal is not None and LED.fullmatch(str(item.get("id"))):
                before = items[place - 1] if place else {}
                referred = before.get("type") == "item_reference" and str(before.get("id")).startswith("rs_")
                if before.get("type") != "reasoning" and not referred:
                    self.refuse(("input",), f"Item '{item['id']}' of type '{kind}' was provided without its required "
                                "'reasoning' item.")  # fmt: skip

    def sealed(self, item: Node, after: Node) -> None:
        encrypted = item.get("encrypted_content")
        if self.seal is None or not encrypted:
            return
        if item.get("id") and item["id"] != reasoning_id(encrypted):
            self.refuse(("input",), f"The encrypted content for item {item['id']} could not be verified. Reason: "
                        "Encrypted content item_id did not match the target item "
                        "id.", "invalid_encrypted_content")  # fmt: skip
        if after.get("type") != "item_reference" and not self.seal.fits(encrypted, "reasoning", anchor(after)):
            self.refuse(("input",), f"The encrypted content for item {item.get('id')} could not be verified. Reason: "
                        "it does not belong before the item that follows "
                        "it.", "invalid_encrypted_content")  # fmt: skip

    # ---- tools

    def tool(self, tool: Any, path: Path, inside: bool = False) -> list[str]:
        kind = self.object(tool, path, "type!:s", True)["type"]
        kind = SAME_TOOL.get(kind, kind)
        if kind not in TOOLS or (inside and kind not in ("function", "custom")):
            if not self.strangers:
                self.value((*path, "type"), ("function", "custom") if inside else tuple(TOOLS), kind)
            return []
        self.object(tool, path, f"type! {TOOLS[kind]}", self.strangers)
        if kind in ("function", "custom", "namespace"):
            self.name(tool["name"], (*path, "name"), 128)
        if kind == "function":
            strict = None if self.strangers else tool.get("strict")
            self.parameters(tool.get("parameters"), (*path, "parameters"), tool["name"], strict)
        if kind == "custom" and tool.get("format") is not None:
            self.object(tool["format"], (*path, "format"), "type!=text|grammar syntax=lark|regex definition:s")
        if kind == "namespace":
            return [name for n, each in enumerate(tool["tools"]) for name in self.tool(each, (*path, "tools", n), True)]
        if kind == "mcp" and sum(tool.get(key) is not None for key in ("server_url", "connector_id", "tunnel_id")) != 1:
            self.missing((*path, "server_url"))
        return [tool["name"]] if "name" in tool else []

    def choice(self, body: Node, names: list[str]) -> None:
        choice = body.get("tool_choice")
        if isinstance(choice, str):
            if choice not in ("none", "auto", "required"):
                self.value(("tool_choice",), ("none", "auto", "required"), choice)
            if choice == "required" and not body.get("tools") and not self.late(body):
                self.refuse(("tool_choice",), "Tool choice 'required' must be specified with 'tools' parameter.")
        elif choice is not None:
            kinds = ("function", "custom", "allowed_tools", "mcp", *HOSTED)
            kind = self.object(choice, ("tool_choice",), "type!:s", True)["type"]
            if kind not in kinds:
                self.value(("tool_choice", "type"), kinds, kind)
            chosen = choice["tools"] if kind == "allowed_tools" else [choice]
            if kind == "allowed_tools":
                self.object(choice, ("tool_choice",), "type! mode!=auto|required tools!:a")
                for place, each in enumerate(chosen):
                    self.object(each, ("tool_choice", "tools", place), "type!:s name:s", True)
            for each in chosen:
                if each.get("type") in ("function", "custom") and each.get("name") not in names and not self.late(body):
                    self.refuse(("tool_choice",), f"Tool choice '{each.get('type')}' not found in 'tools' parameter.")

    @staticmethod
    def late(body: Node) -> bool:
        """Whether tools may come from elsewhere than `tools`."""
        items = body.get("input")
        added = isinstance(items, list) and any(
            item.get("type") in ("additional_tools", "tool_search_output") for item in items
        )
        return added or bool(body.get("prompt"))

    def format(self, form: Any, given: Any) -> None:
        if form is None:
            return
        path = ("text", "format")
        kind = self.object(form, path, "type!=text|json_schema|json_object", True)["type"]
        if kind == "json_object" and not mentions_json(given):
            self.refuse(("input",), "Response input messages must contain the word 'json' in some form to use "
                        "'text.format' of type 'json_object'.")  # fmt: skip
        if kind == "json_schema":
            self.object(form, path, "type! name!:s schema!:o strict?:b description?:s", self.strangers)
            self.name(form["name"], (*path, "name"))
            self.schema(form["schema"], (*path, "schema"))
            if form.get("strict"):
                self.strict(
                    form["schema"], (*path, "schema"), f"response_format '{form['name']}'", "invalid_json_schema"
                )
