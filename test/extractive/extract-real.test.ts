/** Extractive summaries of real transcripts keep the request, the rules and the newest work, through many updates. */
import { withoutEmptySections } from "../../src/steps/draft/empty-sections.ts";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { extractSummary } from "../../src/extractive/extract.ts";
import { extractConstraints } from "../../src/facts/rules/constraints.ts";
import { DEFAULT_TEMPLATE } from "../../src/steps/draft/template.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

const transcripts = process.env["PALIMPSEST_TRANSCRIPTS"] ?? "../shared/transcripts";
const tauFile = `${transcripts}/tau-airline-100.json`;
const piFile = `${transcripts}/pi-coding-session.jsonl`;

/** The fields of a message, or of a part of one, that are read here. Both files have them. */
interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: string;
}
interface Line {
  readonly role: string;
  readonly text: string;
  readonly calls: readonly Call[];
  readonly callId: string;
  readonly failed: boolean;
}

function render(lines: readonly Line[]): string {
  return lines
    .map(({ role, text, calls, callId, failed }, index) => {
      const spoken = text.replaceAll(/^\[/gm, "\\[");
      if (role === "tool") return `[#${index} assistant]\n[${failed ? "error" : "result"} tool ${callId}]\n${spoken}`;
      const asked = calls.map(({ id, name, input }) => `[call ${name} ${id}]\n${input}`);
      return [`[#${index} ${role}]`, spoken, ...asked].join("\n");
    })
    .join("\n\n");
}

function summarise(lines: readonly Line[], summaryTokens: number, previous: string | null = null): string {
  return extractSummary({
    countTokens: estimateTokens,
    transcript: render(lines),
    previous,
    drafts: [],
    template: DEFAULT_TEMPLATE,
    summaryTokens,
  });
}

function readTau(): Line[][] {
  interface Raw {
    readonly role: string;
    readonly content: string | null;
    readonly tool_call_id?: string;
    readonly tool_calls?: readonly { readonly id: string; readonly function: { name: string; arguments: string } }[];
  }
  const tasks = JSON.parse(readFileSync(tauFile, "utf8")) as { traj: Raw[] }[];
  return tasks.map(({ traj }) =>
    traj
      .filter(({ role }) => role !== "system")
      .map(({ role, content, tool_call_id: callId = "", tool_calls: calls }) => ({
        role,
        text: content ?? "",
        calls: (calls ?? []).map((call) => ({ id: call.id, name: call.function.name, input: call.function.arguments })),
        callId,
        failed: false,
      })),
  );
}

function readPi(): Line[] {
  interface Part {
    readonly type: string;
    readonly text?: string;
    readonly id?: string;
    readonly name?: string;
    readonly arguments?: unknown;
  }
  interface Raw {
    readonly type: string;
    readonly message?: { role: string; content?: string | Part[]; toolCallId?: string; isError?: boolean };
  }
  return readFileSync(piFile, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => {
      const { message } = JSON.parse(line) as Raw;
      if (message === undefined || !["user", "assistant", "toolResult"].includes(message.role)) return [];
      const parts =
        typeof message.content === "string" ? [{ type: "text", text: message.content }] : (message.content ?? []);
      const calls = parts.filter((part): part is Part => part.type === "toolCall");
      return [
        {
          role: message.role === "toolResult" ? "tool" : message.role,
          text: parts.map((part) => part.text ?? "").join("\n"),
          calls: calls.map((call) => ({
            id: call.id ?? "",
            name: call.name ?? "",
            input: JSON.stringify(call.arguments),
          })),
          callId: message.toolCallId ?? "",
          failed: message.isError === true,
        },
      ];
    });
}

describe.skipIf(!existsSync(tauFile))("real customer conversations (skipped where the transcripts are absent)", () => {
  it("name the request, the rules of the customer, and what was cancelled", () => {
    for (const lines of readTau()) {
      const summary = summarise(lines, 1_200);
      expect(estimateTokens(withoutEmptySections(summary))).toBeLessThanOrEqual(1_200);
      expect(summary).not.toContain("## Goal\nNone.");
      const rules = lines.flatMap(({ role, text }) => (role === "user" ? extractConstraints(text) : []));
      for (const rule of rules) expect(summary.toLowerCase()).toContain(rule.replaceAll(/\s+/g, " ").toLowerCase());
      const cancelled = lines.flatMap(({ calls }) => calls.filter((call) => call.name === "cancel_reservation"));
      for (const { id, input } of cancelled) {
        const worked = lines.some((line) => line.callId === id && !line.text.startsWith("Error"));
        if (worked) expect(summary).toContain((JSON.parse(input) as { reservation_id: string }).reservation_id);
      }
    }
  });
});

describe.skipIf(!existsSync(piFile))("a real coding session (skipped where the transcripts are absent)", () => {
  it("keeps its first goal, its rules and its newest commits through eight updates, within the budget", () => {
    const lines = readPi();
    const size = Math.ceil(lines.length / 8);
    let summary: string | null = null;
    for (let at = 0; at < lines.length; at += size) {
      summary = summarise(lines.slice(at, at + size), 2_000, summary);
      expect(estimateTokens(withoutEmptySections(summary))).toBeLessThanOrEqual(2_000);
    }
    expect(summary).toContain("provide me with a plan on how to untangle this");
    expect(summary).toContain("i would only want e2e tests for AgentSession");
    expect(summary).toContain("don't read the full file!");
    expect(summary).toContain("Committed: Show pending bash executions in pending area");
    expect(summary).toContain("src/core/agent-session.ts (");
  });
});
