"""`docs/reasoning.md`, written from the model data: what every model takes, and how a control becomes another.

`python docs/_reasoning.py` writes the page; `--check` only checks that it is current (a test does the same).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import unified_llm as ul
from _pages import renew
from unified_llm.models.effort import EFFORTS
from unified_llm.models.profiles import DATA, ReasoningProfile, profile

PAGE = Path(__file__).parent / "reasoning.md"
MESSAGES, GENERATE, INTERACTIONS = "anthropic-messages", "google-generate-content", "google-interactions"
CHAT, RESPONSES = "openai-chat", "openai-responses"

INTRO = """# How much to think

Every protocol has its own control of reasoning: a word for the effort, a budget of tokens, a level, a switch, what is
shown of the reasoning. A request is written in the form that the *target's model* takes, by dated data
(`unified_llm/models/profiles.json`); pass the model as `model=`, else the one in the body counts.

```python
>>> import unified_llm as ul
>>> body = {"model": "gpt-5.6", "messages": [{"role": "user", "content": "Hi"}], "reasoning_effort": "high"}
>>> def ask(target, model):
...     return ul.convert(body, source="openai-chat", target=target, model=model)
>>> ask("anthropic-messages", "claude-opus-4-8").value["thinking"]
{'type': 'adaptive'}
>>> ask("anthropic-messages", "claude-haiku-4-5").value["thinking"]
{'type': 'enabled', 'budget_tokens': 16384}
>>> done = ask("google-generate-content", "gemini-2.5-flash")
>>> done.value["generationConfig"]["thinkingConfig"]
{'thinkingBudget': 24576}
>>> [(loss.path, loss.fate, loss.detail) for loss in done.losses]
[('/reasoning_effort', 'approximated', 'as a budget of 24576 tokens')]

```

What holds everywhere:

* A request is left as it is where source and target are the same protocol.
* The requested effort is never exceeded: an effort that the model does not support becomes its next weaker one, or the
  weakest where there is none. A budget is kept in the model's range.
* A value that changed in meaning is reported as `approximated`, a value without an equivalent as `lost`, and a value
  that the target requires in addition as `added`.
* Off is off where the model can be switched off (a budget of 0, the effort `none`, `disabled`); where it cannot, the
  request contains the lowest setting, and the loss report contains the change.
* A budget that is drawn from an effort leaves a fifth of the output limit to the answer. At Messages, one that the
  client named raises the limit. A forced tool wins over thinking, thinking over temperature, `top_p` and `top_k`.
* Settings that a thinking model refuses (`temperature`, `top_p`, penalties, ...) are withheld and reported as lost.
* Beside functions, OpenAI's models from GPT-5.4 on take no effort in Chat, and GPT-5.6 must not think there: the effort
  is reported as lost, and `none` is sent to GPT-5.6. In Responses they take both.
* A signed thought comes back with the whole answer that it is part of, block by block, whatever protocol the client
  has. Newer Claude models take it only where nothing before it has changed
  ([preserved thinking](https://platform.claude.com/docs/en/build-with-claude/preserved-thinking)). Where a client of
  another protocol cut or edited its conversation, the refused request is sent once more with leave to drop such
  thoughts (`block_binding`), and the loss report contains that.
* A model that is not in the data gets every setting that its protocol allows.

```python
>>> from unified_llm.models import profile
>>> facts = profile("claude-opus-4-5-20251101", "anthropic-messages")
>>> facts.id, facts.reasoning.efforts, facts.reasoning.budget, facts.output_tokens
('claude-opus-4-5', ('low', 'medium', 'high'), (1024, 63999), 64000)
>>> profile("my-own-model").known
False

```

This page is written by `docs/_reasoning.py` from the data.
"""


def data() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DATA.read_bytes())
    return found


def between() -> Iterator[str]:
    """Effort and budget, each drawn from the other."""
    yield "## Effort and budget\n"
    yield "| effort | " + " | ".join(EFFORTS) + " |"
    yield "| --- |" + " --: |" * len(EFFORTS)
    for name, budgets in (("as a budget", data()["budgets"]), ("as a budget of Gemini 2.5", _gemini())):
        yield f"| {name} | " + " | ".join(str(budgets.get(effort, 0)) for effort in EFFORTS) + " |"
    yield ""
    yield "| budget | as an effort |\n| --- | --- |"
    least = 0
    for word, most in data()["levels"]:
        span = f"from {least}" if most is None else "0" if most == 0 else f"{least} to {most}"
        yield f"| {span} | {word} |"
        least = (most or 0) + 1
    yield "| -1 | left to the model |\n"


def _gemini() -> Any:
    return profile("gemini-2.5-pro", GENERATE).reasoning.budgets


# A control in the words of its protocol, by what it means.
_ASKED = {"role": "user", "content": "q"}
_CONTENTS = [{"role": "user", "parts": [{"text": "q"}]}]
_CONTROLS: dict[str, tuple[str, dict[str, Any]]] = {
    "effort `high`": (CHAT, {"messages": [_ASKED], "reasoning_effort": "high"}),
    "effort `none`": (CHAT, {"messages": [_ASKED], "reasoning_effort": "none"}),
    "effort `low`, summary": (RESPONSES, {"input": "q", "reasoning": {"effort": "low", "summary": "auto"}}),
    "budget of 4000": (
        MESSAGES,
        {"max_tokens": 8000, "messages": [_ASKED], "thinking": {"type": "enabled", "budget_tokens": 4000}},
    ),
    "adaptive, effort `max`": (
        MESSAGES,
        {
            "max_tokens": 8000,
            "messages": [_ASKED],
            "thinking": {"type": "adaptive"},
            "output_config": {"effort": "max"},
        },
    ),
    "between tools": (MESSAGES, {"max_tokens": 8000, "messages": [_ASKED], "thinking": {"type": "between_tools"}}),
    "level `minimal`": (INTERACTIONS, {"input": "q", "generation_config": {"thinking_level": "minimal"}}),
    "budget of 0": (GENERATE, {"contents": _CONTENTS, "generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}),
}
_TARGETS = (
    (RESPONSES, "gpt-5.6"),
    (CHAT, "gpt-5"),
    (MESSAGES, "claude-opus-5-5"),
    (MESSAGES, "claude-opus-4-8"),
    (MESSAGES, "claude-haiku-4-5"),
    (INTERACTIONS, "gemini-3-pro"),
    (GENERATE, "gemini-3-pro"),
    (GENERATE, "gemini-2.5-flash"),
)


def controls() -> Iterator[str]:
    """Controls of every protocol, as they are sent to each kind of model."""
    yield "## From one control to another\n"
    yield "A column is a target and a model of one kind; `=` marks a request that is left as it is.\n"
    yield "| control | " + " | ".join(f"`{model}`<br>{target}" for target, model in _TARGETS) + " |"
    yield "| --- |" + " --- |" * len(_TARGETS)
    for name, (source, body) in _CONTROLS.items():
        cells = [_told(source, body, target, model) for target, model in _TARGETS]
        yield f"| {name} | " + " | ".join(cells) + " |"
    yield ""


def _told(source: str, body: dict[str, Any], target: str, model: str) -> str:
    if source == target:
        return "="
    given = body if source == GENERATE else {"model": "ours", **body}
    wire = ul.convert(given, source=source, target=target, model=model).value
    if target == CHAT:
        said = {"": wire["reasoning_effort"]} if "reasoning_effort" in wire else {}
    elif target == RESPONSES:
        said = wire.get("reasoning") or {}
    elif target == MESSAGES:
        said = {**(wire.get("thinking") or {}), **(wire.get("output_config") or {})}
    elif target == INTERACTIONS:
        config = wire.get("generation_config") or {}
        said = {key: value for key, value in config.items() if key.startswith("thinking")}
    else:
        said = (wire.get("generationConfig") or {}).get("thinkingConfig") or {}
    words = {"display": "", "type": "", "effort": "effort", "summary": "summary", "thinking_level": ""}
    shown = [f"{words.get(key, key)} `{json.dumps(value).strip(chr(34))}`".strip() for key, value in said.items()]
    return ", ".join(shown) or "–"


def models() -> Iterator[str]:
    """What every known model takes, by protocol."""
    yield "## What models take\n"
    yield f"As of {data()['date']}. Every family names its sources in the file.\n"
    for protocol in (RESPONSES, CHAT, MESSAGES, INTERACTIONS, GENERATE):
        yield f"### `{protocol}`\n"
        yield "| model | efforts | budget | unset | off | most tokens |\n| --- | --- | --- | --- | --- | --: |"
        for family in data()["families"]:
            if protocol not in family["facts"]["reasoning"]:
                continue
            for name in family["models"]:
                facts = profile(name, protocol)
                most = f"{facts.output_tokens:,}" if facts.output_tokens else ""
                yield f"| `{name}` | {' | '.join(_row(facts.reasoning))} | {most} |"
        yield ""


def _row(facts: ReasoningProfile) -> list[str]:
    if not facts.thinks:
        return ["does not think", "", "", ""]
    efforts = ", ".join(facts.efforts) + (", adaptive" if facts.adaptive else "")
    budget = ""
    if facts.budget is not None:
        least, most = facts.budget
        budget = f"{least} to {most}" + (", -1" if facts.dynamic else "")
    off = {True: "yes", False: "no", None: ""}[facts.off]
    if facts.off_most:
        off += f", up to {facts.off_most}"
    if facts.between_tools:
        off += ", between tools"
    without = {"on": "thinks", "off": "does not", None: ""}[facts.default]
    return [efforts, budget, without + (f" ({facts.usual})" if facts.usual else ""), off]


def written() -> str:
    """The whole page."""
    return "\n".join([INTRO, *between(), *controls(), *models()]).rstrip() + "\n"


def main() -> int:
    return renew({PAGE: written()})


if __name__ == "__main__":
    sys.exit(main())
