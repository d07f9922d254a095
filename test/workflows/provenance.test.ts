/** The sources of a stored summary's bullets. References are checked when the summary is made, and again when it is read. */
import { expect, test } from "vitest";
import { referenceTo } from "../../src/steps/message/message.ts";
import { newAgent, skipRetryDelays, startRun } from "../agents.ts";
import { talk } from "../conversation.ts";
import { summaryOf } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();

async function newest(agent: PalimpsestAgent, sessionId = "") {
  const overlay = (await agent.getCompactions({ sessionId })).at(-1);
  if (overlay === undefined) throw new Error("The run added no overlay.");
  const under = (await agent.expand({ sessionId, overlayId: overlay.id })).map(({ id }) => id);
  const bullets = await agent.getProvenance({ sessionId, overlayId: overlay.id });
  return { overlay, under, bullets, lines: overlay.summary.split("\n") };
}

test("the offline model's bullets name messages under the overlay that hold their words", async () => {
  // Room for more than one sentence, so that one of them stands as it was said.
  const sessionId = "told!20000";
  const { agent } = newAgent();
  await agent.waitForRun({ runId: (await startRun(agent, sessionId, 160)).id });
  const { bullets, under, lines } = await newest(agent, sessionId);
  expect(bullets.length).toBeGreaterThan(0);
  for (const { line, messageIds } of bullets) {
    for (const id of messageIds) expect(under).toContain(id);
    const said = /Message (\d+):/.exec(lines[line] ?? "")?.[1];
    if (said !== undefined) expect(messageIds).toContain(`m${said}`);
  }
});

test("references survive a fold; numbers that a model made up, and messages that it never saw, do not", async () => {
  const sessionId = "long!6000";
  const stranger = referenceTo("m48");
  const { agent } = newAgent((prompt) => {
    if (prompt.kind === "chunk") return summaryOf(prompt, `- a fact [#1, #999, ${stranger}]`);
    const known = prompt.drafts.flatMap((draft) => draft.match(/@[0-9a-z]{7}/g) ?? []);
    return summaryOf(prompt, `- folded [${[...new Set(known)].slice(0, 2).join(", ")}, ${stranger}, #3]`);
  });
  await agent.waitForRun({ runId: (await startRun(agent, sessionId, 49)).id });
  const { bullets, under, overlay } = await newest(agent, sessionId);
  const starts = overlay.details.madeOf.flatMap((part) => (part.kind === "leaf" ? [part.fromId] : []));
  expect(starts).toHaveLength(3);
  expect(bullets[0]?.messageIds).toEqual(starts.slice(0, 2));
  expect(overlay.summary).not.toContain("999");
  expect(overlay.summary).not.toContain(stranger);
  expect(overlay.summary).not.toContain("[#");
  expect(under).not.toContain("m48");
  expect(talk(0, 49).map(({ id }) => id)).toEqual(expect.arrayContaining(under));
});
