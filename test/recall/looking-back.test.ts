/** Undo, redo and time travel as a caller uses them, and the examples of docs/recall.md, executed. */
import { Session } from "../../src/agent/sessions/session.ts";
import { runInDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { newAgent, refusalOf } from "../agents.ts";
import { say, talk } from "../conversation.ts";

test("over RPC: rollback, restore, the view as of then, what changed, and the originals in pages", async () => {
  const { agent } = newAgent();
  await agent.appendAll({ messages: talk(0, 12) });
  const older = await agent.cover({ summary: "## Goal\n- Keep the parser.\n- Drop this.", fromId: "m1", toId: "m3" });
  const then = await agent.getView({});
  const overlay = await agent.cover({ summary: "## Goal\n- Keep the parser.\n- Add that.", fromId: "m1", toId: "m6" });
  const overlayId = overlay.id;
  expect(await agent.getViewAsOf({ overlayId: older.id })).toMatchObject({ messages: then.messages, changed: [] });
  const asOf = await agent.getView({ asOf: older.id, maxTokens: 10_000 });
  expect(asOf).toMatchObject({ messages: then.messages, asOf: { overlayId: older.id }, fitted: { kind: "whole" } });
  expect(await refusalOf(() => agent.getView({ asOf: older.id, leafId: "m4" }))).toMatch(/^\[invalid_options\]/);
  expect(await agent.diffCompaction({ overlayId })).toEqual({
    kind: "diff",
    overlayId,
    replaced: [older.id],
    added: [{ section: "Goal", text: "Add that." }],
    dropped: [{ section: "Goal", text: "Drop this." }],
    kept: [{ section: "Goal", text: "Keep the parser.", before: null }],
  });
  const now = await agent.getView({});
  await agent.rollback({ overlayId });
  expect((await agent.getView({})).messages).toEqual(then.messages);
  expect(await agent.restore({ overlayId })).toMatchObject({ kind: "applied" });
  expect(await agent.getView({})).toEqual(now);
  const first = await agent.expand({ overlayId, limit: 4 });
  const second = await agent.expand({ overlayId, limit: 4, after: first.at(-1)?.id });
  expect([...first, ...second]).toEqual(talk(1, 7));
  expect((await agent.expand({ overlayId, depth: 1 })).map(({ id }) => id)).toEqual([
    `palimpsest:overlay:${older.id}`,
    "m4",
    "m5",
    "m6",
  ]);
  await agent.rollback({ overlayId });
  await agent.update({ message: say(5, "Edited. ") });
  expect(await agent.restore({ overlayId })).toEqual({ kind: "stale", reason: "changed" });
  expect(await agent.getViewAsOf({ overlayId })).toMatchObject({ changed: [overlayId] });
  await agent.deleteMessages({ ids: ["m6"] });
  expect(await agent.diffCompaction({ overlayId })).toEqual({ kind: "gone" });
  await agent.clearMessages({});
  expect(await agent.getCompactions({})).toEqual([]);
});

test("C3: what a summary said of messages that were edited or deleted since is told to nobody, whatever its state", async () => {
  const { agent } = newAgent();
  const secret = "XYZSECRET";
  await agent.appendAll({
    messages: talk(0, 12).map((message, n) => (n === 2 ? say(2, `Never say ${secret}. `) : message)),
  });
  const told = async () => {
    const diffs = (await agent.getCompactions({})).map(({ id }) => agent.diffCompaction({ overlayId: id }));
    return JSON.stringify([await agent.getCompactions({}), await Promise.all(diffs)]);
  };
  const older = await agent.cover({ summary: `## Goal\n- Keep ${secret}.`, fromId: "m1", toId: "m3" });
  const undone = await agent.cover({ summary: `## Goal\n- Know ${secret}.`, fromId: "m1", toId: "m6" });
  await agent.rollback({ overlayId: undone.id });
  expect(await told()).toContain(secret);
  expect((await agent.getCompactions({})).filter(({ withheld }) => withheld)).toEqual([]);
  await agent.update({ message: say(2) });
  expect(await told()).not.toContain(secret);
  for (const { id } of [older, undone])
    expect(await agent.diffCompaction({ overlayId: id })).toEqual({ kind: "withheld" });
  expect(await agent.getCompactions({})).toMatchObject([
    { id: older.id, state: "invalidated", withheld: true, summary: "" },
    { id: undone.id, state: "rolled-back", withheld: true, summary: "" },
  ]);
  const newer = await agent.cover({ summary: "## Goal\n- Go on.", fromId: "m1", toId: "m6" });
  expect(await agent.diffCompaction({ overlayId: newer.id })).toMatchObject({ kind: "diff", replaced: [] });
});

test("a restored overlay brings back no run, and what the trigger sees is the smaller view", async () => {
  const { agent } = newAgent();
  await agent.appendAll({ messages: talk(0, 12) });
  const { id: overlayId } = await agent.cover({ summary: "S", fromId: "m1", toId: "m6" });
  const before = await agent.status({});
  await agent.rollback({ overlayId });
  await agent.restore({ overlayId });
  expect(await agent.status({})).toEqual(before);
  expect(await agent.runs({})).toEqual([]);
});

test("the examples of docs/recall.md do what they say", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (agent) => {
    const said = vi.spyOn(console, "log").mockReturnValue(undefined);
    const session = Session.create(agent).forSession("docs!1000000");
    const zanzibar = say(0, "Of Zanzibar. ");
    await session.appendAll([{ ...zanzibar, id: "z" }, ...talk(0, 70)]);
    await session.addCompaction("## Goal\n- Go to Zanzibar.", "z", "m60");
    const summarised = await session.getView();
    // example
    const found = await session.recall({ query: "zanzibar", maxTokens: 1_000 });
    if (found.kind === "found") console.log(found.text, found.messages[0]?.reference);

    const [overlay] = await session.getCompactions();
    const id = overlay?.id ?? "";
    const page = await session.expand(id, { limit: 50 }); // originals, oldest first
    const rest = await session.expand(id, { limit: 50, after: page.at(-1)?.id });
    const layer = await session.expand(id, { depth: 1 }); // narrower summaries just beneath, and messages

    await session.rollback(id); // its messages show again
    const redo = await session.restore(id); // and are summarised again, if they are what they were
    if (redo.kind === "stale") console.log(`Not restored: ${redo.reason}.`);

    const then = await session.getViewAsOf(id); // what the model saw right after it came into force
    if (then.changed.length > 0) console.log("Edited since, and not shown:", then.changed);

    const diff = await session.diffCompaction(id); // bullets against the summaries whose place it took
    if (diff.kind === "diff") console.log(diff.added, diff.dropped, diff.kept);
    // end
    expect([...page, ...rest].map((message) => message.id)).toEqual(["z", ...talk(0, 61).map((message) => message.id)]);
    expect(layer).toEqual([...page, ...rest]);
    expect(redo.kind).toBe("applied");
    expect(then.messages).toEqual(summarised.messages);
    expect(said.mock.calls).toEqual([
      [expect.stringContaining("Of Zanzibar."), expect.stringMatching(/^@/)],
      [[{ section: "Goal", text: "Go to Zanzibar." }], [], []],
    ]);
    said.mockRestore();
  });
});
