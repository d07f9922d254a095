/** Twenty clients on one agent. No client misses the end of a run, and the traffic of each is bounded. */
import { expect, test } from "vitest";
import { gatherCrowd } from "../../bench/crowd/crowd.ts";
import { talk } from "../conversation.ts";
import { ask, guarded, ticketFor, upgrade } from "./client.ts";

const CLIENTS = 20;
const DROPPERS = 8;
const SESSIONS = ["first", "second", "third", "fourth"];

test("20 clients, each by a ticket of its own, 8 of which drop while runs are at work: every one knows every end (R1)", async () => {
  const { path } = await guarded({});
  const open = async (): Promise<WebSocket> => {
    const { webSocket } = await ask({ path: `${path}?ticket=${await ticketFor(path)}`, headers: upgrade });
    if (webSocket === null) throw new Error("It was not let in.");
    webSocket.accept();
    return webSocket;
  };
  const crowd = { open, clients: CLIENTS, droppers: DROPPERS, sessionIds: SESSIONS, messages: talk(0, 17) };
  const { runIds, clients } = await gatherCrowd(crowd);
  expect(new Set(runIds).size).toBe(SESSIONS.length);
  expect(clients.map(({ missed }) => missed)).toEqual(clients.map(() => []));
  expect(clients.map(({ drops }) => drops)).toEqual(clients.map((_, at) => (at > 0 && at <= DROPPERS ? 1 : 0)));

  const stayed = clients.slice(DROPPERS + 1);
  for (const each of stayed) expect(each).toMatchObject({ heardEnds: SESSIONS.length, askedEnds: 0 });
  // Clients that stayed heard the same, an event for each start and end of a step, some hundred bytes each. Nothing grows with the crowd.
  expect(new Set(stayed.map(({ events }) => events)).size).toBe(1);
  const [{ events, eventBytes } = { events: 0, eventBytes: 0 }] = stayed;
  console.info(`A client is sent ${events} events of ${SESSIONS.length} runs, ${eventBytes} bytes.`);
  expect(events / SESSIONS.length).toBeLessThanOrEqual(20);
  expect(eventBytes / events).toBeLessThan(600);
});
