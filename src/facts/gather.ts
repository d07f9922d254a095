/** Gathers what messages leave behind without a model, and merges it part by part. */
import type { UIMessage } from "ai";
import { isSummary, storedId } from "../steps/view/view.ts";
import { recordedInstructions } from "./render.ts";
import { NO_FACTS, type Facts, type Loaded } from "./fact.ts";
import { mergeInstructions, unique } from "./instructions.ts";
import { isOfHarness } from "../steps/message/message.ts";
import { calledSkills, mergeLoaded, readLoaded } from "./loaded.ts";
import { readSaid, saidBySystem, shorten } from "./said.ts";

/** Most of each kind that is kept with a draft. They exceed what any budget shows. */
const MAX_INSTRUCTIONS = 100;
const MAX_OF_SYSTEM = 10;
const MAX_SAID = 80;

/** The facts of `messages`, oldest first. Never throws on a message that could be stored. */
export function gatherFacts(messages: readonly UIMessage[]): Facts {
  const own = messages.filter((message) => !isSummary(message));
  return bound({
    // A session that continues another one begins with its summary, which brings its instructions.
    instructions: unique(messages.flatMap((each) => [...recordedInstructions(each), ...saidBySystem(each)])),
    ended: [],
    said: readSaid(own).map(({ messageId, text }) => shorten(messageId, text)),
    loaded: gatherLoaded(own),
  });
}

function gatherLoaded(messages: readonly UIMessage[]): readonly Loaded[] {
  let loaded: readonly Loaded[] = [];
  let skills: string[] = [];
  for (const message of messages) {
    const found = readLoaded(message, storedId(message.id), skills[0]);
    loaded = mergeLoaded(loaded, found);
    // The texts of skills come in messages of their own behind their calls, in the same order.
    if (message.role === "assistant") skills.push(...calledSkills(message));
    else if (!isOfHarness(message)) skills = [];
    else if (found.length > 0) skills = skills.slice(1);
  }
  return loaded;
}

/** The facts of all parts, given oldest first. A later part may end an instruction of an earlier one. */
export function mergeFacts(parts: readonly Facts[]): Facts {
  return parts.reduce(
    (earlier, later): Facts =>
      bound({
        ...mergeInstructions(earlier, later),
        said: [...earlier.said, ...later.said],
        loaded: mergeLoaded(earlier.loaded, later.loaded),
      }),
    NO_FACTS,
  );
}

function bound(facts: Facts): Facts {
  const ofSystem = new Set(facts.instructions.filter(({ system }) => system).slice(-MAX_OF_SYSTEM));
  const standing = facts.instructions.filter((each) => !each.system || ofSystem.has(each));
  const newest = standing.at(-1);
  const old = standing.filter(({ system, restored }) => !system && restored === undefined);
  const left = new Set(old.slice(0, Math.max(0, standing.length - MAX_INSTRUCTIONS)));
  const by = { messageId: newest?.messageId ?? "", quote: newest?.quote ?? "" };
  const ended = [...facts.ended, ...[...left].map((each) => ({ ...each, by, left: true as const }))];
  return {
    instructions: standing.filter((each) => !left.has(each)).slice(-MAX_INSTRUCTIONS),
    ended: ended.slice(-MAX_INSTRUCTIONS),
    said: facts.said.slice(-MAX_SAID),
    loaded: facts.loaded,
  };
}
