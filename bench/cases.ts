/** Every case, in the order in which they are measured and shown. */
import type { Case } from "./case.ts";
import { appendLatency } from "./cases/store/append-latency.ts";
import { badSummariser } from "./cases/runs/bad-summariser.ts";
import { behaviours } from "./cases/runs/behaviours.ts";
import { behindSummariser } from "./cases/runs/behind-summariser.ts";
import { bill } from "./cases/conversations/bill.ts";
import { chats } from "./cases/conversations/chats.ts";
import { cost } from "./cases/conversations/cost-of-a-conversation.ts";
import { crowd } from "./cases/store/crowd.ts";
import { durability } from "./cases/store/durability.ts";
import { gathering } from "./cases/runs/gathering.ts";
import { growth } from "./cases/store/growth.ts";
import { invariants } from "./cases/store/invariants.ts";
import { manyAgents } from "./cases/store/many-agents.ts";
import { manySessions } from "./cases/store/many-sessions.ts";
import { memory } from "./cases/store/memory.ts";
import { millionTokens } from "./cases/runs/million-tokens.ts";
import { minds } from "./cases/conversations/minds.ts";
import { notes } from "./cases/runs/notes.ts";
import { recallCase } from "./cases/conversations/recall.ts";
import { rent } from "./cases/conversations/cost.ts";
import { runCost } from "./cases/runs/run-cost.ts";
import { runTime } from "./cases/runs/run-time.ts";
import { sideBySide } from "./cases/store/side-by-side.ts";

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
