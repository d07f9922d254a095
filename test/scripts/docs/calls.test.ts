/** The calls that a client may make are the ones that the pages for clients list. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { apiPage } from "../../../scripts/api/page.ts";
import { CALL_NAMES, calls } from "../../rooms.ts";

const page = (name: string): string => readFileSync(resolve(import.meta.dirname, "../../..", name), "utf8");
const namesIn = (text: string): string[] => [...text.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? "");
const inGroup = (group: string): string[] => CALL_NAMES.filter((name) => calls[name].group === group).toSorted();

test("the table of docs/clients.md names every call, each in its group", () => {
  const section =
    page("docs/clients.md")
      .split("\n## ")
      .find((each) => each.startsWith("Groups")) ?? "";
  const rows = [...section.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)];
  const groups = new Set(CALL_NAMES.map((name) => calls[name].group));
  expect(rows.map(([, group]) => group)).toEqual([...groups]);
  for (const [, group = "", names = ""] of rows) expect(namesIn(names).toSorted(), group).toEqual(inGroup(group));
});

test("SECURITY.md begins with the calls that are open unless more is opened", () => {
  const opening = page("SECURITY.md").split("\n## ")[1] ?? "";
  const [sentences = "", room = ""] = /Seven calls of your agent[^.]*\.([^.]*)\./.exec(opening) ?? [];
  expect(namesIn(room)).toEqual(["plan"]);
  expect(namesIn(sentences).toSorted()).toEqual(inGroup("watch"));
  expect(opening.indexOf(sentences)).toBeLessThan(100);
});

test("each call says what it is for in one sentence", () => {
  const purposes = new Map(
    [...apiPage().matchAll(/^\| `(\w+)` \| .* \| (.*?)(?: With the room `\w+\(\)`\.)? \|$/gm)].map(([, name, does]) => [
      name,
      does,
    ]),
  );
  expect(new Set(purposes.keys())).toEqual(new Set(CALL_NAMES));
  for (const [name, does] of purposes) expect(does, name).toMatch(/^[A-Z][^.]*(?:`[^`]*`[^.]*)*\.$/);
});

test("docs/clients.md names every error code once, and marks those that may pass", () => {
  const section =
    page("docs/clients.md")
      .split("\n## ")
      .find((each) => each.startsWith("Errors")) ?? "";
  const codes = [...page("src/errors.ts").matchAll(/^  (\w+): (true|false),$/gm)];
  const mayPass = codes.flatMap(([, name = "", passes]) => (passes === "true" ? [name] : []));
  const rows = [...section.matchAll(/^\| (`.*) \| (.*) \|$/gm)];
  expect(rows.flatMap(([, names = ""]) => namesIn(names)).toSorted()).toEqual(
    codes.map(([, name = ""]) => name).toSorted(),
  );
  const repeated = rows.filter(([, , meaning = ""]) => meaning.includes("The same call may succeed later"));
  expect(repeated.flatMap(([, names = ""]) => namesIn(names)).toSorted()).toEqual(mayPass.toSorted());
});

test("docs/api.md is the table of calls as it is now (`npm run api` writes it)", () => {
  expect(page("docs/api.md")).toBe(apiPage());
});
