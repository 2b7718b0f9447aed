"""What Messages takes: blocks by role, each call answered in the next message, thinking as it was signed, settings
that fit.

Written from Anthropic's API description and recorded refusals. `seal` recognizes the oracle's own signatures; without
it any
that is there is taken. `version` is the header `anthropic-version`: from 2026-10-21 on, sampling settings are refused.
`betas` are those of the header `anthropic-beta`, None where the headers are not known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn

from oracles.blocks import (
    ASSISTANT,
    BETA,
    BLOCKS,
    BODY,
    CITATIONS,
    CLOUD,
    COUNTED,
    CUSTOM,
    RESULT,
    SCHEMA_REFUSES,
    SOURCES,
    SYSTEM,
    USER,
    merged,
)  # fmt: skip
from oracles.seal import Seal
from oracles.shapes import Checker, Node, Path, nodes

ID = re.compile(r"[a-zA-Z0-9_-]+")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
SINCE = "2026-10-21"
EXPECTED = {"string": "a valid string", "array": "a valid list", "object": "a valid dictionary",
            "integer": "a valid integer", "number": "a valid number", "boolean": "a valid boolean"}  # fmt: skip


def check(body: Any, *, seal: Seal | None = None, version: str = "2023-06-01", counting: bool = False,
          betas: Sequence[str] | None = None) -> None:  # fmt: skip
    """Raise `Refused` for a request that Messages does not take; with `counting`, one to count the tokens of."""
    checker = Messages(seal, version, betas or ())
    checker.body(body, counting)
    for name, needed in BETA.items() if betas is not None else ():
        if body.get(name) is not None and not any(beta.startswith(needed) for beta in betas or ()):
            checker.unknown((name,))


def bearer(content: list[Node], place: int) -> list[Any]:
    """What a thinking block at `place` is signed with: its own text, and the call it led to, or else the text,
    in however many blocks."""
    call = next((block["id"] for block in content[place:] if block.get("type") == "tool_use"), "")
    said = "".join(block["text"] for block in content[place:] if block.get("type") == "text")
    return [content[place].get("thinking", ""), call or said.strip()]


class Messages(Checker):
    """The walk through a request."""

    def __init__(self, seal: Seal | None, version: str, betas: Sequence[str] = ()) -> None:
        self.seal, self.version = seal, version
        # The budget is then one of all thinking of a turn, and may exceed what one answer has.
        self.interleaved = any(beta.startswith("interleaved-thinking-") for beta in betas)

    def path(self, path: Path) -> str:
        return ".".join(str(step) for step in path)

    def missing(self, path: Path) -> NoReturn:
        self.refuse(path, f"{self.path(path)}: Field required")

    def unknown(self, path: Path) -> NoReturn:
        self.refuse(path, f"{self.path(path)}: Extra inputs are not permitted")

    def wrong(self, path: Path, expected: str, value: Any) -> NoReturn:
        wanted = " or ".join(EXPECTED.get(word, word) for word in expected.split(" or "))
        self.refuse(path, f"{self.path(path)}: Input should be {wanted}")

    def value(self, path: Path, values: tuple[str, ...], value: Any) -> NoReturn:
        said = " or ".join(
            [", ".join(f"'{each}'" for each in values[:-1]), f"'{values[-1]}'"] if values[1:] else values
        )
        self.refuse(path, f"{self.path(path)}: Input should be {said}")

    def bound(self, path: str, bound: str, value: Any) -> str:
        return f"{path}: Input should be {bound}"

    def body(self, body: Any, counting: bool) -> None:
        cloud = isinstance(body, dict) and "anthropic_version" in body
        line = f"{BODY} {CLOUD}".replace("model!", "model") if cloud else BODY
        if counting:
            line = " ".join(word for word in BODY.split() if re.split("[!?:=]", word)[0] in COUNTED)
        self.object(body, (), line)
        if not body["messages"]:
            self.refuse(("messages",), "messages: at least one message is required")
        self.settings(body)
        if isinstance(body.get("system"), list):
            self.blocks(body["system"], ("system",), ("text",))
        for place, message in enumerate(body["messages"]):
            self.message(message, ("messages", place))
        if body["messages"][0]["role"] == "system":
            self.refuse(("messages", 0, "role"), "messages.0: role 'system' must follow a user message")
        self.pairs(body["messages"])
        self.thinking(body)
        self.breakpoints(body)
        self.tools(body)
        last = body["messages"][-1]
        if last["role"] == "assistant":
            text = last["content"] if isinstance(last["content"], str) else next(
                (b["text"] for b in last["content"][-1:] if b.get("type") == "text"), "")  # fmt: skip
            if text != text.rstrip():
                self.refuse(("messages",), "messages: final assistant content cannot end with trailing whitespace")

    # ---- messages

    def message(self, message: Any, path: Path) -> None:
        line = "role!=user|assistant|system content:s/a"
        self.object(message, path, f"{line} clear_at?:s output_config?:o" if _role(message) == "system" else line)
        if "content" not in message:
            if message.get("output_config"):
                return
            self.missing((*path, "content"))
        role, content = message["role"], message["content"]
        if not content and not (role == "system" and message.get("output_config")):
            if role != "assistant" or path[1] == 0:
                self.refuse(path, f"{self.path(path)}: {role} messages must have non-empty content")
            self.refuse(path, "messages: all messages must have non-empty content except for the optional final "
                        "assistant message")  # fmt: skip
        if isinstance(content, str):
            if not content.strip():
                self.refuse(path, "messages: text content blocks must contain non-whitespace text")
            return
        takes = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM}[role]
        if role == "assistant" and self.version >= SINCE:
            takes = tuple(kind for kind in takes if kind != "document")
        self.blocks(content, (*path, "content"), takes)
        for place, block in enumerate(content):
            if role == "user" and block.get("citations") and block["type"] == "text" and self.version >= SINCE:
                self.refuse((*path, "content", place), f"{self.path((*path, 'content', place))}.text.citations: "
                            "citations are not permitted in user messages")  # fmt: skip

    def blocks(self, blocks: list[Any], path: Path, takes: tuple[str, ...]) -> None:
        for place, block in enumerate(blocks):
            at = (*path, place)
            kind = self.object(block, at, "type!:s", True)["type"]
            if kind not in takes:
                found = ", ".join(f"'{each}'" for each in takes)
                self.refuse(at, f"{self.path(at)}: Input tag '{kind}' found using 'type' does not match any of the "
                            f"expected tags: {found}")  # fmt: skip
            self.object(block, (*at, kind), BLOCKS[kind])
            self.block(block, (*at, kind), kind)

    def block(self, block: Node, path: Path, kind: str) -> None:
        if block.get("cache_control") is not None:
            self.object(block["cache_control"], (*path, "cache_control"), "type!=ephemeral ttl=5m|1h")
        if kind == "text":
            if not block["text"].strip():
                self.refuse(path, "messages: text content blocks must be non-empty" if not block["text"] else
                            "messages: text content blocks must contain non-whitespace text")  # fmt: skip
            for place, each in enumerate(block.get("citations") or ()):
                at = (*path, "citations", place)
                which = self.object(each, at, "type!:s", True)["type"]
                if which not in CITATIONS:
                    self.value((*at, "type"), tuple(CITATIONS), which)
                self.object(each, at, CITATIONS[which])
        if kind in SOURCES:
            source, at = block["source"], (*path, "source")
            which = self.object(source, at, "type!:s", True)["type"]
            if which not in SOURCES[kind]:
                self.value((*at, "type"), tuple(SOURCES[kind]), which)
            self.object(source, (*at, which), SOURCES[kind][which])
        if kind in ("tool_use", "server_tool_use") and not ID.fullmatch(block["id"]):
            self.refuse(path, f"{self.path(path)}.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        if kind == "tool_use" and not 1 <= len(block["name"]) <= 200:
            self.refuse(path, f"{self.path(path)}.name: String should have at most 200 characters")
        if kind == "tool_result":
            if not ID.fullmatch(block["tool_use_id"]):
                self.refuse(path, f"{self.path(path)}.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'")
            inner = block.get("content")
            for place, each in enumerate(inner if isinstance(inner, list) else ()):
                at = (*path, "content", place)
                which = self.object(each, at, "type!:s", True)["type"]
                if which not in RESULT:
                    self.value((*at, "type"), tuple(RESULT), which)
                self.object(each, (*at, which), RESULT[which])
                self.block(each, (*at, which), which)
        if kind == "redacted_thinking" and self.seal is not None and not self.seal.own(block["data"]):
            self.refuse(path, f"{self.path(path[:-1])}: Invalid `data` in `redacted_thinking` block")

    def pairs(self, messages: list[Node]) -> None:
        """Calls are answered in the next message of the user, first of all; results answer calls of the message
        before."""
        turns = merged(messages)
        for place, (number, role, blocks) in enumerate(turns):
            called = [block["id"] for block in blocks if block.get("type") == "tool_use"]
            if len(set(called)) < len(called):
                self.refuse(("messages", number), f"messages.{number}: `tool_use` ids must be unique")
            after = turns[place + 1] if place + 1 < len(turns) else (0, "", [])
            results = [block["tool_use_id"] for block in after[2] if block.get("type") == "tool_result"]
            absent = [each for each in called if each not in results]
            if absent and (after[1] or role == "assistant"):
                self.refuse(
                    ("messages", number), f"messages.{number}: `tool_use` ids were found without `tool_result` blocks "
                                          f"immediately after: {', '.join(absent)}. Each `tool_use` block must have a "
                                          "corresponding `tool_result` block in the next message.",
                )  # fmt: skip
            before = turns[place - 1][2] if place else []
            known = [block["id"] for block in before if block.get("type") == "tool_use"]
            said = False
            seen: set[str] = set()
            for index, block in enumerate(blocks):
                said = said or block.get("type") not in ("tool_result",)
                if block.get("type") != "tool_result":
                    continue
                if block["tool_use_id"] not in known:
                    self.refuse(
                        ("messages", number), f"messages.{number}.content.{index}: unexpected `tool_use_id` found in "
                                              f"`tool_result` blocks: {block['tool_use_id']}. Each `tool_result` block "
                                              "must have a corresponding `tool_use` block in the previous message.",
                    )  # fmt: skip
                if block["tool_use_id"] in seen:
                    self.refuse(("messages", number), f"messages.{number}.content.{index}: each tool_use must have a "
                                "single result. Found multiple `tool_result` blocks with id: "
                                f"{block['tool_use_id']}")  # fmt: skip
                seen.add(block["tool_use_id"])
                if said:
                    self.refuse(
                        ("messages", number), f"messages.{number}: `tool_use` ids were found without `tool_result` "
                                              f"blocks immediately after: {block['tool_use_id']}. `tool_result` blocks "
                                              "come before other content.",
                    )  # fmt: skip

    # ---- thinking

    def thinking(self, body: Node) -> None:
        thinking = body.get("thinking") or {}
        mode = None
        if body.get("thinking") is not None:
            mode = self.object(thinking, ("thinking",), "type!=enabled|adaptive|disabled|between_tools", True)["type"]
            display = "display?=summarized|omitted|updates block_binding?:o"
            more = {"enabled": f"budget_tokens!:i {display}", "adaptive": display}.get(mode, "")
            self.object(thinking, ("thinking", mode), f"type! {more}")
            self.range(thinking, ("thinking", mode), "budget_tokens", 1024)
        if mode == "enabled":
            if "max_tokens" in body and thinking["budget_tokens"] >= body["max_tokens"] and not self.interleaved:
                self.refuse(("max_tokens",), "`max_tokens` must be greater than `thinking.budget_tokens`.")
            if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
                self.refuse(("tool_choice",), "Thinking may not be enabled when tool_choice forces tool use.")
        if mode in ("enabled", "adaptive"):
            if body.get("temperature") not in (None, 1):
                self.refuse(("temperature",), "`temperature` may only be set to 1 when thinking is enabled.")
            if body.get("top_k") is not None:
                self.refuse(("top_k",), "`top_k` must be unset when thinking is enabled.")
            if (body.get("top_p") or 1) < 0.95:
                self.refuse(
                    ("top_p",), "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
                )
        for place, message in enumerate(body["messages"]):
            blocks = message["content"] if isinstance(message.get("content"), list) else []
            for index, block in enumerate(blocks):
                if block.get("type") == "thinking":
                    self.signed(blocks, index, ("messages", place, "content", index))
                if block.get("type") == "redacted_thinking" and self.seal is not None:
                    if not self.seal.fits(block["data"], "redacted", *bearer(blocks, index)):
                        self.refuse(("messages", place), f"messages.{place}.content.{index}: Invalid `data` in "
                                    "`redacted_thinking` block")  # fmt: skip
        if mode == "enabled":
            self.opened(body["messages"])

    def signed(self, blocks: list[Node], index: int, path: Path) -> None:
        signature = blocks[index]["signature"]
        if not signature or (self.seal and not self.seal.fits(signature, "thinking", *bearer(blocks, index))):
            moved = bool(signature and self.seal and self.seal.own(signature))
            self.refuse(path, f"{self.path(path)}: Invalid `signature` in `thinking` block"
                        + (": the block was changed or moved" if moved else ""))  # fmt: skip

    def opened(self, messages: list[Node]) -> None:
        """With a budget, a turn that called tools and is not over opens with the thinking that led to it."""
        turns = merged(messages)
        if len(turns) > 1 and any(block.get("type") == "tool_result" for block in turns[-1][2]):
            number, _, blocks = turns[-2]
            first = blocks[0].get("type") if blocks else None
            if first not in ("thinking", "redacted_thinking"):
                self.refuse(
                    ("messages", number), f"messages.{number}.content.0.type: Expected `thinking` or "
                                          f"`redacted_thinking`, but found `{first}`. When `thinking` is enabled, a "
                                          "final `assistant` message must start with a thinking block (preceeding the "
                                          "lastmost set of `tool_use` and `tool_result` blocks).",
                )  # fmt: skip

    # ---- settings and tools

    def settings(self, body: Node) -> None:
        if self.version >= SINCE:
            for name in ("temperature", "top_p", "top_k"):
                if name in body:
                    self.unknown((name,))
        self.range(body, (), "max_tokens", 0)
        self.range(body, (), "temperature", 0, 1)
        self.range(body, (), "top_p", 0, 1)
        for place, each in enumerate(body.get("stop_sequences") or ()):
            if not isinstance(each, str):
                self.wrong(("stop_sequences", place), "string", each)
            if not each.strip():
                self.refuse(("stop_sequences",), "stop_sequences: each stop sequence must contain non-whitespace")
        if body.get("metadata") is not None:
            self.object(body["metadata"], ("metadata",), "user_id?:s")
        config = body.get("output_config")
        if config is not None:
            self.object(config, ("output_config",), "effort?=low|medium|high|xhigh|max format?:o task_budget?:o")
            if config.get("format") is not None:
                self.object(config["format"], ("output_config", "format"), "type!=json_schema schema!:o")
                self.closed(config["format"]["schema"], ("output_config", "format", "schema"))
                cited = [b for m in body["messages"] if isinstance(m, dict) and isinstance(m.get("content"), list)
                         for b in m["content"] if isinstance(b, dict) and isinstance(b.get("citations"), dict)
                         and b["citations"].get("enabled")]  # fmt: skip
                if cited:
                    self.refuse(("output_config", "format"), "output_config.format: citations are not compatible with "
                                "structured outputs")  # fmt: skip

    def closed(self, schema: Node, path: Path) -> None:
        """The subset of JSON schema that constrained output takes."""
        self.schema(schema, path)
        for at, node in nodes(schema):
            kinds = node.get("type")
            what = self.path((*path, *at))
            if (
                "object" in (kinds if isinstance(kinds, list) else [kinds])
                and node.get("additionalProperties") is not False
            ):
                self.refuse(path, f"{what}: For 'object' type, 'additionalProperties' must be explicitly set to false")
            for keyword in SCHEMA_REFUSES:
                if keyword in node:
                    self.refuse(path, f"{what}: For '{kinds}' type, property '{keyword}' is not supported")
            if node.get("minItems", 0) not in (0, 1):
                self.refuse(path, f"{what}: For 'array' type, 'minItems' values other than 0 or 1 are not supported")

    def breakpoints(self, body: Node) -> None:
        system = body["system"] if isinstance(body.get("system"), list) else []
        held = [*(body.get("tools") or ()), *system]
        for message in body["messages"]:
            held += message["content"] if isinstance(message.get("content"), list) else []
        count = sum(1 for each in [body, *held] if isinstance(each, dict) and each.get("cache_control"))
        if count > 4:
            self.refuse((), f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")

    def tools(self, body: Node) -> None:
        names: list[str] = []
        for place, tool in enumerate(body.get("tools") or ()):
            at: Path = ("tools", place)
            kind = self.object(tool, at, "name:s", True).get("type")
            if kind not in (None, "custom"):
                if not isinstance(kind, str) or not re.search(r"_\d{8}$|^mcp_toolset$|^tool_search_tool_", kind):
                    self.refuse(at, f"{self.path(at)}: Input tag '{kind}' found using 'type' does not match any of the "
                                "expected tags")  # fmt: skip
                names += [tool["name"]] if "name" in tool else []
                continue
            self.object(tool, (*at, "custom"), CUSTOM)
            if not NAME.fullmatch(tool["name"]):
                self.refuse(at, f"{self.path(at)}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
            schema = tool["input_schema"]
            if "type" not in schema:
                self.missing((*at, "custom", "input_schema", "type"))
            if schema["type"] != "object":
                self.value((*at, "custom", "input_schema", "type"), ("object",), schema["type"])
            for keyword in ("oneOf", "allOf", "anyOf"):
                if keyword in schema:
                    self.refuse(at, f"{self.path(at)}.custom.input_schema: input_schema does not support oneOf, allOf, "
                                "or anyOf at the top level")  # fmt: skip
            self.schema(schema, (*at, "custom", "input_schema"))
            if tool.get("strict"):
                self.closed(schema, (*at, "custom", "input_schema"))
            names.append(tool["name"])
        if len(set(names)) < len(names):
            self.refuse(("tools",), "tools: Tool names must be unique.")
        choice = body.get("tool_choice")
        if choice is None:
            return
        kind = self.object(choice, ("tool_choice",), "type!=auto|any|tool|none", True)["type"]
        more = {"none": "", "tool": "name!:s disable_parallel_tool_use?:b"}.get(kind, "disable_parallel_tool_use?:b")
        self.object(choice, ("tool_choice", kind), f"type! {more}")
        if kind in ("any", "tool") and not body.get("tools"):
            self.refuse(("tool_choice",), "tool_choice: may only be specified while providing tools")
        if kind == "tool" and choice["name"] not in names:
            self.refuse(("tool_choice",), f"Tool '{choice['name']}' not found in provided tools")


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None
