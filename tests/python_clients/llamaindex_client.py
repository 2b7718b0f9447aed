"""LlamaIndex: chat, streams, agents with functions, structured output, images, reasoning."""

from __future__ import annotations

from typing import Any

from checks import CALLS, KEY, OVERFLOWS, PIXEL, REASONED, City, check, failure, run_all, status, weather
from google.genai import types
from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.core.llms import ChatMessage, ImageBlock, TextBlock
from llama_index.core.prompts import PromptTemplate
from llama_index.core.tools import FunctionTool
from llama_index.llms.anthropic import Anthropic
from llama_index.llms.google_genai import GoogleGenAI
from llama_index.llms.openai import OpenAI, OpenAIResponses

THINKING = {"type": "enabled", "budget_tokens": 2000}
THOUGHTS = types.GenerateContentConfig(thinking_config=types.ThinkingConfig(include_thoughts=True))
CLIENTS = {
    "LlamaIndex, OpenAI": (
        "openai-chat",
        lambda url: OpenAI(model="gpt-5", api_base=f"{url}/v1", api_key=KEY, max_retries=0, reasoning_effort="low"),
    ),
    "LlamaIndex, OpenAIResponses": (
        "openai-responses",
        lambda url: OpenAIResponses(
            model="gpt-5",
            api_base=f"{url}/v1",
            api_key=KEY,
            max_retries=0,
            reasoning_options={"effort": "low", "summary": "auto"},
            include=["reasoning.encrypted_content"],
        ),
    ),
    "LlamaIndex, Anthropic": (
        "anthropic-messages",
        lambda url: Anthropic(model="claude-sonnet-4-5", base_url=url, api_key=KEY, max_retries=0, max_tokens=4000),
    ),
    "LlamaIndex, Anthropic, thinking": (
        "anthropic-messages",
        lambda url: Anthropic(
            model="claude-sonnet-4-5",
            base_url=url,
            api_key=KEY,
            max_retries=0,
            max_tokens=4000,
            thinking_dict=THINKING,
        ),
    ),
    "LlamaIndex, GoogleGenAI": (
        "google-generate-content",
        lambda url: GoogleGenAI(
            model="gemini-3-pro-preview",
            api_key=KEY,
            max_retries=0,
            context_window=200000,
            max_tokens=4000,
            http_options=types.HttpOptions(base_url=url),
            generation_config=THOUGHTS,
        ),
    ),
}
HELLO = [ChatMessage(role="user", content="Hello there")]
TOOL = FunctionTool.from_defaults(weather)


def plain(llm: Any) -> Any:
    done = llm.chat(HELLO)
    check(done.message.content == "Hello there", done)
    return done


def system(llm: Any) -> Any:
    done = llm.chat([ChatMessage(role="system", content="Be nice."), *HELLO, done_before(), *HELLO])
    check(done.message.content == "Hello there", done)


def done_before() -> ChatMessage:
    return ChatMessage(role="assistant", content="Hello to you")


def stream(llm: Any) -> Any:
    pieces = list(llm.stream_chat(HELLO))
    check("".join(piece.delta or "" for piece in pieces) == "Hello there", pieces)
    check(pieces[-1].message.content == "Hello there", pieces[-1])
    return pieces[-1]


def calls(llm: Any) -> Any:
    asked = ChatMessage(role="user", content=CALLS)
    first = llm.chat_with_tools([TOOL], chat_history=[asked], allow_parallel_tool_calls=True)
    return answered(llm, asked, first)


def streamed_calls(llm: Any) -> Any:
    asked = ChatMessage(role="user", content=CALLS)
    *_, first = llm.stream_chat_with_tools([TOOL], chat_history=[asked], allow_parallel_tool_calls=True)
    return answered(llm, asked, first)


def answered(llm: Any, asked: ChatMessage, first: Any) -> Any:
    found = llm.get_tool_calls_from_response(first)
    check([each.tool_kwargs for each in found] == [{"city": "Oslo"}, {"city": "Rome"}], found)
    results = [
        ChatMessage(
            role="tool",
            content=weather(**each.tool_kwargs),
            additional_kwargs={"tool_call_id": each.tool_id, "name": each.tool_name},
        )
        for each in found
    ]
    last = llm.chat_with_tools([TOOL], chat_history=[asked, first.message, *results])
    check("Rain in Oslo" in last.message.content and "Rain in Rome" in last.message.content, last)
    return first


async def agent(llm: Any) -> None:
    run = FunctionAgent(tools=[weather], llm=llm, system_prompt="Be brief.").run(user_msg=REASONED)
    pieces = [event.delta async for event in run.stream_events() if isinstance(event, AgentStream)]
    done = await run
    check("Rain in Rome" in str(done) and len(done.tool_calls) == 2, done)
    check("Rain" in "".join(pieces), pieces)


async def quiet_agent(llm: Any) -> None:
    done = await FunctionAgent(tools=[weather], llm=llm, streaming=False).run(user_msg=REASONED)
    check("Rain in Rome" in str(done) and len(done.tool_calls) == 2, done)


def structured(llm: Any) -> None:
    done = llm.structured_predict(City, PromptTemplate("Who is {who}?"), who="it")
    check(isinstance(done, City), done)
    *_, last = llm.stream_structured_predict(City, PromptTemplate("Who is {who}?"), who="it")
    check(last.name, last)


def as_structured(llm: Any) -> None:
    done = llm.as_structured_llm(City).chat(HELLO)
    check(isinstance(done.raw, City), done)


def image(llm: Any) -> None:
    blocks = [TextBlock(text="What is it?"), ImageBlock(image=PIXEL.encode(), image_mimetype="image/png")]
    done = llm.chat([ChatMessage(role="user", blocks=blocks)])
    check("[image image/png]" in done.message.content, done)


def reasoned(llm: Any) -> Any:
    asked = ChatMessage(role="user", content="[[reason Think.]] The end")
    first = llm.chat([asked])
    check(first.message.content == "The end", first)
    last = llm.chat([asked, first.message, ChatMessage(role="user", content="And now?")])
    check(last.message.content == "And now?", last)
    return first


def streamed_reasoned(llm: Any) -> Any:
    asked = ChatMessage(role="user", content="[[reason Think.]] The end")
    *_, first = llm.stream_chat([asked])
    check(first.message.content == "The end", first)
    last = llm.chat([asked, first.message, ChatMessage(role="user", content="And now?")])
    check(last.message.content == "And now?", last)
    return first


def refused(llm: Any, upstream: str) -> Any:
    def asked(prompt: str) -> Exception:
        return failure(lambda: llm.chat([ChatMessage(role="user", content=prompt)]))

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
            system,
            stream,
            calls,
            streamed_calls,
            agent,
            quiet_agent,
            structured,
            as_structured,
            image,
            reasoned,
            streamed_reasoned,
            refused,
        )
    },
)
