/**
 * Checks the user's standing instructions in a view, against the messages of the twin.
 *
 * Nothing but the user's own words is one. One that a summary showed stays in view while that summary is in force, until the user ends it or
 * changes the message. Reads only.
 */
import type { OverlayRecord } from "../../../src/memory/overlays/overlay.ts";
import type { View } from "../../../src/memory/messages/visible.ts";
import { readInForce, recordedInstructions } from "../../../src/facts/render.ts";
import { rulesIn, standingRules } from "../said.ts";
import { count } from "../tally.ts";
import { holds, type Seat, type World } from "../world.ts";

/** The rules in force that each look found, by session and leaf, with the overlays in force then. */
const looks = new WeakMap<
  World,
  Map<string, { readonly rules: readonly string[]; readonly active: readonly string[] }>
>();

interface Shown {
  readonly seat: Seat;
  readonly leaf: string;
  readonly view: View;
  readonly overlays: readonly OverlayRecord[];
}

export function checkInstructions(world: World, { seat, leaf, view, overlays }: Shown): void {
  const { twin } = seat;
  const path = twin.messages(leaf);
  const texts = view.messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "text" ? [part.text] : [])),
  );
  const inForce = texts.flatMap(readInForce);
  const said = path.filter(({ role }) => role === "user").map(({ parts }) => JSON.stringify(parts));
  const inherited = new Set(path.flatMap(recordedInstructions).map(({ quote }) => quote));
  const rules = rulesIn(inForce.map((line) => line.replace(/" \[@\w+\]$/, ".")).join("\n"));
  holds(
    "instructions",
    rules.length === inForce.length,
    () => `the view of ${seat.id} at ${leaf} has in force ${inForce.join(" and ")}, which are no rules, or one twice`,
  );
  for (const rule of rules) {
    const isUsers = said.some((text) => text.includes(rule)) || inherited.has(rule);
    holds(
      "instructions",
      isUsers,
      () => `the view of ${seat.id} at ${leaf} has in force "${rule}", which no user said`,
    );
  }
  const known = looks.get(world) ?? new Map<string, { rules: readonly string[]; active: readonly string[] }>();
  looks.set(world, known);
  const active = overlays.filter(({ state }) => state === "active").map(({ id }) => id);
  const standing = new Set(standingRules(path).map((rule) => rule.slice(0, -1)));
  for (const id of twin.path(leaf)) {
    const before = known.get(`${seat.id} ${id}`);
    if (before === undefined || !before.active.every((each) => active.includes(each))) continue;
    for (const rule of before.rules) {
      const stays = !standing.has(rule) || texts.some((text) => text.includes(rule));
      holds(
        "instructions",
        stays,
        () => `the view of ${seat.id} at ${leaf} lost "${rule}", which was in force at ${id}`,
      );
    }
  }
  known.set(`${seat.id} ${leaf}`, { rules, active });
  count(world.tally.checks, "instructions");
  if (rules.length > 0) count(world.tally.met, "instructions in force");
}
