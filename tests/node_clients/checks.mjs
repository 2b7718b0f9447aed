// What the programs of this folder share: the model is the name of the upstream, and each check prints one line of JSON.

export const URL = process.argv[2];
export const UPSTREAMS = process.argv[3].split(",");
export const KEY = "unused";
export const SCHEMA = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };
export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
export const rain = ({ city }) => `Rain in ${city}`;

const PATIENCE = 20_000; // milliseconds

export function check(holds, what) {
  if (!holds) throw new Error(typeof what === "string" ? what : JSON.stringify(what));
}

/** The error that `call` fails with. */
export async function failure(call) {
  let error;
  try {
    await call();
  } catch (raised) {
    error = raised;
  }
  check(error, "no error");
  return error;
}

/** Run every check of every client over every upstream; a client is made of the name of a model. */
export async function runAll(clients, checks) {
  for (const [client, made] of Object.entries(clients)) {
    for (const upstream of UPSTREAMS) {
      for (const [name, run] of Object.entries(checks[client] ?? checks)) {
        let problem = null;
        try {
          await Promise.race([run(made(upstream)), timeout()]);
        } catch (error) {
          const cause = error.cause?.message ?? error.responseBody;
          problem = [error.name, error.message, cause].filter(Boolean).join(": ").slice(0, 600);
        }
        console.log(JSON.stringify({ client, upstream, check: name, problem }));
      }
    }
  }
  process.exit(0); // connections are kept alive
}

function timeout() {
  return new Promise((_, refuse) => setTimeout(() => refuse(new Error("no answer in time")), PATIENCE).unref());
}
