/** Texts of others in the page's errors and plots, drawn as a person gets them. */
import { expect, test } from "vitest";
import { describeOutcome } from "../../dashboard/runs/words.ts";

type Component = (props: never) => unknown;
type Parts = Readonly<Record<string, Component>>;

/** Loaded by name, because the types of components are those of a browser, which the page's own configuration has. */
const [REACT, SERVER] = ["react", "react-dom/server"];
const { createElement } = (await import(REACT)) as {
  createElement: (of: Component | undefined, props: object) => unknown;
};
const { renderToStaticMarkup } = (await import(SERVER)) as { renderToStaticMarkup: (element: unknown) => string };

const HOSTILE = "gnp\u202e.exe\u001b[31m";

test.each<[string, string, object]>([
  ["frame/states.tsx", "Failed", { what: "the runs", error: HOSTILE }],
  ["frame/states.tsx", "Told", { act: { busy: false, told: { kind: "failed", text: HOSTILE } } }],
  ["health/plots.tsx", "FailuresPlot", { failures: [{ reason: HOSTILE, count: 1 }] }],
  ["health/plots.tsx", "RatioPlot", { usage: [{ model: HOSTILE, calls: 1, ratio: 1 }] }],
])("%s: %s shows a character that cannot be seen by its name", async (file, name, props) => {
  const path = `../../dashboard/${file}`;
  const parts = (await import(path)) as Parts;
  const drawn = renderToStaticMarkup(createElement(parts[name], props));
  expect(drawn).toContain("gnp⟨U+202E⟩.exe␛[31m");
  for (const unseen of ["\u202e", "\u001b"]) expect(drawn).not.toContain(unseen);
});

test("a run's outcome does, too", async () => {
  expect(describeOutcome({ kind: "failed", reason: HOSTILE })).toBe("failed: gnp⟨U+202E⟩.exe␛[31m");
});
