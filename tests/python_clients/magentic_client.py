"""magentic: chats that return text, streams, calls of functions, models and lists."""

from __future__ import annotations

from typing import Any

from checks import CALLS, KEY, OVERFLOWS, REASONED, City, check, failure, run_all, status, weather
from magentic import (
    AsyncStreamedStr,
    Chat,
    FunctionCall,
    FunctionResultMessage,
    OpenaiChatModel,
    ParallelFunctionCall,
    StreamedResponse,
    StreamedStr,
    SystemMessage,
    UserMessage,
)
from magentic.chat_model.anthropic_chat_model import AnthropicChatModel

CLIENTS = {
    "magentic, OpenAI": (
        "openai-chat",
        lambda url: OpenaiChatModel("gpt-5-mini", api_key=KEY, base_url=f"{url}/v1"),
    ),
    "magentic, Anthropic": (
        "anthropic-messages",
        lambda url: AnthropicChatModel("claude-opus-4-7", api_key=KEY, base_url=url),
    ),
}


def plain(model: Any) -> Any:
    done = Chat([SystemMessage("Be nice."), UserMessage("Hello there")], model=model, output_types=[str]).submit()
    last = done.last_message
    check(last.content == "Hello there", last)
    check(last.usage and last.usage.input_tokens and last.usage.output_tokens, last.usage)


def stream(model: Any) -> Any:
    done = Chat([UserMessage("Hello there")], model=model, output_types=[StreamedStr]).submit().last_message
    check(len(pieces := list(done.content)) > 1 and "".join(pieces) == "Hello there", pieces)
    check(done.usage and done.usage.output_tokens, done.usage)


async def async_stream(model: Any) -> None:
    done = await Chat([UserMessage("Hello there")], model=model, output_types=[AsyncStreamedStr]).asubmit()
    check("".join([piece async for piece in done.last_message.content]) == "Hello there")


def call(model: Any) -> None:
    asked = UserMessage("[[call weather city=Oslo]]")
    chat = Chat([asked], model=model, functions=[weather], output_types=[str, FunctionCall[str]]).submit()
    done = chat.exec_function_call().submit().last_message.content
    check("Rain in Oslo" in done, done)


def parallel(model: Any) -> None:
    prompt = CALLS.removeprefix("Words ")
    chat = Chat([UserMessage(prompt)], model=model, functions=[weather], output_types=[ParallelFunctionCall[str]])
    done = list(chat.submit().last_message.content)
    check([each() for each in done] == ["Rain in Oslo", "Rain in Rome"], done)


def streamed_calls(model: Any) -> None:
    types = [StreamedResponse]
    chat = Chat([UserMessage(CALLS)], model=model, functions=[weather], output_types=types).submit()
    found = [each if isinstance(each, FunctionCall) else str(each) for each in chat.last_message.content]
    for each in found:
        if isinstance(each, FunctionCall):
            chat = chat.add_message(FunctionResultMessage(content=each(), function_call=each))
    last = "".join(str(each) for each in chat.submit().last_message.content)
    check("Rain in Oslo" in last and "Rain in Rome" in last, last)


def reasoned(model: Any) -> None:
    chat = Chat(
        [UserMessage(REASONED)], model=model, functions=[weather], output_types=[str, FunctionCall[str]]
    ).submit()
    while isinstance(chat.last_message.content, FunctionCall):
        chat = chat.exec_function_call().submit()
    check("Rain in Rome" in chat.last_message.content, chat.last_message)


def structured(model: Any) -> None:
    done = Chat([UserMessage("Who?")], model=model, output_types=[City]).submit().last_message.content
    check(isinstance(done, City), done)
    found = Chat([UserMessage("Who?")], model=model, output_types=[list[City]]).submit().last_message.content
    check(all(isinstance(each, City) for each in found), found)
    number = Chat([UserMessage("Who?")], model=model, output_types=[int]).submit().last_message.content
    check(isinstance(number, int), number)


def refused(model: Any, upstream: str) -> Any:
    def asked(prompt: str) -> Exception:
        return failure(lambda: Chat([UserMessage(prompt)], model=model, output_types=[str]).submit())

    found = [asked(prompt) for prompt in ("[[error 401 message=told]]", OVERFLOWS[upstream])]
    check([status(each) for each in found] == [401, 400], found)
    return [type(each).__name__ for each in found]


run_all(
    CLIENTS,
    {
        each.__name__: each
        for each in (plain, stream, async_stream, call, parallel, streamed_calls, reasoned, structured, refused)
    },
)
