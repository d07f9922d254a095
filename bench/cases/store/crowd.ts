/** Twenty clients on one agent during runs. Counts which clients miss the end of a run and what each is sent. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, LocalWorker } from "../../../scripts/demo/local-worker.ts";
import type { Case } from "../../case.ts";
import type { Finding } from "../../report/finding.ts";
import { gatherCrowd, type CrowdReport } from "../../crowd/crowd.ts";
import type { Lab } from "../../lab/lab.ts";
import { messagesBetween } from "../../objects/messages.ts";
import { median, quantile, spread } from "../../report/stats.ts";

const CLIENTS = 20;
const DROPPERS = 8;
const SESSIONS = 4;
const ROUNDS = 5;
const THRESHOLD_TOKENS = 2_000;
const MESSAGES = messagesBetween(1, 25);

export const crowd: Case = { name: "crowd", timed: true, measure };

async function measure(lab: Lab): Promise<Finding> {
  const stateDir = await mkdtemp(join(tmpdir(), "palimpsest-crowd-"));
  const vars = { PALIMPSEST_THRESHOLD: String(THRESHOLD_TOKENS) };
  const worker = new LocalWorker({ stateDir, port: await freePort(), vars });
  try {
    await worker.start();
    const alone: CrowdReport[] = [];
    const together: CrowdReport[] = [];
    const gather = (clients: number, droppers: number): Promise<CrowdReport> => gatherIn(worker.url, clients, droppers);
    await gather(1, 0);
    for (let round = 0; round < (lab.quick ? 1 : ROUNDS); round++) {
      alone.push(await gather(1, 0));
      together.push(await gather(CLIENTS, DROPPERS));
    }
    return tell(alone, together);
  } finally {
    await worker.close();
  }
}

/** Uses sessions that are still empty. */
async function gatherIn(url: string, clients: number, droppers: number): Promise<CrowdReport> {
  const address = `${url.replace(/^http/, "ws")}/agents/palimpsest-agent/crowd`;
  const open = async (): Promise<WebSocket> => {
    const socket = new WebSocket(address);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve, { once: true });
      socket.addEventListener("error", () => reject(new Error("The agent takes no connection.")), { once: true });
    });
    return socket;
  };
  const sessionIds = Array.from({ length: SESSIONS }, () => crypto.randomUUID());
  return gatherCrowd({ open, clients, droppers, sessionIds, messages: MESSAGES });
}

function tell(alone: readonly CrowdReport[], together: readonly CrowdReport[]): Finding {
  const missed = missedBy(together);
  const [one, many] = [delaysOf(alone), delaysOf(together)];
  return {
    title: "Twenty clients on one agent",
    about: `${CLIENTS} WebSocket clients of the deployable Worker; a run is started in each of ${SESSIONS} sessions at once, ${DROPPERS} clients drop at the first word of one, and half of these come back only when all runs have ended, and ask. ${together.length} rounds, in turn with a client alone. Frames and bytes are a client's that stayed; a delay is from when the agent told an event until it arrived, all clients being one process.`,
    tables: [
      {
        columns: [
          "clients",
          "runs",
          "ends missed",
          "frames each",
          "bytes each",
          "events each",
          "delay p50 ms",
          "p99 ms",
        ],
        rows: [
          [1, SESSIONS * alone.length, missedBy(alone), ...stayed(alone), median(one), quantile(one, 0.99)],
          [CLIENTS, SESSIONS * together.length, missed, ...stayed(together), median(many), quantile(many, 0.99)],
        ],
      },
    ],
    checks: [
      { claim: "ends of runs that a client does not know of", measured: missed, target: 0, exact: true },
      {
        claim: "ms by which the median event is later with twenty clients than with one",
        measured: median(many) - median(one),
        target: 50,
      },
    ],
    unmeasured: [
      "a network",
      "clients of the page, which ask for more than runs",
      "clients that drop as their agent dies: the Worker lives throughout",
      "more clients than twenty, and more agents than one in a process",
    ],
  };
}

function missedBy(reports: readonly CrowdReport[]): number {
  return reports.reduce((sum, { clients }) => sum + clients.reduce((all, { missed }) => all + missed.length, 0), 0);
}

function delaysOf(reports: readonly CrowdReport[]): number[] {
  return reports.flatMap(({ clients }) => clients.flatMap(({ delays }) => delays));
}

/** Counts the clients that neither spoke nor dropped, or the speaker where it was alone. */
function stayed(reports: readonly CrowdReport[]) {
  const clients = reports.flatMap(({ clients: all }) =>
    all.filter(({ drops }, at) => drops === 0 && (at > 0 || all.length === 1)),
  );
  return [
    spread(clients.map(({ frames }) => frames)),
    spread(clients.map(({ bytes }) => bytes)),
    spread(clients.map(({ events }) => events)),
  ];
}
