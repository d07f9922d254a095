/**
 * The policy of a well-known terminal agent (hermes-agent), written after its description, because it is no library.
 *
 * It prunes tool outputs first, keeps a head of messages and a tail of tokens, and updates one summary of the middle with each compaction.
 * It gives up the head after the first one. Here it has no search of replaced messages, although agents that use this policy may have one.
 *
 * Leaves out waits after failures, fallbacks, secrets and images, because nothing here needs them.
 */
import type { UIMessage } from "ai";
import { measureMessage } from "../../src/steps/message/message.ts";
import { buildPrompt } from "../../src/steps/draft/prompt.ts";
import { renderTranscript } from "../../src/steps/draft/render.ts";
import type { Appended, Host, Policy, Spent, Terms } from "./host.ts";
import { Bill, summarise } from "./summariser.ts";
import { keepTails, type Tail } from "./tail.ts";
import { weigh } from "./weigh.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

const NAME = "head and tail";
const HEAD_MESSAGES = 3;
/** Factor by which a tail may exceed its budget to begin with the last user's message. */
const STRETCH = 1.5;
/** The requested summary has this share of the tokens that it replaces, between these shares of the threshold. */
const SUMMARY_SHARE = 0.2;
const LEAST_SHARE = 0.05;
const MOST_SHARE = 0.1;
/** Characters of an output that is not pruned, and of the line that remains of a pruned one. */
const SHORT_OUTPUT = 200;
const OUTPUT_LINE = 120;

const SECTIONS = [
  "Task snapshot",
  "Goal",
  "Constraints & preferences",
  "Completed actions",
  "Active state",
  "In progress",
  "Blocked",
  "Key decisions",
  "Resolved questions",
  "Pending user asks",
  "Relevant files",
  "Remaining work",
  "Critical context",
].map((title) => ({ title, hint: "" }));

export function headAndTail(): Policy {
  const tailOf = keepTails();
  return { name: NAME, open: async (terms) => new HeadAndTail(terms, tailOf(terms)) };
}

class HeadAndTail implements Host {
  readonly name = NAME;
  readonly recall = null;
  readonly #terms: Terms;
  readonly #tail: Tail;
  readonly #bill = new Bill();
  #head: readonly UIMessage[] = [];
  #summary: UIMessage | null = null;
  #rest: readonly UIMessage[] = [];
  #tokens = 0;

  constructor(terms: Terms, tail: Tail) {
    this.#terms = terms;
    this.#tail = tail;
  }

  async append(message: UIMessage): Promise<Appended> {
    this.#rest = [...this.#rest, message];
    this.#tokens += weigh([message]);
    if (this.#tokens <= this.#terms.thresholdTokens || !(await this.#compact())) {
      return { compacted: false, tokens: this.#tokens };
    }
    this.#tokens = weigh(await this.view());
    this.#tail.steer(this.#tokens);
    return { compacted: true, tokens: this.#tokens };
  }

  async view(): Promise<readonly UIMessage[]> {
    return [...this.#head, ...(this.#summary === null ? [] : [this.#summary]), ...this.#rest];
  }

  async spent(): Promise<Spent> {
    return this.#bill.spent;
  }

  async close(): Promise<void> {}

  async #compact(): Promise<boolean> {
    const first = this.#summary === null;
    const head = first ? this.#rest.slice(0, HEAD_MESSAGES) : [];
    const from = [...this.#head, ...this.#rest.slice(head.length)];
    const at = cutTail(from, this.#tail.tokens);
    const middle = prune(from.slice(0, at));
    if (middle.length === 0) return false;
    const text = await this.#summarise(middle);
    this.#head = head;
    this.#summary = { id: "summary", role: "user", parts: [{ type: "text", text }] };
    this.#rest = from.slice(at);
    return true;
  }

  async #summarise(middle: readonly UIMessage[]): Promise<string> {
    const { thresholdTokens } = this.#terms;
    const wanted = Math.max(weigh(middle) * SUMMARY_SHARE, thresholdTokens * LEAST_SHARE);
    const { system, prompt } = buildPrompt({
      kind: "chunk",
      transcript: renderTranscript(middle.map((message) => ({ kind: "message", message }))),
      previous: this.#summary === null ? null : textOf(this.#summary),
      template: { sections: SECTIONS },
      summaryTokens: Math.floor(Math.min(wanted, thresholdTokens * MOST_SHARE)),
      boundary: "bench",
    });
    const answer = await summarise(prompt, system);
    this.#bill.add(answer);
    return answer.text;
  }
}

/** Start of the tail. It lies within the budget, or somewhat over it to begin with the last user's message, and behind no open call. */
function cutTail(messages: readonly UIMessage[], tailTokens: number): number {
  const kept = (at: number): number => weigh(messages.slice(at));
  let at = messages.length - 1;
  while (at > 0 && kept(at - 1) <= tailTokens) at--;
  const asked = messages.findLastIndex(({ role }) => role === "user");
  if (asked !== -1 && asked < at && kept(asked) <= tailTokens * STRETCH) at = asked;
  while (at > 0 && partsPair(messages, at)) at--;
  return at;
}

/** Whether a call stands before this place and its result behind it. */
function partsPair(messages: readonly UIMessage[], at: number): boolean {
  const measured = messages.map((message) => measureMessage(message, estimateTokens));
  const called = new Set(measured.slice(0, at).flatMap(({ calls }) => calls.map(([id]) => id)));
  return measured.slice(at).some(({ results }) => results.some(([id]) => called.has(id)));
}

/** Cuts long outputs to their first line, and replaces each repeated output with a word. */
function prune(messages: readonly UIMessage[]): UIMessage[] {
  const seen = new Set<string>();
  return messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) => {
      if (!("output" in part) || part.output === undefined) return part;
      const output = typeof part.output === "string" ? part.output : JSON.stringify(part.output);
      const again = seen.has(output);
      seen.add(output);
      return { ...part, output: again ? "(as before)" : prunedOutput(output) };
    }),
  }));
}

function prunedOutput(output: string): string {
  if (output.length <= SHORT_OUTPUT) return output;
  const line = (output.split("\n").find((each) => each.trim() !== "") ?? "").slice(0, OUTPUT_LINE);
  return `${line} (${output.length} characters in all)`;
}

function textOf({ parts }: UIMessage): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
