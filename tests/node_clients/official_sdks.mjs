// The official SDKs with their stream helpers, tool runners and parsers.

import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { GoogleGenAI, Type } from "@google/genai";
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

import { KEY, SCHEMA, URL, check, failure, rain, runAll } from "./checks.mjs";

const openai = new OpenAI({ baseURL: `${URL}/v1`, apiKey: KEY, maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: URL, apiKey: KEY, maxRetries: 0 });
const google = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: URL } });

const TWO_CALLS = "Words [[call weather city=Oslo]] [[call weather city=Rome]]";
const CUT = "One two three [[break after 2]] four";
const Person = z.object({ name: z.string(), tags: z.array(z.string()) });
const declared = { name: "weather", description: "The weather of a city.", parameters: SCHEMA, strict: true };
const runnable = { ...declared, function: rain, parse: JSON.parse };
const runner = betaZodTool({ name: "weather", description: "w", inputSchema: z.object({ city: z.string() }), run: rain });
const user = (content) => [{ role: "user", content }];
const texts = (message) => message.content.map((block) => block.text ?? "").join("");

const chat = {
  async plain(model) {
    const done = await openai.chat.completions.create({ model, messages: user("Hello") });
    check(done.choices[0].message.content === "Hello" && done.usage.total_tokens > 0, done);
  },
  async stream(model) {
    const asked = { model, messages: user("Hello there"), stream_options: { include_usage: true } };
    const stream = openai.chat.completions.stream(asked);
    let text = "";
    stream.on("content", (delta) => (text += delta));
    const done = await stream.finalChatCompletion();
    check(text === "Hello there" && done.choices[0].message.content === text, text);
    check((await stream.totalUsage()).total_tokens > 0, "no usage");
  },
  async tools(model) {
    const tools = [{ type: "function", function: runnable }];
    const text = await openai.chat.completions.runTools({ model, messages: user(TWO_CALLS), tools }).finalContent();
    check(text.includes("Rain in Rome"), text);
  },
  async streamed_tools(model) {
    const tools = [{ type: "function", function: runnable }];
    const run = openai.chat.completions.runTools({ model, stream: true, messages: user(TWO_CALLS), tools });
    check((await run.finalContent()).includes("Rain in Rome"), "no result");
  },
  async parse(model) {
    const asked = { model, messages: user("Who?"), response_format: zodResponseFormat(Person, "person") };
    check((await openai.chat.completions.parse(asked)).choices[0].message.parsed.name !== undefined, "not parsed");
    const streamed = await openai.chat.completions.stream(asked).finalChatCompletion();
    check(streamed.choices[0].message.parsed.name !== undefined, "not parsed of a stream");
  },
  async refused(model) {
    const asked = { model, messages: user("[[error 400 message=bad]]") };
    check((await failure(() => openai.chat.completions.create(asked))) instanceof OpenAI.BadRequestError, "its class");
  },
  async broken_off(model) {
    await failure(async () => {
      for await (const _ of await openai.chat.completions.create({ model, stream: true, messages: user(CUT) }));
    });
  },
};

const responses = {
  async plain(model) {
    const done = await openai.responses.create({ model, input: "Hello" });
    check(done.output_text === "Hello", done);
  },
  async stream(model) {
    const stream = openai.responses.stream({ model, input: "Hello there" });
    let text = "";
    for await (const event of stream) if (event.type === "response.output_text.delta") text += event.delta;
    check(text === "Hello there" && (await stream.finalResponse()).output_text === text, text);
  },
  async tools(model) {
    const tools = [{ type: "function", ...declared }];
    const first = await openai.responses.stream({ model, input: TWO_CALLS, tools }).finalResponse();
    const calls = first.output.filter((item) => item.type === "function_call");
    check(calls.length === 2 && JSON.parse(calls[1].arguments).city === "Rome", first);
    const input = calls.map(({ call_id }) => ({ type: "function_call_output", call_id, output: "Rain" }));
    const last = await openai.responses.create({ model, previous_response_id: first.id, input, tools });
    check(last.output_text.includes("Rain"), last);
  },
  async parse(model) {
    const done = await openai.responses.parse({ model, input: "Who?", text: { format: zodTextFormat(Person, "p") } });
    check(done.output_parsed.name !== undefined, done);
  },
  async background(model) {
    let run = await openai.responses.create({ model, input: "Hello", background: true });
    while (["queued", "in_progress"].includes(run.status)) {
      await new Promise((wake) => setTimeout(wake, 50));
      run = await openai.responses.retrieve(run.id);
    }
    check(run.output_text === "Hello", run);
    check((await openai.responses.inputItems.list(run.id)).data.length === 1, "its input");
    await openai.responses.delete(run.id);
  },
  async conversation(model) {
    const { id } = await openai.conversations.create({ items: [{ type: "message", role: "user", content: "One" }] });
    const done = await openai.responses.create({ model, conversation: id, input: "Two" });
    check(done.output_text.includes("Two"), done);
    check((await openai.conversations.items.list(id)).data.length === 3, "its items");
  },
  async models(model) {
    check((await openai.models.retrieve(model)).id === model, "its id");
    for await (const each of openai.models.list()) if (each.id === model) return;
    check(false, "not in the list");
  },
  async broken_off(model) {
    await failure(() => openai.responses.stream({ model, input: CUT }).finalResponse());
  },
};

const messages = {
  async plain(model) {
    const done = await anthropic.messages.create({ model, max_tokens: 99, messages: user("Hello") });
    check(texts(done) === "Hello" && done.usage.output_tokens > 0, done);
  },
  async stream(model) {
    const thinking = { type: "enabled", budget_tokens: 2000 };
    const asked = { model, max_tokens: 3000, thinking, messages: user("[[reason Think.]] Hello there") };
    const stream = anthropic.messages.stream(asked);
    let text = "";
    stream.on("text", (delta) => (text += delta));
    check(texts(await stream.finalMessage()) === text && text.includes("Hello there"), text);
  },
  async tools(model) {
    const asked = { model, max_tokens: 999, messages: user(TWO_CALLS), tools: [runner] };
    const done = await anthropic.beta.messages.toolRunner(asked);
    check(texts(done).includes("Rain in Rome"), done);
  },
  async streamed_tools(model) {
    const asked = { model, max_tokens: 999, stream: true, messages: user(TWO_CALLS), tools: [runner] };
    let last;
    for await (const stream of anthropic.beta.messages.toolRunner(asked)) last = await stream.finalMessage();
    check(texts(last).includes("Rain in Rome"), last);
  },
  async count(model) {
    check((await anthropic.messages.countTokens({ model, messages: user("Hello") })).input_tokens > 0, "no count");
  },
  async models(model) {
    for await (const each of anthropic.models.list()) if (each.id === model) return;
    check(false, "not in the list");
  },
  async refused(model) {
    const asked = { model, max_tokens: 9, messages: user("[[error 429 message=slow]]") };
    check((await failure(() => anthropic.messages.create(asked))) instanceof Anthropic.RateLimitError, "its class");
  },
  async broken_off(model) {
    await failure(() => anthropic.messages.stream({ model, max_tokens: 99, messages: user(CUT) }).finalMessage());
  },
};

const generate = {
  async plain(model) {
    const done = await google.models.generateContent({ model, contents: "Hello" });
    check(done.text === "Hello" && done.usageMetadata.totalTokenCount > 0, done);
  },
  async stream(model) {
    let text = "";
    for await (const chunk of await google.models.generateContentStream({ model, contents: "Hello there" }))
      text += chunk.text ?? "";
    check(text === "Hello there", text);
  },
  async thoughts(model) {
    const talk = google.chats.create({ model, config: { thinkingConfig: { includeThoughts: true } } });
    for await (const _ of await talk.sendMessageStream({ message: "[[reason Think.]] One" }));
    check((await talk.sendMessage({ message: "Two" })).text === "Two", "the second turn");
  },
  async tools(model) {
    const parameters = { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ["city"] };
    const tools = [{ functionDeclarations: [{ name: "weather", description: "w", parameters }] }];
    const talk = google.chats.create({ model, config: { tools } });
    const first = await talk.sendMessage({ message: `[[reason Think.]] ${TWO_CALLS}` });
    check(first.functionCalls.length === 2, first);
    const response = { output: "Rain" };
    const results = first.functionCalls.map(({ id, name }) => ({ functionResponse: { id, name, response } }));
    check((await talk.sendMessage({ message: results })).text.includes("Rain"), "the results");
  },
  async structured(model) {
    const responseSchema = { type: Type.OBJECT, properties: { name: { type: Type.STRING } }, required: ["name"] };
    const config = { responseMimeType: "application/json", responseSchema };
    const done = await google.models.generateContent({ model, contents: "Who?", config });
    check(JSON.parse(done.text).name !== undefined, done);
  },
  async count(model) {
    check((await google.models.countTokens({ model, contents: "Hello" })).totalTokens > 0, "no count");
  },
  async models(model) {
    for await (const each of await google.models.list()) if (each.name === `models/${model}`) return;
    check(false, "not in the list");
  },
  async broken_off(model) {
    await failure(async () => {
      for await (const _ of await google.models.generateContentStream({ model, contents: CUT }));
    });
  },
};

const interactions = {
  async plain(model) {
    const first = await google.interactions.create({ model, input: "Hello" });
    check(JSON.stringify(first).includes("Hello"), first);
    const second = await google.interactions.create({ model, input: "Two", previous_interaction_id: first.id });
    check(JSON.stringify(second).includes("Two"), second);
    check((await google.interactions.get(first.id)).id === first.id, "its id");
  },
  async stream(model) {
    let text = "";
    for await (const event of await google.interactions.create({ model, input: "Hello there", stream: true }))
      text += event.delta?.text ?? "";
    check(text === "Hello there", text);
  },
};

const same = (model) => model;
await runAll(
  {
    "openai, Chat": same,
    "openai, Responses": same,
    "@anthropic-ai/sdk": same,
    "@google/genai": same,
    "@google/genai, Interactions": same,
  },
  {
    "openai, Chat": chat,
    "openai, Responses": responses,
    "@anthropic-ai/sdk": messages,
    "@google/genai": generate,
    "@google/genai, Interactions": interactions,
  },
);
