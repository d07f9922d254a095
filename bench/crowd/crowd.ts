/**
 * Many clients on one agent during runs, with the events that each hears and the traffic that each causes.
 *
 * Opens connections, starts a run in each of several sessions, lets some clients drop and come back, and reports for each client which ends
 * it knows. It knows frames, but not how a connection is opened. A test opens them in the platform's runtime and a benchmark over the
 * network. It waits for frames, never for a clock.
 */
import type { UIMessage } from "ai";
import { CrowdClient } from "./crowd-client.ts";

export interface CrowdOptions {
  /** Opens one more connection to the agent, with a ticket of its own where one is needed. */
  readonly open: () => Promise<WebSocket>;
  readonly clients: number;
  /** Number of clients that drop at the first event of a run. Half of them come back at once, half when all runs have ended. */
  readonly droppers: number;
  readonly sessionIds: readonly string[];
  /** Messages for each session, enough to start one run. */
  readonly messages: readonly UIMessage[];
}

/** One client's report. It counts frames and bytes (UTF-8) that it received over all of its connections. */
export interface ClientReport {
  readonly drops: number;
  readonly frames: number;
  readonly bytes: number;
  /** Frames that report runs. */
  readonly events: number;
  readonly eventBytes: number;
  /** For each of these frames, ms from the agent's sending to the arrival. */
  readonly delays: readonly number[];
  /** Ends that it learned from an event, and ends that it had to ask for when it came back. */
  readonly heardEnds: number;
  readonly askedEnds: number;
  /** Runs whose end it does not know, although everything that was sent to it has arrived. */
  readonly missed: readonly string[];
}

export interface CrowdReport {
  readonly runIds: readonly string[];
  readonly clients: readonly ClientReport[];
}

/** Resolves when every run has its outcome and every client has everything that was sent to it. */
export async function gatherCrowd(options: CrowdOptions): Promise<CrowdReport> {
  const { open, sessionIds, messages } = options;
  const clients = await Promise.all(Array.from({ length: options.clients }, () => CrowdClient.join(open, sessionIds)));
  const [speaker, ...others] = clients;
  if (speaker === undefined || others.length < options.droppers) throw new Error("More clients drop than there are.");
  const { promise: allEnded, resolve: tellAllEnded } = Promise.withResolvers<void>();
  const absences = others.slice(0, options.droppers).map(async (client, at) => {
    await client.untilEvent();
    client.drop();
    if (at % 2 === 1) await allEnded;
    await client.comeBack();
  });
  const runIds = await Promise.all(
    sessionIds.map(async (sessionId) => {
      await speaker.call("appendAll", { sessionId, messages });
      const [run] = await speaker.call<readonly { id: string }[]>("runs", { sessionId });
      if (run === undefined) throw new Error(`Nothing that was said in ${sessionId} started a run.`);
      return run.id;
    }),
  );
  await Promise.all(runIds.map((runId) => speaker.call("waitForRun", { runId })));
  tellAllEnded();
  await Promise.all(absences);
  // Frames of one connection keep their order, so after this answer everything sent before has arrived.
  await Promise.all(clients.map((client) => client.call("status", {})));
  const report = { runIds, clients: clients.map((client) => client.report(runIds)) };
  for (const client of clients) client.drop();
  return report;
}
