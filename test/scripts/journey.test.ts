/** The instrumented source of `npm run journey` computes what the original computes, and tells which functions ran. */
import { readdirSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { runInThisContext } from "node:vm";
import { expect, test } from "vitest";
import { instrument } from "../../scripts/journey/instrument.ts";

const recorder = globalThis as { palimpsestRan?: Set<string> | undefined };

/** Runs the instrumented script, and returns the value of its last statement and the files that said that they ran. */
function play(source: string): { value: unknown; ran: string[] } {
  const ran = new Set<string>();
  recorder.palimpsestRan = ran;
  try {
    const value: unknown = runInThisContext(stripTypeScriptTypes(instrument("a.ts", source)));
    return { value, ran: [...ran] };
  } finally {
    recorder.palimpsestRan = undefined;
  }
}

/** The instrumented source, with a short mark for what was inserted. */
function marked(source: string): string {
  return instrument("a.ts", source).replaceAll('globalThis.palimpsestRan?.add("a.ts")', "RAN");
}

test("every kind of function says that it ran, and code outside functions does not", () => {
  expect(marked("const a = b(1);")).toBe("const a = b(1);");
  expect(marked("function f() { g(); }")).toBe("function f() { RAN; g(); }");
  expect(marked("const f = (x: number) => x + 1;")).toBe("const f = (x: number) => (RAN, x + 1);");
  expect(marked("const f = () => ({ a: 1 });")).toBe("const f = () => (RAN, ({ a: 1 }));");
  expect(marked("const f = () => (x: 1) => x;")).toBe("const f = () => (RAN, (x: 1) => (RAN, x));");
  expect(marked("class A { get a() { return 1; } async b() {} static #c() {} }")).toBe(
    "class A { get a() { RAN; return 1; } async b() { RAN;} static #c() { RAN;} }",
  );
  expect(marked("const f = async function* () { yield 1; };")).toBe("const f = async function* () { RAN; yield 1; };");
});

test("a directive stays the first statement, and a declaration without a body stays as it is", () => {
  expect(marked('function f() { "use strict"; g(); }')).toBe('function f() { "use strict"; RAN; g(); }');
  expect(marked("declare function f(): void; interface A { b(): void }")).toBe(
    "declare function f(): void; interface A { b(): void }",
  );
});

test("an instrumented source computes what it computed, and code that nobody calls does not count", () => {
  const ran = ["a.ts"];
  expect(play("((a: number) => (b: number) => a + b)(1)(2);")).toEqual({ value: 3, ran });
  expect(play('(() => ({ a: [1, 2].map((n) => n * 2) }))().a.join("+");')).toEqual({ value: "2+4", ran });
  expect(play("new (class { #a = 1; get a() { return this.#a; } })().a;")).toEqual({ value: 1, ran });
  expect(play("[() => 1, function () {}].length;")).toEqual({ value: 2, ran: [] });
  expect(runInThisContext(instrument("a.ts", "(() => 1)();"))).toBe(1);
});

test("every source of the project still parses", () => {
  const src = join(import.meta.dirname, "../../src");
  const names = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));
  expect(names.length).toBeGreaterThan(200);
  for (const name of names) {
    const once = instrument(name, readFileSync(join(src, name), "utf8"));
    expect(() => instrument(name, once)).not.toThrow();
  }
});
