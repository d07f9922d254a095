/** The two words that a newcomer meets in code, in the pages: a summary is called so, and a room is explained where a page first names one. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const docs = readdirSync("docs").filter((name) => name.endsWith(".md") && name !== "api.md");

/** A page without its code, of which only places of the same length are left. */
function proseOf(page: string): string {
  const text = readFileSync(page, "utf8").replaceAll(/^```[\s\S]*?^```/gm, "");
  return text.replaceAll(/`[^`\n]*`/g, (code) => " ".repeat(code.length));
}

test("the README explains both words where they first stand", () => {
  const prose = proseOf("README.md");
  expect(/[^.]*\boverlay\b[^.]*\./.exec(prose)?.[0]).toContain(
    "A summary lies over its messages, so code also says *overlay*.",
  );
  expect(/^.*\brooms?\b.*$/im.exec(prose)?.[0]).toContain("**Rooms** are add-ons");
});

test("pages call a summary a summary", () => {
  expect(docs.filter((page) => /\boverlays?\b/i.test(proseOf(`docs/${page}`)))).toEqual([]);
});

test("a page that names a room says first where rooms are explained", () => {
  // Room is also what a window has.
  const named = /(?<!\bno )\b(?!Room to)rooms?\b/i;
  const unexplained = docs.filter((page) => {
    const prose = proseOf(`docs/${page}`);
    const at = prose.search(named);
    return at >= 0 && !/^rooms?\]\(\.\.\/README\.md#what-you-get\)/i.test(prose.slice(at));
  });
  expect(unexplained).toEqual([]);
});

test("the README's first screen has both commands and the page's picture", () => {
  const screen = readFileSync("README.md", "utf8").split("\n").slice(0, 24).join("\n");
  for (const shown of ["npm install && npm run demo", "npm install && npm test", "](docs/images/page-session.png)"]) {
    expect(screen).toContain(shown);
  }
});
