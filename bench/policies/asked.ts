/**
 * Reads the task out of the prompt of any policy, so that one summariser serves them all.
 *
 * Takes a prompt and returns its task. Prompts of ours, and those of the head-and-tail policy with the same layout, go through the
 * product's own reader. The SDK's prompt has fixed lines around the conversation and is converted into the form of ours.
 */
import { parsePrompt, DEFAULT_TEMPLATE, type Section } from "../../src/steps/draft/prompt.ts";

export interface Asked {
  /** True for notes, whose sections stand and have a budget behind their hint. */
  readonly notes: boolean;
  /** As `renderTranscript` writes it. Empty when only summaries are folded. */
  readonly transcript: string;
  /** Summaries to carry on, oldest first. */
  readonly earlier: readonly string[];
  /** Problems of an earlier answer. They may name missing facts. */
  readonly problems: readonly string[];
  readonly sections: readonly Section[];
  /** Tokens to aim at. */
  readonly tokens: number;
}

/** Share of the allowed tokens that our prompts tell a model to aim at. */
const AIM = 0.85;
/** Used where a prompt names no size. */
const DEFAULT_TOKENS = 1_000;

export function readAsked(prompt: string): Asked {
  const ours = parsePrompt(prompt);
  if (ours === null) return readSdkPrompt(prompt);
  return {
    notes: ours.kind === "notes",
    transcript: ours.transcript ?? "",
    earlier: [...(ours.previous === null ? [] : [ours.previous]), ...ours.drafts],
    problems: ours.problems,
    sections: ours.sections,
    tokens: Math.floor(ours.summaryTokens * AIM),
  };
}

const FIRST = "CONVERSATION TO SUMMARIZE:\n";
const PREVIOUS = "PREVIOUS SUMMARY:\n";
const NEW_TURNS = "\n\nNEW TURNS TO INCORPORATE:\n";
const ENDS = ["\n\nUse this structure:\n", "\n\nUpdate the summary."] as const;

function readSdkPrompt(prompt: string): Asked {
  const end = Math.max(...ENDS.map((line) => prompt.lastIndexOf(line)));
  if (end === -1) throw new Error("This prompt is of no policy that is known here.");
  const [conversation, told] = [prompt.slice(0, end), prompt.slice(end)];
  const titles = told.split("\n").flatMap((line) => (line.startsWith("## ") ? [line.slice(3)] : []));
  const turns = conversation.indexOf(NEW_TURNS);
  const update = turns !== -1 && conversation.includes(PREVIOUS);
  const previous = conversation.slice(conversation.indexOf(PREVIOUS) + PREVIOUS.length, turns);
  const from = update ? turns + NEW_TURNS.length : conversation.indexOf(FIRST) + FIRST.length;
  const asked = Number(/Target ~(\d+) tokens/.exec(told)?.[1] ?? DEFAULT_TOKENS);
  return {
    notes: false,
    transcript: readSdkMessages(conversation.slice(from)),
    earlier: update ? [previous] : [],
    problems: [],
    sections: titles.length === 0 ? DEFAULT_TEMPLATE.sections : titles.map((title) => ({ title, hint: "" })),
    tokens: asked,
  };
}

/** A piece that does not open as a message continues the one before, because its text contains the separator line. */
function readSdkMessages(text: string): string {
  const lines: string[] = [];
  let n = 0;
  for (const piece of text.split("\n\n---\n\n")) {
    const [, role, body] = /^\[(user|assistant|system)\]\n([^]*)$/.exec(piece) ?? [];
    if (role === undefined || body === undefined) lines.push(piece);
    else lines.push(`[#${++n} ${role}]`, readSdkTools(body, n));
  }
  return lines.join("\n");
}

/** Writes calls and results as blocks of their own. */
function readSdkTools(body: string, message: number): string {
  let call = 0;
  return body
    .replaceAll(/^\[Tool: ([^\]\s]*)\]$/gm, (_, name: string) => `[call ${name} ${message}-${++call}]`)
    .replaceAll(/^Output: /gm, () => `[result tool ${message}-${call}]\n`)
    .replaceAll(/^Input: /gm, "");
}
