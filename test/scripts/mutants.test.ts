/** `npm run mutate` breaks a source in each place once, and every mutant still parses. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { applyMutant, findMutants } from "../../scripts/mutate/mutants.ts";

function mutantsOf(source: string): string[] {
  return findMutants("a.ts", source).map((mutant) => `${mutant.kind}: ${applyMutant(source, mutant)}`);
}

test("each place where a developer slips is broken once", () => {
  expect(mutantsOf("const a = b < 3;")).toEqual(["comparison: const a = b <= 3;", "constant: const a = b < (3 + 1);"]);
  expect(mutantsOf("if (a && b) c();")).toEqual([
    "condition: if (!(a && b)) c();",
    "logic: if ((a) || (b)) c();",
    "statement: if (a && b) ;",
  ]);
  expect(mutantsOf("const f = (): boolean => { return true; };")).toEqual([
    "return: const f = (): boolean => { return undefined; return true; };",
    "constant: const f = (): boolean => { return false; };",
  ]);
  expect(mutantsOf("const x = (a ?? b) - c;")).toEqual(["arithmetic: const x = (a ?? b) + c;"]);
});

test("what is no code is left alone: types, imports, comments, and text that is put together", () => {
  const source = `import { type A } from "./a.ts";
// 1 < 2
type B = 1 | true;
const c: 5 | B = "3 > 4" + d as 7;
interface E { readonly f: 1 }
`;
  expect(mutantsOf(source)).toEqual([]);
});

test("a comparison is broken where it stands, also behind an operand that holds the same sign", () => {
  expect(mutantsOf('const a = f("<") < g;')).toEqual(['comparison: const a = f("<") <= g;']);
});

test("every mutant of a real source still parses, and is another text", () => {
  const source = readFileSync(join(import.meta.dirname, "../../src/steps/plan/cut.ts"), "utf8");
  const mutants = findMutants("cut.ts", source);
  expect(mutants.length).toBeGreaterThan(50);
  for (const mutant of mutants) {
    const broken = applyMutant(source, mutant);
    expect(broken).not.toBe(source);
    expect(() => findMutants("cut.ts", broken)).not.toThrow();
    expect(source.split("\n")[mutant.line - 1]).toContain(mutant.before.split("\n")[0]);
  }
});
