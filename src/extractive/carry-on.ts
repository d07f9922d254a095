/**
 * Carries the bullets of earlier summaries into a new one, adds newer bullets and drops outdated ones.
 *
 * Bullets in, bullets out. It cannot drift, because no bullet is reworded. Each one is kept word for word, replaced by
 * a newer one of its kind, or dropped by the budget.
 */
import type { Bullet } from "./bullet.ts";
import { NAME_LIST } from "./names.ts";
import { splitReferences } from "../steps/draft/provenance.ts";
import { meaningfulWords } from "./rank.ts";
import { readSummary, ASKED_USER, USER_SAID, type Topic } from "../steps/draft/summary-shape.ts";
import { describeOperations } from "./tool-use.ts";

/** Bullets of earlier summaries have orders below 0. This is the distance from one summary to the next. */
const SUMMARY_SPACING = 10_000;
/**
 * Goals at the start of the oldest summary that outweigh later ones, because they found the whole work. Among the rest,
 * newer goals count more.
 */
const FOUNDING_GOALS = 4;
/** A question counts as answered when later bullets contain this share of its words. */
const ANSWERED = 0.5;

/** Joins the bullets of `summaries`, oldest first, with the `fresh` ones of the conversation after them. */
export function carryOn(summaries: readonly string[], fresh: readonly Bullet[]): Bullet[] {
  const carried = summaries.flatMap((summary, index) =>
    readCarried(summary, index - summaries.length, summaries.length),
  );
  const all = [...carried, ...fresh];
  const newest = (topic: Topic): number => Math.max(...all.filter((each) => each.topic === topic).map(generationOf));
  const [newestState, newestDoing] = [newest("state"), newest("doing")];
  const freshWords = new Set(
    fresh.flatMap((each) => (each.topic === "questions" ? [] : [...meaningfulWords(each.text)])),
  );
  const userSpoke = fresh.some((each) => each.text.startsWith(USER_SAID));
  const current = all.filter((each) => {
    if (each.topic === "state") return generationOf(each) === newestState;
    if (each.topic === "doing") return generationOf(each) === newestDoing;
    if (each.topic !== "questions" || each.order >= 0) return true;
    return each.text.startsWith(ASKED_USER) ? !userSpoke : !isAnswered(each.text, freshWords);
  });
  return [...current.filter((each) => each.topic !== "files"), ...mergeFiles(current)];
}

/** 0 for the conversation, -1 for the newest summary, and so on. */
function generationOf(bullet: Bullet): number {
  return bullet.order >= 0 ? 0 : Math.floor(bullet.order / SUMMARY_SPACING);
}

function readCarried(summary: string, generation: number, count: number): Bullet[] {
  const lines = readSummary(summary).filter((line) => !NAME_LIST.test(line.text));
  let goals = 0;
  return lines.slice(0, SUMMARY_SPACING).map(({ topic, text }, place) => {
    const along = (count + generation + (place + 1) / lines.length) / Math.max(1, count);
    const founding = topic === "goal" && goals++ < FOUNDING_GOALS && generation === -count;
    const weight = founding ? 2.6 - along : 0.9 + along * 0.5;
    return { topic, weight, order: generation * SUMMARY_SPACING + place, ...splitReferences(text) };
  });
}

function isAnswered(question: string, freshWords: ReadonlySet<string>): boolean {
  const words = [...meaningfulWords(question)];
  return words.length > 0 && words.filter((word) => freshWords.has(word)).length / words.length >= ANSWERED;
}

const FILE_BULLET = /^`?([^\s`]+)`? \(((?:created|edited|deleted|read)[^()]*)\)$/;

/** The file of a bullet that lists operations on a file. Null for any other bullet. */
export function fileOf(text: string): string | null {
  return FILE_BULLET.exec(text)?.[1] ?? null;
}

/** Merges the operations of each file into one bullet. Keeps bullets of any other form. */
export function mergeFiles(bullets: readonly Bullet[]): Bullet[] {
  const kept: Bullet[] = [];
  const files = new Map<string, { bullet: Bullet; times: Map<string, number>; references: readonly string[] }>();
  for (const bullet of bullets) {
    if (bullet.topic !== "files") continue;
    const [, path, operations] = FILE_BULLET.exec(bullet.text) ?? [];
    if (path === undefined || operations === undefined) {
      kept.push(bullet);
      continue;
    }
    const times = files.get(path)?.times ?? new Map<string, number>();
    for (const part of operations.split(", ")) {
      const [name = "", count = "1"] = part.split(" ×");
      times.set(name, (times.get(name) ?? 0) + Number(count));
    }
    const references = [...new Set([...(files.get(path)?.references ?? []), ...bullet.references])];
    files.set(path, { times, bullet, references });
  }
  for (const [path, { bullet, times, references }] of files) {
    const weight = times.has("read") && times.size === 1 ? Math.min(bullet.weight, 0.9) : bullet.weight;
    kept.push({ ...bullet, weight, references, text: `${path} (${describeOperations(times)})` });
  }
  return kept;
}
