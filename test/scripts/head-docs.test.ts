/** The numbers that docs/sessions.md tells of the beginning, each held to its own constant. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import {
  DEFAULT_PROTECT_HEAD,
  FIRST_MESSAGE_SHARE_OF_THRESHOLD,
  HEAD_SHARE_OF_THRESHOLD,
  OPENING_SHARE_OF_THRESHOLD,
  OPENING_TOKENS,
} from "../../src/limits.ts";

const SHARES: Readonly<Record<number, string>> = { 4: "a quarter", 10: "a tenth", 40: "a fortieth" };
const page = readFileSync(resolve(import.meta.dirname, "../../docs/sessions.md"), "utf8");

/** What the table of options says of one, behind its name. */
function row(option: string): string {
  return new RegExp(`^\\| \`${option}\` \\|(.*)$`, "m").exec(page)?.[1]?.trim() ?? "";
}

test("the beginning is kept in the shares that docs/sessions.md tells", () => {
  expect(row("protectHead")).toMatch(new RegExp(`^${DEFAULT_PROTECT_HEAD} \\|`));
  expect(row("headTokenBudget")).toMatch(new RegExp(`^${SHARES[HEAD_SHARE_OF_THRESHOLD]} of the threshold;`));
  expect(row("firstMessageTokens")).toMatch(
    new RegExp(`^${SHARES[FIRST_MESSAGE_SHARE_OF_THRESHOLD]} of the threshold,`),
  );
  expect(row("openingTokens")).toMatch(
    new RegExp(
      `^${OPENING_TOKENS.toLocaleString("en")}, at most ${SHARES[OPENING_SHARE_OF_THRESHOLD]} of the threshold`,
    ),
  );
});
