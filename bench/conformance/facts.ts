/** All facts, in the order of the table. */
import type { Fact } from "./fact.ts";
import { COMPACTING } from "./facts/compacting.ts";
import { COST } from "./facts/cost.ts";
import { EVICTION } from "./facts/eviction.ts";
import { OVERLAYS } from "./facts/overlays.ts";
import { PROMPT } from "./facts/prompt.ts";
import { RACES } from "./facts/races.ts";
import { READING } from "./facts/reading.ts";
import { SEARCH } from "./facts/search.ts";
import { SESSIONS } from "./facts/sessions.ts";
import { SUMMARISER } from "./facts/summariser.ts";
import { TREE } from "./facts/tree.ts";
import { TRIGGER } from "./facts/trigger.ts";

export const FACTS: readonly Fact[] = [
  ...TREE,
  ...READING,
  ...OVERLAYS,
  ...COMPACTING,
  ...SUMMARISER,
  ...TRIGGER,
  ...RACES,
  ...SEARCH,
  ...SESSIONS,
  ...PROMPT,
  ...EVICTION,
  ...COST,
];
