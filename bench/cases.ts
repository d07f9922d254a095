/** Every case, in the order in which they are measured and shown. */
import type { Case } from "./case.ts";
import { appendLatency } from "./cases/append-latency.ts";
import { badSummariser } from "./cases/bad-summariser.ts";
import { behaviours } from "./cases/behaviours.ts";
import { behindSummariser } from "./cases/behind-summariser.ts";
import { bill } from "./cases/bill.ts";
import { chats } from "./cases/chats.ts";
import { cost } from "./cases/cost.ts";
import { crowd } from "./cases/crowd.ts";
import { durability } from "./cases/durability.ts";
import { gathering } from "./cases/gathering.ts";
import { growth } from "./cases/growth.ts";
import { invariants } from "./cases/invariants.ts";
import { manyAgents } from "./cases/many-agents.ts";
import { manySessions } from "./cases/many-sessions.ts";
import { memory } from "./cases/memory.ts";
import { millionTokens } from "./cases/million-tokens.ts";
import { minds } from "./cases/minds.ts";
import { notes } from "./cases/notes.ts";
import { recallCase } from "./cases/recall.ts";
import { rent } from "./cases/rent.ts";
import { runCost } from "./cases/run-cost.ts";
import { runTime } from "./cases/run-time.ts";
import { sideBySide } from "./cases/side-by-side.ts";

export const CASES: readonly Case[] = [
  growth,
  appendLatency,
  gathering,
  runTime,
  runCost,
  sideBySide,
  behindSummariser,
  badSummariser,
  behaviours,
  chats,
  cost,
  rent,
  minds,
  recallCase,
  notes,
  durability,
  invariants,
  millionTokens,
  manySessions,
  manyAgents,
  memory,
  crowd,
  bill,
];
