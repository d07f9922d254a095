/** The build that takes away the names of functions and classes changes nothing that the code computes. */
import { transform } from "esbuild";
import { parseAst } from "vite";
import { expect, test } from "vitest";
import { withoutNames } from "../../scripts/package/unnamed.ts";

/** Everything that the build may meet, written as it stands in the package. It answers what a bundler must not change. */
const CODE = `
import { sep } from "node:path";
const early = late(2);
function late(n) { return double(n) + 1; function double(m) { return m * 2; } }
async function later(n) { return { n }; }
function* count(to) { for (let n = 0; n < to; n++) yield n; }
function all() { return arguments.length; }
function made() { return this.n; }
function last(a, b = late(a), ...rest) { return a, b + rest.length; }
const arrow = (n) => n + 1;
const table = { run: (n) => n, walk(n) { return n; }, get size() { return 3; }, async go() { return 4; }, arrow };
let set; set = () => 5; set ??= () => 6;
const given = ({ by = (n) => n * 2 } = {}) => by(4);
var Inner = class { #n = 7; keep = () => this.#n; self() { return new Inner() instanceof Inner; } };
var Other = class extends Inner {};
var Open = class {};
var Counted = class { static first = 9; };
const inner = new Inner();
const answers = [early, await later(1), [...count(3)], all(1, 2), made.call({ n: 8 }), last(1, 2, 3), arrow(1), table.run(1),
  table.walk(2), table.size, await table.go(), set(), given(), inner.keep(), inner.self(), new Other().keep(), Counted.first];
export { Open, answers, Other };
`;

async function load(code: string): Promise<Record<string, unknown>> {
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as Record<string, unknown>;
}

const shorten = (code: string): string => withoutNames(code, parseAst(code), new Set(["Open", "Other", "answers"]));

test("code without names answers as the code with names did", async () => {
  const before = await load(CODE);
  const after = await load(shorten(CODE));
  expect(after["answers"]).toEqual(before["answers"]);
});

test("a bundler that keeps names stores the names of open and derived classes alone, and of those with static members", async () => {
  const { code } = await transform(shorten(CODE), { minify: true, keepNames: true, format: "esm" });
  const names = [...code.matchAll(/\(\w+,"(\w+)"\)/g)].map(([, name]) => name);
  expect(names).toEqual(["Other", "Open", "Counted"]);
});
