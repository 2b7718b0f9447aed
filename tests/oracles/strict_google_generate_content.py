"""What generateContent takes: proto fields and no others, roles, calls next to their responses, signatures on their
parts.

Written from Google's API description and recorded refusals. `seal` recognizes the oracle's own signatures, without it
any
that is base64 is taken; the documented bypass values pass. `model` determines whether a call must be signed.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from oracles.contents import (
    BODY,
    CALLING,
    CONFIG,
    CONTENT,
    DATA,
    DECLARATION,
    LEVELS,
    MODALITIES,
    MODES,
    PART,
    PARTS,
    SAFETY,
    SCHEMA,
    THINKING,
    TOOL,
    TOOL_CONFIG,
)  # fmt: skip
from oracles.seal import Seal, decoded
from oracles.shapes import TYPES, Checker, Node, Path

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
SNAKE = re.compile(r"_([a-z0-9])")
BYPASS = {decoded(word) for word in ("skip_thought_signature_validator", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
                                     "context_engineering_is_the_way_to_go")}  # fmt: skip
"""The documented stand-ins for calls that the model did not make, raw or as base64: thought signatures, FAQ."""
ROLES = ("user", "model", "function", "tool")
"""`function` is historic, and recorded as accepted by the third generation."""
UNSIGNED = re.compile(r"gemini-(1|2|exp|pro|flash)\b|gemma|learnlm")
"""Models that take a call without a signature: those before the third generation."""


def check(body: Any, model: str = "", *, seal: Seal | None = None) -> None:
    """Raise `Refused` for a request that generateContent does not take."""
    GenerateContent(seal, UNSIGNED.match(model or "") is None).body(body)


def camel(node: Any) -> Any:
    """A proto message with its own keys in camelCase."""
    return (
        {SNAKE.sub(lambda m: m[1].upper(), key): value for key, value in node.items()}
        if isinstance(node, dict)
        else node
    )


def bearer(part: Node) -> list[Any]:
    """What a signature on a part is made for: the whole part."""
    part = camel(part)
    call = camel(part.get("functionCall") or {})
    return (
        ["call", call.get("name"), call.get("args") or {}, call.get("id")] if call else ["part", part.get("text", "")]
    )


class GenerateContent(Checker):
    """The walk through a request."""

    def __init__(self, seal: Seal | None, signing: bool) -> None:
        self.seal, self.signing = seal, signing

    def missing(self, path: Path) -> NoReturn:
        self.refuse(path, f"* GenerateContentRequest.{self.path(path)}: {path[-1]} is not specified\n")

    def unknown(self, path: Path) -> NoReturn:
        at = self.path(path[:-1])
        where = f" at '{at}'" if at else ""
        self.refuse(path, f'Invalid JSON payload received. Unknown name "{path[-1]}"{where}: Cannot find field.')

    def wrong(self, path: Path, expected: str, value: Any) -> NoReturn:
        self.refuse(path, f"Invalid value at '{self.path(path)}' (TYPE_{expected.split(' or ')[0].upper()}), {value!r}")

    def value(self, path: Path, values: tuple[str, ...], value: Any) -> NoReturn:
        self.refuse(path, f"Invalid value at '{self.path(path)}' (TYPE_ENUM), \"{value}\"")

    def message(self, node: Any, path: Path, line: str) -> Node:
        """A proto message: its keys in camelCase. A null stands for an absent field."""
        if isinstance(node, dict):
            node = {key: value for key, value in camel(node).items() if value is not None}
        return self.object(node, path, line)

    def enum(self, node: Node, path: Path, name: str, values: tuple[str, ...]) -> None:
        """A name of an enum, in any case."""
        if isinstance(node.get(name), str) and node[name].upper() not in values:
            self.value((*path, name), values, node[name])

    def body(self, body: Any) -> None:
        body = self.message(body, (), BODY)
        if not body["contents"]:
            self.missing(("contents",))
        contents = [self.content(each, ("contents", place)) for place, each in enumerate(body["contents"])]
        if "systemInstruction" in body:
            system = self.content(body["systemInstruction"], ("systemInstruction",), ("user", "model", "system"))
            for place, part in enumerate(system.get("parts") or ()):
                if "text" not in part:
                    self.refuse(("systemInstruction", "parts", place), "System instruction must be text.")
        if body.get("cachedContent") and any(key in body for key in ("systemInstruction", "tools", "toolConfig")):
            self.refuse(("cachedContent",), "CachedContent can not be used with GenerateContent request setting "
                        "system_instruction, tools or tool_config.")  # fmt: skip
        self.turns(contents)
        names = [name for n, tool in enumerate(body.get("tools") or ()) for name in self.tool(tool, ("tools", n))]
        twice = next((name for n, name in enumerate(names) if name in names[:n]), None)
        if twice is not None:
            self.refuse(("tools",), f"Duplicate function declaration found: {twice}")
        self.tool_config(body, names)
        for place, each in enumerate(body.get("safetySettings") or ()):
            self.message(each, ("safetySettings", place), SAFETY)
        if "generationConfig" in body:
            self.config(body["generationConfig"])

    # ---- contents

    def content(self, given: Any, path: Path, roles: tuple[str, ...] = ROLES) -> Node:
        content = self.message(given, path, CONTENT)
        if content.get("role") not in (None, "", *roles):
            self.refuse((*path, "role"), "Please use a valid role: user, model.")
        if not content.get("parts"):
            if path == ("systemInstruction",):
                return content
            self.refuse((*path, "parts"), f"* GenerateContentRequest.{self.path((*path, 'parts'))}: contents.parts "
                        "must not be empty.\n")  # fmt: skip
        parts = [self.part(part, (*path, "parts", place)) for place, part in enumerate(content["parts"])]
        return {**content, "parts": parts}

    def part(self, given: Any, path: Path) -> Node:
        part = self.message(given, path, PART)
        held = [key for key in DATA if key in part]
        if len(held) != 1:
            said = "must have one initialized field" if not held else "oneof field 'data' is already set"
            self.refuse((*path, "data"), f"* GenerateContentRequest.{self.path((*path, 'data'))}: required oneof field "
                        f"'data' {said}\n")  # fmt: skip
        kind = held[0]
        if kind in PARTS:
            part = {**part, kind: self.message(part[kind], (*path, kind), PARTS[kind])}
        inner = part[kind]
        if kind == "inlineData" and (decoded(inner["data"]) is None and inner["data"]):
            self.refuse((*path, kind, "data"), f"Invalid value at '{self.path((*path, kind, 'data'))}' (TYPE_BYTES), "
                        "Base64 decoding failed")  # fmt: skip
        if kind in ("functionCall", "functionResponse") and not NAME.fullmatch(inner["name"]):
            self.refuse(
                (*path, kind, "name"),
                f"* GenerateContentRequest.{self.path((*path, kind, 'name'))}: [{kind}.name] must start with a letter "
                "or an underscore and hold a-z, A-Z, 0-9, _, ., :, - at most 128\n",
            )
        if kind == "functionResponse":
            for place, each in enumerate(inner.get("parts") or ()):
                self.message(
                    each, (*path, kind, "parts", place), "inlineData:o fileData:o mediaResolution videoMetadata"
                )
        if "thoughtSignature" in part:
            self.signature(part, path)
        return part

    def signature(self, part: Node, path: Path) -> None:
        data = decoded(part["thoughtSignature"])
        if data is None:
            self.refuse(path, f"Invalid value at '{self.path((*path, 'thought_signature'))}' (TYPE_BYTES), Base64 "
                        "decoding failed")  # fmt: skip
        if self.seal is None or (data in BYPASS and ("functionCall" in part or "inlineData" in part)):
            return
        if not self.seal.own(part["thoughtSignature"]):
            self.refuse(path, f"Corrupted thought signature. ({self.path(path)})")
        # What a stream signs behind its text, clients put on the text (LangChain, Pydantic AI); the service takes it.
        bearers = [bearer(part), *([bearer({"text": ""})] if part.get("text") else [])]
        if not any(self.seal.fits(part["thoughtSignature"], *each) for each in bearers):
            self.refuse(path, f"Thought signature is not valid. It was made for another part. ({self.path(path)})")

    def turns(self, contents: list[Node]) -> None:
        """Calls follow a user turn and are answered at once, as many as there are; calls of the current turn are
        signed."""
        current = max((n for n, c in enumerate(contents) if c.get("role") != "model"
                       and any("functionResponse" not in part for part in c["parts"])), default=-1)  # fmt: skip
        model: list[Node] = []
        for place, content in enumerate([*contents, {"role": "user", "parts": []}]):
            at: Path = ("contents", place)
            parts = content["parts"]
            if content.get("role") == "model":
                calls = [part["functionCall"] for part in parts if "functionCall" in part]
                if calls and place == 0:
                    self.refuse(at, "Please ensure that function call turn comes immediately after a user turn or "
                                "after a function response turn.")  # fmt: skip
                first = not any("functionCall" in part for part in model)  # neighbors of one role are one turn
                if calls and first and place > current and self.signing:
                    self.first_is_signed(parts, place)
                model = [*model, *parts]
                continue
            calls = [part["functionCall"] for part in model if "functionCall" in part]
            answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
            last = place == len(contents)
            if answers and not calls:
                self.refuse(
                    at, "Please ensure that function response turn comes immediately after a function call turn."
                )
            if calls and not (last and not answers) and len(calls) != len(answers):
                self.refuse(at, "Please ensure that the number of function response parts is equal to the number of "
                            "function call parts of the function call turn.")  # fmt: skip
            if answers and sorted(each["name"] for each in answers) != sorted(each["name"] for each in calls):
                self.refuse(at, "Please ensure that function response names match the names of the function call turn.")
            called, given = {c["id"] for c in calls if c.get("id")}, {a["id"] for a in answers if a.get("id")}
            if given and called and given != called:
                self.refuse(at, "Please ensure that function response ids match the ids of the function call turn.")
            model = []

    def first_is_signed(self, parts: list[Node], place: int) -> None:
        first = next(n for n, part in enumerate(parts) if "functionCall" in part)
        if "thoughtSignature" not in parts[first]:
            name = parts[first]["functionCall"]["name"]
            self.refuse(
                ("contents", place), "Function call is missing a thought_signature in functionCall parts. This is "
                                     "required for tools to work correctly, and missing thought_signature may lead to "
                                     f"degraded model performance. Additional data, function call `default_api:{name}` "
                                     f", position {place + 1}. Please refer to "
                                     "https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
            )  # fmt: skip

    # ---- tools and settings

    def tool(self, tool: Any, path: Path) -> list[str]:
        tool = self.message(tool, path, TOOL)
        names = []
        for place, each in enumerate(tool.get("functionDeclarations") or ()):
            at: Path = (*path, "function_declarations", place)
            each = self.message(each, at, DECLARATION)
            if not NAME.fullmatch(each["name"]):
                self.refuse(at, f"* GenerateContentRequest.{self.path((*at, 'name'))}: Invalid function name. Must "
                            "start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores "
                            "(_), dots (.), colons (:) or dashes (-), with a maximum length of 128.\n")  # fmt: skip
            if "parameters" in each and "parametersJsonSchema" in each:
                self.refuse(at, f"{self.path(at)}: only one of parameters and parameters_json_schema may be set.")
            if "parameters" in each:
                self.proto_schema(each["parameters"], (*at, "parameters"))
            if isinstance(each.get("parametersJsonSchema"), dict):
                self.schema(each["parametersJsonSchema"], (*at, "parameters_json_schema"))
            names.append(each["name"])
        return names

    def proto_schema(self, schema: Any, path: Path) -> None:
        """The Schema message, which has fewer keys than JSON Schema."""
        schema = camel(schema)
        if not isinstance(schema, dict):
            self.wrong(path, "object", schema)
        for key in schema:
            if key not in SCHEMA:
                self.unknown((*path, key))
        kind = schema.get("type")
        if kind is not None and (not isinstance(kind, str) or kind.lower() not in (*TYPES, "type_unspecified")):
            self.refuse((*path, "type"), f"Invalid value at '{self.path((*path, 'type'))}' (TYPE_ENUM), {kind!r}")
        for place, each in enumerate(schema.get("enum") or ()):
            if not isinstance(each, str):
                self.refuse((*path, "enum", place), f"Invalid value at '{self.path((*path, 'enum', place))}' "
                            f"(TYPE_STRING), {each!r}")  # fmt: skip
        properties = schema.get("properties") or {}
        if properties and isinstance(kind, str) and kind.lower() != "object":
            self.refuse(path, f"* GenerateContentRequest.{self.path(path)}.properties: only allowed for OBJECT type\n")
        for name in schema.get("required") or ():
            if name not in properties:
                self.refuse(path, f"* GenerateContentRequest.{self.path(path)}.required: property is not defined\n")
        if isinstance(kind, str) and kind.lower() == "array" and "items" not in schema:
            self.refuse(path, f"* GenerateContentRequest.{self.path(path)}.items: missing field.\n")
        for name, each in properties.items():
            self.proto_schema(each, (*path, "properties", name))
        for place, each in enumerate(schema.get("anyOf") or ()):
            self.proto_schema(each, (*path, "any_of", place))
        if "items" in schema:
            self.proto_schema(schema["items"], (*path, "items"))

    def tool_config(self, body: Node, names: list[str]) -> None:
        config = self.message(body.get("toolConfig") or {}, ("toolConfig",), TOOL_CONFIG)
        if "functionCallingConfig" not in config:
            return
        path: Path = ("toolConfig", "functionCallingConfig")
        calling = self.message(config["functionCallingConfig"], path, CALLING)
        self.enum(calling, path, "mode", MODES)
        mode, allowed = str(calling.get("mode", "AUTO")).upper(), calling.get("allowedFunctionNames")
        if mode == "ANY" and not body.get("tools"):
            self.refuse(path, "Function calling config is set without function_declarations.")
        if allowed and mode not in ("ANY", "VALIDATED"):
            self.refuse(
                path, "Allowed function names should only be set when function calling mode is ANY or VALIDATED."
            )
        for name in allowed or ():
            if name not in names:
                self.refuse(path, f"Allowed function name {name} is not among the function declarations.")

    def config(self, config: Any) -> None:
        path: Path = ("generationConfig",)
        config = self.message(config, path, CONFIG)
        for name, low, high in (("temperature", 0, 2), ("topP", 0, 1), ("candidateCount", 1, 8), ("logprobs", 0, 20),
                                ("presencePenalty", -2, 2), ("frequencyPenalty", -2, 2),
                                ("maxOutputTokens", 1, None)):  # fmt: skip
            self.range(config, path, name, low, high)
        for place, each in enumerate(config.get("stopSequences") or ()):
            if not isinstance(each, str):
                self.wrong((*path, "stopSequences", place), "string", each)
        if len(config.get("stopSequences") or ()) > 5:
            self.refuse((*path, "stopSequences"), "The maximum number of stop sequences is 5.")
        if "logprobs" in config and not config.get("responseLogprobs"):
            self.refuse((*path, "logprobs"), "logprobs can only be set when response_logprobs is true.")
        mime = config.get("responseMimeType")
        if "responseSchema" in config and "responseJsonSchema" in config:
            self.refuse(path, "response_schema and response_json_schema can not both be set.")
        if ("responseSchema" in config or "responseJsonSchema" in config) and mime not in (
            "application/json",
            "text/x.enum",
        ):
            self.refuse(
                path, "Response schema can only be set with response mime type 'application/json' or 'text/x.enum'."
            )
        if "responseSchema" in config:
            self.proto_schema(config["responseSchema"], (*path, "response_schema"))
        for place, each in enumerate(config.get("responseModalities") or ()):
            if str(each).upper() not in MODALITIES:
                self.value((*path, "responseModalities", place), MODALITIES, each)
        if "thinkingConfig" in config:
            at = (*path, "thinkingConfig")
            thinking = self.message(config["thinkingConfig"], at, THINKING)
            self.enum(thinking, at, "thinkingLevel", LEVELS)
            self.range(thinking, at, "thinkingBudget", -1)
            if "thinkingLevel" in thinking and "thinkingBudget" in thinking:
                self.refuse(at, "You can only set only one of thinking budget and thinking level.")
