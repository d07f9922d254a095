/** Which lines of withdrawn notes stay readable. */
import { expect, test } from "vitest";
import { withholdNotes } from "../../../src/notes/steps/withhold.ts";

function version(by: "update" | "hand", runId: string | null, ...lines: string[]) {
  return { standing: false, by, runId, sections: [{ title: "Task", text: lines.join("\n") }] };
}

/** The lines that are shown of each version, newest first. The versions are given oldest first. */
function shown(...versions: ReturnType<typeof version>[]): (string | undefined)[] {
  const numbered = versions.map((each, at) => ({ ...each, n: at + 1 }));
  return withholdNotes(numbered.toReversed()).map(({ sections }) => sections[0]?.text);
}

test("a person's own lines stay readable, in every version that has them", () => {
  const [update, hand] = [version("update", "a", "derived"), version("hand", "a", "derived", "own")];
  expect(shown(update, hand)).toEqual(["own", ""]);
  expect(shown(version("hand", null, "own"))).toEqual(["own"]);
});

test("S3: no derived line counts as a person's where the update below it is gone, whatever version came before", () => {
  const other = version("update", "b", "of another branch");
  const hand = version("hand", "a", "derived", "own");
  expect(shown(other, hand)).toEqual(["", ""]);
  expect(shown(version("hand", "a", "own"), hand)).toEqual(["", ""]);
});
