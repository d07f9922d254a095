/** The bundle of a Worker that adds no optional room. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { bundle, type Bundle } from "../../scripts/size/bundle.ts";

let ours: Bundle;
beforeAll(async () => {
  await promisify(execFile)("npx", ["tsdown"]);
  ours = await bundle("ours");
});

describe("a Worker that adds no room", () => {
  test.each([
    ["src/ai-chat"],
    ["src/approval"],
    ["src/compat"],
    ["src/context"],
    ["src/costs"],
    ["src/doors"],
    ["src/embeddings"],
    ["src/events"],
    ["src/import"],
    ["src/inspect"],
    ["src/notes"],
    ["src/own-function"],
    ["src/page"],
    ["src/prompt-cache"],
    ["src/providers"],
    ["src/react"],
    ["src/recall"],
    ["src/redact"],
    ["src/sessions-source"],
    ["src/testing"],
    ["src/think"],
    ["src/turn"],
  ])("has no file of %s", (folder) => {
    expect([...ours.files.keys()].filter((file) => file.startsWith(`${folder}/`))).toEqual([]);
  });

  test("names no method, call or prompt of the notes", () => {
    expect(ours.files.size).toBeGreaterThan(100);
    expect(ours.code).toContain("compactAfter");
    // The error about a missing room names what the room would bring.
    expect(ours.code.replace(/notes:\s*\[[^\]]*"keepNotes"[^\]]*\]/, "")).not.toMatch(
      /(?:keep|get|update|refresh|plan|read|save)Notes|notesHistory|the notes/,
    );
  });
});
