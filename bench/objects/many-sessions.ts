/** Many sessions in one agent of ours, and the rows of what is done in one of them. */
import { SessionManager } from "../../src/agent/session-manager.ts";
import type { CompactionHost } from "../../src/agent/session.ts";
import { messageAt } from "./messages.ts";
import type { Meter, Rows } from "./meter.ts";

/** In this order: the first search makes the index. */
const OPERATIONS = {
  list: (manager) => manager.list({ limit: PAGE }),
  create: (manager) => manager.create("One more"),
  open: (manager, id) => manager.getSession(id).getView(),
  append: (manager, id) => manager.append(id, { ...messageAt(0), id: crypto.randomUUID() }),
  "first search": searchOne,
  search: searchOne,
  rename: (manager, id) => manager.rename(id, "Renamed"),
  delete: (manager, id) => manager.delete(id),
} as const satisfies Record<string, (manager: SessionManager, id: string) => unknown>;

export type SessionOperation = keyof typeof OPERATIONS;
export const SESSION_OPERATIONS = Object.keys(OPERATIONS) as readonly SessionOperation[];

/** Messages of each session. */
const EACH = 4;
/** Sessions of a page. */
const PAGE = 50;

export class ManySessions {
  readonly #manager: SessionManager;
  readonly #meter: Meter;

  constructor(agent: CompactionHost, meter: Meter) {
    this.#manager = SessionManager.create(agent);
    this.#meter = meter;
  }

  /** Makes so many, with four messages each; no word of one is in another. */
  async make(count: number): Promise<void> {
    for (let n = 1; n <= count; n++) {
      const { id } = this.#manager.create(`Session ${n}`);
      const messages = Array.from({ length: EACH }, (_, at) => messageAt(n * EACH + at));
      await this.#manager.appendAll(id, messages);
    }
  }

  /** Rows of one operation, on a session in the middle of the list where it is on one. */
  async count(operation: SessionOperation): Promise<Rows> {
    const all = this.#manager.list({ limit: PAGE });
    const middle = all[Math.floor(all.length / 2)];
    if (middle === undefined) throw new Error("There is no session.");
    return this.#meter.count(async () => OPERATIONS[operation](this.#manager, middle.id));
  }
}

/** Over all sessions, for words that stand in one message of them. */
async function searchOne(manager: SessionManager): Promise<void> {
  const hits = await manager.search(`"Message ${EACH} revision"`);
  if (hits.length !== 1) throw new Error(`The message was found ${hits.length} times.`);
}
