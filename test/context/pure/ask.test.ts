/** A misbehaving provider ends in one typed error within a known time. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { askForText, askProvider } from "../../../src/context/provider.ts";
import { Turns } from "../../../src/context/blocks.ts";
import type { PalimpsestError } from "../../../src/errors.ts";

afterEach(() => {
  vi.useRealTimers();
});

const never = () => new Promise<never>(() => undefined);

function ask(call: () => unknown, verb = "read"): Promise<string | null> {
  return askForText({ label: "memory", verb, limitMs: 5_000, call: call as () => Promise<string | null> });
}

describe("a provider's answer", () => {
  test("is its text, or null; also from one that answers at once; no timer stays behind", async () => {
    vi.useFakeTimers();
    expect(await ask(async () => "text")).toBe("text");
    expect(await ask(async () => "")).toBe("");
    expect(await ask(() => null)).toBeNull();
    expect(await ask(async () => "half \ud800 of a pair")).toBe("half \ufffd of a pair");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("that is an error or no text is `provider_failed`, retryable, with the cause", async () => {
    const cause = new Error("bucket is down");
    const thrown = ask(async () => {
      throw cause;
    });
    await expect(thrown).rejects.toMatchObject({ code: "provider_failed", retryable: true, cause });
    await expect(thrown).rejects.toThrow('Block "memory" could not be reached to read: bucket is down.');
    const sync = ask(() => {
      throw "a string";
    });
    await expect(sync).rejects.toThrow("a string");
    for (const wrong of [undefined, 5, {}, ["x"]]) {
      await expect(ask(async () => wrong)).rejects.toMatchObject({ code: "provider_failed" });
    }
  });

  test("that does not come is `provider_failed` at the limit; a late write is not promised away", async () => {
    vi.useFakeTimers();
    const outcomes = [ask(never), askProvider({ label: "m", verb: "write", limitMs: 5_000, call: never })].map((each) =>
      each.catch((error: unknown) => error as PalimpsestError),
    );
    await vi.advanceTimersByTimeAsync(5_000);
    const [read, write] = await Promise.all(outcomes);
    expect(read).toMatchObject({ code: "provider_failed" });
    expect((write as PalimpsestError).message).toContain("The write may still happen");
  });
});

describe("turns", () => {
  test("do the work of one name one after the other, in the order of asking, past one that fails", async () => {
    const turns = new Turns();
    const log: string[] = [];
    const gate = Promise.withResolvers<void>();
    const first = turns.run("a", async () => {
      log.push("first begins");
      await gate.promise;
      log.push("first ends");
      throw new Error("failed");
    });
    const second = turns.run("a", async () => log.push("second"));
    const third = turns.run("a", async () => log.push("third"));
    await turns.run("b", async () => log.push("b does not wait"));
    gate.resolve();
    await expect(first).rejects.toThrow("failed");
    await Promise.all([second, third]);
    expect(log).toEqual(["first begins", "b does not wait", "first ends", "second", "third"]);
  });
});
