/** One name is one agent, in every spelling of a path. */
import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { isAgentName, readAgentName, writeAgentName } from "../../src/doors/agent-name.ts";
import { say } from "../conversation.ts";
import { ask, codeOf, open, ticketFor, upgrade, withSecret } from "./client.ts";

// The SDK writes each refusal to the log with its stack.
vi.spyOn(console, "error").mockImplementation(() => undefined);

const CLASS = "/agents/palimpsest-agent";
const ODD = [
  "a@b.com",
  "user:1",
  "a+b",
  "a,b",
  "a$b",
  "a;b",
  "a=b",
  "a&b",
  "a!b",
  "mi ne",
  "jörg",
  "100%",
  "x%41",
  "日本",
  "{}",
];
const NONE = ["", ".", "..", "a/b", "a\\b", "a?b", "a#b", "a\nb", "a\u0000b", "\uD800", "x".repeat(201)];

test("what is written for a name is read back, and a path keeps it as it is", () => {
  const name = fc.oneof(fc.string({ unit: "binary", maxLength: 12 }), fc.constantFrom(...ODD)).filter(isAgentName);
  fc.assert(
    fc.property(name, (name) => {
      const segment = writeAgentName(name);
      expect(new URL(`https://x/${segment}?ticket=t`).pathname).toBe(`/${segment}`);
      expect(readAgentName(segment)).toBe(name);
      expect(readAgentName(encodeURIComponent(name))).toBe(name);
    }),
  );
  expect(ODD.filter(isAgentName)).toEqual(ODD);
  expect(NONE.filter(isAgentName)).toEqual([]);
});

test.for(ODD)("%s: a ticket asked for in one spelling opens the other, and both are one agent", async (name) => {
  const [plain, coded] = [writeAgentName(name), encodeURIComponent(name)].map((each) => `${CLASS}/${each}`) as [
    string,
    string,
  ];
  for (const [asked, opened] of [
    [coded, plain],
    [plain, coded],
  ] as const) {
    const line = await open(ask({ path: `${opened}?ticket=${await ticketFor(asked)}`, headers: upgrade }));
    expect(await line.call("append", { message: say(0) })).toMatchObject({ success: true });
    expect(await line.call("getPathLength", {})).toMatchObject({ result: 1 });
  }
});

test("whoever authorizes is asked by the name as it is read", async () => {
  const asked: string[] = [];
  const authorize = (_request: Request, to: { name: string }): boolean => asked.push(to.name) > 0;
  for (const segment of ["a%40b.com", "a@b.com"])
    await open(ask({ path: `${CLASS}/${segment}`, headers: upgrade, options: { authorize } }));
  expect(asked).toEqual(["a@b.com", "a@b.com"]);
});

test("what is no name reaches no agent", async () => {
  for (const segment of ["%", "%zz", "%ff", "a%2Fb", "a%3Fb", "a%23b", "a%5Cb", "%00", "a%0Ab"]) {
    expect(await codeOf(ask({ path: `${CLASS}/${segment}`, headers: { ...withSecret, ...upgrade } }))).toEqual([
      404,
      "not_found",
    ]);
  }
});
