"""The plan of an answer: what the directives of the last user text, and the request's own settings, make of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from unified_llm_local.echo.facts import Facts, Node, Refused, Tool, Turn
from unified_llm_local.echo.language import BadDirective, Directive, Step, parse
from unified_llm_local.echo.sample import sample

TOKEN = re.compile(r"\s*\S+|\s+$")
"""What counts as a token, and is one delta of a streamed text."""


@dataclass
class Piece:
    """One thing to answer: kind reasoning | text | call | refusal | image | audio."""

    kind: str
    text: str = ""
    tool: Tool | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    cites: list[tuple[str, str]] = field(default_factory=list)
    hidden: bool = False

    @property
    def json(self) -> str:
        """The arguments of a call, as the model wrote them."""
        return json.dumps(self.arguments, ensure_ascii=False, separators=(",", ":"))


@dataclass
class Plan:
    """An answer, and how it comes.

    `delay` is in ms between frames; `cut` = (frames, quietly); `fault` = (frames, error), where
    -1 frames is an error instead of an answer.
    """

    pieces: list[Piece] = field(default_factory=list)
    finish: str = "stop"  # stop | calls | length | filter | sequence | pause | refusal
    stop: str | None = None
    delay: int = 0
    cut: tuple[int, bool] | None = None
    fault: tuple[int, Refused] | None = None
    times: int | None = None
    garble: str | None = None
    usage: dict[str, int] = field(default_factory=dict)

    @property
    def calls(self) -> list[Piece]:
        """The calls among the pieces."""
        return [piece for piece in self.pieces if piece.kind == "call"]


def tokens(text: str) -> list[str]:
    """The tokens of a text; together they are the text.

    >>> tokens("a bc ")
    ['a', ' bc', ' ']
    """
    return TOKEN.findall(text)


def plan_of(facts: Facts) -> Plan:
    """The plan for a request; `Refused` where it requires what is not there."""
    last = max((n for n, turn in enumerate(facts.turns) if turn.by == "user"), default=-1)
    spoken = max((n for n, turn in enumerate(facts.turns) if turn.by == "model"), default=-1)
    asked = facts.turns[last] if last >= 0 else Turn("user")
    results = [turn for turn in facts.turns[spoken + 1 :] if turn.by == "result"]
    after = [turn.by for turn in facts.turns[last + 1 :]]
    rounds = sum(1 for n, by in enumerate(after) if by == "result" and (n == 0 or after[n - 1] != "result"))
    try:
        steps = parse(asked.text)
        step: Step = steps[rounds] if rounds < len(steps) else []
        plan = _planned(step, facts, results, first=rounds == 0)
    except BadDirective as problem:
        raise Refused(f"echo: {problem}") from None
    said = any(isinstance(each, str) or each.name in CONTENT for each in step)
    if (not rounds and not plan.pieces) or (rounds and not said):
        _unasked(plan, facts, asked, results)
    elif results and not rounds and not any(isinstance(each, Directive) for each in step):
        plan.pieces.append(Piece("text", quoted(results)))
    if rounds == 0 and asked.media and not plan.calls and any(p.kind == "text" for p in plan.pieces):
        plan.pieces.append(Piece("text", " ".join(f"[{medium}]" for medium in asked.media)))
    _forced(plan, facts, rounds)
    _structured(plan, facts)
    _joined(plan)
    _limited(plan, facts)
    return plan


CONTENT = {"call", "parallel", "refuse", "image", "audio", "show", "results", "stop"}
"""Directives that make an answer of their own: without any of them, results are quoted."""


def quoted(results: list[Turn]) -> str:
    """The results of tools, each in a line with the tool's name."""
    return "\n".join(f"{turn.name}: {turn.text}" if turn.name else turn.text for turn in results)


def _unasked(plan: Plan, facts: Facts, asked: Turn, results: list[Turn]) -> None:
    """Without a directive: results are quoted, else there is at least a word."""
    if results:
        plan.pieces.append(Piece("text", quoted(results)))
    elif asked.media:
        plan.pieces.append(Piece("text"))
    else:
        plan.pieces.append(Piece("text", "(no text)"))


def _planned(step: Step, facts: Facts, results: list[Turn], first: bool) -> Plan:
    plan = Plan()
    texts = [each for each in step if isinstance(each, str)]
    directives = [each for each in step if isinstance(each, Directive)]
    repeat = next((each.number(0) for each in directives if each.name == "repeat"), 1)
    if first and texts and not directives and facts.choice == "auto" and not results:
        meant = [tool for tool in _offered(facts) if _named_in(tool.name, texts[0])]
        if meant:  # clients that cannot write directives are to see their tools called as well
            plan.pieces.append(_call(meant[0], Directive("call")))
            return plan
    for each in step:
        if isinstance(each, str):
            plan.pieces.append(Piece("text", " ".join([each] * repeat)))
        else:
            _obey(each, plan, facts, results)
    return plan


def _named_in(name: str, text: str) -> bool:
    words = re.findall(r"[a-z]{4,}", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).casefold())
    return any(re.search(rf"\b{word}\b", text.casefold()) for word in words)


def _offered(facts: Facts) -> list[Tool]:
    return [tool for tool in facts.tools if facts.allowed is None or tool.name in facts.allowed]


def _call(tool: Tool, asked: Directive) -> Piece:
    if tool.raw:
        return Piece("call", str(asked.options.get("input", f"input of {tool.name}")), tool)
    if isinstance(asked.value, dict):
        return Piece("call", tool=tool, arguments=asked.value)
    made = sample(tool.schema, tool.name) if isinstance(tool.schema, dict) else {}
    made = made if isinstance(made, dict) else {}
    properties = tool.schema.get("properties") if isinstance(tool.schema, dict) else None
    given = {key: _typed(value, (properties or {}).get(key)) for key, value in asked.options.items()}
    if given and isinstance(tool.schema, dict):
        required = tool.schema.get("required") or []
        made = {key: value for key, value in made.items() if key in required}
    return Piece("call", tool=tool, arguments={**made, **given})


def _typed(value: Any, schema: Any) -> Any:
    """A bare word in the type of the schema; a word that is not JSON is a text anywhere."""
    if not isinstance(value, str):
        return value
    kinds = schema.get("type") if isinstance(schema, dict) else None
    kinds = [str(kind).lower() for kind in (kinds if isinstance(kinds, list) else [kinds])]
    if "string" in kinds:
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _obey(asked: Directive, plan: Plan, facts: Facts, results: list[Turn]) -> None:
    """One directive; texts before and after it keep their places."""
    name, word = asked.name, asked.words[0] if asked.words else ""
    if name in ("call", "parallel"):
        plan.pieces += _calls(asked, facts)
    elif name in ("reason", "redact"):
        plan.pieces.append(Piece("reasoning", asked.text or "Thinking about it.", hidden=name == "redact"))
    elif name == "refuse":
        plan.pieces.append(Piece("refusal", asked.text or "I cannot help with that."))
        plan.finish = "refusal"
    elif name in ("image", "audio"):
        plan.pieces.append(Piece(name))
    elif name == "results":
        plan.pieces.append(Piece("text", quoted(results)))
    elif name == "show":
        shown = facts.request if not word else facts.request.get(word)
        plan.pieces.append(Piece("text", json.dumps(shown, ensure_ascii=False, sort_keys=True)))
    elif name == "stop":
        if word not in ("length", "filter", "sequence", "pause"):
            raise BadDirective("[[stop]] takes length, filter, sequence or pause")
        plan.finish = word
    elif name == "cite":
        texts = [piece for piece in plan.pieces if piece.kind == "text"]
        if not texts or not word:
            raise BadDirective("[[cite URL]] stands behind the text that is cited")
        texts[-1].cites.append((word, str(asked.options.get("title", word))))
    elif name == "usage":
        plan.usage.update({key: Directive("usage", (str(value),)).number(0) for key, value in asked.options.items()})
    elif name == "slow":
        plan.delay = asked.number(0)
    elif name == "break":
        if asked.words[:1] != ("after",) or asked.words[2:] not in ((), ("quietly",)):
            raise BadDirective("use [[break after N]] or [[break after N quietly]]")
        plan.cut = asked.number(1), len(asked.words) == 3
    elif name == "error":
        _fault(asked, plan)
    elif name == "garble":
        if word not in ("json", "type"):
            raise BadDirective("[[garble]] takes json or type")
        plan.garble = word


def _fault(asked: Directive, plan: Plan) -> None:
    status = asked.number(0)
    if not 400 <= status <= 599 or asked.words[1:2] not in ((), ("after",)):
        raise BadDirective("use [[error STATUS]] or [[error STATUS after N]], with a status of 400 to 599")
    options = asked.options
    message = str(options.get("message", f"the prompt requests an error {status}"))
    more: Node = {"code": str(options["code"])} if "code" in options else {}
    if "retry-after" in options:
        more["retry_after"] = Directive("error", (str(options["retry-after"]),)).number(0)
    plan.fault = asked.number(2) if asked.words[1:] else -1, Refused(message, status, **more)
    plan.times = Directive("error", (str(options["times"]),)).number(0) if "times" in options else None


def _calls(asked: Directive, facts: Facts) -> list[Piece]:
    offered = _offered(facts)
    word = asked.words[0] if asked.words else ""
    if facts.choice == "none" or not offered:
        raise Refused("echo: the prompt requests a call, but no tool may be called")
    if asked.name == "parallel":
        count = asked.number(0) if word else max(2, len(offered))
        chosen = [offered[n % len(offered)] for n in range(count)]
    elif word == "*" or not word:
        chosen = offered if word else offered[:1]
    else:
        chosen = [tool for tool in offered if tool.name == word][:1]
        if not chosen:
            raise Refused(f"echo: no tool {word!r} is offered")
    return [_call(tool, asked) for tool in chosen]


def _forced(plan: Plan, facts: Facts, rounds: int) -> None:
    """Where the client demands a call there is one; where it requires one at a time, there is only one."""
    quiet = plan.finish in ("stop",) and not any(p.kind == "refusal" for p in plan.pieces)
    if facts.choice == "required" and not plan.calls and quiet and _offered(facts):
        kept = [piece for piece in plan.pieces if piece.kind == "reasoning"]
        # Behind results the last one: it is where the answer of a loop is put that has to be a call.
        plan.pieces = [*kept, _call(_offered(facts)[-1 if rounds else 0], Directive("call"))]
    if not facts.parallel and len(plan.calls) > 1:
        first = plan.calls[0]
        plan.pieces = [piece for piece in plan.pieces if piece.kind != "call" or piece is first]
    if plan.calls and plan.finish == "stop":
        plan.finish = "calls"


def _structured(plan: Plan, facts: Facts) -> None:
    if not facts.structured or plan.calls or any(p.kind == "refusal" for p in plan.pieces):
        return
    texts = [piece for piece in plan.pieces if piece.kind == "text"]
    value = sample(facts.schema) if facts.schema is not None else {"echo": " ".join(p.text for p in texts)}
    said = Piece("text", json.dumps(value, ensure_ascii=False), cites=[c for p in texts for c in p.cites])
    plan.pieces = [piece for piece in plan.pieces if piece.kind != "text"] + [said]


def _joined(plan: Plan) -> None:
    """Neighboring texts are one text unless one of them is cited."""
    joined: list[Piece] = []
    for piece in plan.pieces:
        before = joined[-1] if joined else None
        if piece.kind == "text" and before is not None and before.kind == "text" and not before.cites:
            before.text = f"{before.text} {piece.text}".strip()
            before.cites = piece.cites if before.text == piece.text else before.cites
        else:
            joined.append(piece)
    plan.pieces = joined


def _limited(plan: Plan, facts: Facts) -> None:
    """Texts end at the request's limit or one of its stop texts."""
    texts = [piece for piece in plan.pieces if piece.kind == "text"]
    for piece in texts:
        found = [(piece.text.find(stop), stop) for stop in facts.stops if stop and stop in piece.text]
        if found and plan.finish == "stop":
            at, plan.stop = min(found)
            _ended(plan, piece, piece.text[:at])
            plan.finish = "sequence"
            return
    if plan.finish == "sequence":
        plan.stop = facts.stops[0] if facts.stops else None
    left = facts.limit
    if plan.finish == "length" and texts:
        _ended(plan, texts[-1], "".join(tokens(texts[-1].text)[: max(1, len(tokens(texts[-1].text)) // 2)]))
    for piece in texts if left is not None and plan.finish in ("stop", "length") else ():
        assert left is not None
        said = tokens(piece.text)
        if len(said) > left:
            _ended(plan, piece, "".join(said[:left]))
            plan.finish = "length"
            return
        left -= len(said)


def _ended(plan: Plan, piece: Piece, text: str) -> None:
    piece.text = text
    at = next(n for n, each in enumerate(plan.pieces) if each is piece)
    plan.pieces = plan.pieces[: at + 1]
