/** What each policy still shows of the messages that it hid, at equal size of the view, after each of up to twenty compactions. */
import type { Case } from "../case.ts";
import type { Finding } from "../finding.ts";
import { makeReturning } from "../drift/conversation.ts";
import type { Contest, Draw } from "../judge/contest.ts";
import { readConversation, type Conversation } from "../judge/conversation.ts";
import { follow, type Following, type Track } from "../judge/follow.ts";
import { behindOf } from "../judge/leads.ts";
import { kindsOf, plotOf, tablesOf } from "../judge/present.ts";
import { checksOf } from "../judge/promises.ts";
import { joinByCustomer } from "../judge/service.ts";
import type { Lab } from "../lab.ts";
import type { Policy, SummariserName } from "../policies/host.ts";
import { listPolicies } from "../policies/list.ts";
import { ABSENT, readConversations } from "../transcripts.ts";

/** Most names that recall is asked for at one depth. Each is a search. */
const MOST_ASKED = 60;
const SEEDS = [1, 2, 3, 4, 5] as const;

/** One conversation with one seed. */
interface Given {
  /** Tells it apart from the others of its round. */
  readonly name: string;
  readonly conversation: Conversation;
  readonly seed: number;
}

/** One kind of conversation at one threshold with one summariser, repeated for each draw. */
interface Round {
  readonly name: string;
  readonly thresholdTokens: number;
  readonly afterTokens: number;
  readonly summariser: SummariserName;
  /** What the draws are, in the plural. */
  readonly over: string;
  /** Whether a policy's steered tail is carried on to the next draw. A short conversation ends before the tail is found. */
  readonly carriesOn: boolean;
  readonly given: readonly Given[];
}

const FULL: Following = { depths: [1, 5, 10, 20], most: MOST_ASKED };
const QUICK: Following = { depths: [1, 3], most: 5 };
/** Contests that are drawn as panels. */
const PANELS = 3;

export const fidelity: Case = { name: "fidelity", timed: false, measure };

async function measure(lab: Lab): Promise<Finding> {
  const rounds = lab.quick ? quickRounds() : fullRounds();
  const following = lab.quick ? QUICK : FULL;
  const contests: Contest[] = [];
  for (const round of rounds) contests.push(await hold(lab, round, following));
  const { depths } = following;
  const isReal = (name: string): boolean => rounds.some((round) => round.name === name);
  return {
    title: "What is still there after many compactions",
    about: [...ABOUT, ...(isReal(CODING) ? [LEFT_OUT_SAID] : []), ...(isReal(SERVICE) ? JOINED_SAID : [])],
    tables: [
      ...contests.flatMap((contest) => tablesOf(contest, depths)),
      kindsOf(contests),
      behindOf(contests, depths),
    ],
    checks: contests.flatMap((contest) => checksOf(contest, depths)),
    plots: [plotOf("fidelity", contests.slice(0, PANELS))],
    unmeasured: [
      "paraphrases, which count as lost: what is looked for is characters",
      "whether a model would have used what it still sees, and whether it would think of asking recall",
      "names and rules that our own extractor does not find: the judge looks for names with the same one that our pinning keeps them with, and only the rare words are independent of it",
      "head and tail as its authors run it: with their code, their prompt and whatever search their agent has, it may keep more, or less",
      ...(isReal(CODING) || isReal(SERVICE)
        ? [
            "conversations on which nothing of ours was chosen: how much is pinned, and in which order, was settled on this coding session and on these customers (decision 6), so that ours is at home in both",
          ]
        : []),
      ...(isReal(CODING) ? ["what the messages that were left out do to any policy, ours as well"] : []),
      ...(isReal(CODING) && isReal(SERVICE) ? [] : [ABSENT]),
    ],
  };
}

const ABOUT: readonly string[] = [
  "After each compaction: of what the view hides and the conversation needs again, the share that is still there. The same messages, threshold and summariser for every policy, and views of the same size after a compaction: the budget of the tail is steered, and the mean is printed.",
  "The n-th compaction of one policy need not fall on the same message as another's: where it does not, they are asked for other things, and of how many differs.",
  "Names: of the paths, ids, numbers, commands, … in texts that the view shows no more, and that the user or the agent says again later on, the share whose characters are in the view. Anywhere: names that tool outputs say again, too.",
  `With recall: or in one answer of the policy's own search (4,000 tokens), asked with the name, for ${MOST_ASKED} names at most that are missing. “–”: it is given no search here.`,
  "Rare words: any word of six letters that at most three messages said so far.",
  "Rules: what the user ruled and did not take back. Open: tasks and failures that stand. Over all compactions, “of” says how many there were at one of them, the fewest and the most.",
  "Extractive: our offline model, for every policy, which draws no lots; lossy: forgets a tenth or half of the facts that it reads, at each pass, drawn anew for each seed.",
  "Of several seeds, sessions or customers: the median, and in brackets the least and the most; the promises are held to the worst of them.",
  "Head and tail is no library: it is our own writing after its description, and asks with our prompt, under its own headings. It is given no search here, though the agents that keep it may have one.",
];

const CODING = "a coding session";
/**
 * Messages of the session that are left out. Its second to sixth message weigh 44,000 tokens, and the SDK's policies protect the first
 * three of any session at any weight, so their views would never come under the threshold. The last message weighs 38,000, and nothing
 * follows it.
 */
const LEFT_OUT = { from: 1, to: 5 } as const;
const LEFT_OUT_SAID = `The coding session is told without its messages ${LEFT_OUT.from + 1} to ${LEFT_OUT.to + 1}, 44,000 tokens, and its last, 38,000: the SDK's policies protect the first three messages whatever they weigh, so that their views would never come under the threshold, and nothing follows the last.`;

const SERVICE = "a customer's day";
const CUSTOMERS = 3;
const JOINED_SAID: readonly string[] = [
  `A customer's day: all service conversations of one customer, told one after the other, as they are too short to be compacted often; without the service's instructions, which an agent sends beside its conversation. Their requests come twice, as each conversation was held two times.`,
  `Taken are the ${CUSTOMERS} customers with the most to say; after each one, the next begins with the tail's budget that the last one ended with.`,
];

function fullRounds(): Round[] {
  return [...codingRounds(), generatedRound(), ...serviceRounds()];
}

function codingRounds(): Round[] {
  const [session] = readConversations("coding");
  if (session === undefined) return [];
  const messages = session.slice(0, -1).filter((_, at) => at < LEFT_OUT.from || at > LEFT_OUT.to);
  const conversation = readConversation(messages);
  const given = SEEDS.map((seed) => ({ name: `seed ${seed}`, conversation, seed }));
  const terms = { name: CODING, thresholdTokens: 30_000, afterTokens: 15_000, over: "seeds", carriesOn: false };
  return [
    { ...terms, summariser: "extractive", given: given.slice(0, 1) },
    { ...terms, summariser: "lossy-10", given },
    { ...terms, summariser: "lossy-50", given },
  ];
}

/** Each seed makes a session of its own and draws the facts that are forgotten. */
function generatedRound(): Round {
  return {
    name: "a generated session",
    thresholdTokens: 20_000,
    afterTokens: 11_000,
    summariser: "lossy-10",
    over: "sessions",
    carriesOn: false,
    given: SEEDS.map((seed) => ({
      name: `session ${seed}`,
      conversation: readConversation(makeReturning(500, seed)),
      seed,
    })),
  };
}

function serviceRounds(): Round[] {
  const given = joinByCustomer(readConversations("service"), CUSTOMERS).map(({ id, messages }, at): Given => ({
    name: id,
    conversation: readConversation(messages),
    seed: at + 1,
  }));
  if (given.length === 0) return [];
  const terms = {
    name: SERVICE,
    thresholdTokens: 4_000,
    afterTokens: 2_200,
    over: "customers",
    carriesOn: true,
    given,
  };
  return [
    { ...terms, summariser: "extractive" },
    { ...terms, summariser: "lossy-10" },
  ];
}

function quickRounds(): Round[] {
  const conversation = readConversation(makeReturning(30, 1));
  return [
    {
      name: "a generated session",
      thresholdTokens: 6_000,
      afterTokens: 2_500,
      summariser: "lossy-50",
      over: "seeds",
      carriesOn: false,
      given: SEEDS.slice(0, 2).map((seed) => ({ name: `seed ${seed}`, conversation, seed })),
    },
  ];
}

async function hold(lab: Lab, round: Round, following: Following): Promise<Contest> {
  const { name, summariser, over, given, carriesOn } = round;
  const listed = listPolicies(lab);
  const draws: Draw[] = [];
  for (const each of given) {
    const policies = carriesOn ? listed : listPolicies(lab);
    draws.push({ name: each.name, tracks: await followAll(policies, { ...round, ...each }, following) });
  }
  return { conversation: name, summariser, over, draws };
}

/** Runs every policy that compacts one after the other, because they share one process. */
async function followAll(
  policies: readonly Policy[],
  given: Omit<Round, "given"> & Given,
  following: Following,
): Promise<Track[]> {
  const { thresholdTokens, afterTokens, summariser, seed, conversation } = given;
  const tracks: Track[] = [];
  for (const policy of policies.filter(({ name }) => name !== "none")) {
    const host = await policy.open({ thresholdTokens, afterTokens, summariser, seed });
    tracks.push(await follow(host, conversation, following));
  }
  return tracks;
}
