// The AI SDK of Vercel, which checks what it gets with schemas of its own.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Output, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

import { KEY, PIXEL, URL, check, failure, rain, runAll } from "./checks.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;

const of = { baseURL: `${URL}/v1`, apiKey: KEY };
const openai = createOpenAI(of);
const compatible = { ...of, name: "gateway", includeUsage: true, supportsStructuredOutputs: true };
const clients = {
  "ai, OpenAI Chat": (model) => openai.chat(model),
  "ai, OpenAI Responses": (model) => openai.responses(model),
  "ai, OpenAI-compatible": (model) => createOpenAICompatible(compatible)(model),
  "ai, Anthropic": (model) => createAnthropic(of)(model),
  "ai, Google": (model) => createGoogleGenerativeAI({ ...of, baseURL: `${URL}/v1beta` })(model),
};

const tools = { weather: tool({ description: "w", inputSchema: z.object({ city: z.string() }), execute: async (of) => rain(of) }) };
const thinking = {
  openai: { forceReasoning: true, reasoningEffort: "high", reasoningSummary: "auto" },
  anthropic: { thinking: { type: "enabled", budgetTokens: 2000 } },
  google: { thinkingConfig: { includeThoughts: true } },
};
const quiet = { maxRetries: 0, onError() {} };

/** The parts of a stream, read to its end; an error among them is raised. */
async function parts(stream) {
  const found = [];
  for await (const part of stream.fullStream) {
    if (part.type === "error" || part.type === "tool-error") throw part.error;
    found.push(part);
  }
  return found;
}

await runAll(clients, {
  async plain(model) {
    const done = await generateText({ model, prompt: "Hello there" });
    check(done.text === "Hello there" && done.finishReason === "stop", done.text);
    check(done.usage.inputTokens > 0 && done.usage.outputTokens > 0, done.usage);
  },
  async stream(model) {
    const stream = streamText({ model, prompt: "Hello there", ...quiet });
    const deltas = (await parts(stream)).filter((part) => part.type === "text-delta");
    check(deltas.map((part) => part.text).join("") === "Hello there", deltas);
    const usage = await stream.usage;
    check(usage.inputTokens > 0 && usage.outputTokens > 0, usage);
  },
  async settings(model) {
    const sampled = { temperature: 0.3, topP: 0.9, maxOutputTokens: 100, seed: 3, stopSequences: ["X"] };
    check((await generateText({ model, system: "Be nice.", prompt: "Hello", ...sampled })).text === "Hello", "its text");
  },
  async tools(model) {
    const prompt = "[[call weather city=Oslo]]";
    const done = await generateText({ model, prompt, tools, stopWhen: stepCountIs(3) });
    check(done.steps.length === 2 && done.steps[0].finishReason === "tool-calls", done.steps.length);
    check(done.text.includes("Rain in Oslo"), done.text);
  },
  async streamed_tools(model) {
    const prompt = "Words [[call weather city=Oslo]] [[call weather city=Rome]]";
    const stream = streamText({ model, prompt, tools, stopWhen: stepCountIs(3), ...quiet });
    check((await parts(stream)).filter((part) => part.type === "tool-call").length === 2, "two calls");
    check((await stream.text).includes("Rain in Rome"), await stream.text);
  },
  async tool_choice(model) {
    const done = await generateText({ model, prompt: "Use it.", tools, toolChoice: { type: "tool", toolName: "weather" } });
    check(done.toolCalls.length > 0, "no call");
  },
  async structured(model) {
    const output = Output.object({ schema: z.object({ name: z.string(), age: z.number().int() }) });
    check(typeof (await generateText({ model, prompt: "Who?", output })).output.name === "string", "its output");
    const stream = streamText({ model, prompt: "Who?", output, ...quiet });
    for await (const _ of stream.partialOutputStream);
    check(typeof (await stream.output).name === "string", "its streamed output");
  },
  async thoughts(model) {
    const one = { role: "user", content: "[[reason Think.]] The end" };
    const first = await generateText({ model, messages: [one], providerOptions: thinking });
    check(first.text.includes("The end"), first.text);
    const messages = [one, ...first.response.messages, { role: "user", content: "And now?" }];
    check((await generateText({ model, messages, providerOptions: thinking })).text.includes("And now?"), "the second turn");
  },
  async thoughts_between_calls(model) {
    const prompt = "[[reason One.]] [[call weather city=Oslo]] [[then]] [[reason Two.]] [[call weather city=Rome]] [[then]] [[results]]";
    const stream = streamText({ model, prompt, tools, stopWhen: stepCountIs(5), providerOptions: thinking, ...quiet });
    await parts(stream);
    check((await stream.text).includes("Rain in Rome"), await stream.text);
  },
  async files(model) {
    const image = { type: "image", image: PIXEL, mediaType: "image/png" };
    const file = { type: "file", data: "JVBERi0xLjQKJcfs", mediaType: "application/pdf", filename: "a.pdf" };
    const content = [{ type: "text", text: "What is it?" }, image, file];
    const done = await generateText({ model, messages: [{ role: "user", content }] });
    check(done.text.includes("What is it?"), done.text);
  },
  async cited(model) {
    const done = await generateText({ model, prompt: "So it is [[cite https://example.org title=Example]]" });
    check(done.text === "So it is", done.text);
  },
  async cut_short(model) {
    check((await generateText({ model, prompt: "[[stop length]] cut" })).finishReason === "length", "its reason");
  },
  async refused(model) {
    const slow = await failure(() => generateText({ model, prompt: "[[error 429 message=slow]]", maxRetries: 0 }));
    check(slow.statusCode === 429 && slow.isRetryable, slow.message);
    const bad = await failure(() => generateText({ model, prompt: "[[error 400 message=bad]]", maxRetries: 0 }));
    check(bad.statusCode === 400 && !bad.isRetryable && bad.message.includes("bad"), bad.message);
  },
  async broken_off(model) {
    await failure(() => parts(streamText({ model, prompt: "One two three [[break after 2]] four", ...quiet })));
  },
});
