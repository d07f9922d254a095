/**
 * Records docs/images/killed-chat.svg: `node scripts/record-killed-chat.ts`.
 *
 * Packs the package, installs it with the AIChatAgent example in a temporary folder, and has the conversation that
 * test/examples/chat/killed-chat.test.ts checks, with all three deaths. Draws what the model was sent at each turn.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { drawPlot } from "../bench/report/plot.ts";
import { installChat } from "../test/examples/chat/installed.ts";
import { HARD_LINE, LongChat, MOST_DEATHS, MOST_TURNS, THRESHOLD } from "../test/examples/chat/long-chat.ts";

const FILE = join(import.meta.dirname, "../docs/images/killed-chat.svg");

async function record(folder: string): Promise<string> {
  await using chat = await LongChat.open(await installChat(folder, "slow-chat.ts"));
  await chat.talk(MOST_TURNS, MOST_DEATHS);
  const { turns, deaths } = chat;
  const last = turns.length;
  return drawPlot({
    file: "killed-chat",
    title: `${last} turns with tools; the Worker is killed with SIGKILL ${deaths.map(({ how, after }) => `${how} (turn ${after})`).join(", ")}`,
    panels: [
      {
        title: `${last} turns, killed ${deaths.length} times`,
        x: { label: "turns", scale: "linear", unit: "count" },
        y: { label: `tokens of the prompt (threshold ${THRESHOLD.toLocaleString("en")})`, scale: "log", unit: "count" },
        lines: [
          { name: "the whole conversation", points: turns.map(({ whole }, at) => [at + 1, whole]) },
          { name: "sent to the model", points: turns.map(({ given }, at) => [at + 1, given]) },
          {
            name: "hard line",
            points: [
              [0, HARD_LINE],
              [last, HARD_LINE],
            ],
          },
        ],
        marks: deaths.map(({ how, after }) => ({ x: after, name: how })),
      },
    ],
  });
}

const folder = await mkdtemp(join(tmpdir(), "palimpsest-installed-"));
try {
  await writeFile(FILE, await record(folder));
} finally {
  await rm(folder, { recursive: true, force: true });
}
