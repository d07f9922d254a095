/** The published suite of store facts on stores of others: one that keeps messages in a list, and one that loses the newest. */
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { judge, noSuchThing, STORE_FACTS, type Store, type Verdict } from "../../bench/conformance/index.ts";

/** Has the verbs of a list, and refuses all others. */
function openList(shown: (messages: readonly UIMessage[]) => UIMessage[] = (messages) => [...messages]): Store {
  const messages: UIMessage[] = [];
  const add = async (message: UIMessage): Promise<void> => void messages.push(structuredClone(message));
  const own: Partial<Store> = {
    append: async (message, parentId) => (parentId === undefined ? add(message) : noSuchThing("a tree")),
    appendAll: async (all) => void (await Promise.all(all.map(add))),
    storeAll: async (all) => void (await Promise.all(all.map(add))),
    get: async (id) => messages.find((message) => message.id === id) ?? null,
    session: () => noSuchThing("sessions"),
    history: async () => shown(messages),
    leaf: async () => messages.at(-1) ?? null,
    pathLength: async () => messages.length,
  };
  return new Proxy(own as Store, {
    get: (store, verb) => Reflect.get(store, verb) ?? (async () => noSuchThing(String(verb))),
  });
}

async function verdicts(open: () => Store): Promise<Map<string, Verdict>> {
  const all = STORE_FACTS.map(async (fact) => [fact.id, await judge(fact, open())] as const);
  return new Map(await Promise.all(all));
}

test("each fact has an id of its own and says its claim in a sentence", () => {
  expect(new Set(STORE_FACTS.map(({ id }) => id)).size).toBe(STORE_FACTS.length);
  expect(STORE_FACTS.filter(({ says }) => !/^\S.{10,}/.test(says))).toEqual([]);
});

test("a store is judged by what it has, and what it lacks is no failure", async () => {
  const sound = await verdicts(() => openList());
  const kinds = [...sound.values()].map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "holds").length).toBeGreaterThan(0);
  expect(kinds.filter((kind) => kind === "none").length).toBeGreaterThan(50);
  const lossy = await verdicts(() => openList((messages) => messages.slice(0, -1)));
  const held = [...sound].filter(([, { kind }]) => kind === "holds").map(([id]) => id);
  expect(held.some((id) => lossy.get(id)?.kind === "fails")).toBe(true);
});
