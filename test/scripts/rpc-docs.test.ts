/** What a client may call is what the page for clients says. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { CALL_NAMES } from "../../src/agent/calls.ts";

test("the table of docs/sessions.md names every method that a client may call, and no other", () => {
  const page = readFileSync(resolve(import.meta.dirname, "../../docs/sessions.md"), "utf8");
  const table = /## Over RPC\n[^|]*((?:\|.*\n)+)/.exec(page)?.[1] ?? "";
  const named = [...table.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? "");
  expect(named.toSorted()).toEqual([...CALL_NAMES].toSorted());
});
