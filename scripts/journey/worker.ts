/**
 * A small agent that records which files run on the way of one message and of one run.
 *
 * It runs beside an instrumented copy of `src`. Agent and Workflow share an isolate, so one set on `globalThis` serves both.
 */
import type { UIMessage } from "ai";
import { Agent } from "agents";
import { CompactionWorkflow as Compaction, Session, withCompaction } from "../../src/index.ts";
import { extractiveModel } from "../../src/model/extractive.ts";

const recorder = globalThis as { palimpsestRan?: Set<string> | undefined };

const THRESHOLD_TOKENS = 2_000;
/** Together some 1,400 tokens, which is under the threshold. */
const FIRST_MESSAGES = 12;
const SENTENCE = "We keep the ledger in one table, and name a run after its session. ";
/** Of each of the first messages, and of the one that crosses the threshold. */
const SENTENCES = { first: 6, last: 60 } as const;

/** Time between two looks at whether the run's Workflow has ended (ms), and how many there are at most. */
const LOOK_MS = 5;
const MOST_LOOKS = 4_000;

/** Made while the module loads, so that making it is not recorded. */
const MODEL = extractiveModel();
type Options = Parameters<typeof MODEL.doGenerate>[0];

/** Counts the Workflow's ends. The agent polls it, because nothing of ours may run only to wait. */
const ended = { workflows: 0 };

export class Journey extends withCompaction(Agent) {
  #said = 0;

  override configureSession(session: Session): void {
    session.compactAfter(THRESHOLD_TOKENS);
  }

  /** Files of an append and of the view after it, in a session that has messages already. */
  async message(): Promise<string[]> {
    const session = Session.create(this);
    while (this.#said < FIRST_MESSAGES) await session.appendMessage(this.#next(SENTENCES.first));
    await session.getView();
    return record(async () => {
      await session.appendMessage(this.#next(SENTENCES.first));
      await session.getView();
    });
  }

  /** Files from the append that crosses the threshold to the end of the run that it starts. */
  async run(): Promise<string[]> {
    const session = Session.create(this);
    const ran = await record(async () => {
      await session.appendMessage(this.#next(SENTENCES.last));
      for (let looks = 0; ended.workflows === 0; looks++) {
        if (looks === MOST_LOOKS) throw new Error("The run did not end.");
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    });
    const summaries = (await session.getCompactions()).length;
    if (summaries !== 1) throw new Error(`The run left ${summaries} summaries instead of one.`);
    return ran;
  }

  #next(sentences: number): UIMessage {
    const n = this.#said++;
    const parts = [{ type: "text" as const, text: `${n}: ${SENTENCE.repeat(sentences)}` }];
    return { id: `m${n}`, role: n % 2 === 0 ? "user" : "assistant", parts };
  }
}

export class CompactionWorkflow extends Compaction {
  protected override model() {
    return {
      name: "journey",
      windowTokens: 128_000,
      model: {
        ...MODEL,
        doGenerate: (options: Options) => unrecorded(() => MODEL.doGenerate(options)),
        doStream: (options: Options) => unrecorded(() => MODEL.doStream(options)),
      },
    };
  }

  override async run(...given: Parameters<Compaction["run"]>): ReturnType<Compaction["run"]> {
    const outcome = await super.run(...given);
    ended.workflows++;
    return outcome;
  }
}

async function record(work: () => Promise<void>): Promise<string[]> {
  const ran = new Set<string>();
  recorder.palimpsestRan = ran;
  try {
    await work();
  } finally {
    recorder.palimpsestRan = undefined;
  }
  return [...ran].toSorted();
}

/** The model is a stranger on the way. It computes its answer before it returns the promise. */
function unrecorded<Answer>(ask: () => Answer): Answer {
  const ran = recorder.palimpsestRan;
  recorder.palimpsestRan = undefined;
  try {
    return ask();
  } finally {
    recorder.palimpsestRan = ran;
  }
}

export default { fetch: () => new Response("journey") };
