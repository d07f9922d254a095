/** Generates a long coding session with names, rules and tool calls like a real one. The same seed gives the same session. */
import type { UIMessage } from "ai";
import { mulberry } from "../random.ts";

const ROOMS = ["parser", "ledger", "outline", "fence", "search", "billing", "session", "router"] as const;
const RULES = [
  (name: string): string => `Never touch ${name} without asking me first.`,
  (name: string): string => `Always run the tests of ${name} before you commit.`,
  (name: string): string => `Please do not rename anything in ${name}.`,
] as const;

/** Each turn is a question, three steps with a tool call each, and an answer. */
export function makeConversation(turns: number, seed: number): UIMessage[] {
  const chance = mulberry(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(chance() * from.length)] as T;
  const hex = (): string =>
    Math.floor(chance() * 0xfff_ffff)
      .toString(16)
      .padStart(7, "a");
  const path = (n: number): string => `src/${pick(ROOMS)}/${pick(ROOMS)}-${n}.ts`;
  return Array.from({ length: turns }, (_, n): UIMessage[] => {
    const rule = n % 6 === 0 ? ` ${pick(RULES)(path(n))}` : "";
    const asked = `Turn ${n}: please look at ${path(n)} and mend what commit ${hex()} broke.${rule}`;
    const steps = Array.from({ length: 3 }, (_, step): UIMessage["parts"] => [
      { type: "step-start" },
      { type: "text", text: `I read ${path(n)} next.` },
      {
        type: "dynamic-tool",
        toolName: "read",
        toolCallId: `call-${n}-${step}`,
        state: "output-available",
        input: { path: path(n) },
        output: Array.from({ length: 30 }, (_, line) => `${line}: the ${pick(ROOMS)} calls ${pick(ROOMS)} here`).join(
          "\n",
        ),
      },
    ]);
    const answer = `Done in ${path(n)}, commit ${hex()}: the ${pick(ROOMS)} keeps its promise again.`;
    return [
      { id: `u${n}`, role: "user", parts: [{ type: "text", text: asked }] },
      {
        id: `a${n}`,
        role: "assistant",
        parts: [...steps.flat(), { type: "step-start" }, { type: "text", text: answer }],
      },
    ];
  }).flat();
}

/** Share of the turns of a returning session that come back to something said before. */
const RETURNS = 0.6;

/**
 * The same kind of session with repetitions. Most turns name a file, a commit or an order of some earlier turn. Each earlier turn is
 * equally likely, however long ago it was.
 */
export function makeReturning(turns: number, seed: number): UIMessage[] {
  const chance = mulberry(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(chance() * from.length)] as T;
  const said: { readonly path: string; readonly order: string }[] = [];
  return makeConversation(turns, seed).map((message, at): UIMessage => {
    if (message.role !== "user") return message;
    const n = at / 2;
    const path = `src/${pick(ROOMS)}/${pick(ROOMS)}-${n}.test.ts`;
    const order = `ORD-${1_000 + Math.floor(chance() * 9_000)}`;
    const again = said.length > 0 && chance() < RETURNS ? pick(said) : null;
    said.push({ path, order });
    const news = `The order ${order} fails in ${path}.`;
    const text = again === null ? news : `${news} It was like that in ${again.path}, for ${again.order}.`;
    return { ...message, parts: [...message.parts, { type: "text", text }] };
  });
}
