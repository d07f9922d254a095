/** The numbers that docs/sessions.md tells of a session's own function, each held to its own constant. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { DEFAULT_FUNCTION_LIMIT_MS, MAX_FUNCTION_LIMIT_MS, MAX_INSTANCE_RESTARTS } from "../../src/limits.ts";

const page = readFileSync(resolve(import.meta.dirname, "../../docs/sessions.md"), "utf8");

const minutes = (ms: number): string => `${ms / 60_000} minutes`;

test("docs/sessions.md says how long a function may take, and how often it is called", () => {
  expect(page).toContain(
    `within \`timeoutMs\`: ${minutes(DEFAULT_FUNCTION_LIMIT_MS)} unless told otherwise, ${minutes(MAX_FUNCTION_LIMIT_MS)} at most |`,
  );
  expect(page).toContain(`it is called anew up to ${MAX_INSTANCE_RESTARTS} times |`);
});
