/** Drives the runs of an agent to their ends, as its watchdog would, without waiting for the watchdog's alarm. */
import type { CompactionHost } from "../agent/sessions/session.ts";
import { PalimpsestError } from "../errors.ts";
import { MAX_PAGE, WATCHDOG_SECONDS } from "../limits.ts";
import type { RunRecord } from "../memory/runs/runs.ts";

/** Default longest wait of a test (ms). */
const DEFAULT_TIMEOUT_MS = 30_000;

/** Time between two looks (ms). */
const LOOK_MS = 5;

/** Most looks of the watchdog while a clock advances. That is as many as an hour has, so a day passes as quickly. */
const MOST_LOOKS = 3_600 / WATCHDOG_SECONDS;

export interface FinishOptions {
  /** The session whose runs are returned, which is the agent's default session by default. */
  readonly sessionId?: string;
  /** Real time after which it gives up. Default 30,000. */
  readonly timeoutMs?: number;
}

/**
 * Waits until no run of the agent is live and every function of yours was called. A run that waits for a person, or is paused, is left
 * alone. Returns the session's runs, newest first. Throws `invalid_state` with the runs that are still live.
 */
export async function finishRuns(agent: CompactionHost, options: FinishOptions = {}): Promise<RunRecord[]> {
  const { sessionId = "", timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const { runs, hookOutbox, dispatcher } = agent.palimpsest;
  const giveUpAt = Date.now() + timeoutMs;
  for (;;) {
    await dispatcher.watch();
    const atWork = runs.allLive().filter(({ state }) => state !== "proposed" && state !== "paused");
    if (atWork.length === 0 && hookOutbox.list().length === 0) break;
    if (Date.now() >= giveUpAt) throw stillAtWork(atWork, timeoutMs);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return runs.list(sessionId, { limit: MAX_PAGE });
}

function stillAtWork(runs: readonly RunRecord[], timeoutMs: number): PalimpsestError {
  const live = runs.map(({ id, state, steps }) => `${id} is ${state} after "${steps.at(-1)?.name ?? "nothing"}"`);
  const what = live.length === 0 ? "A function of yours did not take the news of a run" : live.join("; ");
  return new PalimpsestError(
    "invalid_state",
    `After ${timeoutMs} ms: ${what}. Give a longer timeoutMs, or look there.`,
  );
}

/** An agent's clock under the control of a test. */
export interface FakeClock {
  /** Epoch ms, as the agent sees it. */
  now(): number;
  /** Advances the clock. The watchdog looks at live runs meanwhile, as with its alarm, at most 240 times. */
  advance(ms: number): Promise<void>;
  /** Gives the agent the real time back. */
  restore(): void;
}

/**
 * Stops an agent's clock at `startAt`, so that a test of something that waits for hours (a breaker, a budget, a run that nobody took) takes
 * no time. It affects the agent's clock alone. The Workflows engine and the model go on in real time. Throws `invalid_options`.
 */
export function fakeClock(agent: CompactionHost, startAt: number = Date.now()): FakeClock {
  if (!Number.isSafeInteger(startAt) || startAt < 0)
    throw new PalimpsestError("invalid_options", `startAt is ${startAt}: give a time in epoch milliseconds.`);
  const { platform, dispatcher } = agent.palimpsest;
  const real = platform.now.bind(platform);
  let now = startAt;
  platform.now = () => now;
  return {
    now: () => now,
    advance: async (ms) => {
      if (!Number.isSafeInteger(ms) || ms < 0)
        throw new PalimpsestError("invalid_options", `A clock goes on by whole milliseconds, not by ${ms}.`);
      const until = now + ms;
      const stepMs = Math.max(WATCHDOG_SECONDS * 1_000, Math.ceil(ms / MOST_LOOKS));
      while (now < until) {
        now = Math.min(until, now + stepMs);
        await dispatcher.watch();
      }
    },
    restore: () => {
      platform.now = real;
    },
  };
}
