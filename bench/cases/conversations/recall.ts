/** Measures how much of the evidence for a question one answer of `recall` holds, beside a plain full-text index. */
import type { Case } from "../../case.ts";
import { mean } from "../../report/stats.ts";
import type { Cell, Finding } from "../../report/finding.ts";
import type { Lab } from "../../lab/lab.ts";
import { makeConversation, type Kind } from "../../talk/conversations.ts";
import { fullText, ours, type Search } from "../../talk/searches.ts";

const CONVERSATIONS = 10;
/** Tokens of an answer: the default, and less. The conversations are a few times as long as the first. */
const ANSWERS = [4_000, 2_000, 1_000] as const;
const DEFAULT_TOKENS = 4_000;
const KINDS: Readonly<Record<Kind, string>> = {
  single: "said once, asked in other words",
  when: "a time",
  multi: "said on several days",
  inference: "to be inferred",
};
const SEARCHES = [
  { name: "recall", make: ours },
  { name: "full-text index", make: fullText },
] as const;

interface Asked {
  readonly search: string;
  readonly tokens: number;
  readonly kind: Kind;
  /** The share of the evidence that the answer holds. */
  readonly share: number;
}

export const recallCase: Case = { name: "recall", timed: false, measure: async (lab) => measure(lab) };

function measure({ quick }: Lab): Finding {
  const conversations = Array.from({ length: quick ? 1 : CONVERSATIONS }, (_, n) => makeConversation(n + 1));
  const asked = SEARCHES.flatMap(({ name, make }) =>
    conversations.flatMap((conversation) => {
      const search: Search = make(conversation);
      return ANSWERS.flatMap((tokens) =>
        conversation.questions.map(({ kind, text, evidence }): Asked => {
          const shown = search(text, tokens);
          const found = evidence.filter((id) => shown.has(id));
          return { search: name, tokens, kind, share: found.length / evidence.length };
        }),
      );
    }),
  );
  const of = (search: string, tokens: number, kind?: Kind): readonly Asked[] =>
    asked.filter(
      (each) => each.search === search && each.tokens === tokens && (kind === undefined || each.kind === kind),
    );
  const cells = (some: (search: string) => readonly Asked[]): Cell[] =>
    SEARCHES.flatMap(({ name }) => [evidenceOf(some(name)), anyOf(some(name))]);
  const kinds = Object.keys(KINDS) as Kind[];
  const turns = conversations.map((each) => each.turns.length);
  const columns = SEARCHES.flatMap(({ name }) => [name, "any of it"]);
  return {
    title: "What one recall finds of a long talk",
    about: [
      "Two people talk for months in short turns, and a question asks for what one of them said, mostly in other words. Most topics are told by both, so that an answer must tell them apart. The figure is the share of the evidence in one answer, and the share of questions with any of it.",
      `${conversations.length} conversations from seeds, ${Math.min(...turns)} to ${Math.max(...turns)} turns each, ${conversations.reduce((sum, { questions }) => sum + questions.length, 0)} questions. They are this project's own, and the ranking was not chosen on them. Decision 17 has what was measured on real conversations.`,
      "The full-text index is SQLite's FTS5 with porter stemming. It takes any of the words without stop words, and two turns either side of each hit until the answer is full. It pays no tokens for who says what when.",
    ],
    tables: [
      {
        caption: `one answer of ${DEFAULT_TOKENS.toLocaleString("en")} tokens, by question`,
        columns: ["question", "questions", ...columns],
        rows: [
          ...kinds.map((kind) => [
            KINDS[kind],
            of("recall", DEFAULT_TOKENS, kind).length,
            ...cells((search) => of(search, DEFAULT_TOKENS, kind)),
          ]),
          ["all", of("recall", DEFAULT_TOKENS).length, ...cells((search) => of(search, DEFAULT_TOKENS))],
        ],
      },
      {
        caption: "by tokens of the answer, all questions",
        columns: ["tokens", ...columns],
        rows: ANSWERS.map((tokens) => [tokens, ...cells((search) => of(search, tokens))]),
      },
    ],
    checks: [
      {
        claim: "share of the evidence in one answer of recall",
        measured: evidenceOf(of("recall", DEFAULT_TOKENS)),
        target: 0.88,
        better: "more",
        exact: true,
      },
      {
        claim: "share of questions with any evidence in one answer of recall",
        measured: anyOf(of("recall", DEFAULT_TOKENS)),
        target: 0.93,
        better: "more",
        exact: true,
      },
      {
        claim: "evidence by the full-text index, over evidence by recall",
        measured: evidenceOf(of("full-text index", DEFAULT_TOKENS)) / evidenceOf(of("recall", DEFAULT_TOKENS)),
        target: 1,
        exact: true,
      },
    ],
    unmeasured: ["whether a model answers the question with it", "languages other than English"],
  };
}

function evidenceOf(asked: readonly Asked[]): number {
  return mean(asked.map(({ share }) => share));
}

function anyOf(asked: readonly Asked[]): number {
  return mean(asked.map(({ share }) => (share > 0 ? 1 : 0)));
}
