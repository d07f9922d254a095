/** Operations on shadows. They declare them or take them back, as a deploy may, and set the mood of their model. */
import { addShadow, type ShadowOptions } from "../../../src/shadow/settings.ts";
import { shadowsOfTests } from "../../worker.ts";
import type { Operation } from "../operations.ts";
import { DAY_TOKENS, SHADOW_MODEL } from "../shadow-names.ts";
import { moodAt } from "../summariser.ts";
import type { Seat, World } from "../world.ts";

const CHEAP: ShadowOptions = { model: SHADOW_MODEL, dayTokens: DAY_TOKENS };
const SECTIONS: ShadowOptions = {
  ...CHEAP,
  name: "sections",
  template: { sections: [{ title: "Facts" }, { title: "Next step" }] },
};
const WAYS: readonly (readonly ShadowOptions[])[] = [[], [CHEAP], [CHEAP], [SECTIONS, CHEAP], [SECTIONS]];

/** Applies in this life of the object and in later ones. */
export async function declareShadows(world: World, seat: Seat, { way, size }: Operation): Promise<string> {
  const key = `${world.name}/${seat.id}`;
  const shadows = WAYS[way % WAYS.length] ?? [];
  shadowsOfTests.set(key, shadows);
  await world.inside(({ palimpsest: { settings } }) => {
    const { shadow: _, ...rooms } = settings.get(seat.id).rooms;
    const without = { ...settings.get(seat.id), rooms };
    settings.set(
      seat.id,
      shadows.reduce((sofar, each) => addShadow(each)(sofar), without),
    );
  });
  // Slow half the time, because most faults need other operations during a call.
  const mood = size % 2 === 0 ? "slow" : moodAt(size);
  world.shadow.setMood(mood, size % 3);
  return `${shadows.length}, ${mood} for ${size % 3} calls`;
}
