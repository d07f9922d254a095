/** The page's card of standing instructions, drawn as a person gets it. */
import { expect, test } from "vitest";
import { NOTHING_PINNED, type Pinned } from "../../src/facts/fact.ts";
import { fillDetails, type OverlayDetails } from "../../src/memory/overlays/overlay.ts";

interface Shown {
  readonly id: string;
  readonly details: OverlayDetails;
}

/** Loaded by name, because the types of components are those of a browser, which the page's own configuration has. */
const [REACT, SERVER, CARD] = ["react", "react-dom/server", "../../dashboard/session/instructions-card.tsx"];
type Component = (props: { readonly overlays: readonly Shown[] }) => unknown;
const { createElement } = (await import(REACT)) as { createElement: (of: Component, props: object) => unknown };
const { renderToStaticMarkup } = (await import(SERVER)) as { renderToStaticMarkup: (element: unknown) => string };
const { InstructionsCard } = (await import(CARD)) as { InstructionsCard: Component };

function overlay(id: string, pinned: Partial<Pinned>, details: Partial<OverlayDetails> = {}): Shown {
  return { id, details: fillDetails({ ...details, pinned: { ...NOTHING_PINNED, ...pinned } }) };
}

const draw = (...overlays: Shown[]): string => renderToStaticMarkup(createElement(InstructionsCard, { overlays }));
/** The lines of the card, with the words that are struck through between tildes. */
const linesOf = (markup: string): string[] =>
  [...markup.matchAll(/<li[^>]*>(.*?)<\/li>/g)].map(([, line = ""]) => line.replaceAll(/<\/?s>/g, "~"));

const RULE = { quote: "Never touch main", messageId: "m1" };
const OTHER = { quote: "Answer in Greek", messageId: "m9" };
const ENDED = { ...RULE, by: { messageId: "m7", quote: "main is yours now" } };

test("what holds stands there once with its message, and what was ended is struck through, with the words that ended it", () => {
  const markup = draw(overlay("o1", { instructions: [RULE] }), overlay("o2", { instructions: [RULE, OTHER] }));
  expect(linesOf(markup)).toEqual(["Never touch main", "Answer in Greek"]);
  expect(markup).toContain('title="from message m1"');
  expect(linesOf(draw(overlay("o1", { ended: [ENDED] })))).toEqual(["~Never touch main~ ended by “main is yours now”"]);
});

test("what went because many came since says so, and that nobody ended it", () => {
  const left = { ...RULE, by: { messageId: "m7", quote: OTHER.quote }, left: true as const };
  const [line = ""] = linesOf(draw(overlay("o1", { ended: [left] })));
  expect(line).toBe("~Never touch main~ left out, because many came since");
});

test("an instruction that a later summary knows to be ended is not shown as one that holds", () => {
  const earlier = overlay("o1", { instructions: [RULE, OTHER] });
  const later = overlay("o2", { instructions: [OTHER], ended: [ENDED] }, { knows: ["o1"] });
  expect(linesOf(draw(earlier, later))).toEqual(["Answer in Greek", "~Never touch main~ ended by “main is yours now”"]);
  // A person restored it there.
  const restored = overlay("o2", { instructions: [OTHER, { ...RULE, restored: "m7" }] }, { knows: ["o1"] });
  expect(linesOf(draw(earlier, restored))).toEqual(["Answer in Greek", "Never touch main"]);
});

test("what a summary names without a source, and summaries that no model made, are said also without any instruction", () => {
  const markup = draw(
    overlay("o1", { unfounded: ["src/made-up.ts"] }),
    overlay("o2", { unfounded: ["src/made-up.ts"] }, { degraded: true }),
  );
  expect(markup).toContain("Named without a source");
  expect(linesOf(markup)).toEqual(["src/made-up.ts"]);
  expect(markup).toMatch(/role="alert">No model made one summary here/);
  expect(draw(overlay("o1", {}), overlay("o2", {}))).toBe("");
});

test("words of a conversation are text: they bring no markup, and nothing unseen", () => {
  const hostile = { quote: '<img src=x onerror="alert(1)">\u202Etxt', messageId: '"><script>' };
  const markup = draw(overlay("o", { instructions: [hostile], unfounded: ["<b>\u0000"] }));
  expect(markup).not.toMatch(/<(?:img|script|b)[ >]/);
  expect(["\u202E", "\u0000"].filter((unseen) => markup.includes(unseen))).toEqual([]);
  expect(markup).toContain("&lt;img");
});
