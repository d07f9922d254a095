/**
 * A conversation in an agent of ours with its workflows, at its defaults except for the terms.
 *
 * The agent's name selects its summariser, as in `one?summariser=lossy-10&seed=1`, because a workflow knows only the name of its agent.
 * With `notes=1` it keeps notes, and with `behind=1` its summaries and notes may continue the prompt that it last sent.
 */
import { Agent } from "agents";
import { convertToModelMessages, streamText, type UIMessage } from "ai";
import { Session } from "../../../src/agent/sessions/session.ts";
import { withCompaction } from "../../../src/agent/compacting-agent.ts";
import { costs } from "../../../src/costs/index.ts";
import { notes } from "../../../src/notes/index.ts";
import { promptCache } from "../../../src/prompt-cache/index.ts";
import { recall } from "../../../src/recall/index.ts";
import type { RunRecord } from "../../../src/memory/runs/runs.ts";
import type { Appended, Spent, Terms } from "../../policies/host.ts";
import { AGENT_MODEL } from "../agent-model.ts";
import { readSetting } from "../setting.ts";
import type { HostedMethods } from "./hosted.ts";

/** Most runs of one conversation that are read. */
const MOST_RUNS = 10_000;

const rooms = [notes(), recall(), promptCache(), costs()] as const;

export class HostedOurs extends withCompaction(Agent, { rooms }) implements HostedMethods {
  readonly #session = Session.create(this);
  #terms: Terms | null = null;
  #tail = 0;

  async begin(terms: Terms): Promise<void> {
    this.#terms = terms;
  }

  async store(message: UIMessage, tailTokens: number): Promise<Appended> {
    this.#keep(tailTokens);
    if (message.role === "assistant" && readSetting(this.name, "behind") !== null) await this.#send();
    await this.#session.appendMessage(message);
    const compacted = await this.#settle();
    const { viewTokens } = await this.#session.status();
    return { compacted, tokens: viewTokens };
  }

  async shown(): Promise<UIMessage[]> {
    return (await this.#session.getView()).messages;
  }

  async lookUp(question: string): Promise<string> {
    const answer = await this.#session.recall({ query: question });
    return answer.kind === "found" ? answer.text : "";
  }

  async spent(): Promise<Spent> {
    const runs = this.palimpsest.runs.list(this.#session.id, { limit: MOST_RUNS });
    const sum = (of: (run: RunRecord) => number): number => runs.reduce((total, run) => total + of(run), 0);
    const { summarisers } = await this.#session.getCosts();
    return {
      calls: sum((run) => run.modelCalls),
      cachedTokens: summarisers.reduce((total, { cachedTokens }) => total + cachedTokens, 0),
      inputTokens: sum((run) => run.inputTokens),
      outputTokens: sum((run) => run.outputTokens),
    };
  }

  /** The request of which the next message is the answer. */
  async #send(): Promise<void> {
    const messages = await convertToModelMessages(await this.shown());
    await streamText({ model: this.#session.rememberPrompt(AGENT_MODEL), messages }).consumeStream();
  }

  #keep(tailTokens: number): void {
    if (this.#terms === null) throw new Error("Begin first.");
    if (tailTokens === this.#tail) return;
    this.#tail = tailTokens;
    this.#session.compactAfter(this.#terms.thresholdTokens, { tail: tailTokens });
    if (readSetting(this.name, "notes") === null) return;
    // Keeps as much as any other policy. By default notes keep more where few messages have text.
    this.#session.keepNotes({ keep: { minTokens: tailTokens, maxTokens: tailTokens } });
  }

  /** Waits for every run that the append began, notes included. True when one of them changed the view. */
  async #settle(): Promise<boolean> {
    let compacted = false;
    for (;;) {
      const { liveRunIds } = await this.#session.status();
      if (liveRunIds.length === 0) return compacted;
      for (const id of liveRunIds) {
        const { kind, outcome } = await this.#session.ended(id);
        // Notes that could not be updated stay as they were, and nothing waits for them.
        if (outcome?.kind === "failed" && kind !== "notes") throw new Error(`A run failed: ${outcome.reason}`);
        compacted ||= outcome?.kind === "applied";
      }
    }
  }
}
