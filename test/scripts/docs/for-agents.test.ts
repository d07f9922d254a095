/** What coding agents read: the list of pages, and the skill. Both stand in the package. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { runProgram } from "../../../scripts/cli/program.ts";

const list = readFileSync("llms.txt", "utf8");
const skill = readFileSync("skills/palimpsest/SKILL.md", "utf8");

test("llms.txt has the form that is agreed on, and names every page of docs", () => {
  expect(list).toMatch(/^# Palimpsest\n\n> /);
  const links = [...list.matchAll(/\]\(([^)]+)\)/g)].map(([, link = ""]) => link);
  expect(links.filter((link) => !existsSync(link))).toEqual([]);
  const pages = readdirSync("docs").filter((name) => name.endsWith(".md"));
  expect(pages.filter((name) => !links.includes(`docs/${name}`))).toEqual([]);
  const examples = readdirSync("examples").filter((name) => name !== "transcripts");
  expect(examples.filter((name) => !links.some((link) => dirname(link) === `examples/${name}`))).toEqual([]);
});

test("the skill says what it is for, and names only pages and commands that there are", async () => {
  const [, name, description = ""] = /^---\nname: ([a-z-]+)\ndescription: (.+)\n---\n/.exec(skill) ?? [];
  expect(name).toBe("palimpsest");
  expect(description.length).toBeLessThanOrEqual(1_024);
  const pages = [...skill.matchAll(/`((?:docs\/)?[\w-]+\.md)`/g)].map(([, page = ""]) => page);
  expect(pages.filter((page) => !existsSync(page))).toEqual([]);
  const help = await helpOf();
  const commands = [...skill.matchAll(/`(?:npx palimpsest(?: --[\w-]+ \w+)*|…) (\w+)/g)].map(
    ([, command = ""]) => command,
  );
  expect(commands.length).toBeGreaterThan(5);
  expect(commands.filter((command) => !help.includes(`\n  ${command}`))).toEqual([]);
});

async function helpOf(): Promise<string> {
  let text = "";
  const screen = { isTTY: false, columns: 80, write: (told: string | Uint8Array) => ((text += String(told)), true) };
  await runProgram(["--help"], { env: {}, out: screen, err: screen });
  return text;
}

test("both are packed", () => {
  const { files } = JSON.parse(readFileSync(join("package.json"), "utf8")) as { readonly files: readonly string[] };
  expect(files).toEqual(expect.arrayContaining(["llms.txt", "skills/**/*.md"]));
});
