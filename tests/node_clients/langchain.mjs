// LangChain.js: models, tools in a loop, structured output.

import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";

import { KEY, URL, check, failure, rain, runAll } from "./checks.mjs";

const of = { apiKey: KEY, maxRetries: 0 };
const openai = { ...of, configuration: { baseURL: `${URL}/v1` } };
const clients = {
  "LangChain, OpenAI Chat": (model) => new ChatOpenAI({ ...openai, model }),
  "LangChain, OpenAI Responses": (model) => new ChatOpenAI({ ...openai, model, useResponsesApi: true }),
  "LangChain, Anthropic": (model) => new ChatAnthropic({ ...of, model, anthropicApiUrl: URL, maxTokens: 999 }),
  "LangChain, Google": (model) => new ChatGoogleGenerativeAI({ ...of, model, baseUrl: URL }),
};

const weather = tool(async (of) => rain(of), { name: "weather", description: "w", schema: z.object({ city: z.string() }) });
const asked = new HumanMessage("Words [[call weather city=Oslo]] [[call weather city=Rome]]");
const text = ({ content }) => (typeof content === "string" ? content : content.map((part) => part.text ?? "").join(""));

async function joined(stream) {
  let whole;
  for await (const chunk of stream) whole = whole?.concat(chunk) ?? chunk;
  return whole;
}

async function answered(model, first) {
  check(first.tool_calls.length === 2, first.tool_calls);
  const results = await Promise.all(first.tool_calls.map((call) => weather.invoke(call)));
  check(text(await model.invoke([asked, first, ...results])).includes("Rain in Rome"), "the results");
}

await runAll(clients, {
  async plain(model) {
    const done = await model.invoke("Hello");
    check(text(done) === "Hello" && done.usage_metadata.total_tokens > 0, done.content);
  },
  async stream(model) {
    check(text(await joined(await model.stream("Hello there"))) === "Hello there", "its text");
  },
  async tools(model) {
    const able = model.bindTools([weather]);
    await answered(able, await able.invoke([asked]));
  },
  async streamed_tools(model) {
    const able = model.bindTools([weather]);
    await answered(able, await joined(await able.stream([asked])));
  },
  async structured(model) {
    const done = await model.withStructuredOutput(z.object({ name: z.string() })).invoke("Who?");
    check(typeof done.name === "string", done);
  },
  async refused(model) {
    check((await failure(() => model.invoke("[[error 400 message=bad]]"))).message.includes("bad"), "its message");
  },
});
