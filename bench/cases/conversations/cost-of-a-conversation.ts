/** What a conversation costs under each policy, for the agent's own requests with a prompt cache and for the summariser. */
import type { UIMessage } from "ai";
import type { Case } from "../../case.ts";
import type { Check, Finding, Table } from "../../report/finding.ts";
import { billOf, replayUnder, viewAfter, type Cost } from "../../cost/replay.ts";
import { makeConversation } from "../../talk/coding-session.ts";
import type { Lab } from "../../lab/lab.ts";
import type { Panel } from "../../report/plot.ts";
import type { Terms } from "../../policies/host.ts";
import { listPolicies, NOTES_BEHIND } from "../../policies/list.ts";
import { weigh } from "../../policies/weigh.ts";
import { PRICES } from "../../prices.ts";
import { ABSENT, readConversations } from "../../talk/transcripts.ts";

const QUICK_TURNS = 12;
const TURNS = 300;
/** The coding session opens with 36,000 tokens of files in its first three messages. Some policies keep that head forever. */
const CODING_FROM = 6;
/** The session ends with a paste of 38,000 tokens. */
const CODING_TO = -1;
const SERVICE_SAMPLE = 20;
const WHOLE = "all of the coding session";
/** Price of a small model for each dollar of a large one. Many summarise with a small model. */
const SMALL_MODEL = 0.1;

const MOST_PER_STORED = 1.2;
/** The policies whose bills are compared with the others, and their names in claims. */
const OURS = [
  ["ours", "our bill"],
  ["ours with notes", "our bill with notes"],
] as const;
/** The policies with notes. */
const NOTED = [
  ["ours with notes", "our bill with notes"],
  [NOTES_BEHIND, "our bill with notes behind the prompt"],
] as const;
/** Most that notes may cost, as a ratio of our bill without them. */
const MOST_FOR_NOTES = 1.05;
/** Largest ratio between two policies' mean views at which a figure compares them. */
const SAME_VIEW = 1.05;

interface Scene {
  readonly title: string;
  readonly conversations: readonly (readonly UIMessage[])[];
  readonly thresholdTokens: number;
  /** False where some policy cannot bring its view down to the size of the others. Then equal views are not promised. */
  readonly comparable: boolean;
  /** True when the conversation is so short that compaction may not pay at all. */
  readonly short?: boolean;
}

interface Played extends Scene {
  readonly costs: readonly Cost[];
}

export const cost: Case = { name: "cost-of-a-conversation", timed: false, measure };

async function measure(lab: Lab): Promise<Finding> {
  const scenes = lab.quick ? quickScenes() : fullScenes();
  const played: Played[] = [];
  for (const scene of scenes) played.push(await play(lab, scene));
  const real = scenes.length > 1;
  return {
    title: "What a conversation costs",
    about: describe(played),
    tables: played.flatMap(tablesOf),
    checks: played.flatMap(checksOf),
    plots: [
      {
        file: "cost",
        title: "The bill of a conversation as it grows, under each policy",
        panels: played.filter(({ comparable, conversations }) => comparable && conversations.length === 1).map(panelOf),
      },
    ],
    unmeasured: [
      "system prompt and tools, which are sent with every request under any policy",
      "what a cache forgets between two requests, and its least length",
      "how long real models' summaries are: the offline one fills no more than it has to say",
      "what a summary loses for its price",
      "runs in the background: every compaction ends before the next message",
      ...(real ? [] : [ABSENT]),
    ],
  };
}

const TERMS: readonly string[] = [
  "The bill of a conversation that is replayed under each policy: the same messages, threshold, summariser (our offline model, given each policy's own prompt) and estimate of tokens for all; each policy's tail is steered so that views weigh half of the threshold right after a compaction.",
  "One request a step: the view, read from the prompt cache as far as it begins like the request before.",
  `In dollars at ${PRICES.input} for a million tokens of input, ${PRICES.cacheRead} read from the cache, ${PRICES.cacheWrite} written to it, ${PRICES.output} of output: an assumption, to be replaced in bench/prices.ts.`,
  `The coding session is replayed without its first ${CODING_FROM} messages and its last: 36,000 tokens of files stand within the first three, which the SDK never compacts.`,
  `A summariser of ours is shown each tool output whole, the SDK's 500 characters of it: where our whole bill is above the SDK's while the agent's part is below, it is for what the summariser is shown, and how often it is asked.`,
  "Notes behind the prompt: updates of the notes continue the prompt that the agent last sent where that is the cheaper way, with the agent's own model. They are answered what the plain calls are answered, so that only the price differs. Our other bills have plain calls alone.",
];

/** Describes the method and, in figures, where ours loses, so that the text stays true when the figures change. */
function describe(played: readonly Played[]): readonly string[] {
  return [
    ...TERMS,
    ...played.filter(({ title }) => title === WHOLE).map(describeWhole),
    ...played.filter(({ short }) => short === true).map(describeShort),
  ];
}

function describeWhole(scene: Played): string {
  const [ours, theirs] = [find(scene, "ours"), find(scene, "sdk 0.32")];
  const bill = dollars(theirs) / dollars(ours);
  const views = viewAfter(theirs).mean / viewAfter(ours).mean;
  const verdict = bill < 1 ? "and it is cheaper than ours all the same" : "and it is no cheaper than ours";
  return `With all of the session, in the last tables, the SDK's views weigh ${views.toFixed(2)} of ours after a compaction, ${verdict}: its bill is ${bill.toFixed(2)} of ours.`;
}

function describeShort(scene: Played): string {
  const nothing = dollars(find(scene, "none"));
  const compacting = scene.costs.filter(({ policy }) => policy !== "none").map((each) => dollars(each) / nothing);
  const [least, ours] = [Math.min(...compacting), dollars(find(scene, "ours")) / nothing];
  const verdict =
    least > 1 ? "costs more than it saves, under any policy" : "does not cost more than it saves under every policy";
  return `To compact conversations as short as these, ${scene.title}, ${verdict}: of what it costs to send everything, the cheapest that compacts takes ${least.toFixed(2)}, ours ${ours.toFixed(2)}. They are here for what compacting costs, not as a reason for it.`;
}

function quickScenes(): Scene[] {
  const conversations = [makeConversation(QUICK_TURNS, 1)];
  // A handful of compactions is too few for means to agree.
  return [{ title: "a generated session", conversations, thresholdTokens: 7_000, comparable: false }];
}

function fullScenes(): Scene[] {
  const [session] = readConversations("coding");
  const service = sample(readConversations("service"), 4_000);
  if (session === undefined || service.length === 0) {
    const conversations = [makeConversation(TURNS, 1)];
    return [{ title: "a generated session", conversations, thresholdTokens: 30_000, comparable: true }];
  }
  const coding = {
    title: "the coding session",
    conversations: [session.slice(CODING_FROM, CODING_TO)],
    comparable: true,
  };
  return [
    { ...coding, thresholdTokens: 60_000 },
    { ...coding, thresholdTokens: 30_000 },
    {
      title: `${service.length} short service conversations`,
      conversations: service,
      thresholdTokens: 4_000,
      comparable: true,
      short: true,
    },
    { title: WHOLE, conversations: [session], thresholdTokens: 60_000, comparable: false },
  ];
}

/**
 * Samples evenly from the conversations that outgrow the threshold. System messages are dropped, because they are sent beside a view and
 * not stored.
 */
function sample(conversations: readonly (readonly UIMessage[])[], thresholdTokens: number) {
  const long = conversations
    .map((messages) => messages.filter(({ role }) => role !== "system"))
    .filter((messages) => weigh(messages) > thresholdTokens);
  const most = Math.min(SERVICE_SAMPLE, long.length);
  return Array.from({ length: most }, (_, n) => long[Math.floor((n * long.length) / most)] ?? []);
}

async function play(lab: Lab, scene: Scene): Promise<Played> {
  const { thresholdTokens, conversations } = scene;
  const terms: Terms = { thresholdTokens, afterTokens: thresholdTokens / 2, summariser: "extractive", seed: 1 };
  const costs: Cost[] = [];
  for (const policy of listPolicies(lab)) costs.push(await replayUnder(policy, conversations, terms));
  return { ...scene, costs };
}

function tablesOf({ title, thresholdTokens, costs }: Played): Table[] {
  const [stored, requests] = [costs[0]?.stored ?? 0, costs[0]?.sent.requests ?? 0];
  const threshold = thresholdTokens.toLocaleString("en");
  return [
    {
      caption: `${title}, threshold ${threshold}: ${stored.toLocaleString("en")} tokens in all, ${requests} requests`,
      columns: ["policy", "compactions", "view after (mean)", "median", "peak", "sent", "from cache", "written"],
      rows: costs.map((each) => {
        const { mean, median } = viewAfter(each);
        const { tokens, cached, written, peak } = each.sent;
        return [each.policy, each.after.length, Math.round(mean), median, peak, tokens, cached, written];
      }),
    },
    {
      caption: `${title}, threshold ${threshold}: the bill`,
      columns: [
        "policy",
        "summariser calls",
        "in",
        "from cache",
        "out",
        "a stored token",
        "agent $",
        "summariser $",
        "both $",
        "small summariser $",
      ],
      rows: costs.map((each) => {
        const { calls, inputTokens, cachedTokens = 0, outputTokens } = each.spent;
        const { agent, summariser, total } = billOf(each.sent, each.spent);
        return [
          each.policy,
          calls,
          inputTokens - cachedTokens,
          cachedTokens,
          outputTokens,
          perStored(each),
          agent,
          summariser,
          total,
          agent + summariser * SMALL_MODEL,
        ];
      }),
    },
  ];
}

function agentDollars({ sent, spent }: Cost): number {
  return billOf(sent, spent).agent;
}

function dollars({ sent, spent }: Cost): number {
  return billOf(sent, spent).total;
}

/** Tokens that no cache had. */
function perStored({ spent: { inputTokens, cachedTokens = 0, outputTokens }, stored }: Cost): number {
  return (inputTokens - cachedTokens + outputTokens) / stored;
}

function find({ costs }: Played, policy: string): Cost {
  const found = costs.find((each) => each.policy === policy);
  if (found === undefined) throw new Error(`There is no policy ${policy}.`);
  return found;
}

/** Checks every scene, the one with unequal views included, because a bill is the same whatever the reason. */
function checksOf(scene: Played): Check[] {
  const { title, thresholdTokens, costs, comparable } = scene;
  const where = `${title} at ${thresholdTokens.toLocaleString("en")}`;
  const means = costs.map((each) => viewAfter(each).mean).filter((each) => each > 0);
  const views = {
    claim: `${where}: the largest mean view after a compaction over the smallest`,
    measured: Math.max(...means) / Math.min(...means),
    target: SAME_VIEW,
  };
  const noted = NOTED.map(([policy, whose]) => ({
    claim: `${where}: ${whose} over our own without them`,
    measured: dollars(find(scene, policy)) / dollars(find(scene, "ours")),
    target: MOST_FOR_NOTES,
  }));
  return [...(comparable ? [views] : []), ...OURS.flatMap((policy) => checksOfOne(scene, where, policy)), ...noted];
}

/** Notes cost more. They are held to the same targets, so that a miss is reported. */
function checksOfOne(scene: Played, where: string, [policy, whose]: (typeof OURS)[number]): Check[] {
  const [ours, theirs] = [find(scene, policy), find(scene, "sdk 0.32")];
  const billOver = (rival: string): number => dollars(ours) / dollars(find(scene, rival));
  const nothing = {
    claim: `${where}: ${whose} over that of compacting nothing`,
    measured: billOver("none"),
    target: 1,
  };
  return [
    {
      claim: `${where}: summariser tokens of ${policy} for each stored token`,
      measured: perStored(ours),
      target: MOST_PER_STORED,
    },
    { claim: `${where}: ${whose} over the SDK's`, measured: billOver("sdk 0.32"), target: 1 },
    { claim: `${where}: ${whose} over head and tail's`, measured: billOver("head and tail"), target: 1 },
    ...(scene.short === true ? [nothing] : []),
    {
      claim: `${where}: the agent's part of ${whose} over that of the SDK's`,
      measured: agentDollars(ours) / agentDollars(theirs),
      target: 1,
    },
  ];
}

function panelOf({ title, thresholdTokens, costs }: Played): Panel {
  return {
    title: `${title}, threshold ${thresholdTokens.toLocaleString("en")}`,
    x: { label: "messages", scale: "linear", unit: "count" },
    y: { label: "US dollars so far", scale: "linear", unit: "count" },
    lines: costs.flatMap(({ policy, bills }) => (policy === NOTES_BEHIND ? [] : [{ name: policy, points: bills }])),
  };
}
