/** The same chat on AIChatAgent and Think as they come, and with compaction of ours. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UIMessage } from "ai";
import { freePort, LocalWorker } from "../../../scripts/demo/local-worker.ts";
import { Person } from "../../../test/examples/chat/person.ts";
import type { Case } from "../../case.ts";
import { Provider, type Call } from "../../chats/provider.ts";
import { ROWS_PATH, type RowsOf } from "../../chats/rows.ts";
import { COUNTED, THRESHOLD, WINDOW } from "../../chats/terms.ts";
import type { Rows } from "../../objects/meter.ts";
import type { Cell, Finding } from "../../report/finding.ts";
import type { Lab } from "../../lab/lab.ts";
import { median } from "../../report/stats.ts";

const CHATS = {
  "stock-chat": "AIChatAgent",
  "stock-think": "Think",
  "our-chat": "ours on AIChatAgent",
  "our-think": "ours on Think",
} as const;
type Chat = keyof typeof CHATS;
const NAMES = Object.keys(CHATS) as Chat[];
const OURS: readonly Chat[] = ["our-chat", "our-think"];

const SUMMARY_MS = 5_000;
const QUICK_SUMMARY_MS = 1_500;
const TURNS = 40;
/** Enough to pass the window. */
const QUICK_TURNS = 18;
/** Turns while a summary is made, where that is possible. */
const BUSY_TURNS = 4;
/** A wake compares the newest messages, and reads settings and runs. None of it grows with the conversation. */
const MOST_WAKE_ROWS = 100;
const STORED = 1_000;
const QUICK_STORED = 100;
const MESSAGE = "It matters to the ledger. ".repeat(80);
/** A Workflow asks its model within this, and an answer that waits for no summary is stored (ms). */
const SETTLE_MS = 500;
const WATCHDOG_SECONDS = "2";
/** A run of a killed Worker goes on within some looks of the watchdog. */
const TO_END_MS = 60_000;

/** Nothing of it is timed but the worst turn, which is judged by a ratio. */
export const chats: Case = { name: "chats", timed: true, measure };

async function measure(lab: Lab): Promise<Finding> {
  const provider = await Provider.start();
  const worker = new LocalWorker({
    stateDir: await mkdtemp(join(tmpdir(), "palimpsest-chats-")),
    port: await freePort(),
    vars: { PROVIDER_URL: provider.url, PALIMPSEST_WATCHDOG_SECONDS: WATCHDOG_SECONDS },
    configPath: join(import.meta.dirname, "../../chats/wrangler.jsonc"),
  });
  try {
    await worker.start();
    const stage: Stage = { provider, host: new URL(worker.url).host };
    const long: Long[] = [];
    const busy: Busy[] = [];
    for (const chat of NAMES) long.push(await talk(stage, chat, lab.quick ? QUICK_TURNS : TURNS));
    const busyMs = lab.quick ? QUICK_SUMMARY_MS : SUMMARY_MS;
    for (const chat of NAMES) busy.push(await wait(stage, chat, busyMs));
    const rows = await countRows(stage, lab.quick ? QUICK_STORED : STORED);
    const killed = await kill(stage, worker);
    return tell({ long, busy, busyMs, rows, killed });
  } finally {
    await worker.close();
    await provider.stop();
  }
}

interface Stage {
  readonly provider: Provider;
  readonly host: string;
}

/** A long conversation whose person waits for summaries between turns, as people do. */
interface Long {
  readonly turns: number;
  readonly tokens: number;
  readonly prompt: number;
  readonly largest: number;
  /** Messages that the person sees after a reload, of those that were said and answered. */
  readonly shown: number;
  readonly errors: number;
}

async function talk(stage: Stage, chat: Chat, turns: number): Promise<Long> {
  const name = `${chat}-long`;
  const person = new Person(stage.host, name, chat);
  for (let n = 0; n < turns; n++) {
    await person.say(`Please look at ${n}. ${MESSAGE}`);
    await quiet(person, chat);
  }
  const shown = await person.load();
  person.leave();
  const calls = stage.provider.of(name, "chat");
  return {
    turns,
    tokens: calls.length === 0 ? 0 : Math.ceil((turns * MESSAGE.length) / 4),
    prompt: calls.at(-1)?.tokens ?? 0,
    largest: Math.max(...calls.map(({ tokens }) => tokens)),
    shown: shown.filter(({ role }) => role === "user").length,
    errors: calls.filter(({ refused }) => refused).length,
  };
}

/** Turns while a summariser takes its time. */
interface Busy {
  /** Turns that ended while a summary was being made that had been asked for before or in them. */
  readonly during: number;
  /** The slowest turn over the median of turns before any summary. */
  readonly worst: number;
  readonly worstMs: number;
  readonly summaries: number;
}

async function wait({ provider, host }: Stage, chat: Chat, summaryMs: number): Promise<Busy> {
  const name = `${chat}-busy`;
  const person = new Person(host, name, chat);
  provider.beforeSummary = () => new Promise((resolve) => setTimeout(resolve, summaryMs));
  const before: number[] = [];
  const all: number[] = [];
  let during = 0;
  const asked = (): Call[] => provider.of(name, "summary");
  for (let left = BUSY_TURNS, n = 0; left > 0; n++) {
    const from = performance.now();
    await person.say(`Please look at ${n}. ${MESSAGE}`);
    const took = performance.now() - from;
    const isBusy = asked().some(({ answered }) => !answered);
    all.push(took);
    if (asked().length === 0) before.push(took);
    if (isBusy) during++;
    // AIChatAgent never asks for one.
    if (asked().length > 0 || n >= QUICK_TURNS) left--;
  }
  provider.beforeSummary = async () => undefined;
  await quiet(person, chat);
  person.leave();
  const worstMs = Math.max(...all);
  return { during, worst: worstMs / median(before), worstMs, summaries: asked().length };
}

/** Rows of AIChatAgent and of ours on it, with so many messages stored. */
interface Counted {
  readonly chat: Chat;
  readonly stored: number;
  readonly append: Rows;
  /** The first wake with a conversation that was there before compaction was. Null for the SDK's own. */
  readonly first: Rows | null;
  readonly later: Rows;
}

async function countRows({ host }: Stage, stored: number): Promise<Counted[]> {
  const counted: Counted[] = [];
  for (const chat of ["stock-chat", "our-chat"] as const) {
    const ask = async (of: RowsOf, many = 0): Promise<Rows> => {
      const response = await fetch(`http://${host}/agents/${chat}/${COUNTED}/${ROWS_PATH}?of=${of}&many=${many}`);
      return response.json<Rows>();
    };
    const wakes = async (): Promise<Rows> => {
      await ask("die");
      await pause(SETTLE_MS);
      return ask("wake");
    };
    await ask("fill", stored);
    await ask("forget");
    const first = await wakes();
    const append = await ask("append", stored);
    counted.push({ chat, stored, append, first: OURS.includes(chat) ? first : null, later: await wakes() });
  }
  return counted;
}

/** SIGKILL while a summary is being made. */
interface Killed {
  readonly chat: Chat;
  /** Whether the person's message, whose turn began the summary, had its answer after a reload. */
  readonly answered: boolean;
  readonly lost: number;
  /** Calls of the summariser that were answered before the kill and made again after it. */
  readonly paidTwice: number;
  /** Calls that were under way at the kill. */
  readonly underWay: number;
  readonly again: number;
  /** Turns that it took after the kill until there was a summary. */
  readonly turnsToSummary: number | null;
}

async function kill({ provider, host }: Stage, worker: LocalWorker): Promise<Killed[]> {
  const held = new Set<string>();
  // The first call of a conversation is answered, and all others hang until the Worker is killed.
  let isHeld = true;
  provider.beforeSummary = async ({ agent }) => {
    const first = !held.has(agent);
    held.add(agent);
    const many = OURS.some((each) => agent.startsWith(each));
    if (isHeld && !(first && many)) await new Promise(() => undefined);
  };
  const chats = NAMES.filter((chat) => chat !== "stock-chat");
  const said = new Map<Chat, string[]>();
  for (const chat of chats) said.set(chat, await untilHeld({ provider, host }, chat));
  await worker.kill("SIGKILL");
  const before = provider.calls.length;
  isHeld = false;
  await worker.start();
  const killed: Killed[] = [];
  for (const chat of chats) {
    const name = `${chat}-killed`;
    const ids = said.get(chat) ?? [];
    const mine = (call: Call): boolean => call.agent === name && call.asked === "summary";
    const early = provider.calls.slice(0, before).filter(mine);
    const person = new Person(host, name, chat);
    const shown = await person.load();
    const at = shown.findIndex(({ id }) => id === ids.at(-1));
    await quiet(person, chat);
    let turns = 0;
    const ends = (): Call[] => provider.calls.slice(before).filter(mine);
    while (ends().length === 0 && turns < BUSY_TURNS) {
      await person.ask(message(`after-${turns++}`), await person.load());
      await quiet(person, chat);
    }
    person.leave();
    const late = ends();
    const [paid, open] = [keysOf(early, true), keysOf(early, false)];
    killed.push({
      chat,
      answered: at !== -1 && shown[at + 1]?.role === "assistant",
      lost: ids.filter((id) => shown.every((each) => each.id !== id)).length,
      paidTwice: late.filter(({ key }) => paid.has(key)).length,
      underWay: open.size,
      again: late.length,
      turnsToSummary: late.length === 0 ? null : turns,
    });
  }
  return killed;
}

function keysOf(calls: readonly Call[], answered: boolean): Set<string> {
  return new Set(calls.filter((call) => call.answered === answered).map(({ key }) => key));
}

/** Talks until a call of the summariser hangs. Returns the ids of what was said. */
async function untilHeld({ provider, host }: Stage, chat: Chat): Promise<string[]> {
  const name = `${chat}-killed`;
  const person = new Person(host, name, chat);
  const ids: string[] = [];
  const hangs = (): boolean => provider.of(name, "summary").some(({ answered }) => !answered);
  const hanging = async (): Promise<void> => {
    while (!hangs()) await pause(10);
  };
  while (!hangs()) {
    const next = message(`said-${ids.length}`);
    const shown = await person.load();
    ids.push(next.id);
    // With Think the turn waits for the call that hangs.
    await Promise.race([person.ask(next, shown), hanging()]);
    await pause(SETTLE_MS);
  }
  person.leave();
  return ids;
}

function message(id: string): UIMessage {
  return { id, role: "user", parts: [{ type: "text", text: `Please look at ${id}. ${MESSAGE}` }] };
}

/** Waits until no run of ours is at work. The SDK's own summaries are over when a turn is. */
async function quiet({ agent }: Person, chat: Chat): Promise<void> {
  if (!OURS.includes(chat)) return;
  const until = Date.now() + TO_END_MS;
  while (((await agent.call("liveRuns")) as readonly unknown[]).length > 0) {
    if (Date.now() > until) throw new Error(`A run of ${chat} did not end.`);
    await pause(20);
  }
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

interface Told {
  readonly long: readonly Long[];
  readonly busy: readonly Busy[];
  readonly busyMs: number;
  readonly rows: readonly Counted[];
  readonly killed: readonly Killed[];
}

function tell({ long, busy, busyMs, rows, killed }: Told): Finding {
  const turns = long[0]?.turns ?? 0;
  const ours = <T>(rows: readonly T[]): T[] => rows.filter((_, at) => OURS.includes(NAMES[at] as Chat));
  const ourKilled = killed.filter(({ chat }) => OURS.includes(chat));
  return {
    title: "The same chat on AIChatAgent and Think, and on ours",
    about: [
      `${turns} turns of some ${Math.ceil(MESSAGE.length / 4)} tokens each, over a WebSocket as a browser has it, with the local Worker. The model takes ${WINDOW.toLocaleString("en")} tokens, and refuses a longer prompt. Think and both of ours compact over ${THRESHOLD.toLocaleString("en")} tokens. AIChatAgent has no compaction.`,
      "Think is given the SDK's own `createCompactFunction`, with as long a tail as ours has. Ours makes a summary with several calls, the SDK with one.",
      "Tokens are characters of the request over four, as the provider gets it.",
      "The person sees what the page loads after a reload.",
    ],
    tables: [
      {
        caption: "A long conversation",
        columns: ["chat", "tokens said", "last prompt", "largest prompt", "said", "said and shown", "context errors"],
        rows: NAMES.map((chat, at): Cell[] => {
          const { tokens = 0, prompt = 0, largest = 0, shown = 0, errors = 0 } = long[at] ?? {};
          return [CHATS[chat], tokens, prompt, largest, turns, shown, errors];
        }),
      },
      {
        caption: `While a summariser takes ${busyMs / 1_000} s. A turn during it ends before the summary does.`,
        columns: ["chat", "calls of the summariser", "turns during it", "worst turn ms", "over the median before"],
        rows: NAMES.map((chat, at): Cell[] => {
          const { during = 0, worst = 0, worstMs = 0, summaries = 0 } = busy[at] ?? {};
          return [CHATS[chat], summaries, summaries === 0 ? "–" : during, worstMs, worst];
        }),
      },
      {
        caption: `Rows with ${rows[0]?.stored ?? 0} messages stored. The first wake finds a conversation that was there before.`,
        columns: ["chat", "append read", "written", "first wake read", "written", "later wake read", "written"],
        rows: rows.map(({ chat, append, first, later }): Cell[] => [
          CHATS[chat],
          append.read,
          append.written,
          first?.read ?? "–",
          first?.written ?? "–",
          later.read,
          later.written,
        ]),
      },
      {
        caption: "SIGKILL while a summary is made. Asked again are calls of the summariser after the kill.",
        columns: [
          "chat",
          "the turn had its answer",
          "messages lost",
          "turns until it is made again",
          "under way at the kill",
          "calls after it",
          "of these, answered before",
        ],
        rows: killed.map(({ chat, answered, lost, turnsToSummary, underWay, again, paidTwice }): Cell[] => [
          CHATS[chat],
          answered ? "yes" : "no",
          lost,
          turnsToSummary ?? "–",
          underWay,
          again,
          paidTwice,
        ]),
      },
    ],
    checks: [
      {
        claim: "context errors of ours",
        measured: sum(ours(long).map(({ errors }) => errors)),
        target: 0,
        exact: true,
      },
      {
        claim: "messages of a person that ours does not show after a reload",
        measured: sum(ours(long).map((each) => each.turns - each.shown)),
        target: 0,
        exact: true,
      },
      {
        claim: "turns of ours that end while a summary is made, least of both",
        measured: Math.min(...ours(busy).map(({ during }) => during)),
        target: 2,
        better: "more",
        exact: true,
      },
      {
        claim: "rows that an append of ours writes beyond AIChatAgent's own",
        measured: (rows[1]?.append.written ?? 0) - (rows[0]?.append.written ?? 0),
        target: 1,
        exact: true,
      },
      {
        claim: "rows that a later wake of ours reads beyond AIChatAgent's own",
        measured: (rows[1]?.later.read ?? 0) - (rows[0]?.later.read ?? 0),
        target: MOST_WAKE_ROWS,
        exact: true,
      },
      {
        claim: "rows that the first wake writes for each message that was there",
        measured: (rows[1]?.first?.written ?? 0) / (rows[1]?.stored ?? 1),
        target: 1.1,
        exact: true,
      },
      {
        claim: "messages that a kill takes from ours, and turns without an answer",
        measured: sum(ourKilled.map(({ lost, answered }) => lost + (answered ? 0 : 1))),
        target: 0,
        exact: true,
      },
      {
        claim: "calls of the summariser that were answered before a kill and made again, ours",
        measured: sum(ourKilled.map(({ paidTwice }) => paidTwice)),
        target: 0,
        exact: true,
      },
    ],
    unmeasured: [
      "how good the summaries are: the provider answers the same to all",
      "tool loops, and Think's own guards against an overflow, which are off as they are by default",
      "a summariser that fails",
    ],
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
