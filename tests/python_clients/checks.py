"""What the programs of this folder share; they run in environments of their own, without the library.

A program is started with a JSON object of base URLs by name, `itself` for a strict upstream without a gateway. Each
check prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import enum
import inspect
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import BaseModel

KEY = "unused"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
CALLS = "Words [[call weather city=Oslo]] [[call weather city=Rome]]"
REASONED = (
    "[[reason One.]] [[call weather city=Oslo]] [[then]] "
    "[[reason Two.]] [[call weather city=Rome]] [[then]] [[results]]"
)
GEMINI = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
CHAT = "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens."
RESPONSES = "Your input exceeds the context window of this model. Please adjust your input and try again."
OVERFLOWS = {
    "anthropic-messages": '[[error 400 message="prompt is too long: 210000 tokens > 200000 maximum"]]',
    "google-generate-content": f'[[error 400 message="{GEMINI}"]]',
    "google-interactions": f'[[error 400 message="{GEMINI}"]]',
    "openai-chat": f'[[error 400 code=context_length_exceeded message="{CHAT}"]]',
    "openai-responses": f'[[error 400 code=context_length_exceeded message="{RESPONSES}"]]',
}
"""A prompt that is refused in each upstream's own words."""

os.environ.update(OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY, GOOGLE_API_KEY=KEY, GEMINI_API_KEY=KEY)
logging.disable(logging.ERROR)
warnings.simplefilter("ignore")


class City(BaseModel):
    """A city."""

    name: str
    inhabitants: int
    kind: Literal["capital", "village"]
    twins: list[str]
    mayor: str | None = None


def weather(city: str) -> str:
    """Look up the weather in a city."""
    return f"Rain in {city}"


def check(holds: Any, what: Any = "") -> None:
    """Fail with `what` unless it holds."""
    if not holds:
        raise AssertionError(str(what))


def failure(call: Callable[[], Any]) -> Exception:
    """What `call` fails with."""
    try:
        done = call()
        if inspect.iscoroutine(done):
            asyncio.run(done)
    except Exception as error:
        return error
    raise AssertionError("no error")


def status(error: BaseException | None) -> int | None:
    """The HTTP status of an error, or of what it was raised from."""
    while error is not None:
        for name in ("status_code", "code"):
            if isinstance(found := getattr(error, name, None), int):
                return found
        inner = [each for each in error.args if isinstance(each, Exception)]
        error = inner[0] if inner else error.__cause__ or error.__context__
    return None


def shape(value: Any, depth: int = 9) -> Any:
    """What an answer has, without what differs from one answer to the next: ids, counts, signatures."""
    if depth == 0 or value is None or isinstance(value, bool):
        return value if depth else "..."
    if isinstance(value, (int, float)):
        return "number" if value else "0"
    if isinstance(value, enum.Enum):
        return str(value.value)
    if isinstance(value, (str, bytes)):
        return value if isinstance(value, str) and len(value) < 15 else type(value).__name__
    if isinstance(value, Mapping):
        return {str(key): shape(each, depth - 1) for key, each in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [shape(each, depth - 1) for each in value]
    inside = {key: each for key, each in getattr(value, "__dict__", {}).items() if not key.startswith("_")}
    return {"is": type(value).__name__, **{key: shape(each, depth - 1) for key, each in inside.items()}}


def run_all(clients: dict[str, tuple[str, Callable[..., Any]]], checks: dict[str, Callable[..., Any]]) -> None:
    """Run every check of every client over every URL.

    A client is the protocol that it uses and a function of a base URL; a check gets what that makes, and, if it
    has parameters for them, the protocol of the upstream and its own.
    """
    only = os.environ.get("ONLY", "")
    for client, (protocol, made) in clients.items():
        for upstream, url in json.loads(sys.argv[1]).items():
            for name, run in checks.items():
                if only and only not in f"{client}/{upstream}/{name}":
                    continue
                problem = gave = None
                given = [made(url), protocol if upstream == "itself" else upstream, protocol]
                try:
                    done = run(*given[: len(inspect.signature(run).parameters)])
                    if inspect.iscoroutine(done):
                        done = asyncio.run(done)
                    gave = shape(done)
                except Exception as error:
                    problem = " ".join(f"{type(error).__name__}: {error}".split())[:600]
                    if only:
                        import traceback

                        traceback.print_exc()
                told = {"client": client, "upstream": upstream, "check": name, "problem": problem, "gave": gave}
                print(json.dumps(told), flush=True)
