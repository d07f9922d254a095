/** The log over the real rows. Tests its content, its writes, and that it is never half written. */
import { NOTHING_PINNED } from "../../../src/facts/fact.ts";
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildWorkingContext } from "../../../src/events/context.ts";
import { type ConversationEvent, eventsToMessages, messageToEvents } from "../../../src/events/event.ts";
import {
  appendEvents,
  deleteEvents,
  loadEvents,
  persistTurn,
  persistWorkingContext,
  viewEvents,
  type NewEvent,
} from "../../../src/events/log.ts";
import type { Memory } from "../../../src/memory/memory.ts";
import { dump, fill, say, span, steps, withProbe } from "../../memory/probe.ts";
import { anyMessage } from "../pure/messages.ts";
import { tries } from "../../tries.ts";
import { codeOf } from "../../thrown.ts";

function shown(events: readonly ConversationEvent[]): string[] {
  return events.map((event) => (event.action === "compaction" ? `[${event.summary}]` : event.id));
}

/** The summaries of a view. */
function shownIn(messages: readonly UIMessage[]): UIMessage[] {
  return messages.filter(({ id }) => id.startsWith("palimpsest:"));
}

/** The whole log, page by page. */
function pages(memory: Memory, sessionId: string, limit: number): ConversationEvent[] {
  const log: ConversationEvent[] = [];
  for (let before: string | undefined; ; before = log[0]?.id) {
    const page = loadEvents(memory, sessionId, { limit, ...(before !== undefined && { before }) });
    log.unshift(...page);
    if (page.length < limit) return log;
  }
}

function chat(id: string): UIMessage {
  const call = { type: "dynamic-tool" as const, toolName: "look", toolCallId: `${id}-c`, input: { q: id } };
  return {
    id,
    role: "assistant",
    parts: [
      { type: "text", text: "looking" },
      { ...call, state: "output-available", output: "found" },
    ],
  };
}

describe("loading", () => {
  test("numbers events so that the number grows along a branch, and stays when the message grows or is summarised", async () => {
    await withProbe(({ memory, history }) => {
      fill(history, 1, 6);
      history.append(chat("a"));
      const seqs = (): (number | undefined)[] => loadEvents(memory, "").map(({ seq }) => seq);
      const before = seqs();
      expect(before.every((seq, at) => seq !== undefined && seq > (before[at - 1] ?? -1))).toBe(true);
      history.update({ ...chat("a"), parts: [...chat("a").parts, { type: "text", text: "and done" }] });
      expect(seqs().slice(0, before.length)).toEqual(before);
      history.overlays.add({ span: span("m2", "m5"), summary: "s" });
      const after = seqs();
      expect(after.every((seq, at) => seq !== undefined && seq > (after[at - 1] ?? -1))).toBe(true);
      expect(appendEvents(memory, "", [{ action: "user_message", content: "next" }])[0]?.seq).toBeGreaterThan(
        after.at(-1) ?? 0,
      );
    });
  });

  test("gives the newest events of a branch, oldest first, with the time of their messages", async () => {
    await withProbe(({ memory, history }) => {
      fill(history, 1, 3);
      history.append(chat("a"));
      history.append(say("branch"), "m2");
      expect(shown(loadEvents(memory, ""))).toEqual(["m1", "m2", "branch"]);
      expect(shown(loadEvents(memory, "", { leafId: "a" }))).toEqual(["m1", "m2", "m3", "a", "a#1", "a#1:result"]);
      expect(shown(loadEvents(memory, "", { leafId: "a", limit: 2 }))).toEqual(["a#1", "a#1:result"]);
      expect(shown(loadEvents(memory, "", { before: "a#1:result", limit: 2 }))).toEqual(["a", "a#1"]);
      expect(loadEvents(memory, "").map((event) => event.createdAt)).toEqual([1_000, 1_000, 1_000]);
      expect(loadEvents(memory, "empty")).toEqual([]);
    });
  });

  test("shows a compaction in place of what it hides", async () => {
    await withProbe(async ({ memory, history }) => {
      history.append(say("m0"));
      history.append(steps("s", "one", "two", "three"));
      fill(history, 1, 3);
      const added = history.overlays.add({ span: span("m0", "s", [0, 1]), summary: "S" });
      if (added.kind !== "applied") throw new Error(added.kind);
      expect(shown(loadEvents(memory, ""))).toEqual(["[S]", "s#4", "m1", "m2", "m3"]);
      expect(loadEvents(memory, "")[0]).toMatchObject({
        fromMessageId: "m0",
        toMessageId: "s",
        overlayId: added.overlay.id,
      });
      expect(shown(pages(memory, "", 2))).toEqual(["[S]", "s#4", "m1", "m2", "m3"]);
      expect(shown(loadEvents(memory, "", { before: `palimpsest:overlay:${added.overlay.id}` }))).toEqual([]);
    });
  });

  test("a model that reads a working context sees of a summary what a view shows: its rules word for word", async () => {
    await withProbe(async ({ memory, history }) => {
      fill(history, 1, 3);
      history.append(say("rule", "Never touch src/fence-3.ts. Use src/gate-4.ts in its place, every time."));
      fill(history, 4, 12);
      const said = [{ messageId: "rule", text: "Never touch src/fence-3.ts.", left: 0 }];
      const details = { pinned: { ...NOTHING_PINNED, said } };
      history.overlays.add({ span: span("m2", "m5"), summary: "First.", details });
      history.overlays.add({ span: span("m6", "m9"), summary: "Second." });
      const view = shownIn(history.view().messages);
      expect(JSON.stringify(view)).toContain("Never touch src/fence-3.ts.");
      expect(shownIn(buildWorkingContext(viewEvents(memory, "")).messages)).toEqual(view);
      expect(shownIn(buildWorkingContext(loadEvents(memory, "")).messages)).toEqual(view);
    });
  });

  test("M1: pages of any size are the whole log, which is the messages as they were stored", async () => {
    await withProbe(({ memory }) => {
      let run = 0;
      fc.assert(
        fc.property(fc.array(anyMessage, { maxLength: 6 }), fc.integer({ min: 1, max: 7 }), (messages, limit) => {
          const sessionId = `s${run++}`;
          const history = memory.session(sessionId);
          for (const message of messages) history.append(message);
          const log = pages(memory, sessionId, limit).map(({ seq: _seq, ...event }) => event);
          expect(log).toEqual(history.getHistory().flatMap((message) => messageToEvents(message, 1_000)));
        }),
        { numRuns: tries(60) },
      );
    });
  });

  test("reads rows for what it returns, not for what is stored or hidden", async () => {
    await withProbe(({ memory, history, cost }) => {
      fill(history, 1, 1_000);
      history.overlays.add({ span: span("m4", "m900"), summary: "S" });
      expect(cost(() => loadEvents(memory, "", { limit: 10 })).rowsRead).toBeLessThanOrEqual(2 * 10 + 4);
      expect(cost(() => loadEvents(memory, "", { limit: 10, before: "m950" })).rowsRead).toBeLessThanOrEqual(
        2 * 11 + 8,
      );
    });
  });

  test("refuses a place that is not in the log, and an impossible limit", async () => {
    await withProbe(async ({ memory, history }) => {
      fill(history, 1, 2);
      const before = ["nobody", "m1#7", "palimpsest:overlay:none"];
      for (const each of before) expect(codeOf(() => loadEvents(memory, "", { before: each }))).toBe("unknown_message");
      expect(codeOf(() => loadEvents(memory, "", { leafId: "nobody" }))).toBe("unknown_leaf");
      for (const limit of [0, 501, 1.5])
        expect(codeOf(() => loadEvents(memory, "", { limit }))).toBe("invalid_options");
    });
  });
});

const turn: NewEvent[] = [
  { action: "user_message", id: "u", content: "Which port?" },
  { action: "tool_call_request", id: "c", messageId: "a", toolCallId: "t", toolName: "read", input: { path: "x" } },
  { action: "tool_result", messageId: "a", toolCallId: "t", toolName: "read", status: "ok", output: "80" },
  { action: "agent_message", messageId: "a", content: [{ type: "text", text: "80." }] },
];

describe("appending", () => {
  test("stores messages and nothing else: neighbours with one message id are one, a call with its result", async () => {
    await withProbe(({ memory, history }) => {
      const stored = appendEvents(memory, "", turn);
      expect(shown(stored)).toEqual(["u", "a", "a#0:result", "a#1"]);
      expect(loadEvents(memory, "")).toEqual(stored);
      expect(history.getHistory().map((message) => [message.id, message.role])).toEqual([
        ["u", "user"],
        ["a", "assistant"],
      ]);
      expect(history.get("a")?.parts[0]).toMatchObject({
        state: "output-available",
        input: { path: "x" },
        output: "80",
      });
    });
  });

  test("again changes nothing; with another content it is refused", async () => {
    await withProbe(({ memory, history, cost }) => {
      appendEvents(memory, "", turn);
      fill(history, 1, 1);
      expect(cost(() => appendEvents(memory, "", turn)).rowsWritten).toBe(0);
      expect(codeOf(() => appendEvents(memory, "", [{ action: "user_message", id: "u", content: "Other" }]))).toBe(
        "invalid_input",
      );
    });
  });

  test("V2: a result that comes later is paired with its call in the view", async () => {
    await withProbe(({ memory, history }) => {
      appendEvents(memory, "", turn.slice(0, 2));
      appendEvents(memory, "", [{ ...turn[2], messageId: "r" } as NewEvent]);
      const parts = history.view().messages.flatMap((message) => message.parts);
      expect(parts.filter((part) => part.type === "dynamic-tool")).toMatchObject([{ toolCallId: "t", output: "80" }]);
    });
  });

  test("all or none, whatever is wrong with one of them", async () => {
    await withProbe(({ memory, history, storage }) => {
      fill(history, 1, 1);
      const before = dump(storage, "");
      const cases: [unknown, string][] = [
        [{ action: "user_message", content: 7 }, "invalid_input"],
        [{ action: "shout" }, "invalid_input"],
        [null, "invalid_input"],
        [
          { action: "tool_result", toolCallId: "t", toolName: "x", status: "ok", output: new Date(0) },
          "not_serializable",
        ],
        [{ action: "user_message", id: "palimpsest:x", content: "x" }, "reserved_id"],
        [{ action: "compaction", summary: "S", fromMessageId: "u", toMessageId: "nobody" }, "unknown_message"],
      ];
      for (const [bad, code] of cases) {
        expect(
          codeOf(() => appendEvents(memory, "", [...turn, bad as NewEvent])),
          JSON.stringify(bad),
        ).toBe(code);
      }
      expect(codeOf(() => appendEvents(memory, "", null as unknown as NewEvent[]))).toBe("invalid_input");
      expect(dump(storage, "")).toEqual(before);
      expect(history.leafId()).toBe("m1");
    });
  });

  test("a compaction is an overlay: it hides, it is there once, and deleting it shows what it hid", async () => {
    await withProbe(({ memory, history }) => {
      fill(history, 1, 6);
      const compaction: NewEvent = { action: "compaction", summary: "S", fromMessageId: "m2", toMessageId: "m5" };
      const [event] = appendEvents(memory, "", [compaction]);
      expect(appendEvents(memory, "", [compaction])).toEqual([event]);
      expect(shown(loadEvents(memory, ""))).toEqual(["m1", "[S]", "m6"]);
      expect(buildWorkingContext(loadEvents(memory, "")).getMessages()).toEqual(history.view().messages);
      expect(deleteEvents(memory, "", [event?.id ?? ""])).toBe(1);
      expect(deleteEvents(memory, "", [event?.id ?? ""])).toBe(0);
      expect(shown(loadEvents(memory, ""))).toEqual(["m1", "m2", "m3", "m4", "m5", "m6"]);
    });
  });
});

describe("deleting", () => {
  test("takes an event out of its message, a call with its result, a message with its last event", async () => {
    await withProbe(({ memory, history }) => {
      appendEvents(memory, "", turn);
      expect(deleteEvents(memory, "", ["a", "nobody", "u#5"])).toBe(2);
      expect(shown(loadEvents(memory, ""))).toEqual(["u", "a"]);
      expect(loadEvents(memory, "")[1]).toMatchObject({ action: "agent_message" });
      expect(deleteEvents(memory, "", ["a"])).toBe(1);
      expect(history.leafId()).toBe("u");
    });
  });

  test("of any events leaves exactly the others", async () => {
    await withProbe(({ memory }) => {
      let run = 0;
      fc.assert(
        fc.property(fc.array(anyMessage, { maxLength: 4 }), fc.array(fc.nat({ max: 30 })), (messages, picks) => {
          const sessionId = `d${run++}`;
          const history = memory.session(sessionId);
          // Ids of calls may repeat in these. Then a call takes every result of its id with it.
          for (const message of messages) history.append(message);
          const log = loadEvents(memory, sessionId);
          const ids = new Set(picks.flatMap((pick) => log[pick]?.id ?? []));
          const calls = new Set(
            log.flatMap((each) =>
              ids.has(each.id) && "toolCallId" in each ? [`${each.messageId} ${each.toolCallId}`] : [],
            ),
          );
          const left = log.filter((each) => {
            return (
              !ids.has(each.id) && !(each.action === "tool_result" && calls.has(`${each.messageId} ${each.toolCallId}`))
            );
          });
          expect(deleteEvents(memory, sessionId, [...ids])).toBe(log.length - left.length);
          const parts = new Map(eventsToMessages(left).map((message) => [message.id, message.parts]));
          const expected = messages.flatMap((message) => {
            const kept = parts.get(message.id);
            return kept === undefined ? [] : [{ ...message, parts: kept }];
          });
          expect(history.getHistory()).toEqual(JSON.parse(JSON.stringify(expected)));
        }),
        { numRuns: tries(60) },
      );
    });
  });
});

describe("a turn", () => {
  test("of one request is never seen half by another, and both are there, one after the other", async () => {
    await withProbe(({ memory, history }) => {
      fill(history, 1, 1);
      const one = buildWorkingContext(loadEvents(memory, "")).addMessage(say("u1")).addMessage(chat("a1"));
      const two = buildWorkingContext(loadEvents(memory, "")).addMessage(say("u2")).addMessage(chat("a2"));
      expect(persistWorkingContext(memory, "", two)).toEqual({ inserted: true, leafId: "a2" });
      expect(history.getHistory().map(({ id }) => id)).toEqual(["m1", "u2", "a2"]);
      expect(persistWorkingContext(memory, "", one)).toEqual({ inserted: true, leafId: "a1" });
      expect(history.getHistory().map(({ id }) => id)).toEqual(["m1", "u2", "a2", "u1", "a1"]);
      expect(persistWorkingContext(memory, "", two)).toEqual({ inserted: false, leafId: "a2" });
      expect(history.pathLength()).toBe(5);
    });
  });

  test("stays on the branch that it was made on", async () => {
    await withProbe(({ memory, history }) => {
      fill(history, 1, 3);
      const context = buildWorkingContext(loadEvents(memory, "")).addMessage(say("late"));
      history.append(say("other"), "m1");
      persistWorkingContext(memory, "", context);
      expect(history.getHistory("late").map(({ id }) => id)).toEqual(["m1", "m2", "m3", "late"]);
      expect(history.getHistory("other").map(({ id }) => id)).toEqual(["m1", "other"]);
    });
  });

  test("is stored whole or not at all", async () => {
    await withProbe(({ memory, history, storage }) => {
      fill(history, 1, 2);
      const before = dump(storage, "");
      const bad = { ...say("bad"), metadata: { when: new Date(0) } };
      const make =
        (...messages: UIMessage[]) =>
        () =>
          persistTurn(memory, "", { leafId: "m2", messages });
      expect(codeOf(make(say("good"), bad))).toBe("not_serializable");
      expect(codeOf(make(say("good"), say("m1", "another")))).toBe("invalid_input");
      expect(codeOf(() => persistTurn(memory, "", { leafId: "gone", messages: [say("x")] }))).toBe("unknown_leaf");
      expect(dump(storage, "")).toEqual(before);
      expect(persistTurn(memory, "", { leafId: "m2", messages: [] })).toEqual({ inserted: false, leafId: null });
    });
  });

  test("begins an empty session, and goes on behind a compaction", async () => {
    await withProbe(({ memory, history }) => {
      persistWorkingContext(memory, "", buildWorkingContext([]).addMessage(say("first")));
      fill(history, 1, 6);
      history.overlays.add({ span: span("m1", "m6"), summary: "S" });
      const context = buildWorkingContext(loadEvents(memory, ""));
      expect(context.leafId).toBe("m6");
      persistWorkingContext(memory, "", context.addMessage(say("next")));
      expect(shown(loadEvents(memory, ""))).toEqual(["first", "[S]", "next"]);
    });
  });
});
