"""DSPy: predictions in chat, JSON and XML, tools by name and natively called, streams; its requests are LiteLLM's."""

from __future__ import annotations

from typing import Any

import dspy
from checks import KEY, OVERFLOWS, City, check, failure, run_all, weather

SETTINGS = {"api_key": KEY, "num_retries": 0, "cache": False, "max_tokens": 16000, "temperature": 1.0}
CLIENTS = {
    "DSPy, OpenAI": ("openai-chat", lambda url: dspy.LM("openai/gpt-5-mini", api_base=f"{url}/v1", **SETTINGS)),
    "DSPy, OpenAI Responses": (
        "openai-responses",
        lambda url: dspy.LM("openai/gpt-5-mini", api_base=f"{url}/v1", model_type="responses", **SETTINGS),
    ),
    "DSPy, Anthropic": (
        "anthropic-messages",
        lambda url: dspy.LM("anthropic/claude-sonnet-4-5", api_base=f"{url}/v1", **SETTINGS),
    ),
    "DSPy, Gemini": (
        "google-generate-content",
        lambda url: dspy.LM(
            "gemini/gemini-3-pro-preview", api_base=f"{url}/v1beta/models/gemini-3-pro-preview", **SETTINGS
        ),
    ),
}


def plain(lm: Any) -> Any:
    done = lm(messages=[{"role": "system", "content": "Be nice."}, {"role": "user", "content": "Hello there"}])
    check(text(done[0]) == "Hello there", done)
    usage = lm.history[-1]["usage"]
    check(usage["prompt_tokens"] and usage["completion_tokens"], usage)
    return usage


def text(found: Any) -> str:
    return str(found["text"] if isinstance(found, dict) else found)


def reasoned(lm: Any) -> Any:
    done = lm("[[reason Think.]] The end", reasoning_effort="low")
    check(text(done[0]) == "The end", done)
    return done


def called(lm: Any) -> Any:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tool = {"type": "function", "function": {"name": "weather", "description": "w", "parameters": schema}}
    if lm.model_type == "responses":
        tool = {"type": "function", "strict": False, **tool["function"]}
    done = lm("[[call weather city=Oslo]]", tools=[tool])
    check(done[0]["tool_calls"], done)
    return done


def structured(lm: Any) -> Any:
    with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
        done = dspy.Predict(Who)(question="Who?")
        check(isinstance(done.city, City), done)


class Who(dspy.Signature):
    """Answer the question."""

    question: str = dspy.InputField()
    city: City = dspy.OutputField()


def natively(lm: Any) -> Any:
    class Ask(dspy.Signature):
        """Call tools."""

        question: str = dspy.InputField()
        tools: list[dspy.Tool] = dspy.InputField()
        calls: dspy.ToolCalls = dspy.OutputField()

    with dspy.context(lm=lm, adapter=dspy.ChatAdapter(use_native_function_calling=True)):
        done = dspy.Predict(Ask)(question=r"[[call weather city=Oslo]]", tools=[dspy.Tool(weather)])
        check(done.calls.tool_calls[0].args == {"city": "Oslo"}, done)


async def stream(lm: Any) -> None:
    with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
        program = dspy.streamify(dspy.Predict("question -> answer"))
        last = None
        async for piece in program(question="Who?"):
            last = piece
        check(isinstance(last, dspy.Prediction) and last.answer, last)


def refused(lm: Any, upstream: str) -> Any:
    def asked(prompt: str) -> Exception:
        return failure(lambda: lm(prompt))

    found = [
        asked(prompt) for prompt in ("[[error 401 message=told]]", "[[error 429 message=told]]", OVERFLOWS[upstream])
    ]
    names = [type(each).__name__ for each in found]
    check(names == ["LMAuthError", "LMRateLimitError", "ContextWindowExceededError"], names)


run_all(CLIENTS, {each.__name__: each for each in (plain, reasoned, called, structured, natively, stream, refused)})
