/** Many sessions in one agent of ours, and the rows of operations in one of them. */
import { SessionManager, type ManagerOf } from "../../src/agent/sessions/session-manager.ts";
import type { OurRooms as Rooms } from "./ours.ts";
import type { CompactionHost } from "../../src/agent/sessions/session.ts";
import { messageAt } from "./messages.ts";
import type { Meter, Rows } from "./meter.ts";

const ONE_MORE = "One more";

/** In this order, because the first search makes the index. */
const OPERATIONS = {
  list: (manager) => manager.list({ limit: PAGE }),
  create: (manager) => manager.create(ONE_MORE),
  open: (manager, id) => manager.getSession(id).getView(),
  append: (manager, id) => manager.append(id, { ...messageAt(0), id: crypto.randomUUID() }),
  "first search": searchOne,
  search: searchOne,
  "search in one": searchIn,
  rename: (manager, id) => manager.rename(id, "Renamed"),
  delete: (manager, id) => manager.delete(id),
} as const satisfies Record<string, (manager: ManagerOf<Rooms>, id: string) => unknown>;

export type SessionOperation = keyof typeof OPERATIONS;
export const SESSION_OPERATIONS = Object.keys(OPERATIONS) as readonly SessionOperation[];

/** Messages of each session. */
const EACH = 4;
/** Sessions of a page. */
const PAGE = 50;

export class ManySessions {
  readonly #manager: ManagerOf<Rooms>;
  readonly #meter: Meter;

  constructor(agent: CompactionHost<Rooms>, meter: Meter) {
    this.#manager = SessionManager.create(agent);
    this.#meter = meter;
  }

  /** Makes so many sessions with four messages each. No two share a distinctive word. */
  async make(count: number): Promise<void> {
    for (let n = 1; n <= count; n++) {
      const { id } = this.#manager.create(`Session ${n}`);
      const messages = Array.from({ length: EACH }, (_, at) => messageAt(n * EACH + at));
      await this.#manager.appendAll(id, messages);
    }
  }

  /**
   * Rows of one operation. An operation on a session uses the middle one of a page by id, because after the last one a read finds no next
   * row to end at and reads one row less.
   */
  async count(operation: SessionOperation): Promise<Rows> {
    const all = this.#manager.list({ limit: PAGE }).filter(({ name }) => name !== ONE_MORE);
    const middle = all.toSorted((a, b) => (a.id < b.id ? -1 : 1))[Math.floor(all.length / 2)];
    if (middle === undefined) throw new Error("There is no session.");
    return this.#meter.count(async () => OPERATIONS[operation](this.#manager, middle.id));
  }
}

/** Searches one session for a word that stands in every message of all sessions. */
async function searchIn(manager: ManagerOf<Rooms>, id: string): Promise<void> {
  const hits = await manager.search("Message", { sessionId: id });
  // One message was appended before.
  if (hits.length !== EACH + 1) throw new Error(`${hits.length} messages were found in one session.`);
}

/** Searches all sessions for words that stand in one message only. */
async function searchOne(manager: ManagerOf<Rooms>): Promise<void> {
  const hits = await manager.search(`"Message ${EACH} revision"`);
  if (hits.length !== 1) throw new Error(`The message was found ${hits.length} times.`);
}
