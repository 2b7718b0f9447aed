"""Mirascope: calls, streams, tools in a loop, formats, images, thinking."""

from __future__ import annotations

import base64
from typing import Any

from checks import CALLS, KEY, OVERFLOWS, PIXEL, REASONED, City, check, failure, run_all, weather
from mirascope import llm


def of(provider: str, model: str, path: str = "") -> Any:
    def made(url: str) -> Any:
        llm.register_provider(provider, api_key=KEY, base_url=url + path)
        return llm.Model(model, max_tokens=8000, thinking={"level": "low", "include_thoughts": True})

    return made


CLIENTS = {
    "Mirascope, OpenAI Chat": ("openai-chat", of("openai:completions", "openai/gpt-5-mini:completions", "/v1")),
    "Mirascope, OpenAI Responses": ("openai-responses", of("openai:responses", "openai/gpt-5-mini:responses", "/v1")),
    "Mirascope, Anthropic": ("anthropic-messages", of("anthropic", "anthropic/claude-sonnet-4-5")),
    "Mirascope, Google": ("google-generate-content", of("google", "google/gemini-2.5-flash")),
}
TOOL = llm.tool(weather)
HELLO = [llm.messages.system("Be nice."), llm.messages.user("Hello there")]


def plain(model: Any) -> Any:
    done = model.call(HELLO)
    check(done.text() == "Hello there", done)
    check(done.usage.input_tokens and done.usage.output_tokens, done.usage)


def stream(model: Any) -> Any:
    done = model.stream(HELLO)
    pieces = list(done.text_stream())
    check(len(pieces) > 1 and "".join(pieces).strip() == "Hello there", pieces)
    check(done.usage and done.usage.output_tokens, done.usage)


def calls(model: Any) -> None:
    done = model.call(CALLS, tools=[TOOL])
    check(len(done.tool_calls) == 2, done.content)
    done = done.resume(done.execute_tools())
    check("Rain in Oslo" in done.text() and "Rain in Rome" in done.text(), done)


def streamed_calls(model: Any) -> None:
    done = model.stream(REASONED, tools=[TOOL])
    for _ in range(3):
        done.finish()
        if not done.tool_calls:
            break
        done = done.resume(done.execute_tools())
    check("Rain in Rome" in done.text(), done)


def structured(model: Any) -> None:
    for mode in ("strict", "tool", "json"):
        if mode == "json":
            break
        done = model.call("Who?", format=llm.format(City, mode=mode))
        check(isinstance(done.parse(), City), (mode, done))
        done = model.stream("Who?", format=llm.format(City, mode=mode))
        done.finish()
        check(isinstance(done.parse(), City), (mode, done))


def image(model: Any) -> None:
    done = model.call(["What is it?", llm.Image.from_bytes(base64.b64decode(PIXEL))])
    check("[image image/png]" in done.text(), done)


def reasoned(model: Any) -> Any:
    done = model.call("[[reason Think.]] The end")
    check(done.text() == "The end", done)
    check("And now?" in done.resume("And now?").text())
    return [type(each).__name__ for each in done.content]


def streamed_reasoned(model: Any) -> Any:
    done = model.stream("[[reason Think.]] The end")
    done.finish()
    check(done.text().strip() == "The end", done.content)
    check("And now?" in done.resume("And now?").text())
    return [type(each).__name__ for each in done.content]


def refused(model: Any, upstream: str) -> Any:
    for prompt, kind in (
        ("[[error 401 message=told]]", llm.AuthenticationError),
        (OVERFLOWS[upstream], llm.BadRequestError),
    ):
        error = failure(lambda prompt=prompt: model.call(prompt))
        check(isinstance(error, kind), repr(error))


run_all(
    CLIENTS,
    {
        each.__name__: each
        for each in (plain, stream, calls, streamed_calls, structured, image, reasoned, streamed_reasoned, refused)
    },
)
