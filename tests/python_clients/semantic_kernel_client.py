"""Semantic Kernel: chat, streams, functions that it calls itself, structured output, images, an agent."""

from __future__ import annotations

from typing import Annotated, Any

import anthropic
import openai
from checks import CALLS, KEY, OVERFLOWS, PIXEL, REASONED, City, check, failure, run_all, status
from google import genai
from semantic_kernel import Kernel
from semantic_kernel.agents import ChatCompletionAgent, OpenAIResponsesAgent
from semantic_kernel.connectors.ai.anthropic import AnthropicChatCompletion, AnthropicChatPromptExecutionSettings
from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.google.google_ai import GoogleAIChatCompletion, GoogleAIChatPromptExecutionSettings
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion, OpenAIChatPromptExecutionSettings
from semantic_kernel.contents import ChatHistory, ChatMessageContent, ImageContent, TextContent
from semantic_kernel.functions import kernel_function


def of_openai(url: str) -> Any:
    client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)
    return OpenAIChatCompletion("gpt-5-mini", async_client=client), OpenAIChatPromptExecutionSettings


def of_anthropic(url: str) -> Any:
    client = anthropic.AsyncAnthropic(base_url=url, api_key=KEY, max_retries=0)
    return AnthropicChatCompletion("claude-opus-4-7", async_client=client), AnthropicChatPromptExecutionSettings


def of_google(url: str) -> Any:
    client = genai.Client(api_key=KEY, http_options={"base_url": url})
    return GoogleAIChatCompletion("gemini-3-pro-preview", client=client), GoogleAIChatPromptExecutionSettings


CLIENTS = {
    "Semantic Kernel, OpenAI": ("openai-chat", of_openai),
    "Semantic Kernel, Anthropic": ("anthropic-messages", of_anthropic),
    "Semantic Kernel, Google": ("google-generate-content", of_google),
}


class Tools:
    """Functions for a kernel."""

    @kernel_function(name="weather", description="Look up the weather")
    def weather(self, city: Annotated[str, "a city"]) -> str:
        """Look up the weather in a city."""
        return f"Rain in {city}"


def history(text: str) -> ChatHistory:
    made = ChatHistory(system_message="Be nice.")
    made.add_user_message(text)
    return made


async def plain(client: Any) -> Any:
    service, settings = client
    done = await service.get_chat_message_content(history("Hello there"), settings())
    check(str(done) == "Hello there" and done.finish_reason, done)
    usage = done.metadata["usage"]
    check(any(isinstance(each, int) and each for each in vars(usage).values()), usage)


async def stream(client: Any) -> Any:
    service, settings = client
    pieces = [each async for each in service.get_streaming_chat_message_content(history("Hello there"), settings())]
    check("".join(str(piece) for piece in pieces if piece) == "Hello there", pieces)
    whole = pieces[0]
    for piece in pieces[1:]:
        whole += piece
    check(whole.finish_reason and whole.metadata.get("usage"), whole.metadata)


def kernel() -> Kernel:
    made = Kernel()
    made.add_plugin(Tools(), "t")
    return made


def named(prompt: str, service: Any, plugin: str) -> str:
    """A prompt with the name that a function has at this service."""
    between = "_" if isinstance(service, GoogleAIChatCompletion) else "-"
    return prompt.replace("weather", f"{plugin}{between}weather")


async def calls(client: Any) -> None:
    service, settings = client
    of = settings(function_choice_behavior=FunctionChoiceBehavior.Auto())
    asked = history(named(CALLS, service, "t") + " [[then]] [[reason More.]] [[results]]")
    done = await service.get_chat_message_content(asked, of, kernel=kernel())
    check("Rain in Oslo" in str(done) and "Rain in Rome" in str(done), done)


async def streamed_calls(client: Any) -> None:
    service, settings = client
    of = settings(function_choice_behavior=FunctionChoiceBehavior.Auto())
    asked = history(named(CALLS, service, "t"))
    pieces = [str(each) async for each in service.get_streaming_chat_message_content(asked, of, kernel=kernel())]
    check("Rain in Oslo" in "".join(pieces) and "Rain in Rome" in "".join(pieces), pieces)


async def agent(client: Any) -> None:
    service, _ = client
    made = ChatCompletionAgent(service=service, name="it", instructions="Be nice.", plugins=[Tools()])
    done = await made.get_response(messages=named(REASONED, service, "Tools"))
    check("Rain in Rome" in str(done), done)
    again = await made.get_response(messages="Hello there", thread=done.thread)
    check(str(again) == "Hello there", again)


async def streamed_agent(client: Any) -> None:
    service, _ = client
    made = ChatCompletionAgent(service=service, name="it", instructions="Be nice.", plugins=[Tools()])
    pieces = [str(each.content) async for each in made.invoke_stream(messages=named(REASONED, service, "Tools"))]
    check("Rain in Rome" in "".join(pieces), pieces)


async def structured(client: Any, upstream: str, protocol: str) -> None:
    del upstream
    service, settings = client
    if protocol == "anthropic-messages":
        return
    of = {
        "openai-chat": {"response_format": City},
        "google-generate-content": {"response_mime_type": "application/json", "response_schema": City},
    }[protocol]
    done = await service.get_chat_message_content(history("Who?"), settings(**of))
    check(City.model_validate_json(str(done)), done)


async def image(client: Any) -> None:
    service, settings = client
    picture = ImageContent(data_uri=f"data:image/png;base64,{PIXEL}")
    message = ChatMessageContent(role="user", items=[TextContent(text="What is it?"), picture])
    done = await service.get_chat_message_content(ChatHistory(messages=[message]), settings())
    check("What is it?" in str(done), done)


async def reasoned(client: Any) -> None:
    service, settings = client
    asked = history("[[reason Think.]] The end")
    done = await service.get_chat_message_content(asked, settings())
    check(str(done) == "The end", done)
    asked.add_message(done)
    asked.add_user_message("And now?")
    check(str(await service.get_chat_message_content(asked, settings())) == "And now?")


def refused(client: Any, upstream: str) -> Any:
    service, settings = client

    def asked(prompt: str) -> Exception:
        return failure(lambda: service.get_chat_message_content(history(prompt), settings()))

    found = [
        asked(prompt) for prompt in ("[[error 401 message=told]]", "[[error 429 message=told]]", OVERFLOWS[upstream])
    ]
    check([status(each) for each in found] == [401, 429, 400], found)
    return [type(each).__name__ for each in found]


async def responses_agent(client: Any, upstream: str, protocol: str) -> None:
    del upstream
    service, _ = client
    if protocol != "openai-chat":
        return
    made = OpenAIResponsesAgent(ai_model_id="gpt-5-mini", client=service.client, name="it", plugins=[Tools()])
    done = await made.get_response(messages=named(REASONED, service, "Tools"))
    check("Rain in Rome" in str(done), done)
    pieces = [str(each.content) async for each in made.invoke_stream(messages=named(REASONED, service, "Tools"))]
    check("Rain in Rome" in "".join(pieces), pieces)


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
            refused,
            responses_agent,
        )
    },
)
