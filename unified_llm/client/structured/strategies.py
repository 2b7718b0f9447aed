"""How structured output is requested and read, whatever the provider can do.

Three strategies, the first that the target can do: its own structured output ("native"), a tool whose arguments are
the answer ("tool"), or the schema in the instructions ("prompt"). Which one it was is on the result and in its losses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...foundation.errors import CapabilityRefused, InvalidBody
from ...foundation.exchange import Exchange
from ...foundation.run_errors import OutputParseError
from ...losses import Loss, Losses
from ...passes.convert import write
from ..history import accepted
from ..requests import Call
from ..results import Result
from ..sending.flows import Steps
from .formats import WRAPPER, Format

__all__ = ["ANSWERED", "STRATEGIES", "Parser", "asked_for", "bare", "choose", "correction", "parser_of", "parsing"]

Node = dict[str, Any]
STRATEGIES = ("native", "tool", "prompt")
ANSWERED = frozenset(("completed", "incomplete", "idle"))
"""The statuses of responses that have an answer."""
_FORMAT = frozenset(("/text", "/text/format", "/text/format/type", "/text/format/schema"))


def choose(found: Format, upstream: Any, tools: Any = None) -> str:
    """The first strategy that this upstream's protocol and model can do, beside the `tools` of the request.

    The dry run shows the limits of the protocol; the catalog contains those of the model, where it has them.
    """
    known = _known(upstream)
    asked = {"model": upstream.model or "model", "input": ""}

    def losses(**more: Any) -> Losses:
        return write({**asked, **more}, upstream.protocol, model=upstream.model).losses

    if getattr(known, "structured_output", None) is not False:
        try:
            beside = {"tools": tools} if tools else {}
            found_losses = losses(text={"format": found.native()}, **beside)
            if not any(_drops_format(loss) for loss in found_losses):
                return "native"
        except CapabilityRefused:
            pass
    if getattr(known, "tool_call", None) is not False:
        try:
            if not any(x.path in ("/tools", "/tools/0") and x.fate == "lost" for x in losses(tools=[found.tool()])):
                return "tool"
        except CapabilityRefused:
            pass
    return "prompt"


def _drops_format(loss: Loss) -> bool:
    """Whether a loss is the format itself. One whose schema was lowered is reported without its path."""
    if loss.fate != "lost":
        return False
    return loss.path in _FORMAT or (not loss.path and loss.capability == "output.structured")


def _known(upstream: Any) -> Any:
    from ...foundation.errors import UnknownModel, UnknownProvider
    from ...models.catalog import get

    if not upstream.provider or not upstream.model:
        return None
    try:
        return get(f"{upstream.provider}/{upstream.model}")
    except (UnknownModel, UnknownProvider):
        return None


def asked_for(found: Format, upstream: Any, known: Exchange | None = None) -> Exchange | None:
    """What converting a request for a format leaves for its answer, where that request was made elsewhere.

    A schema is lowered in the same way each time, so a dry run finds out how its values are restored. `known` is what
    is known of the request.
    """
    if known is not None and (known.output or known.tools):
        return known
    dry = {"model": upstream.model or "model", "input": ""}
    for name, asked in (("output", {"text": {"format": found.native()}}), ("tools", {"tools": [found.tool()]})):
        try:
            made = write({**dry, **asked}, upstream.protocol, model=upstream.model).exchange
        except CapabilityRefused:
            continue
        if made is not None:
            known = replace(known or replace(made, model=upstream.model), **{name: getattr(made, name)})
    return known


def parser_of(found: Format, result: Result) -> Parser:
    """What reads an answer whose strategy is not known."""
    if any(each.name == found.name for each in result.function_calls):
        return Parser(found, "tool")
    text = result.output_text
    return Parser(found, "native" if bare(text) == text.strip() else "prompt")


class Parser:
    """One format, requested by one strategy: what it adds to a request, and what it reads from an answer."""

    def __init__(self, found: Format, strategy: str) -> None:
        self.format = found
        self.strategy = strategy

    def ask(self, call: Call, *, loop: bool = False) -> None:
        """Put the format into a request. In a tool loop the first turns may call other tools.

        Raises `InvalidBody` for a setting of the request that it cannot be combined with.
        """
        body = call.body
        if (body.get("text") or {}).get("format"):
            raise InvalidBody("/text/format", "cannot be combined with text_format=; pass one of them")
        if self.strategy == "native":
            call.body = {**body, "text": {**(body.get("text") or {}), "format": self.format.native()}}
            return
        if self.strategy == "tool":
            if any(node.get("name") == self.format.name for node in body.get("tools") or ()):
                raise InvalidBody("/tools", f"a tool is called {self.format.name!r} like the format; pass name=")
            choice = self._choice(body, loop)
            call.value_tool = self.format.name
            call.body = {**body, "tools": [*(body.get("tools") or ()), self.format.tool()], "tool_choice": choice}
            how = "requested as the arguments of a tool"
        else:
            before = body.get("instructions")
            said: Any = self.format.instructions()
            if isinstance(before, list):
                said = [*before, {"type": "input_text", "text": said}]
            elif before:
                said = f"{before}\n\n{said}"
            call.body = {**body, "instructions": said}
            how = "requested in the instructions"
        call.losses = Losses([*call.losses, Loss("/text/format", "output.structured", "emulated", how)])

    def _choice(self, body: Node, loop: bool) -> Any:
        named = {"type": "function", "name": self.format.name}
        given = body.get("tool_choice")
        if given == "none" or not body.get("tools"):
            return named
        if given is None or isinstance(given, str):
            return "required"
        if loop:
            return given
        reason = "forces another tool than the one for structured output; pass strategy='prompt'"
        raise InvalidBody("/tool_choice", reason)

    def is_answer(self, node: Node) -> bool:
        """Whether a call is the answer itself."""
        return self.strategy == "tool" and node.get("name") == self.format.name

    def text(self, result: Result) -> str | None:
        """The text that should be the value; None where there is none."""
        if self.strategy == "tool":
            named = [each for each in result.function_calls if each.name == self.format.name]
            return named[-1].arguments if named else None
        return result.output_text or None

    def value(self, text: str) -> Any:
        """The value of a text. Raises `ValueError` for one that does not fit."""
        if self.strategy != "tool":
            return self.format.load(bare(text) if self.strategy == "prompt" else text)
        if not self.format.is_wrapped:
            return self.format.load(text)
        value = self._loads(text)
        if type(value) is not dict or WRAPPER not in value:
            raise ValueError(f"there is no {WRAPPER!r} in the arguments")
        return self.format.load(json.dumps(value[WRAPPER]))

    @staticmethod
    def _loads(text: str) -> Any:
        from ...foundation.json_codec import load_text

        return load_text(text)

    def read(self, result: Result) -> None:
        """Set the value of an answer. A refusal has none, nor has the call of another tool: both are the caller's.

        Raises `OutputParseError` for an answer that does not fit.
        """
        result._strategy = self.strategy
        text = self.text(result)
        if text is None and (_refused(result) or any(not self.is_answer(each.dump()) for each in result.tool_calls)):
            return
        try:
            if text is None:
                raise ValueError("there is no text")
            result._parsed = self.value(text)
            if self.strategy == "tool":
                result._accepted = tuple(accepted(result.dump().get("output") or (), self.format.name))
        except ValueError as error:
            if _refused(result):
                return  # in words, which some providers send as text beside the reason of the end
            why = _error_text(error)
            ended = (result.finish.reason if result.finish else None) or result.status
            truncated = ended in ("length", "context_window", "incomplete") or result.status == "incomplete"
            reason = f"structured output is incomplete (finish reason {ended})" if truncated else _MISFIT
            failure = OutputParseError(f"{reason}: {why}", result, text)
            failure.truncated = truncated
            raise failure from error


_MISFIT = "structured output does not match text_format"


def correction(failure: OutputParseError) -> Node:
    """The message for the model with the error of its answer."""
    why = _error_text(failure.__cause__)
    return {
        "type": "message",
        "role": "user",
        "content": f"The output does not match the schema: {why}. Return the complete corrected output.",
    }


def parsing(call: Call, parser: Parser, retries: int, create: Callable[[Call], Steps[Result]]) -> Steps[Result]:
    """The flow of one request: send, read the answer, and send its error back where `retries` allow."""
    while True:
        result = yield from create(call)
        try:
            parser.read(result)
            return result
        except OutputParseError as failure:
            if failure.truncated or not retries:
                raise
            retries -= 1
            call.body = {**call.body, "input": [*result.item_nodes, *_unanswered(result), correction(failure)]}
            call.segments = result.segments


def bare(text: str) -> str:
    """The JSON of an answer that was only requested in the instructions, without the text around it."""
    fenced = re.search(r"```(?:json)?\s*\n(.*?)```", text, re.DOTALL)
    if fenced:
        return fenced[1]
    places = [at for at in (text.find("{"), text.find("[")) if at >= 0]
    if not places or text.strip()[:1] in '{["-0123456789tfn':
        return text.strip()
    end = max(text.rfind("}"), text.rfind("]")) + 1
    return text[min(places) : end]


def _refused(result: Result) -> bool:
    reason = result.finish.reason if result.finish else None
    if reason in ("refusal", "safety", "recitation"):
        return True
    parts = [part for item in result.output or () for part in (getattr(item, "content", None) or ())]
    return any(getattr(part, "type", None) == "refusal" for part in parts)


def _unanswered(result: Result) -> list[Node]:
    """Outputs for the calls of an answer that is requested again: no call may stay open."""
    return [
        {"type": "function_call_output", "call_id": each.call_id, "output": "not accepted", "is_error": True}
        for each in result.tool_calls
    ]


def _error_text(error: BaseException | None) -> str:
    errors = getattr(error, "errors", None)
    if not callable(errors):
        return str(error)
    said = [f"/{'/'.join(map(str, each['loc']))}: {each['msg']}" for each in errors(include_url=False)]
    return "; ".join(said[:10])
