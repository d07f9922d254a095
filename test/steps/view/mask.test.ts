/** Stubs in the place of older tool outputs, as the AI SDK and a tool's own `toModelOutput` read them. */
import { convertToModelMessages, type Tool, type ToolSet, type UIMessage } from "ai";
import { expect, test } from "vitest";
import { measureMessage } from "../../../src/steps/message/measure.ts";
import { maskMessage, unmask } from "../../../src/steps/view/mask.ts";
import { previewOutputs } from "../../../src/fit/preview.ts";
import { truncateOlderMessages } from "../../../src/fit/truncate.ts";
import { secretRules } from "../../../src/redact/secret-rules.ts";
import { readStub, stubIn } from "../../../src/steps/view/stub.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";

const LONG = "The ledger says that every entry is kept where it was written. ".repeat(30);
const BYTES = "iVBORw0KGgoAAAANSUhEUgAA".repeat(40);

type ToModelOutput = NonNullable<Tool["toModelOutput"]>;

/** A tool as its author wrote it, without a thought of stubs. */
const tool = (toModelOutput: (given: { output: never }) => Awaited<ReturnType<ToModelOutput>>): ToolSet =>
  ({ look: { inputSchema: {}, toModelOutput } }) as unknown as ToolSet;

function looked(output: unknown, part: object = {}): UIMessage {
  const call = { type: "tool-look", toolCallId: "c1", state: "output-available", input: { n: 1 }, ...part } as const;
  return { id: "w1", role: "assistant", parts: [{ ...call, output }] as UIMessage["parts"] };
}

const masked = (message: UIMessage, names: string[] = []): UIMessage =>
  maskMessage(message, { words: {}, toStep: 0, names, namesStep: 0, canRecall: true });

function outputOf({ parts }: UIMessage): unknown {
  const [part] = parts;
  return part !== undefined && "output" in part ? part.output : null;
}

/** The result that a model is sent for an output. */
async function sent(output: unknown, tools?: ToolSet): Promise<unknown> {
  const messages = await convertToModelMessages([masked(looked(output))], tools === undefined ? {} : { tools });
  const [part] = messages.at(-1)?.content ?? [];
  return typeof part === "object" && part.type === "tool-result" ? part.output : null;
}

const STUB = /^\[Left out: an output of \d+ characters\. recall @[0-9a-z]{7}\.1 reads it again\.\]/;

test("a tool's own toModelOutput reads a masked object as it reads any other, and says what the stub says", async () => {
  const rows = Array.from({ length: 40 }, (_, id) => ({ id, name: `row ${id}`, note: LONG.slice(0, 300) }));
  const byRows = tool(({ output }: { output: { rows: { name: string; note: string }[]; total: number } }) => ({
    type: "text",
    value: `${output.total.toFixed(0)} rows: ${output.rows.map(({ name, note }) => `${name.trim()}: ${note}`).join()}`,
  }));
  expect(await sent({ total: 40, rows }, byRows)).toMatchObject({
    value: expect.stringMatching(/^40 rows: row 0: \[Left/),
  });
  const nested = tool(({ output }: { output: { a: { b: string[]; c: { d: string } }; log: string } }) => ({
    type: "text",
    value: output.a.b.map((each) => each.trim()).join() + output.a.c.d.toUpperCase() + output.log,
  }));
  expect(await sent({ a: { b: ["x"], c: { d: "ok" } }, log: LONG }, nested)).toMatchObject({
    value: expect.stringMatching(/^OK\[Left out/),
  });
  const listed = tool(({ output }: { output: { title: string }[] }) => ({
    type: "text",
    value: output.map(({ title }) => title.trim()).join(),
  }));
  expect(
    await sent(
      rows.map(({ note }) => ({ title: note })),
      listed,
    ),
  ).toMatchObject({
    value: expect.stringMatching(STUB),
  });
});

test("the text of an instruction file, a skill or a plan stays whole, and counts whole", () => {
  const contents = { content: [{ type: "text", text: LONG }] };
  for (const [output, part] of [
    [LONG, { type: "tool-read", input: { path: "AGENTS.md" } }],
    [contents, { type: "tool-load_skill", input: { name: "release" } }],
    [LONG, { type: "tool-load_context", input: { label: "skills", key: "release" } }],
    [`Tasks:\n- [ ] ${LONG}`, { type: "tool-todo_list", input: {} }],
  ] as const) {
    const message = looked(output, part);
    expect(masked(message)).toBe(message);
    expect(measureMessage(message, estimateTokens).maskable).toBeUndefined();
  }
  const receipt = looked(LONG.slice(0, 900), { type: "tool-write", input: { path: "AGENTS.md", content: LONG } });
  const endless = looked(LONG.repeat(20), { type: "tool-read", input: { path: "AGENTS.md" } });
  for (const message of [receipt, endless]) expect(readStub(masked(message).parts[0] ?? {})).not.toBeNull();
});

test("outputs of contents keep their form, and the stub stands where their text is read", async () => {
  const own = tool(({ output }) => output);
  const contents = { type: "content", value: [{ type: "text", text: LONG }] };
  expect(await sent(contents, own)).toEqual({
    type: "content",
    value: [{ type: "text", text: expect.stringMatching(STUB) }],
  });
  const picture = { type: "content", value: [{ type: "media", mediaType: "image/png", data: BYTES }] };
  expect(await sent(picture, own)).toEqual({
    type: "content",
    value: [{ type: "text", text: expect.stringMatching(STUB) }],
  });
  const mcp = {
    content: [
      { type: "image", mimeType: "image/png", data: BYTES },
      { type: "text", text: LONG },
    ],
    isError: false,
  };
  expect(outputOf(masked(looked(mcp)))).toEqual({
    content: [{ type: "text", text: expect.stringMatching(STUB) }],
    isError: false,
  });
  expect(outputOf(masked(looked(mcp.content)))).toEqual([{ type: "text", text: expect.stringMatching(STUB) }]);
  expect(outputOf(masked(looked({ type: "text", value: LONG })))).toEqual({
    type: "text",
    value: expect.stringMatching(STUB),
  });
  expect(outputOf(masked(looked(LONG)))).toMatch(STUB);
});

test("whatever stays whole stays the same object: bytes of a file, errors, what is not final, what the provider ran, what is short", () => {
  for (const message of [
    looked({ image: BYTES, mediaType: "image/png" }),
    looked({ shot: { data: BYTES }, note: LONG }),
    looked({ content: [{ type: "text", text: `Error: ${LONG}` }] }),
    looked({ content: [{ type: "text", text: LONG }], isError: true }),
    looked({ type: "error-text", value: LONG }),
    looked(LONG, { preliminary: true }),
    looked(LONG, { providerExecuted: true }),
    looked({ note: LONG.slice(0, 200) }),
    looked(LONG, { state: "input-available" }),
  ]) {
    expect(masked(message)).toBe(message);
    expect(measureMessage(message, estimateTokens).maskable).toBeUndefined();
  }
});

test("a stub is found again in each form, with the names beside it, and a dynamic tool's part stays one", () => {
  for (const output of [
    LONG,
    { a: { b: LONG } },
    [{ t: LONG }],
    { content: [{ type: "text", text: LONG }] },
    numbers(),
  ]) {
    const shown = masked(looked(output), ["ledgerOf7"]);
    const [stub = looked("")] = shown.parts;
    expect(readStub(stub)).toMatch(STUB);
    expect(readStub(stub)).toContain("earlier ones: ledgerOf7");
    // What a tool says, and what was stored, is never a stub.
    for (const each of looked(outputOf(shown)).parts) expect(readStub(each)).toBeNull();
    expect(readStub(structuredClone(stub))).toBeNull();
  }
  const dynamic = looked({ text: LONG }, { type: "dynamic-tool", toolName: "look" });
  expect(masked(dynamic).parts[0]).toMatchObject({
    type: "dynamic-tool",
    toolName: "look",
    output: { text: expect.stringMatching(STUB) },
  });
});

function numbers(): number[] {
  return Array.from({ length: 400 }, (_, n) => n);
}

test("the shape around a stub is small whatever the output is, and counted", () => {
  const wide = Object.fromEntries(
    Array.from({ length: 200 }, (_, n) => [`src/file-${n}.ts`, { text: `line ${n}`.repeat(9) }]),
  );
  let deep: object = { text: LONG };
  for (let n = 0; n < 20; n++) deep = { more: "word ".repeat(10), [`inner${n}`]: deep };
  for (const output of [wide, deep, { ...wide, log: LONG }, { rows: [wide, wide] }, LONG, numbers()]) {
    const message = looked(output);
    const shown = masked(message);
    expect(JSON.stringify(outputOf(shown)).length).toBeLessThan(550);
    const { tokens, maskable = [] } = measureMessage(message, estimateTokens);
    const [[, freed] = [0, 0]] = maskable;
    expect(freed).toBeGreaterThan(0);
    expect(tokens - freed).toBeGreaterThanOrEqual(measureMessage(shown, estimateTokens).tokens);
  }
});

test("calls that share an id in different messages, and calls of one message, have references and words of their own", () => {
  const one: UIMessage = {
    ...looked(LONG),
    parts: [...looked(LONG).parts, ...looked(LONG, { toolCallId: "c2" }).parts],
  };
  const other: UIMessage = { ...looked(LONG), id: "w2" };
  const texts = [masked(one), masked(other)].flatMap(({ parts }) => parts.map((part) => readStub(part) ?? ""));
  const references = texts.map((text) => /@[0-9a-z]{7}(?:\.\d+)?/.exec(text)?.[0] ?? "");
  expect(new Set(references).size).toBe(3);
  expect(references[1]).toBe(references[0]?.replace(".1", ".2"));
  const words = { [references[0] ?? ""]: "first", [references[1] ?? ""]: "second" };
  const shown = [one, other].map((message) =>
    JSON.stringify(maskMessage(message, { words, toStep: 0, names: [], namesStep: 0, canRecall: true }).parts),
  );
  expect(shown[0]).toMatch(/\] first.*\] second/);
  expect(shown[1]).not.toMatch(/first|second/);
});

test("a stub with its names is neither shortened nor previewed, which would lose the names and tell to run the tool again", () => {
  const names = Array.from({ length: 800 }, (_, n) => `nameOf${n}`);
  const filler = Array.from({ length: 20 }, (_, n): UIMessage => ({ ...looked("short"), id: `f${n}` }));
  for (const output of [LONG, { log: LONG }]) {
    const view = [masked(looked(output), names), ...filler];
    expect(truncateOlderMessages(view)).toBe(view);
    expect(previewOutputs(view, { maxBytes: 4_000 })).toBe(view);
    const whole = [looked(output), ...filler];
    expect(truncateOlderMessages(whole)).not.toBe(whole);
  }
});

test("an output that quotes a stub is previewed and truncated as any other", () => {
  const quoted = `[Left out: an output of 9 characters. recall @0a1b2c3 reads it again.] ${LONG.repeat(20)}`;
  const filler = Array.from({ length: 20 }, (_, n): UIMessage => ({ ...looked("short"), id: `f${n}` }));
  for (const output of [quoted, { log: LONG.repeat(20), lines: [quoted] }]) {
    const view = [looked(output), ...filler];
    expect(truncateOlderMessages(view)).not.toBe(view);
    expect(previewOutputs(view, { maxBytes: 4_000 })).not.toBe(view);
  }
});

test("without the room of recall a stub names no tool", () => {
  const { parts } = maskMessage(looked(LONG), { words: {}, toStep: 0, names: [], namesStep: 0, canRecall: false });
  expect(readStub(parts[0] ?? {})).toBe(`[Left out: an output of ${LONG.length} characters.]`);
});

test("a redacted view has its stubs still, with whatever they quote redacted", () => {
  const secret = "ghp_1234567890abcdefghijABCDEFGHIJ123456";
  const shown = masked(looked({ log: `${LONG} ${secret}` }), ["ledgerOf7", secret]);
  const redacted = secretRules().redactMessage(shown);
  const [part = looked("")] = redacted.parts;
  expect(readStub(part)).toContain("earlier ones: ledgerOf7");
  expect(JSON.stringify([stubIn(part), redacted])).not.toContain(secret);
});

/** A reply of one step with these calls, as it is stored. */
function replyOf(
  ...calls: readonly { readonly id?: string; readonly input: unknown; readonly output: unknown }[]
): UIMessage {
  const parts = calls.map(({ id = "c1", ...call }) => ({
    type: "tool-look",
    toolCallId: id,
    state: "output-available",
    ...call,
  }));
  return { id: "w1", role: "assistant", parts: parts as UIMessage["parts"] };
}

/** The same in a view, as it comes back over RPC. */
const echoed = (message: UIMessage): UIMessage => structuredClone(masked(message));

test("a stub that is sent back is its output again, each its own, also where ids, inputs and lengths are equal (M1)", () => {
  for (const input of [{ n: 1 }, { n: 2 }]) {
    const stored = replyOf(
      { input: { n: 1 }, output: LONG },
      { input, output: LONG.replaceAll("ledger", "parser") },
      { input, output: { kind: "file", text: LONG.replaceAll("ledger", "outline") } },
    );
    expect(echoed(stored)).not.toEqual(stored);
    expect(unmask(echoed(stored), () => stored)).toEqual(stored);
    expect(unmask(masked(stored), () => stored)).toEqual(stored);
  }
});

test("what was changed beside a stub, or in its place, stays as it was sent", () => {
  const stored = replyOf({ input: { key: "secret" }, output: { owner: "Ann", text: LONG } });
  const changed = (change: (part: Record<string, unknown>) => void): UIMessage => {
    const message = echoed(stored);
    change(message.parts[0] as unknown as Record<string, unknown>);
    return unmask(message, () => stored);
  };
  const [original] = stored.parts;
  expect(changed((part) => (part["input"] = {})).parts).toEqual([{ ...original, input: {} }]);
  const owner = changed(({ output }) => ((output as { owner: string }).owner = "nobody"));
  expect(JSON.stringify(owner)).not.toContain("Ann");
  const stub = (echoed(stored).parts[0] as unknown as { output: { text: string } }).output.text;
  const quoted = changed((part) => (part["output"] = `It was taken out by hand: ${stub}`));
  expect(outputOf(quoted)).toBe(`It was taken out by hand: ${stub}`);
});

/** How long it takes to find the outputs of a reply with so many calls again (ms). */
function took(calls: number): number {
  const many = Array.from({ length: calls }, (_, n) => ({ id: `c${n}`, input: { n }, output: { rows: [LONG, LONG] } }));
  const stored = replyOf(...many);
  const message = echoed(stored);
  const began = performance.now();
  expect(unmask(message, () => stored)).toEqual(stored);
  return performance.now() - began;
}

test("a long reply that is sent back takes time in proportion to its length", () => {
  took(20);
  // Quadratic time would be 64 times as long.
  expect(took(400)).toBeLessThan(24 * took(50) + 50);
});
