/** A client that keeps the messages which the base class pruned, and posts all of them back with each turn, as `useAgentChat` does. */
import type { UIMessage } from "ai";
import { beforeAll, expect, test } from "vitest";
import { skipRetryDelays } from "../agents.ts";
import { connect, ended, inside, messagesOf, newChat, user } from "./chat.ts";

skipRetryDelays();

/** So many that a client's messages are more than the host keeps. */
const TURNS = 60;

/** All that the client ever saw, after so many turns. */
async function converse(name: string, edit: (messages: readonly UIMessage[]) => UIMessage[]): Promise<UIMessage[]> {
  const person = await connect(name);
  const seen: UIMessage[] = [];
  for (let n = 0; n < TURNS; n++) {
    const asked = user(`u${n}`);
    const kept = await person.submit([...edit(seen), asked]);
    const known = new Set([...seen.map(({ id }) => id), asked.id]);
    seen.push(asked, ...kept.filter(({ id }) => !known.has(id)));
  }
  return seen;
}

/** Outcomes of runs and states of summaries, after all turns. A browser writes a message's members in an order of its own. */
async function chatted(prefix: string) {
  const { name } = newChat(prefix);
  await converse(name, (seen) => seen.map(({ id, role, parts, ...rest }) => ({ parts, ...rest, role, id })));
  const runs = await ended(name);
  const overlays = await inside(name, async ({ palimpsest }) => palimpsest.session().getCompactions());
  return { runs, overlays, kept: await messagesOf(name) };
}

let runsWithout: Promise<number>;
beforeAll(() => (runsWithout = chatted("chat").then(({ runs }) => runs.length)), 240_000);

// The host's starter keeps 100.
test.each([20, 100])(
  "of all but %i messages that the host pruned none that a client posts back is an edit: summaries stay in force, and no more runs start than without pruning",
  async (keeps) => {
    const { runs, overlays, kept } = await chatted(`keeps-${keeps}`);
    expect(kept).toHaveLength(keeps);
    expect(overlays.length).toBeGreaterThanOrEqual(2);
    expect(overlays.map(({ state }) => state)).toEqual(overlays.map(() => "active"));
    expect(runs.filter(({ outcome }) => outcome?.kind === "failed" || outcome?.kind === "stale")).toEqual([]);
    expect(runs.length).toBeLessThanOrEqual(await runsWithout);
  },
);

test("a pruned message that a client posts back with other words is an edit", async () => {
  const { name } = newChat("keeps-20");
  await converse(name, (seen) =>
    seen.length < 2 * TURNS - 2
      ? [...seen]
      : seen.map((message, at) => (at === 2 ? user(message.id, "Edited.") : message)),
  );
  const overlays = await inside(name, async ({ palimpsest }) => palimpsest.session().getCompactions());
  expect(overlays.some(({ state }) => state === "invalidated")).toBe(true);
});
