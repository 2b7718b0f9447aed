"""Mistakes, one a line. Both checkers must find each of those that are marked, and nothing on the other lines."""

from __future__ import annotations

import unified_llm as ul
from unified_llm import models

client = ul.Client(model="local/echo")


@ul.tool
def weather(city: str) -> str:
    return city


ul.Clent()  # error
ul.alike_names  # error
ul.Client(api_keys="k")  # error
ul.Client(model=5)  # error
ul.Client(protocol=5)  # error
ul.Client(api_key=5)  # error
ul.Client(timeout="long")  # error
client.responses.create(input="Hi", max_tokens=5)  # error
client.responses.create(input="Hi", temperature="hot")  # error
client.responses.create(input="Hi", reasoning={"effrt": "high"})  # error
client.responses.create(input="Hi", text={"format": {"typ": "json_object"}})  # error
client.responses.create(input="Hi", on_loss="rise")  # error
client.responses.create(model=5, input="Hi")  # error
client.responses.create(input=5)  # error
client.responses.parse(input="Hi")  # error
client.responses.parse(text_format=int, input="Hi", strategy="fast")  # error
client.responses.parse(text_format=int, input="Hi").output_parsed.upper()  # error
client.responses.run(input="Hi", max_turns="3")  # error
client.responses.run(input="Hi", turns=3)  # error
client.responses.run(input="Hi").pending[0].nme  # error
client.responses.run(input="Hi").output_parsed.name  # error
client.responses.create(input="Hi").hops[0].why  # error
client.responses.create(input="Hi").upstream.hostname  # error
client.responses.retrieve(5)  # error
client.count_tokens(input="Hi", max_token=1)  # error
client.responses.create(input="Hi").output_txt  # error
client.responses.create(input="Hi", stream=True).output_text  # error
for event in client.responses.create(input="Hi", stream=True):
    event.delta  # error
    if event.type == "response.output_text.delta":
        event.text  # error
        event.delta.upper()  # error
    if event.type == "response.output_text.detla":  # error
        pass
weather(5)  # error
weather("Rome", 5)  # error
weather(town="Rome")  # error
weather("Rome").real  # error
ul.tool(strict="yes")(print)  # error
ul.tool(5)  # error
ul.Message(role="user", contents="Hi")  # error
ul.Usage(input_tokens="3")  # error
ul.convert({}, source="openai-chat", target="openai-responses", kindd="response")  # error
ul.convert({}, source="openai-chat")  # error
ul.convert_stream([], source="openai-chat", target="openai-responses", modl="m")  # error
ul.preview({}, source="openai-chat", target="openai-responses", on_loss="rise")  # error
ul.read({}, "openai-chat").outputs  # error
ul.read({}, "openai-chat", "response").messages  # error
ul.write("text", "openai-chat")  # error
ul.http_client("local/echo", librari="httpx")  # error
models.get("openai/gpt-5.5").tool_calls  # error


async def in_an_event_loop() -> None:
    aclient = ul.AsyncClient(model="local/echo")
    await aclient.responses.create(input="Hi", max_tokens=5)  # error
    (await aclient.responses.create(input="Hi")).output_txt  # error
    for chunk in await aclient.responses.create(input="Hi", stream=True):  # error
        pass
