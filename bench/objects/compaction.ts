/** Our workflows with the summariser that their agent's name asks for: see setting.ts. */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { AgentWorkflowEvent, AgentWorkflowStep } from "agents/workflows";
import type { Outcome } from "../../src/memory/runs.ts";
import type { ChosenModel } from "../../src/model/choose.ts";
import { CompactionWorkflow as RealCompaction, type CompactionParams } from "../../src/workflows/compaction.ts";
import { NotesWorkflow as RealNotes } from "../../src/workflows/notes.ts";
import type { SummariserName, Terms } from "../policies/host.ts";
import { summarise } from "../policies/summariser.ts";
import { readSetting } from "./setting.ts";
import { Summariser } from "./summariser.ts";

/** Tokens, unless the name says `window`: chunks are then bounded by their own limit. */
const WINDOW = 128_000;

type Event = AgentWorkflowEvent<CompactionParams>;

export class CompactionWorkflow extends RealCompaction {
  #agent = "";

  protected override model(): ChosenModel {
    return chooseModel(this.#agent);
  }

  override async run(event: Event, step: AgentWorkflowStep): Promise<Outcome> {
    this.#agent = event.payload.agent.name;
    return super.run(event, step);
  }
}

export class NotesWorkflow extends RealNotes {
  #agent = "";

  protected override model(): ChosenModel {
    return chooseModel(this.#agent);
  }

  override async run(event: Event, step: AgentWorkflowStep): Promise<Outcome> {
    this.#agent = event.payload.agent.name;
    return super.run(event, step);
  }
}

/** One that answers the same to everything (summariser.ts), unless the name asks for a summariser of a comparison. */
function chooseModel(agent: string): ChosenModel {
  const summariser = readSetting(agent, "summariser") as SummariserName | null;
  if (summariser === null) {
    const windowTokens = Number(readSetting(agent, "window") ?? WINDOW);
    return { model: new Summariser(agent).asModel(), name: "bench", windowTokens };
  }
  const seed = Number(readSetting(agent, "seed") ?? 0);
  return { model: comparedModel({ summariser, seed }), name: `bench:${summariser}-${seed}`, windowTokens: WINDOW };
}

function comparedModel(terms: Pick<Terms, "summariser" | "seed">): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "bench",
    modelId: terms.summariser,
    supportedUrls: {},
    doGenerate: async ({ prompt }) => {
      const [system, asked] = [[], []] as [string[], string[]];
      for (const message of prompt) {
        if (message.role === "system") system.push(message.content);
        else for (const part of message.content) if (part.type === "text") asked.push(part.text);
      }
      const { text, inputTokens, outputTokens } = await summarise(terms, asked.join("\n"), system.join("\n"));
      return {
        content: [{ type: "text", text }],
        finishReason: { unified: "stop", raw: "stop" },
        usage: {
          inputTokens: { total: inputTokens, noCache: inputTokens, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
        },
        warnings: [],
      };
    },
    doStream: () => Promise.reject(new Error("The summariser does not stream.")),
  };
}
