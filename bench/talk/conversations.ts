/** Long conversations of two people, made from a seed, with questions whose answers are known. */
import { mulberry } from "../random.ts";
import { CHATTER, TOPICS } from "./topics.ts";

export type Kind = "single" | "when" | "multi" | "inference";

export interface Turn {
  readonly id: string;
  readonly speaker: string;
  readonly text: string;
  /** Epoch ms. */
  readonly at: number;
}

export interface Question {
  readonly kind: Kind;
  readonly text: string;
  /** The ids of the turns that answer it. */
  readonly evidence: readonly string[];
}

export interface Conversation {
  readonly turns: readonly Turn[];
  readonly questions: readonly Question[];
}

interface Line {
  readonly isAsked: boolean;
  readonly isEvidence: boolean;
  readonly text: string;
}

interface Topic {
  readonly kind: Kind;
  readonly question: string;
  /** What is said about it, day by day. */
  readonly days: readonly (readonly Line[])[];
}

const NAMES = ["Mara", "Jonas", "Priya", "Tom", "Ines", "Oskar", "Lena", "Farid", "Ruth", "Milan"] as const;
const SESSIONS = 24;
const LINES_BETWEEN = 5;
const DAY_MS = 86_400_000;
const TURN_MS = 60_000;
const START = Date.UTC(2025, 0, 6, 18);

const topics = TOPICS.trim().split(/\n\n+/).map(readTopic);
const chatter = CHATTER.trim().split("\n");

function readTopic(block: string): Topic {
  const [head = "", ...lines] = block.split("\n");
  const [kind = "", question = ""] = head.split(" | ");
  const days = lines
    .join("\n")
    .split(/\n-+\n/)
    .map((day) => day.split("\n").map(readLine));
  return { kind: kind as Kind, question, days };
}

function readLine(line: string): Line {
  const [, who, star, text = ""] = /^([ab])(\*?): (.*)$/.exec(line) ?? [];
  return { isAsked: who === "a", isEvidence: star === "*", text };
}

/** About both people most topics are told, so that a question must find what the right one said. */
export function makeConversation(seed: number): Conversation {
  const random = mulberry(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const one = pick(NAMES);
  const other = pick(NAMES.filter((name) => name !== one));
  const told = topics.flatMap((topic) => {
    const people = random() < 0.7 ? [one, other] : [pick([one, other])];
    return people.map((asked) => ({ topic, asked, by: asked === one ? other : one, evidence: [] as string[] }));
  });
  const sessions: (() => void)[][] = Array.from({ length: SESSIONS }, () => []);
  const turns: Turn[] = [];
  let at = START;
  const say = (speaker: string, text: string): string => {
    const id = `t${turns.length}`;
    const said = text.replaceAll(/\{([^}]*)\}/g, (_, choices: string) => pick(choices.split("|")));
    turns.push({ id, speaker, text: said, at: (at += TURN_MS) });
    return id;
  };
  for (const { topic, asked, by, evidence } of told) {
    for (const day of topic.days) {
      pick(sessions).push(() => {
        for (const { isAsked, isEvidence, text } of day) {
          const id = say(isAsked ? asked : by, text);
          if (isEvidence) evidence.push(id);
        }
      });
    }
  }
  for (const [day, parts] of sessions.entries()) {
    at = START + day * 4 * DAY_MS;
    for (const part of [() => undefined, ...parts]) {
      part();
      const lines = 1 + Math.floor(random() * 2 * LINES_BETWEEN);
      for (let n = 0; n < lines; n++) say(n % 2 === 0 ? one : other, pick(chatter));
    }
  }
  const questions = told.map(({ topic: { kind, question }, asked, evidence }) => ({
    kind,
    text: question.replaceAll(/\bA\b/g, asked),
    evidence,
  }));
  return { turns, questions };
}
