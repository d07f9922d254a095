/** The bench's arithmetic of an agent's requests, and of the part that a prompt cache still holds. */
import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { Requests } from "../../bench/cost/requests.ts";
import { weigh } from "../../bench/policies/weigh.ts";

function says(role: "user" | "assistant", text: string): UIMessage {
  return { id: text, role, parts: [{ type: "text", text }] };
}

describe("what an agent sends", () => {
  const asked = says("user", "Please look at the parser.");
  const answered = says("assistant", "It drops the last comma.");

  it("is the view before each answer, all of it new to the cache at first", () => {
    const requests = new Requests();
    requests.add(asked);
    requests.add(answered);
    const tokens = weigh([asked]);
    expect(requests.sent).toMatchObject({ requests: 1, tokens, cached: 0, written: tokens, peak: tokens });
  });

  it("is read from the cache as far as it begins like the request before", () => {
    const requests = new Requests();
    for (const message of [asked, answered, says("user", "Mend it."), says("assistant", "Done.")])
      requests.add(message);
    expect(requests.sent.cached).toBe(weigh([asked]));
    expect(requests.sent.written).toBe(weigh([asked, answered, says("user", "Mend it.")]));
  });

  it("is written anew from the first message that a compaction changed", () => {
    const requests = new Requests();
    const summary = says("user", "The parser was looked at.");
    const next = says("user", "Mend it.");
    for (const message of [asked, answered, next, says("assistant", "Done.")]) requests.add(message);
    const before = requests.sent;
    requests.look([asked, summary, next]);
    requests.add(says("assistant", "Done again."));
    expect(requests.sent.cached - before.cached).toBe(weigh([asked]));
    expect(requests.sent.written - before.written).toBe(weigh([summary, next]));
  });

  it("is one request for each step of a message, with the steps before it", () => {
    const parts: UIMessage["parts"] = [
      { type: "step-start" },
      { type: "text", text: "I read it." },
      { type: "step-start" },
      { type: "text", text: "It drops the last comma." },
    ];
    const requests = new Requests();
    requests.add(asked);
    requests.add({ id: "a", role: "assistant", parts });
    expect(requests.sent.requests).toBe(2);
    expect(requests.sent.cached).toBe(weigh([asked]));
    expect(requests.sent.peak).toBeGreaterThan(weigh([asked]));
  });

  it("counts what tools gave as sent, never as answered", () => {
    const output = "line of a log\n".repeat(200);
    const call = { type: "dynamic-tool", toolName: "read", toolCallId: "c", input: { path: "a.ts" } } as const;
    const requests = new Requests();
    requests.add({ id: "a", role: "assistant", parts: [{ ...call, state: "output-available", output }] });
    expect(requests.sent.answered).toBeLessThan(100);
  });
});
