/** S1. A session reads as if it were alone, whatever happens to other sessions in the same object under the same message ids. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { errorCode, unreachable } from "../../src/errors.ts";
import { WHOLE_MESSAGE } from "../../src/steps/plan/outline.ts";
import { tries } from "../tries.ts";
import { fill, say, withProbe, type SearchedMemory } from "./probe.ts";

const SESSIONS = ["", "a", "b"];

type Step =
  | { do: "append" | "upsert"; id: number; text: string; parent: number | "leaf" | "root" }
  | { do: "update"; id: number; text: string }
  | { do: "delete"; ids: number[] }
  | { do: "overlay"; from: number; to: number }
  | { do: "rollback"; at: number }
  | { do: "rename"; name: string }
  | { do: "usage"; tokens: number }
  | { do: "fork"; at: number }
  | { do: "clear" | "search" | "drop" | "throw" };

type Script = readonly (readonly [session: number, step: Step])[];

const n = fc.nat({ max: 7 });
const text = fc.constantFrom("alpha", "beta alpha", "gamma ".repeat(60));
const parent = fc.oneof(
  { weight: 6, arbitrary: fc.constant("leaf" as const) },
  { weight: 2, arbitrary: n },
  { weight: 1, arbitrary: fc.constant("root" as const) },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constantFrom("append" as const, "upsert" as const), id: n, text, parent }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("update" as const), id: n, text }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("delete" as const), ids: fc.array(n, { minLength: 1, maxLength: 2 }) }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("overlay" as const), from: n, to: n }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("rollback" as const), at: n }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("rename" as const), name: fc.constantFrom("", "One", "Other") }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("usage" as const), tokens: n }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("fork" as const), at: n }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom("search" as const, "throw" as const, "drop" as const, "clear" as const),
    }),
  },
);

test("S1: a session reads as if it were alone: messages, summaries, search, name and usage", async () => {
  const met: Record<string, number> = {};
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat({ max: 2 }), step), { minLength: 20, maxLength: 60 }),
      async (script: Script) => {
        const together = await play(script, { met });
        for (const [session] of SESSIONS.entries()) {
          const alone = await play(script, { only: session });
          expect(together.filter((each) => each.session === session)).toEqual(alone);
        }
      },
    ),
    { numRuns: tries(40) },
  );
  // The script really went where it is meant to go.
  const kinds = [
    "append",
    "update",
    "delete",
    "overlay",
    "rollback",
    "rename",
    "usage",
    "fork",
    "clear",
    "search",
    "drop",
  ];
  for (const kind of kinds) expect(met[kind] ?? 0, kind).toBeGreaterThan(0);
});

/** Plays a script in an object of its own. Returns each session's state after each step. */
async function play(script: Script, options: { only?: number; met?: Record<string, number> }) {
  return withProbe(({ memory }) => {
    for (const [session, id] of SESSIONS.entries()) {
      if (options.only === undefined || options.only === session) fill(memory.session(id), 0, 4);
    }
    return script.flatMap(([session, step], index) => {
      if (options.only !== undefined && options.only !== session) return [];
      // Tests of forks are elsewhere. Here a fork is only one more session to which operations happen.
      if (step.do === "fork" && options.only !== undefined) return [];
      const result = answerOf(() => act(memory, { id: SESSIONS[session] ?? "", forkId: `fork-${index}` }, step));
      if (options.met !== undefined && !String(result).startsWith("!")) {
        options.met[step.do] = (options.met[step.do] ?? 0) + 1;
      }
      return step.do === "fork" ? [] : [{ session, index, result, seen: look(memory, SESSIONS[session] ?? "") }];
    });
  });
}

function answerOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return `!${errorCode(error) ?? String(error)}`;
  }
}

function act(memory: SearchedMemory, { id, forkId }: { id: string; forkId: string }, step: Step): unknown {
  const history = memory.session(id);
  switch (step.do) {
    case "append":
    case "upsert": {
      const parentId = step.parent === "leaf" ? undefined : step.parent === "root" ? null : `m${step.parent}`;
      return history[step.do](say(`m${step.id}`, step.text.repeat(20)), parentId);
    }
    case "update":
      return history.update(say(`m${step.id}`, step.text.repeat(20))) ?? "!";
    case "delete":
      return history.delete(step.ids.map((each) => `m${each}`)) || "!";
    case "overlay": {
      const span = { fromId: `m${step.from}`, fromStep: 0, toId: `m${step.to}`, toStep: WHOLE_MESSAGE };
      return history.overlays.add({ span, summary: `alpha of ${step.from} to ${step.to}` });
    }
    case "rollback": {
      const overlays = history.overlays.list();
      return history.overlays.rollback(overlays[step.at % Math.max(1, overlays.length)]?.id ?? "");
    }
    case "rename":
      return memory.sessions.rename(id, step.name);
    case "usage":
      return memory.sessions.addUsage(id, { inputTokens: step.tokens, outputTokens: 1, cost: 0.5 });
    case "fork": {
      memory.sessions.fork(id, { id: forkId, atMessageId: `m${step.at}` });
      memory.session(forkId).update(say(`m${step.at}`, "forked alpha"));
      return memory.session(forkId).append(say("m9", "forked alpha"));
    }
    case "clear":
      history.clear();
      return "cleared";
    case "search":
      return memory.search.find("alpha").filter((hit) => hit.sessionId === id).length;
    case "drop":
      return memory.sessions.delete(id);
    case "throw":
      memory.db.transaction((): void => {
        history.append(say("thrown"));
        memory.sessions.delete(id);
        throw new Error("rolled back");
      });
      return "kept";
    default:
      return unreachable(step);
  }
}

function look(memory: SearchedMemory, id: string) {
  const history = memory.session(id);
  // A hit's rank is relative to everything that is indexed. Only the set of hits is a session's own.
  const hits = memory.search.find("alpha", { sessionId: id }).map((hit) => [hit.id, hit.snippet]);
  return {
    info: memory.sessions.get(id),
    view: history.view(),
    originals: [...history.originals()],
    overlays: history.overlays.list(),
    tokens: history.tokens(),
    hits: new Set(hits.map((hit) => hit.join(": "))),
  };
}
