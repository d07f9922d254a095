/**
 * Makes one answer about the notes. The functions here are the bodies of an update's "update" and "repair" steps.
 *
 * As in draft.ts, each reads from the agent, asks a model at most once and stores the answer in the agent. The draft's text is the model's
 * answer, which holds only the sections that change. The agent applies it to the notes and audits the result when it stores the draft.
 */
import { renderNotes } from "./steps/document.ts";
import { factsOfElements } from "./steps/facts.ts";
import { describeSections, NOTES_TASK } from "./steps/prompt.ts";
import type { PromptInput } from "../steps/draft/prompt.ts";
import { keepReferences, numberMessages, parseReferences, referencesIn } from "../steps/draft/provenance.ts";
import { referenceTo } from "../steps/message/message.ts";
import { renderTranscript, type TranscriptElement } from "../steps/draft/render.ts";
import { stripInvisible } from "../steps/text/text.ts";
import { askOnce, chooseCall, newBoundary, saveAnswer, type Drafted, type Drafting } from "../workflows/draft.ts";
import type { CompactionPort, DraftReceipt } from "../workflows/port.ts";
import type { NotesQuestion, NotesReading } from "./workflow-port.ts";

type NotesSource = NotesReading & { readonly kind: "notes" };

export async function draftNotes(by: Drafting<CompactionPort>): Promise<Drafted> {
  const { name, continues } = by.model;
  const how = continues === undefined ? {} : { continues: { id: continues.id, name: continues.name } };
  const source = await readSource(by, { model: name, ...how });
  return source.kind === "notes" ? ask(by, source) : source;
}

/** Asks once more for an answer that was refused, and names the problems. */
export async function repairNotes(by: Drafting<CompactionPort>, rejected: DraftReceipt): Promise<Drafted> {
  const again = { rejected: rejected.key, key: rejected.soundKey };
  const source = await readSource(by, { model: by.model.name, again });
  return source.kind === "notes" ? ask(by, source) : source;
}

async function readSource({ port, mark }: Drafting<CompactionPort>, asked: NotesQuestion): Promise<NotesReading> {
  return (await port.read(mark, { kind: "own", asked })) as NotesReading;
}

async function ask(by: Drafting<CompactionPort>, source: NotesSource): Promise<Drafted> {
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
  const text = refer(stripInvisible(answer.text), { notes, elements });
  return saveAnswer(by, {
    key,
    text,
    model: asked.model.name,
    finishReason,
    cost,
    degraded: false,
    generation: 1,
    facts: factsOfElements(elements, source.overlayFacts),
    unfounded: [],
    again: problems.length > 0,
    answers: { kind: "own" },
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
