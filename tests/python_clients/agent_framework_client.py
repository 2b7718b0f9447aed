"""Microsoft's Agent Framework: agents with tools, streams, sessions, structured output, images, errors."""

from __future__ import annotations

import base64
from typing import Any

import anthropic
import openai
from agent_framework import Agent, Content, Message
from agent_framework_anthropic import AnthropicClient
from agent_framework_openai import OpenAIChatClient, OpenAIChatCompletionClient
from checks import KEY, OVERFLOWS, PIXEL, REASONED, City, check, run_all, status, weather

AGAIN = "[[reason Again.]] [[call weather city=Bern]] [[then]] [[results]]"
PARALLEL = "[[reason Hm.]] Words [[call weather city=Oslo]] [[call weather city=Rome]] [[then]] [[results]]"
THINKING = {"max_tokens": 4000, "thinking": {"type": "enabled", "budget_tokens": 2000}}
REASONING = {"effort": "low", "summary": "auto"}
UNSTORED = {"store": False, "include": ["reasoning.encrypted_content"], "reasoning": REASONING}


class Made:
    """What makes agents of one client; each check runs in an event loop of its own."""

    def __init__(self, client: Any, options: dict[str, Any]) -> None:
        self.client, self.options = client, options

    def agent(self, **options: Any) -> Agent:
        return Agent(self.client(), "Be nice.", default_options={**self.options}, **options)


def of_openai(client: Any, **options: Any) -> Any:
    def made(url: str) -> Made:
        return Made(lambda: client("gpt-5", async_client=sdk(openai.AsyncOpenAI, f"{url}/v1")), options)

    return made


def of_anthropic(url: str) -> Made:
    def client() -> Any:
        return AnthropicClient(model="claude-opus-4-5", anthropic_client=sdk(anthropic.AsyncAnthropic, url))

    return Made(client, THINKING)


def sdk(kind: Any, url: str) -> Any:
    return kind(base_url=url, api_key=KEY, max_retries=0)


CLIENTS = {
    "Agent Framework, OpenAI": ("openai-chat", of_openai(OpenAIChatCompletionClient)),
    "Agent Framework, Responses": ("openai-responses", of_openai(OpenAIChatClient, reasoning=REASONING)),
    "Agent Framework, unstored": ("openai-responses", of_openai(OpenAIChatClient, **UNSTORED)),
    "Agent Framework, Anthropic": ("anthropic-messages", of_anthropic),
}


async def plain(made: Made) -> Any:
    done = await made.agent().run("Hello there")
    check(done.text == "Hello there", done.text)
    check(done.usage_details["input_token_count"] and done.usage_details["output_token_count"], done.usage_details)
    return done.text


async def stream(made: Made) -> None:
    check(await streamed(made.agent(), "Hello there") == "Hello there")


async def calls(made: Made) -> None:
    done = await made.agent(tools=[weather]).run(PARALLEL)
    check("Rain in Oslo" in done.text and "Rain in Rome" in done.text, done.text)


async def streamed_calls(made: Made) -> None:
    told = await streamed(made.agent(tools=[weather]), PARALLEL)
    check("Rain in Oslo" in told and "Rain in Rome" in told, told)


async def agent(made: Made) -> None:
    agent = made.agent(tools=[weather])
    session = agent.create_session()
    done = await agent.run(REASONED, session=session)
    check("Rain in Rome" in done.text, done.text)
    done = await agent.run(AGAIN, session=session)
    check("Rain in Bern" in done.text, done.text)


async def streamed_agent(made: Made) -> None:
    agent = made.agent(tools=[weather])
    session = agent.create_session()
    for prompt, city in ((REASONED, "Rome"), (AGAIN, "Bern")):
        told = await streamed(agent, prompt, session=session)
        check(f"Rain in {city}" in told, told)


async def streamed(agent: Agent, prompt: str, **options: Any) -> str:
    """The text of a streamed answer; the framework merges its updates, some of which replace those before."""
    updates = agent.run(prompt, stream=True, **options)
    count = len([update async for update in updates if update.text])
    check(count > 1, count)
    return (await updates.get_final_response()).text


async def structured(made: Made) -> None:
    done = await made.agent().run("Who?", options={"response_format": City})
    check(isinstance(done.value, City), done.value)


async def image(made: Made) -> None:
    picture = Content.from_data(base64.b64decode(PIXEL), "image/png")
    done = await made.agent().run(Message("user", [Content.from_text("What is it?"), picture]))
    check("[image image/png]" in done.text, done.text)


async def refused(made: Made, upstream: str) -> Any:
    found = []
    for prompt in ("[[error 401 message=told]]", "[[error 429 message=told]]", OVERFLOWS[upstream]):
        try:
            await made.agent().run(prompt)
        except Exception as error:
            found.append(error)
    check([status(each) for each in found] == [401, 429, 400], found)
    return [type(each).__name__ for each in found]


run_all(
    CLIENTS,
    {
        each.__name__: each
        for each in (plain, stream, calls, streamed_calls, agent, streamed_agent, structured, image, refused)
    },
)
