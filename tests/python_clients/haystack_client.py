"""Haystack: generators of chats with tools, streams, structured output, images, reasoning, and an agent."""

from __future__ import annotations

import os
from typing import Any

from checks import CALLS, KEY, OVERFLOWS, PIXEL, REASONED, City, check, failure, run_all, status, weather
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator, OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage, ImageContent
from haystack.tools import create_tool_from_function
from haystack.utils import Secret
from haystack_integrations.components.generators.anthropic import AnthropicChatGenerator
from haystack_integrations.components.generators.google_genai import GoogleGenAIChatGenerator

SECRET = Secret.from_token(KEY)
TOOL = create_tool_from_function(weather)
FORMAT = {"name": "City", "schema": City.model_json_schema()}


def of_openai(generator: Any, **settings: Any) -> Any:
    return lambda url: generator(
        api_key=SECRET, model="gpt-5-mini", api_base_url=f"{url}/v1", max_retries=0, generation_kwargs=settings
    )


def of_anthropic(**settings: Any) -> Any:
    def made(url: str) -> Any:
        os.environ["ANTHROPIC_BASE_URL"] = url
        settings["max_tokens"] = 4000
        return AnthropicChatGenerator(
            SECRET, max_retries=0, generation_kwargs=settings, ignore_tools_thinking_messages=False
        )

    return made


def of_google(url: str) -> Any:
    os.environ["GOOGLE_GEMINI_BASE_URL"] = url
    thoughts = {"thinking_config": {"include_thoughts": True}}
    return GoogleGenAIChatGenerator(api_key=SECRET, max_retries=0, generation_kwargs=thoughts)


REASONING = {"effort": "low", "summary": "auto"}
CLIENTS = {
    "Haystack, OpenAI": ("openai-chat", of_openai(OpenAIChatGenerator)),
    "Haystack, OpenAI Responses": (
        "openai-responses",
        of_openai(OpenAIResponsesChatGenerator, reasoning=REASONING, include=["reasoning.encrypted_content"]),
    ),
    "Haystack, Anthropic": (
        "anthropic-messages",
        of_anthropic(thinking={"type": "enabled", "budget_tokens": 2000}),
    ),
    "Haystack, Google": ("google-generate-content", of_google),
}


def user(text: str) -> ChatMessage:
    return ChatMessage.from_user(text)


def plain(generator: Any) -> Any:
    done = generator.run([ChatMessage.from_system("Be nice."), user("Hello there")])["replies"][0]
    check(done.text == "Hello there" and done.meta["finish_reason"], done)
    return done


def stream(generator: Any) -> Any:
    pieces: list[Any] = []
    done = generator.run([user("Hello there")], streaming_callback=pieces.append)["replies"][0]
    check("".join(piece.content for piece in pieces) == "Hello there", pieces)
    check(done.text == "Hello there", done)
    return done


def calls(generator: Any) -> Any:
    return answered(generator)


def streamed_calls(generator: Any) -> Any:
    return answered(generator, streaming_callback=lambda piece: None)


def answered(generator: Any, **options: Any) -> Any:
    asked = user("[[reason Hm.]] " + CALLS)
    first = generator.run([asked], tools=[TOOL], **options)["replies"][0]
    check([each.arguments for each in first.tool_calls] == [{"city": "Oslo"}, {"city": "Rome"}], first)
    results = [ChatMessage.from_tool(weather(**each.arguments), each) for each in first.tool_calls]
    last = generator.run([asked, first, *results], tools=[TOOL], **options)["replies"][0]
    check("Rain in Oslo" in last.text and "Rain in Rome" in last.text, last)
    return first


def agent(generator: Any) -> None:
    done = Agent(chat_generator=generator, tools=[TOOL]).run(messages=[user(REASONED)])
    check("Rain in Rome" in done["last_message"].text, done)


def streamed_agent(generator: Any) -> None:
    pieces: list[Any] = []
    done = Agent(chat_generator=generator, tools=[TOOL], streaming_callback=pieces.append).run(
        messages=[user(REASONED)]
    )
    check("Rain in Rome" in done["last_message"].text and len(pieces) > 4, done)


def structured(generator: Any, upstream: str, protocol: str) -> None:
    del upstream
    settings = {
        "openai-chat": {"response_format": City},
        "openai-responses": {"text_format": City},
        "anthropic-messages": {"output_config": {"format": {"type": "json_schema", "schema": strict(City)}}},
        "google-generate-content": {"response_format": City},
    }[protocol]
    done = generator.run([user("Who?")], generation_kwargs=settings)["replies"][0]
    check(City.model_validate_json(done.text), done)


def strict(model: Any) -> Any:
    return {**model.model_json_schema(), "additionalProperties": False}


def image(generator: Any) -> None:
    picture = ImageContent(base64_image=PIXEL, mime_type="image/png")
    done = generator.run([ChatMessage.from_user(content_parts=["What is it?", picture])])["replies"][0]
    check("[image image/png]" in done.text, done)


def reasoned(generator: Any) -> Any:
    asked = user("[[reason Think.]] The end")
    first = generator.run([asked])["replies"][0]
    check(first.text == "The end", first)
    last = generator.run([asked, first, user("And now?")])["replies"][0]
    check(last.text == "And now?", last)
    return first


def streamed_reasoned(generator: Any) -> Any:
    asked = user("[[reason Think.]] The end")
    first = generator.run([asked], streaming_callback=lambda piece: None)["replies"][0]
    check(first.text == "The end", first)
    last = generator.run([asked, first, user("And now?")])["replies"][0]
    check(last.text == "And now?", last)
    return first


def refused(generator: Any, upstream: str) -> Any:
    def asked(prompt: str) -> Exception:
        return failure(lambda: generator.run([user(prompt)]))

    found = [
        asked(prompt) for prompt in ("[[error 401 message=told]]", "[[error 429 message=told]]", OVERFLOWS[upstream])
    ]
    check([status(each) for each in found] == [401, 429, 400], found)
    check(all("told" in str(each) for each in found[:2]), found)
    return [type(each).__name__ for each in found]


run_all(
    CLIENTS,
    {
        each.__name__: each
        for each in (
            plain,
            stream,
            calls,
            streamed_calls,
            agent,
            streamed_agent,
            structured,
            image,
            reasoned,
            streamed_reasoned,
            refused,
        )
    },
)
