"""Names of arguments that do not exist: what was meant by them.

Some are the names that other APIs use, some belong to another method, and some are misspelled.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection
from typing import NoReturn

__all__ = ["refuse_argument"]

# What other APIs and SDKs call the arguments of a request.
_ELSEWHERE = {
    "api_base": "base_url",
    "candidate_count": "n",
    "contents": "input",
    "developer": "instructions",
    "fallback_models": "models",
    "functions": "tools",
    "history": "input",
    "max_completion_tokens": "max_output_tokens",
    "max_output": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "messages": "input",
    "model_name": "model",
    "prompt_text": "input",
    "query": "input",
    "question": "input",
    "stop_sequences": "stop",
    "system": "instructions",
    "system_instruction": "instructions",
    "system_message": "instructions",
    "system_prompt": "instructions",
    "temp": "temperature",
    "tool_config": "tool_choice",
    "user_prompt": "input",
}
_STRUCTURED = "structured output is client.responses.parse(text_format=...), or text={'format': {...}}"
_SETTINGS = "the settings in it are arguments of their own, such as temperature= and max_output_tokens="
_EFFORT = "pass reasoning={'effort': ...}"
_LOOP = "tool loops are client.responses.run(max_turns=...)"
# What has no argument, and how it is done.
_DONE = {
    "config": _SETTINGS,
    "generation_config": _SETTINGS,
    "images": "images are parts of the input: input=['...', unified_llm.image(...)]",
    "json_schema": _STRUCTURED,
    "max_iterations": _LOOP,
    "max_retries": "retries are set by Client(max_retries=...) or Client(retry=Retry(...))",
    "max_steps": _LOOP,
    "output_type": _STRUCTURED,
    "reasoning_effort": _EFFORT,
    "response_format": _STRUCTURED,
    "response_model": _STRUCTURED,
    "response_schema": _STRUCTURED,
    "schema": _STRUCTURED,
    "thinking": _EFFORT,
    "thinking_budget": "pass reasoning={'budget_tokens': ...}",
    "verbosity": "pass text={'verbosity': ...}",
}
_METHODS = ("parse", "run")


def refuse_argument(name: str, known: Collection[str]) -> NoReturn:
    """Raise `TypeError` for an argument that no field of a request and no option has the name of.

    >>> try:
    ...     refuse_argument("system_prompt", ["input", "instructions"])
    ... except TypeError as error:
    ...     print(error)
    unknown argument 'system_prompt'; did you mean 'instructions'?
    """
    from difflib import get_close_matches

    hint = _DONE.get(name) or _method(name)
    if hint is None:
        near = [_ELSEWHERE[name]] if name in _ELSEWHERE else get_close_matches(name, sorted(known), 1, 0.75)
        hint = f"did you mean {near[0]!r}?" if near else "pass provider-specific fields in extra_body="
    raise TypeError(f"unknown argument {name!r}; {hint}")


def _method(name: str) -> str | None:
    """Which other methods have an argument of this name, or of one like it."""
    from difflib import get_close_matches

    from ..responses import Responses

    common = inspect.signature(Responses.create).parameters
    found = {each: inspect.signature(getattr(Responses, each)).parameters.keys() - common.keys() for each in _METHODS}
    meant = name if any(name in names for names in found.values()) else None
    if meant is None and name not in _ELSEWHERE:
        # One that looks more like an argument of its own method is left to the others.
        near = get_close_matches(name, sorted({*common}.union(*found.values())), 1, 0.8)
        meant = near[0] if near and near[0] not in common else None
    where = " and ".join(f"client.responses.{each}()" for each, names in found.items() if meant in names)
    return f"{meant}= is an argument of {where}" if where else None
