// What the providers of the AI SDK make of answers and streams, one JSON document a line on stdin; one line each on stdout.

import { createInterface } from "node:readline";

import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";

const of = { apiKey: "unused", baseURL: "http://127.0.0.1:9/v1" }; // nothing is sent to it
const clients = {
  "ai, OpenAI Chat": (given) => createOpenAI(given).chat("m"),
  "ai, OpenAI Responses": (given) => createOpenAI(given).responses("m"),
  "ai, OpenAI-compatible": (given) => createOpenAICompatible({ ...given, name: "gateway", includeUsage: true })("m"),
  "ai, Anthropic": (given) => createAnthropic(given)("m"),
  "ai, Google": (given) => createGoogleGenerativeAI(given)("m"),
};
const prompt = [{ role: "user", content: [{ type: "text", text: "Hi" }] }];

/** What an answer says: the parts of the answer itself, or those that its stream amounts to. */
async function told(model, streamed) {
  if (!streamed) {
    const { content, finishReason, usage } = await model.doGenerate({ prompt });
    return { content, finish: finishReason.unified, usage };
  }
  const { stream } = await model.doStream({ prompt });
  const content = [];
  const open = {};
  let finish;
  let usage;
  for await (const part of stream) {
    if (part.type === "error") throw part.error;
    if (part.type === "finish") ({ finishReason: { unified: finish }, usage } = part);
    const [type, step] = /^(text|reasoning)-(start|delta)$/.exec(part.type)?.slice(1) ?? [];
    if (step === "start") content.push((open[type + part.id] = { type, text: "" }));
    else if (step === "delta") open[type + part.id].text += part.delta;
    else if (["tool-call", "tool-result", "source", "file"].includes(part.type)) content.push(part);
  }
  return { content, finish, usage };
}

const shown = (error) => {
  const causes = [];
  for (let each = error; each && causes.length < 4; each = each.cause) causes.push(each.message ?? JSON.stringify(each));
  return causes.join(" <- ").slice(-1500);
};

for await (const line of createInterface({ input: process.stdin })) {
  const { client, streamed, body } = JSON.parse(line);
  const headers = { "content-type": streamed ? "text/event-stream" : "application/json" };
  const fetch = async () => new Response(body, { headers });
  let said;
  try {
    said = await told(clients[client]({ ...of, fetch }), streamed);
  } catch (error) {
    said = { problem: shown(error) };
  }
  console.log(JSON.stringify(said));
}
