/** What each policy still shows of what it hid, at equal size of the view: after every compaction, until twenty of them. */
import type { Case } from "../case.ts";
import type { Finding } from "../finding.ts";
import { makeReturning } from "../drift/conversation.ts";
import { readConversation, type Conversation } from "../judge/conversation.ts";
import { follow, type Following, type Track } from "../judge/follow.ts";
import { checksOf, kindsOf, plotOf, tablesOf, type Contest } from "../judge/present.ts";
import type { Lab } from "../lab.ts";
import type { SummariserName } from "../policies/host.ts";
import { listPolicies } from "../policies/list.ts";
import { ABSENT, readConversations } from "../transcripts.ts";

/** Names that recall is asked for at one depth, at most: each is a search. */
const MOST_ASKED = 60;
const SEED = 1;

/** One conversation at one threshold. */
interface Round {
  readonly name: string;
  readonly conversation: Conversation;
  readonly thresholdTokens: number;
  readonly afterTokens: number;
  readonly summarisers: readonly SummariserName[];
}

const FULL: Following = { depths: [1, 5, 10, 20], most: MOST_ASKED };
const QUICK: Following = { depths: [1, 3], most: 5 };

export const fidelity: Case = { name: "fidelity", timed: false, measure };

async function measure(lab: Lab): Promise<Finding> {
  const rounds = lab.quick ? quickRounds() : fullRounds();
  const following = lab.quick ? QUICK : FULL;
  const contests: Contest[] = [];
  for (const round of rounds) {
    for (const summariser of round.summarisers) contests.push(await hold(lab, { ...round, summariser, following }));
  }
  const { depths } = following;
  const isReal = rounds.some(({ name }) => name === REAL);
  return {
    title: "What is still there after many compactions",
    about: `${isReal ? LEFT_OUT_SAID : ""}The same messages, threshold and summariser for every policy, and views of the same size after a compaction: the budget of the tail is steered, and the mean is printed. After each compaction: of the names (paths, ids, numbers, commands, …) in texts that the view shows no more, and that the user or the agent says again later on, the share whose characters are in the view. With recall: or in one answer of the policy's own search (4,000 tokens), asked with the name, for ${MOST_ASKED} names at most that are missing. Anywhere: names that tool outputs say again, too. Rare words: any word of six letters that at most three messages said so far. Rules: what the user ruled and did not take back. Open: tasks and errors that stand. Extractive: our offline model, for every policy; lossy: forgets a tenth or half of the facts that it reads, at each pass. Head and tail is no library: it is our own writing after its description, and asks with our prompt, under its own headings.`,
    tables: [...contests.flatMap((contest) => tablesOf(contest, depths)), kindsOf(contests)],
    checks: contests.flatMap((contest) => checksOf(contest, depths)),
    plots: [plotOf("fidelity", contests.slice(0, FULL.depths.length - 1))],
    unmeasured: [
      "paraphrases, which count as lost: what is looked for is characters",
      "whether a model would have used what it still sees, and whether it would think of asking recall",
      "names and rules that our own extractor does not find: the judge looks for names with the same one that our pinning keeps them with, and only the rare words are independent of it",
      "head and tail as its authors run it: with their code and their prompt it may keep more, or less",
      ...(isReal ? ["what the messages that were left out do to any policy, ours as well"] : []),
      ...(isReal ? [] : [ABSENT]),
    ],
  };
}

const REAL = "a coding session";
/**
 * Of the session, its second to sixth message weigh 44,000 tokens, and the SDK's policies protect the first three of any session
 * whatever they weigh: their views would never come under the threshold. The last one weighs 38,000, and nothing follows it.
 */
const LEFT_OUT = { from: 1, to: 5 } as const;
const LEFT_OUT_SAID = `The coding session is told without its messages ${LEFT_OUT.from + 1} to ${LEFT_OUT.to + 1}, 44,000 tokens, and its last, 38,000: the SDK's policies protect the first three messages whatever they weigh, so that their views would never come under the threshold, and nothing follows the last. `;

function fullRounds(): Round[] {
  const [session] = readConversations("coding");
  const summarisers = ["extractive", "lossy-10", "lossy-50"] as const;
  const generated = {
    name: "a generated session",
    conversation: readConversation(makeReturning(500, 1)),
    thresholdTokens: 20_000,
    afterTokens: 11_000,
  };
  if (session === undefined) return [{ ...generated, summarisers }];
  const messages = session.slice(0, -1).filter((_, at) => at < LEFT_OUT.from || at > LEFT_OUT.to);
  const conversation = readConversation(messages);
  return [
    { name: REAL, conversation, thresholdTokens: 30_000, afterTokens: 15_000, summarisers },
    { ...generated, summarisers: ["lossy-10"] },
  ];
}

function quickRounds(): Round[] {
  const conversation = readConversation(makeReturning(30, 1));
  return [
    {
      name: "a generated session",
      conversation,
      thresholdTokens: 6_000,
      afterTokens: 2_500,
      summarisers: ["lossy-50"],
    },
  ];
}

interface Holding extends Omit<Round, "summarisers"> {
  readonly summariser: SummariserName;
  readonly following: Following;
}

/** Every policy that compacts, one after the other: they share one process. */
async function hold(lab: Lab, { name, conversation, following, ...terms }: Holding): Promise<Contest> {
  const { thresholdTokens, afterTokens, summariser } = terms;
  const tracks: Track[] = [];
  for (const policy of listPolicies(lab).filter((each) => each.name !== "none")) {
    const host = await policy.open({ thresholdTokens, afterTokens, summariser, seed: SEED });
    tracks.push(await follow(host, conversation, following));
  }
  return { conversation: name, summariser, tracks };
}
