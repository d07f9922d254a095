/** A logbook of 49 pages for the assistant's tools. Its pages are the same every time. */
import { tool, type ToolSet } from "ai";
import { z } from "zod";

const PAGES = 49;

const WEATHER = ["a gale from the south-west", "thick fog until noon", "a clear night", "sleet and a heavy swell"];
const WORK = ["trimmed the wick", "polished the lens", "mended the boat", "painted the gallery rail"];
const VISITORS = ["nobody came", "the supply boat came", "the inspector came", "two fishermen came in for shelter"];

function page(n: number): string {
  const entries = Array.from({ length: 12 }, (_, hour) => {
    const pick = (list: readonly string[], salt: number): string => list[(n * salt + hour * 5) % list.length] ?? "";
    return `At ${hour + 6}:00, ${pick(WEATHER, 3)}; before the hour was out we ${pick(WORK, 7)}.`;
  });
  const visitor = VISITORS[n % VISITORS.length] ?? "";
  return `Page ${n}. ${entries.join(" ")} At dusk ${visitor}. Oil left in the tank: ${900 - n * 13} pints.`;
}

const pageNumber = z.number().int().min(1).max(PAGES);

export const logbookTools = {
  read_log: tool({
    description: `Reads the logbook, which has ${PAGES} pages, one page a call. Go on with "next" to read the rest.`,
    inputSchema: z.object({ from: pageNumber, to: pageNumber }),
    execute: async ({ from, to }) => ({
      page: from,
      text: page(from),
      next: from < to ? { from: from + 1, to } : null,
    }),
  }),
  find_in_log: tool({
    description: "Numbers of the pages that a word is on.",
    inputSchema: z.object({ word: z.string().min(1) }),
    execute: async ({ word }) => {
      const numbers = Array.from({ length: PAGES }, (_, index) => index + 1);
      return { pages: numbers.filter((n) => page(n).toLowerCase().includes(word.toLowerCase())) };
    },
  }),
} satisfies ToolSet;
