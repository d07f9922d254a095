/** What real sessions cost under the rent rule beside other policies, request by request. */
import type { UIMessage } from "ai";
import { type Prices as Ratios, PAID_SHARE } from "../../../src/steps/decide/decide.ts";
import type { Case } from "../../case.ts";
import { cheapest } from "../../cost/optimum.ts";
import { playHost, playNothing, playRent, SdkHost, type Conversation, type RentOptions } from "../../cost/policies.ts";
import { readSteps, type Played } from "../../cost/view.ts";
import { makeReturning } from "../../talk/coding-session.ts";
import { mean } from "../../report/stats.ts";
import type { Cell, Check, Finding, Table } from "../../report/finding.ts";
import type { Lab } from "../../lab/lab.ts";
import { headAndTail } from "../../policies/head-and-tail.ts";
import { priceOf, PRICE_LISTS, type Prices } from "../../prices.ts";
import { ABSENT, listSessions } from "../../talk/transcripts.ts";

/** A session of fewer tokens is short. Compacting it gains nothing, so it should be left alone. */
const LONG_TOKENS = 60_000;
const THRESHOLD = 60_000;
/** A conversation of fewer tokens is never edited, so the mean over ends of conversations leaves it out. */
const SHORT_FROM = 20_000;
/** Thresholds among which the best is chosen for each session in hindsight. */
const THRESHOLDS = [20_000, 30_000, 40_000, 60_000, 90_000, 130_000] as const;
const SMALL_MODEL = 0.1;
/** Tokens of a summariser's window. A provider refuses a call that is larger. */
const WINDOW = 200_000;
/** Settings among which the rule's own are chosen on other sources. The shares are of an edit's price. */
const ALPHAS = [0.5, 1, PAID_SHARE, 2] as const;
/** How wrong an edit's price may be stated. */
const WRONG_PRICES = [0.5, 2] as const;
/** Tokens of one summary and of all in a view, as the product has them at that ceiling. A model fills them. */
const ANSWER_TOKENS = THRESHOLD / 12;
const STACK_TOKENS = THRESHOLD / 4;
/** Most source tokens of one call there. */
const CHUNK_TOKENS = 120_000;
/** Most that one session may cost, over its bill with the SDK. */
const WORST = 1.02;
const RULE = {
  ceilingTokens: THRESHOLD,
  protectTokens: 8_000,
  summaryTokens: ANSWER_TOKENS,
  stackTokens: STACK_TOKENS,
  chunkTokens: CHUNK_TOKENS,
  summariserShare: 1,
  alpha: PAID_SHARE,
  suffix: false,
} as const;

interface Outcome {
  readonly dollars: number;
  readonly played: Played;
}

interface Judged {
  readonly name: string;
  readonly source: string;
  readonly tokens: number;
  readonly requests: number;
  readonly outcomes: Readonly<Record<string, Outcome>>;
  readonly optimum: number;
  /** The rule's bills over those of compacting nothing, had the conversation ended at each request while it was short. */
  readonly ends: readonly number[];
}

export const rent: Case = { name: "cost", timed: false, measure };

const NONE = "nothing";
const SDK = "sdk at 60,000";
const SDK_BEST = "sdk at its best";
const HEAD_TAIL = "head and tail at 60,000";
const OURS = "rent";
const SMALL = small(OURS);
const SUFFIX = "rent, and the live prompt continued";

async function measure(lab: Lab): Promise<Finding> {
  const sessions = readSessions(lab);
  const { judged, short } = await judgeAll(sessions, lab.quick);
  const isReal = !lab.quick && sessions.length > 1;
  const all = [...judged];
  const main = judged.get("dear writes") ?? [];
  return {
    title: "The bill",
    about: [
      `Real sessions of ${LONG_TOKENS.toLocaleString("en")} tokens and more, replayed request by request under each policy; a request reads from the provider's cache as far as it begins like the one before.`,
      'Ours is the rent rule of `compactAfter("auto", { ceiling: 60_000 })` with the arithmetic of the product, without a Worker around it; each of its summaries takes as much of its room as those of language models did, two thirds of a twelfth of the ceiling. The SDK has its own function, called where the view is over the threshold after a message; an offline summariser writes for it, as long as it is asked to.',
      "The optimum knows the future and chooses the moments of summaries as long as ours.",
    ],
    tables: isReal
      ? [
          ...all.flatMap(([list, some]) => tablesOf(list, some)),
          shortTable(short),
          endsTable([...main, ...short]),
          aloneTable([main, judged.get("no write premium") ?? []], short),
        ]
      : [],
    checks: isReal ? [...checksOf(main, short), ...all.flatMap(([list, some]) => worstOf(list, some))] : [],
    plots: isReal ? [{ file: "dollars", title: "Dollars, by session", panels: [panelOf(main)] }] : [],
    unmeasured: [
      "how a model fares with what it is shown: that is under minds",
      "what a cache forgets between two requests, and its least length",
      ...(isReal ? [] : [ABSENT]),
    ],
  };
}

/** Judges each long session under each list of prices, and each short one under the first. */
async function judgeAll(sessions: readonly Recorded[], quick: boolean) {
  const lists = quick ? (["dear writes"] as const) : (Object.keys(PRICE_LISTS) as (keyof typeof PRICE_LISTS)[]);
  const judged = new Map<string, Judged[]>();
  const short: Judged[] = [];
  for (const { name, messages } of sessions) {
    const conversation: Conversation = { messages, steps: readSteps(messages) };
    const isLong = quick || tokensOf(conversation) >= LONG_TOKENS;
    const hosts = isLong && !quick ? await playHosts(conversation) : null;
    for (const list of isLong ? lists : lists.slice(0, 1)) {
      const found = judge(name, conversation, { list, hosts });
      if (isLong) judged.set(list, [...(judged.get(list) ?? []), found]);
      else short.push(found);
    }
  }
  return { judged, short };
}

interface Recorded {
  readonly name: string;
  readonly messages: readonly UIMessage[];
}

function readSessions(lab: Lab): Recorded[] {
  if (lab.quick) return [{ name: "generated", messages: makeReturning(30, 1) }];
  return listSessions().map(({ name, text }) => ({
    name,
    messages: text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [JSON.parse(line) as UIMessage])),
  }));
}

function tokensOf({ steps }: Conversation): number {
  return steps.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Results of other policies, which do not depend on prices. */
interface Hosts {
  readonly sdk: ReadonlyMap<number, Played>;
  readonly headAndTail: Played;
}

async function playHosts(conversation: Conversation): Promise<Hosts> {
  const sdk = new Map<number, Played>();
  for (const threshold of THRESHOLDS) sdk.set(threshold, await playHost(conversation, new SdkHost(threshold)));
  const terms = { thresholdTokens: THRESHOLD, afterTokens: THRESHOLD / 2, summariser: "extractive", seed: 1 } as const;
  return { sdk, headAndTail: await playHost(conversation, await headAndTail().open(terms)) };
}

function judge(
  name: string,
  conversation: Conversation,
  { list, hosts }: { readonly list: keyof typeof PRICE_LISTS; readonly hosts: Hosts | null },
): Judged {
  const prices: Prices = PRICE_LISTS[list];
  const priced = (played: Played, share = 1): Outcome => ({ played, dollars: dollarsOf(played, prices, share) });
  const rule: RentOptions = { ...RULE, prices: ratiosOf(prices) };
  const outcomes: Record<string, Outcome> = {
    [NONE]: priced(playNothing(conversation)),
    [OURS]: priced(playRent(conversation, rule)),
  };
  const sdk = hosts?.sdk.get(THRESHOLD);
  if (hosts !== null && sdk !== undefined) {
    outcomes[SDK] = priced(sdk);
    outcomes[`${SDK}, small`] = priced(sdk, SMALL_MODEL);
    const tried = [...hosts.sdk.values()].map((played) => priced(played));
    const [best] = tried.toSorted((one, other) => one.dollars - other.dollars);
    if (best !== undefined) outcomes[SDK_BEST] = best;
    outcomes[HEAD_TAIL] = priced(hosts.headAndTail);
    outcomes[SMALL] = priced(playRent(conversation, { ...rule, summariserShare: SMALL_MODEL }), SMALL_MODEL);
    outcomes[SUFFIX] = priced(playRent(conversation, { ...rule, suffix: true }));
    for (const wrong of list === "dear writes" ? WRONG_PRICES : [])
      outcomes[stated(wrong)] = priced(playRent(conversation, { ...rule, alpha: rule.alpha * wrong }));
  }
  for (const setting of list === "no cache" ? [] : SETTINGS) {
    const set = { ...rule, ...setting };
    outcomes[nameOf(setting)] = priced(playRent(conversation, set));
    if (hosts === null) continue;
    const cheap = playRent(conversation, { ...set, summariserShare: SMALL_MODEL });
    outcomes[small(nameOf(setting))] = priced(cheap, SMALL_MODEL);
  }
  const optimum = cheapest(conversation.steps, {
    prices,
    tailTokens: RULE.protectTokens,
    summaryTokens: RULE.summaryTokens,
    promptTokens: 700,
    summariserShare: 1,
  });
  const ends = list === "dear writes" ? endsOf(conversation, rule, prices) : [];
  const source = name.split("-")[0] ?? name;
  const requests = outcomes[NONE]?.played.requests ?? 0;
  return { name, source, tokens: tokensOf(conversation), requests, outcomes, optimum, ends };
}

function endsOf(conversation: Conversation, rule: RentOptions, prices: Prices): number[] {
  const nothing: Played[] = [];
  const ours: Played[] = [];
  playNothing(conversation, (played) => nothing.push(played));
  playRent(conversation, rule, (played) => ours.push(played));
  return nothing.flatMap((each, at) => {
    const played = ours[at];
    if (played === undefined || each.peak < SHORT_FROM || each.peak >= LONG_TOKENS) return [];
    return [dollarsOf(played, prices, 1) / dollarsOf(each, prices, 1)];
  });
}

type Setting = Pick<RentOptions, "alpha">;

const SETTINGS: readonly Setting[] = ALPHAS.map((alpha) => ({ alpha }));

function nameOf({ alpha }: Setting): string {
  return `rent at ${alpha}`;
}

/** The rule where an edit's price is stated as so much of what it is. */
function stated(wrong: number): string {
  return `rent, at ${wrong} of an edit's price`;
}

/** The same policy with a summariser at a tenth of the price. */
function small(policy: string): string {
  return `${policy}, small summariser`;
}

function ratiosOf({ input, output, cacheRead, cacheWrite }: Prices): Ratios {
  return { input: 1, output: output / input, cacheRead: cacheRead / input, cacheWrite: cacheWrite / input };
}

function dollarsOf({ bought, summariser }: Played, prices: Prices, share: number): number {
  return priceOf(bought, prices) + share * priceOf({ input: summariser.input, output: summariser.output }, prices);
}

/** Ratio to the session's bill under the SDK's policy, with a summariser of the same price. */
function over({ outcomes }: Judged, policy: string): number {
  const rival = policy.endsWith(small("")) ? `${SDK}, small` : SDK;
  return (outcomes[policy]?.dollars ?? Number.NaN) / (outcomes[rival]?.dollars ?? Number.NaN);
}

function geometric(values: readonly number[]): number {
  return Math.exp(mean(values.map(Math.log)));
}

const SHOWN = [NONE, HEAD_TAIL, SDK, SDK_BEST, OURS, SMALL, SUFFIX] as const;

function tablesOf(list: string, judged: readonly Judged[]): Table[] {
  const policies: Table = {
    caption: `${judged.length} sessions, ${list}: bills over that of the ${SDK}`,
    columns: [
      "policy",
      "bill, geometric mean",
      "worst session",
      "there",
      "summariser tokens a stored one",
      "largest request",
      "largest summariser call",
    ],
    rows: SHOWN.map((policy) => {
      const bills = judged.map((each) => over(each, policy));
      const worst = judged[bills.indexOf(Math.max(...bills))];
      const stored = judged.reduce((sum, { tokens }) => sum + tokens, 0);
      return [
        policy,
        round(geometric(bills)),
        round(Math.max(...bills)),
        worst?.name ?? "",
        round(judged.reduce((sum, each) => sum + summarised(each, policy), 0) / stored),
        Math.max(...judged.map(({ outcomes }) => outcomes[policy]?.played.peak ?? 0)),
        Math.max(...judged.map(({ outcomes }) => outcomes[policy]?.played.summariser.largest ?? 0)),
      ];
    }),
  };
  const sessions: Table = {
    caption: `Each session, ${list}`,
    columns: [
      "session",
      "tokens",
      "requests",
      `${SDK} $`,
      "sdk at its best",
      "rent",
      "small summariser",
      "optimum",
      "edits",
    ],
    rows: judged.map((each) => [
      each.name,
      each.tokens,
      each.requests,
      round(each.outcomes[SDK]?.dollars ?? Number.NaN),
      round(over(each, SDK_BEST)),
      round(over(each, OURS)),
      round(over(each, SMALL)),
      round(each.optimum / (each.outcomes[SDK]?.dollars ?? Number.NaN)),
      each.outcomes[OURS]?.played.edits ?? 0,
    ]),
  };
  return [policies, ...(list === "dear writes" ? [sessions] : [])];
}

function summarised({ outcomes }: Judged, policy: string): number {
  const { input = 0, output = 0 } = outcomes[policy]?.played.summariser ?? {};
  return input + output;
}

/** Whether a call of the summariser is larger than a window. */
function isTooLong({ outcomes }: Judged, policy: string): boolean {
  return (outcomes[policy]?.played.summariser.largest ?? 0) > WINDOW;
}

function shortTable(short: readonly Judged[]): Table {
  return {
    caption: `${short.length} sessions under ${LONG_TOKENS.toLocaleString("en")} tokens: the rent rule's bill over that of compacting nothing`,
    columns: ["session", "tokens", "nothing $", "rent", "edits"],
    rows: short.map((each) => [
      each.name,
      each.tokens,
      round(each.outcomes[NONE]?.dollars ?? Number.NaN),
      round(overNothing(each)),
      each.outcomes[OURS]?.played.edits ?? 0,
    ]),
  };
}

/** Every session, the long ones as far as they are short. */
function endsTable(judged: readonly Judged[]): Table {
  const ends = judged.flatMap((each) => each.ends);
  const shareOver = (least: number): number => round(ends.filter((each) => each > least).length / ends.length);
  return {
    caption: `Had they ended at any request between ${SHORT_FROM.toLocaleString("en")} and ${LONG_TOKENS.toLocaleString("en")} tokens: the rent rule's bill over that of compacting nothing`,
    columns: ["sessions", "ends", "geometric mean over sessions", "share over 1", "share over 1.05", "dearest"],
    rows: [
      [
        judged.filter((each) => each.ends.length > 0).length,
        ends.length,
        round(meanEnd(judged)),
        shareOver(1),
        shareOver(1.05),
        round(Math.max(...ends)),
      ],
    ],
  };
}

/** Geometric mean over sessions of their mean over ends, so that each counts once. */
function meanEnd(judged: readonly Judged[]): number {
  return geometric(judged.flatMap(({ ends }) => (ends.length === 0 ? [] : [mean(ends)])));
}

function overNothing({ outcomes }: Judged, policy: string = OURS): number {
  return (outcomes[policy]?.dollars ?? Number.NaN) / (outcomes[NONE]?.dollars ?? Number.NaN);
}

/**
 * Chooses the rule's free numbers on all sources but one, and shows on that one its bill with dear writes, and the dearest bill of one session
 * under any list with a cache.
 */
function aloneTable(lists: readonly (readonly Judged[])[], short: readonly Judged[]): Table {
  const [main = []] = lists;
  const sources = [...Map.groupBy([...main, ...short], ({ source }) => source)];
  return {
    caption:
      "Leave one source out: the rule's numbers, chosen on the others. The cheapest are chosen of those that let no session cost over 1.02, under both lists with a cache and with both summarisers",
    columns: ["source", "sessions", "a rent's share", "bill with them", "worst", "bill with ours", "worst"],
    rows: sources.map(([source, own]) => {
      const without = (all: readonly Judged[]): Judged[] => all.filter((each) => each.source !== source);
      const ownOf = lists.map((list) => list.filter((each) => each.source === source));
      const chosen = choose(lists.map(without), without(short));
      const { alpha } = chosen;
      const bills = [chosen, RULE].flatMap((setting) => [billAt(own, setting), worstAt(ownOf, setting)]);
      return [source, own.length, alpha, ...bills.map(roundOrNone)];
    }),
  };
}

function choose(lists: readonly (readonly Judged[])[], short: readonly Judged[]): Setting {
  const all = [...(lists[0] ?? []), ...short];
  const [best] = SETTINGS.filter((setting) => worstAt(lists, setting) <= WORST).toSorted(
    (one, other) => billAt(all, one) - billAt(all, other),
  );
  return best ?? RULE;
}

/** The dearest bill over that of the SDK, with either summariser. No number where there is no long session. */
function worstAt(lists: readonly (readonly Judged[])[], setting: Setting): number {
  const policies = [nameOf(setting), small(nameOf(setting))];
  return Math.max(...lists.flat().flatMap((each) => policies.map((policy) => over(each, policy))));
}

/** Geometric mean of bills over those of the SDK, or over those of compacting nothing for short sessions. */
function billAt(judged: readonly Judged[], setting: Setting): number {
  return geometric(
    judged.map((each) =>
      each.outcomes[SDK] === undefined ? overNothing(each, nameOf(setting)) : over(each, nameOf(setting)),
    ),
  );
}

function checksOf(judged: readonly Judged[], short: readonly Judged[]): Check[] {
  const bills = (policy: string): number[] => judged.map((each) => over(each, policy));
  const stored = judged.reduce((sum, { tokens }) => sum + tokens, 0);
  const wrong = WRONG_PRICES.map((each) => geometric(bills(stated(each))));
  const where = `the bill over that of the ${SDK}`;
  return [
    { claim: `${where}, geometric mean, same model`, measured: round(geometric(bills(OURS))), target: 0.85 },
    { claim: `${where}, with a summariser at a tenth`, measured: round(geometric(bills(SMALL))), target: 0.85 },
    {
      claim: "short conversations: the dearest bill over that of compacting nothing",
      measured: round(Math.max(1, ...short.map((each) => overNothing(each)))),
      target: 1,
    },
    {
      claim:
        "conversations that end at any request while they are short: the mean bill over that of compacting nothing",
      measured: round(meanEnd([...judged, ...short])),
      target: 1,
    },
    {
      claim: "uncached summariser tokens of a stored one",
      measured: round(judged.reduce((sum, each) => sum + summarised(each, OURS), 0) / stored),
      target: 0.6,
    },
    {
      claim: `sessions in which a model with a window of ${WINDOW.toLocaleString("en")} tokens refuses a summariser's call as too long`,
      measured: judged.filter((each) => [OURS, SMALL, SUFFIX].some((policy) => isTooLong(each, policy))).length,
      target: 0,
      exact: true,
    },
    {
      claim: "an edit's price stated at half or at twice of what it is: the dearer bill over that with the right price",
      measured: round(Math.max(...wrong) / geometric(bills(OURS))),
      target: 1.05,
    },
  ];
}

/** No session is to cost more than with the SDK, at any prices, whichever model summarises. */
function worstOf(list: string, judged: readonly Judged[]): Check[] {
  return [
    ["same model", OURS],
    ["a summariser at a tenth", SMALL],
  ].map(([model = "", policy = ""]) => ({
    claim: `${list}: the bill over that of the ${SDK}, worst session, ${model}`,
    measured: round(Math.max(...judged.map((each) => over(each, policy)))),
    target: WORST,
  }));
}

function panelOf(judged: readonly Judged[]) {
  const policies = [SDK, NONE, OURS, HEAD_TAIL, SDK_BEST] as const;
  return {
    title: "a dot a session and policy",
    dots: true,
    x: { label: "tokens of the session", scale: "log", unit: "count" },
    y: { label: "bill over that of the SDK at 60,000", scale: "linear", unit: "count" },
    lines: policies.map((policy) => ({
      name: policy,
      points: judged.map((each) => [each.tokens, over(each, policy)] as const),
    })),
  } as const;
}

function roundOrNone(value: number): Cell {
  return Number.isFinite(value) ? round(value) : "";
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
