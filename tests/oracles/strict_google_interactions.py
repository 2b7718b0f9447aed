"""What Interactions takes: steps and contents by type, calls with their results, thoughts as they were signed and in
place.

Written from Google's API description and recorded refusals. `seal` recognizes the oracle's own signatures, without it
any
that is there is taken. `earlier` are the steps that `previous_interaction_id` stands for, None where they are unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from oracles.seal import Seal, decoded
from oracles.shapes import Checker, Node, Path, kind_of
from oracles.steps import CONFIG, CONTENTS, FORMATS, HARMS, MODEL, STEPS, TOOLS
from oracles.strict_google_generate_content import BYPASS, NAME, UNSIGNED


def check(body: Any, *, seal: Seal | None = None, earlier: Sequence[Node] | None = None) -> None:
    """Raise `Refused` for a request that Interactions does not take."""
    Interactions(seal).body(bare(body), earlier)


DATA = ("arguments", "result", "parameters", "schema")
"""Keys whose values are the caller's own."""


def bare(node: Any) -> Any:
    """The message without nulls, which stand for absent fields wherever Google reads JSON."""
    if isinstance(node, dict):
        return {k: v if k in DATA and isinstance(v, dict) else bare(v) for k, v in node.items() if v is not None}
    return [bare(each) for each in node] if isinstance(node, list) else node


def bearer(step: Node) -> list[Any]:
    """What a thought is signed for: the call behind it, or the model's output there."""
    if step.get("type") == "function_call":
        return ["call", step["id"], step["name"], step["arguments"]]
    content = step.get("content")
    said = (
        "".join(part.get("text", "") for part in content if isinstance(part, dict)) if isinstance(content, list) else ""
    )
    return [step.get("type"), said.strip()]


def steps_of(body: Node) -> list[Node]:
    """The input as a list of steps, whichever of its four shapes it has."""
    given = body.get("input")
    if isinstance(given, str):
        return [{"type": "user_input", "content": [{"type": "text", "text": given}]}]
    found: list[Node] = []
    for each in [given] if isinstance(given, dict) else given or []:
        kind = each.get("type")
        if kind in CONTENTS:
            if found and found[-1].get("loose"):
                found[-1]["content"].append(each)
            else:
                found.append({"type": "user_input", "content": [each], "loose": True})
            continue
        inner = each.get("content") if kind == "user_input" else None
        results = [c for c in inner or () if isinstance(c, dict) and c.get("type") == "function_result"]
        if results:  # a client nests them, and the service takes it
            found += results
            rest = [c for c in inner or () if c not in results]
            each = {**each, "content": rest} if rest else None
        if each is not None:
            found.append(each)
    return found


class Interactions(Checker):
    """The walk through a request."""

    def __init__(self, seal: Seal | None) -> None:
        self.seal = seal

    def missing(self, path: Path) -> NoReturn:
        self.refuse(path, f"The required parameter '{self.path(path)}' is missing.")

    def unknown(self, path: Path) -> NoReturn:
        self.refuse(path, f"Unknown parameter '{self.path(path)}'.", "parameter_unknown")

    def wrong(self, path: Path, expected: str, value: Any) -> NoReturn:
        self.refuse(path, f"The value of '{self.path(path)}' must be of type {expected}, not {kind_of(value)}.")

    def value(self, path: Path, values: tuple[str, ...], value: Any) -> NoReturn:
        self.refuse(path, f"Invalid value '{value}' at '{self.path(path)}'. Supported values: {', '.join(values)}.")

    def tagged(self, node: Any, path: Path, table: dict[str, str]) -> str:
        """An object whose type determines its shape."""
        kind = self.object(node, path, "type!:s", True)["type"]
        if kind not in table:
            self.value((*path, "type"), tuple(table), kind)
        self.object(node, path, table[kind])
        return str(kind)

    def body(self, body: Any, earlier: Sequence[Node] | None) -> None:
        self.object(body, (), MODEL)
        if ("model" in body) == ("agent" in body):
            self.refuse(("model",), "Exactly one of 'model' and 'agent' must be set.")
        for one, other in (("generation_config", "agent"), ("cached_content", "agent"), ("agent_config", "model")):
            if one in body and other in body:
                self.refuse((one,), f"'{one}' can not be set together with '{other}'.")
        if "input" not in body and not body.get("continuation_token"):
            self.missing(("input",))
        if body.get("store") is False and body.get("background"):
            self.refuse(("background",), "background=true requires store=true.")
        if str(body.get("agent", "")).startswith("deep-research") and not body.get("background"):
            self.refuse(("background",), "background=true is required for agent interactions.")
        self.input(body)
        self.together(body, earlier)
        self.tools(body)
        self.format(body)
        for place, each in enumerate(body.get("safety_settings") or ()):
            self.object(each, ("safety_settings", place), f"type!={'|'.join(HARMS)} threshold!:s method:s")
        for key, value in (body.get("labels") or {}).items():
            if not isinstance(value, str) or len(key) > 63 or len(value) > 63:
                self.refuse(("labels", key), f"Invalid label '{key}'.")

    # ---- input

    def input(self, body: Node) -> None:
        given = body.get("input")
        if given in ("", []):
            self.refuse(("input",), "The value of 'input' must not be empty.")
        if isinstance(given, dict):
            self.content(given, ("input",))
        for place, each in enumerate(given if isinstance(given, list) else ()):
            path: Path = ("input", place)
            kind = self.object(each, path, "type!:s", True)["type"]
            if kind in CONTENTS:
                self.content(each, path)
                continue
            self.tagged(each, path, STEPS)
            if kind in ("user_input", "model_output"):
                if not each["content"]:
                    self.refuse(
                        (*path, "content"), f"The value of '{self.path((*path, 'content'))}' must not be empty."
                    )
                for index, part in enumerate(each["content"]):
                    at = (*path, "content", index)
                    if kind == "user_input" and isinstance(part, dict) and part.get("type") == "function_result":
                        self.tagged(part, at, STEPS)
                    else:
                        self.content(part, at)
            elif kind == "thought":
                for index, part in enumerate(each.get("summary") or ()):
                    self.tagged(part, (*path, "summary", index), {k: CONTENTS[k] for k in ("text", "image")})
            elif kind == "function_call" and not NAME.fullmatch(each["name"]):
                self.refuse(
                    (*path, "name"), f"Invalid function name '{each['name']}' at '{self.path((*path, 'name'))}'."
                )
            elif kind == "function_result" and isinstance(each["result"], list):
                for index, part in enumerate(each["result"]):
                    self.tagged(part, (*path, "result", index), {**CONTENTS, "function": TOOLS["function"]})

    def content(self, part: Any, path: Path) -> None:
        kind = self.tagged(part, path, CONTENTS)
        if kind == "text" and not part["text"]:
            self.refuse(path, f"The value of '{self.path((*path, 'text'))}' must not be empty.")
        if kind != "text" and ("data" in part) == ("uri" in part):
            self.refuse(path, f"Exactly one of 'data' and 'uri' must be set at '{self.path(path)}'.")
        if part.get("data") and decoded(part["data"]) is None:
            self.refuse((*path, "data"), f"The value of '{self.path((*path, 'data'))}' is not valid base64.")

    def together(self, body: Node, earlier: Sequence[Node] | None) -> None:
        """Results answer calls, calls that are not at the end are answered, and thoughts stand where they were made."""
        steps = steps_of(body)
        known = body.get("previous_interaction_id") is None or earlier is not None
        whole = [*(earlier or ()), *steps]
        calls = {step["id"]: n for n, step in enumerate(whole) if step.get("type") == "function_call"}
        results = [(n, step) for n, step in enumerate(whole) if step.get("type") == "function_result"]
        answered: set[str] = set()
        for n, step in results:
            if known and (step["call_id"] not in calls or calls[step["call_id"]] > n):
                self.refuse(("input",), f"No function call found for function result with call_id '{step['call_id']}'.")
            if step["call_id"] in answered and calls.get(step["call_id"], -1) < min(
                m for m, other in results if other["call_id"] == step["call_id"]
            ):
                self.refuse(("input",), f"Function call '{step['call_id']}' has more than one function result.")
            answered.add(step["call_id"])
        for call, n in calls.items():
            after = [step.get("type") for step in whole[n + 1 :]]
            if call not in answered and any(
                kind in ("user_input", "model_output", "function_result") for kind in after
            ):
                self.refuse(("input",), f"Function call '{call}' has no function result.", "failed_precondition")
        signing = UNSIGNED.match(body.get("model") or "") is None and body.get("agent") is None
        current = max((n for n, step in enumerate(steps) if step.get("type") == "user_input"), default=-1)
        for n, step in enumerate(steps):
            if step.get("type") == "thought":
                self.thought(step, steps, n)
            before = steps[n - 1] if n else {}
            if step.get("type") == "function_call" and signing and n > current:
                if not n or before.get("type") not in ("thought", "function_call"):
                    self.refuse(("input",), f"Function call '{step['name']}' is missing a thought signature.",
                                "missing_thought_signature")  # fmt: skip

    def thought(self, step: Node, steps: list[Node], n: int) -> None:
        signature = step.get("signature")
        if not signature:
            self.refuse(("input",), "A thought step has no signature.", "missing_thought_signature")
        data = decoded(signature)
        if data is None:
            self.refuse(("input",), "The signature of a thought step is not valid base64.")
        if self.seal is None or data in BYPASS:
            return
        if not self.seal.own(signature):
            self.refuse(("input",), "Corrupted thought signature.")
        after = next((each for each in steps[n + 1 :] if each.get("type") != "thought"), {})
        if not self.seal.fits(signature, "thought", *bearer(after)):
            self.refuse(("input",), "Thought signature is not valid. The step behind it was changed or moved.")

    # ---- tools and settings

    def tools(self, body: Node) -> None:
        names: list[str] = []
        for place, tool in enumerate(body.get("tools") or ()):
            path: Path = ("tools", place)
            kind = self.tagged(tool, path, TOOLS)
            if kind == "function":
                if not NAME.fullmatch(tool["name"]):
                    self.refuse((*path, "name"), f"Invalid function name '{tool['name']}'.")
                if "parameters" in tool:
                    self.schema(tool["parameters"], (*path, "parameters"))
                    if tool["parameters"].get("required") == []:
                        self.refuse((*path, "parameters"), "'required' must not be empty.")
                names.append(tool["name"])
        twice = next((name for n, name in enumerate(names) if name in names[:n]), None)
        if twice is not None:
            self.refuse(("tools",), f"Duplicate function declaration found: {twice}")
        config = body.get("generation_config")
        if config is None:
            return
        path = ("generation_config",)
        self.object(config, path, CONFIG)
        for name, low, high in (("max_output_tokens", 1, None), ("temperature", 0, 2), ("top_p", 0, 1)):
            self.range(config, path, name, low, high)
        for place, each in enumerate(config.get("stop_sequences") or ()):
            if not isinstance(each, str):
                self.wrong((*path, "stop_sequences", place), "string", each)
        choice = config.get("tool_choice")
        if choice is None:
            return
        if not names:
            self.refuse((*path, "tool_choice"), "Function calling config is set without function_declarations.")
        if isinstance(choice, str):
            if choice not in ("auto", "any", "none", "validated"):
                self.value((*path, "tool_choice"), ("auto", "any", "none", "validated"), choice)
            return
        inner = self.object(choice, (*path, "tool_choice"), "allowed_tools!:o")["allowed_tools"]
        self.object(inner, (*path, "tool_choice", "allowed_tools"), "mode=auto|any|none|validated tools!:a")
        for name in inner["tools"]:
            if name not in names:
                self.refuse(
                    (*path, "tool_choice"), f"Allowed function name {name} is not among the function declarations."
                )

    def format(self, body: Node) -> None:
        form = body.get("response_format")
        entries = form if isinstance(form, list) else [form] if form is not None else []
        for place, each in enumerate(entries):
            path: Path = ("response_format", place) if isinstance(form, list) else ("response_format",)
            if "type" in self.object(each, path, "type:s", True) and each["type"] in FORMATS:
                self.tagged(each, path, FORMATS)
                if "schema" in each:
                    self.schema(each["schema"], (*path, "schema"))
