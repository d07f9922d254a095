/** Whether a session costs more because its agent has a thousand of them. */
import type { Case } from "../../case.ts";
import type { Finding } from "../../report/finding.ts";
import type { Lab } from "../../lab/lab.ts";
import { SESSION_OPERATIONS, type SessionOperation } from "../../objects/many-sessions.ts";
import type { Rows } from "../../objects/meter.ts";

const COUNTS = [60, 1_000];
const QUICK_COUNTS = [60, 120];
/**
 * Rows that these operations read for each session of the agent. A search over all sessions reads the session's row and whether it has
 * unindexed messages. A deletion reads its row once for drafts that its children inherit and once to detach the children.
 */
const GROWS: Partial<Record<SessionOperation, number | null>> = { "first search": null, search: 2, delete: 2 };

const ABOUT = [
  "Rows read and written by one operation in an agent with so many sessions of four messages each.",
  "A page of the list is 50 sessions; open is the view of one.",
  "The first search makes the index.",
  "A search goes over all sessions and finds one message: it reads two rows for each session, its own and whether anything in it is yet to be indexed, because an append writes nothing for the index. A search again, with no row written since, reads neither.",
  "A search in one session asks that one alone, however many others there are.",
  "A deletion reads the row of each session twice, to find those that were forked or split from the one that goes: there is no index by parent.",
  "So a search over all after a write, and a deletion, grow by two rows with each session.",
  "Cold comes right after an eviction, without what the agent's own start reads.",
];

export const manySessions: Case = { name: "many-sessions", timed: false, measure };

async function measure(lab: Lab): Promise<Finding> {
  const counts = lab.quick ? QUICK_COUNTS : COUNTS;
  const names = [...SESSION_OPERATIONS.map((name) => [name, false] as const), ["list", true], ["open", true]] as const;
  const rows: Rows[][] = names.map(() => []);
  for (const count of counts) {
    const subject = lab.subject("Ours", `sessions-${count}`);
    await subject.ours.makeSessions(count);
    for (const [at, [operation, cold]] of names.entries()) {
      if (cold) await subject.evict();
      rows[at]?.push(await subject.ours.countInSessions(operation));
    }
  }
  const more = Math.max(...counts) - Math.min(...counts);
  const grown = names.map(([name], at) => ({ name, rows: growthOf(rows[at] ?? []) }));
  const still = grown.filter(({ name }) => GROWS[name] === undefined);
  return {
    title: "Many sessions in one agent",
    about: ABOUT,
    tables: [
      {
        columns: ["operation", ...counts.flatMap((count) => [`read with ${count.toLocaleString("en")}`, "written"])],
        rows: names.map(([name, cold], at) => [
          cold ? `${name}, cold` : name,
          ...(rows[at] ?? []).flatMap(({ read, written }) => [read, written]),
        ]),
      },
    ],
    checks: [
      {
        claim: "rows by which list, create, open, append, a search in one or rename grow with the sessions",
        measured: Math.max(...still.map((each) => each.rows)),
        target: 0,
      },
      ...grown.flatMap(({ name, rows: by }) => {
        const most = GROWS[name] ?? null;
        return most === null
          ? []
          : [{ claim: `rows of ${name} for each further session`, measured: by / more, target: most }];
      }),
    ],
    unmeasured: [
      "times",
      "long sessions: each has four messages, and a search that finds many is not among these",
      "runs in many sessions at once",
      "the agent's own start, which is left out",
    ],
  };
}

function growthOf(rows: readonly Rows[]): number {
  const all = rows.map(({ read, written }) => read + written);
  return Math.max(...all) - Math.min(...all);
}
