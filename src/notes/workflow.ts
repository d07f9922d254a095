/**
 * One update of a session's notes as a straight line of durable steps.
 *
 *     plan the notes ─▶ update (─▶ repair …) ─▶ save the notes
 *
 * An update has all that a compaction run has, such as a ledger row, an outbox, the watchdog, cancel, and drafts that are paid for once.
 * Only the last rung of a compaction is missing. Notes that no model could write stay as they are, so a failed or late update costs only its
 * calls. The draft's text is the model's answer, which holds only the sections that change. The agent applies it to the notes and audits the
 * result when it stores the draft.
 */
import type { WorkflowStep } from "cloudflare:workers";
import { NO_FACTS } from "../facts/fact.ts";
import type { ChosenModel, SentPrompt } from "../model/chosen.ts";
import type { PromptInput } from "../steps/draft/prompt.ts";
import { keepReferences, numberMessages, parseReferences, referencesIn } from "../steps/draft/provenance.ts";
import { renderTranscript, type TranscriptElement } from "../steps/draft/render.ts";
import { referenceTo } from "../steps/message/message.ts";
import { stripInvisible } from "../steps/text/text.ts";
import { askOnce, chooseCall, newBoundary, saveAnswer, type Drafted, type Drafting } from "../workflows/draft.ts";
import { Asked, climbDown, markOf, AGENT_CALL } from "../workflows/ladder.ts";
import type { Askable, ChunkRequest, CompactionPort, DraftReceipt, RunEnded } from "../workflows/port.ts";
import { renderNotes, type NotesSection, type NotesShape } from "./steps/document.ts";
import { describeSections, NOTES_TASK } from "./steps/prompt.ts";

/** What an update is planned for. */
export interface NotesAsked {
  readonly models: readonly string[];
  readonly windowTokens: number;
}

/** The pinned input of one update of the notes. */
export type NotesPlanned =
  | {
      readonly kind: "notes";
      /** Digest of the version to build on and of the messages to read. */
      readonly digest: string;
      readonly resting: readonly string[];
    }
  | RunEnded;

export interface NotesQuestion {
  readonly model: string;
  /** Set to try again. `rejected` is the refused answer, and `key` is the key of a sound one. */
  readonly again?: { readonly rejected: string; readonly key: string };
  readonly continues?: ChunkRequest["continues"];
}

export type NotesReading =
  | (Askable & {
      readonly kind: "notes";
      readonly key: string;
      /** The current notes, with every section. */
      readonly sections: readonly NotesSection[];
      /** The shape with its budgets as a prompt names them. */
      readonly shape: NotesShape;
      /** The new elements, oldest first. */
      readonly elements: readonly TranscriptElement[];
      readonly maxChars: number;
      /** The prompt that the agent last sent. Absent where none is known, and on every try but the first. */
      readonly sent?: SentPrompt;
      /** What was wrong with the refused answer. It may quote the notes. */
      readonly problems: readonly string[];
      /** Text of the refused answer. */
      readonly rejected: string | null;
    })
  | DraftReceipt
  | RunEnded;

export async function updateNotes(step: WorkflowStep, model: ChosenModel, port: CompactionPort): Promise<RunEnded> {
  const { models } = new Asked(model, []);
  const asked: NotesAsked = { models: models.map(({ name }) => name), windowTokens: model.windowTokens };
  const plan = await step.do(
    "plan the notes",
    AGENT_CALL,
    async (at) => (await port.recordPlan(markOf(at), { kind: "room", asked })) as NotesPlanned,
  );
  if (plan.kind === "ended") return plan;

  const drafted = await climbDown<never>(step, {
    asked: new Asked(model, plan.resting),
    name: "update the notes",
    label: " the notes",
    last: "keep",
    draft: (mark, by) => draftNotes({ port, mark, model: by }),
    repair: (mark, by, rejected) => draftNotes({ port, mark, model: by }, rejected),
    extract: (mark) => port.end(mark, null),
  });
  if (drafted.kind === "ended") return drafted;
  return step.do("save the notes", AGENT_CALL, (at) => port.commit(markOf(at), { key: drafted.key, leaves: [] }));
}

/** Asks a model at most once and stores the answer in the agent. With `rejected` it asks again, and names the problems of that answer. */
async function draftNotes(by: Drafting<CompactionPort>, rejected?: DraftReceipt): Promise<Drafted> {
  const { name, continues } = by.model;
  const how =
    rejected !== undefined
      ? { again: { rejected: rejected.key, key: rejected.soundKey } }
      : continues === undefined
        ? {}
        : { continues: { id: continues.id, name: continues.name } };
  const asked: NotesQuestion = { model: name, ...how };
  const source = (await by.port.read(by.mark, { kind: "room", asked })) as NotesReading;
  return source.kind === "notes" ? ask(by, source) : source;
}

async function ask(by: Drafting<CompactionPort>, source: NotesReading & { readonly kind: "notes" }): Promise<Drafted> {
  const { key, shape, sections, elements, problems } = source;
  const notes = renderNotes(sections);
  const messages = elements.flatMap((element) => (element.kind === "message" ? [element.message] : []));
  // A prompt that was sent may hold another text of a summary than the one that the update reads, so it is continued only without summaries.
  const sent = messages.length === elements.length && source.sent !== undefined ? { sent: source.sent } : {};
  const input: PromptInput = {
    kind: NOTES_TASK,
    transcript: renderTranscript(elements, { maxChars: source.maxChars }),
    previous: notes,
    drafts: source.rejected === null ? [] : [source.rejected],
    problems,
    template: { sections: describeSections(sections, shape) },
    summaryTokens: shape.maxTokens,
    // Fresh for each call. A transcript cannot guess it, so nothing inside can end the block that holds it.
    boundary: newBoundary(),
  };
  const asked = chooseCall(by.model, { ...sent, messages, askTokens: shape.maxTokens }, input);
  const answer = await askOnce({ ...by, ...asked }, { ...asked, answerTokens: shape.maxTokens, leftMs: source.leftMs });
  const { finishReason, cost } = answer;
  return saveAnswer(by, {
    key,
    text: refer(stripInvisible(answer.text), { notes, elements }),
    model: asked.model.name,
    finishReason,
    cost,
    degraded: false,
    generation: 1,
    // What stands beside a summary is gathered when the notes become one.
    facts: NO_FACTS,
    unfounded: [],
    again: problems.length > 0,
    answers: { kind: "room" },
  });
}

/**
 * Removes references that cannot be true. It keeps those to the new messages and those that the notes name already. Lines that stand in the
 * notes stay unchanged, because a person may use a number in brackets for something else.
 */
function refer(text: string, { notes, elements }: { notes: string; elements: readonly TranscriptElement[] }): string {
  const numbers = new Map(
    elements.flatMap((element, at) =>
      element.kind === "message" ? [...numberMessages([element.message], at + 1)] : [],
    ),
  );
  const summaries = elements.flatMap((element) => (element.kind === "overlay" ? [element.summary] : []));
  const known = [notes, ...summaries].flatMap(referencesIn).concat([...numbers.values()].map(referenceTo));
  const standing = new Set(notes.split("\n"));
  const lines = text.split("\n");
  const fresh = lines.filter((line) => !standing.has(line)).join("\n");
  const checked = keepReferences(parseReferences(fresh, numbers), known).split("\n");
  return lines.map((line) => (standing.has(line) ? line : (checked.shift() ?? ""))).join("\n");
}
