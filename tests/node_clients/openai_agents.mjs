// The Agents SDK of OpenAI: loops of tools with reasoning in between, whole and streamed.

import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";

import { KEY, URL, check, rain, runAll } from "./checks.mjs";

setTracingDisabled(true);

const client = new OpenAI({ baseURL: `${URL}/v1`, apiKey: KEY, maxRetries: 0 });
const clients = {
  "@openai/agents, Chat": (model) => new OpenAIChatCompletionsModel(client, model),
  "@openai/agents, Responses": (model) => new OpenAIResponsesModel(client, model),
};
const tools = [tool({ name: "weather", description: "w", parameters: z.object({ city: z.string() }), execute: async (of) => rain(of) })];
const PROMPT =
  "[[reason One.]] [[call weather city=Oslo]] [[call weather city=Rome]] [[then]] [[reason Two.]] [[call weather city=Bonn]] [[then]] [[results]]";

await runAll(clients, {
  async loop(model) {
    const done = await run(new Agent({ name: "helper", instructions: "Be nice.", model, tools }), PROMPT);
    check(done.finalOutput.includes("Rain in Bonn"), done.finalOutput);
  },
  async streamed_loop(model) {
    const done = await run(new Agent({ name: "helper", model, tools }), PROMPT, { stream: true });
    for await (const _ of done);
    await done.completed;
    check(done.finalOutput.includes("Rain in Bonn"), done.finalOutput);
  },
  async structured(model) {
    const done = await run(new Agent({ name: "helper", model, outputType: z.object({ name: z.string() }) }), "Who?");
    check(typeof done.finalOutput.name === "string", done.finalOutput);
  },
});
