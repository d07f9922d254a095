/**
 * Measures the rules of src/redact on secrets that others made, and writes the table in docs/redaction.md.
 *
 *   node scripts/redaction.ts --gitleaks DIR --credsweeper DIR --secretlint DIR --transcripts DIR
 *
 * Each of the first three DIRs is a checkout of that project. The last one is a folder of transcripts without secrets. The script copies
 * nothing of theirs and writes figures alone. The table names each measured checkout by its commit.
 */
import { execFileSync } from "node:child_process";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Command } from "commander";
import { secretRules } from "../src/redact/secret-rules.ts";
import { readCredSweeper, readGitleaks, readSecretlint, type Corpus, type Sample } from "./redaction/corpora.ts";

const DOC = join(import.meta.dirname, "../docs/redaction.md");
const [BEGIN, END] = ["<!-- measured: begin -->", "<!-- measured: end -->"];

interface Options {
  readonly gitleaks: string;
  readonly credsweeper: string;
  readonly secretlint: string;
  readonly transcripts: string;
  /** Prints each secret that was missed, and writes nothing. */
  readonly show: boolean;
}

interface Row {
  readonly kind: string;
  readonly found: number;
  readonly of: number;
}

const rules = secretRules();

/**
 * The same word may stand in a text as something else, such as a user's name. So a secret counts as found when it occurs less often than
 * before.
 */
function isFound({ text, secret }: Sample): boolean {
  return rules.redactText(text).split(secret).length < text.split(secret).length;
}

function measure({ samples }: Corpus, show: boolean): readonly Row[] {
  const byKind = Map.groupBy(samples, ({ kind }) => kind);
  return [...byKind].map(([kind, each]) => {
    const missed = each.filter((sample) => !isFound(sample));
    if (show)
      for (const { secret, text } of missed) console.log(`${kind}\t${secret.slice(0, 60)}\t${lineOf(text, secret)}`);
    return { kind, found: each.length - missed.length, of: each.length };
  });
}

function lineOf(text: string, secret: string): string {
  const at = text.indexOf(secret);
  return JSON.stringify(text.slice(Math.max(0, at - 60), at + 60));
}

interface Blanked {
  readonly files: number;
  readonly bytes: number;
  readonly blanks: number;
}

/** Redacts every text of the files as JSON values, the way an export does. */
async function measureTranscripts(folder: string, show: boolean): Promise<Blanked> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".jsonl"));
  let [bytes, blanks] = [0, 0];
  for (const name of names) {
    const text = await readFile(join(folder, name), "utf8");
    bytes += text.length;
    for (const line of text.split("\n").filter((each) => each !== "")) {
      const part = { type: "data-line" as const, data: JSON.parse(line) as unknown };
      const message = rules.redactMessage({ id: "m", role: "user", parts: [part] });
      const found = [...JSON.stringify(message).matchAll(/\[redacted: /g)];
      const stood = [...line.matchAll(/\[redacted: /g)];
      blanks += found.length - stood.length;
      if (show)
        for (const { index } of found) console.log(`${name}\t${JSON.stringify(message).slice(index - 80, index + 60)}`);
    }
  }
  return { files: names.length, bytes, blanks };
}

function commitOf(folder: string): string {
  return execFileSync("git", ["-C", folder, "rev-parse", "--short=10", "HEAD"], { encoding: "utf8" }).trim();
}

function share({ found, of }: Pick<Row, "found" | "of">): string {
  return `${found} of ${of} (${((100 * found) / of).toFixed(1)} %)`;
}

function sum(rows: readonly Row[]): Row {
  return {
    kind: "",
    found: rows.reduce((all, { found }) => all + found, 0),
    of: rows.reduce((all, { of }) => all + of, 0),
  };
}

function table(corpora: readonly (readonly [Corpus, readonly Row[]])[], blanked: Blanked): string {
  const head = `Rules \`${rules.id}\`.\n\n| made by | what | found | missed | kinds found whole |\n|---|---|---|---|---|`;
  const lines = corpora.map(([{ name, what, commit }, rows]) => {
    const all = sum(rows);
    const whole = rows.filter(({ found, of }) => found === of).length;
    return `| ${name} \`${commit}\` | ${what} | ${share(all)} | ${all.of - all.found} | ${whole} of ${rows.length} |`;
  });
  const { files, bytes, blanks } = blanked;
  const real = `In ${files} real transcripts without known secrets, ${(bytes / 1e6).toFixed(1)} MB, ${blanks} texts were blanked.`;
  const missed = corpora.map(([{ name }, rows]) => {
    const partly = rows.filter(({ found, of }) => found < of).toSorted((a, b) => b.of - b.found - (a.of - a.found));
    const named = partly.map(({ kind, found, of }) => `${kind} ${of - found}/${of}`);
    return `- ${name}: ${named.join(", ") || "nothing"}.`;
  });
  return [head, ...lines, "", real, "", "Missed, by kind (of how many):", "", ...missed].join("\n");
}

const options = new Command()
  .requiredOption("--gitleaks <dir>", "a checkout of gitleaks")
  .requiredOption("--credsweeper <dir>", "a checkout of CredSweeper")
  .requiredOption("--secretlint <dir>", "a checkout of secretlint")
  .requiredOption("--transcripts <dir>", "a folder of transcripts, a JSON value a line")
  .option("--show", "print what was missed and what was blanked, and write nothing", false)
  .parse()
  .opts<Options>();

const corpora = [
  await readGitleaks(options.gitleaks, commitOf(options.gitleaks)),
  await readCredSweeper(options.credsweeper, commitOf(options.credsweeper)),
  await readSecretlint(options.secretlint, commitOf(options.secretlint)),
];
const measured = corpora.map((corpus) => [corpus, measure(corpus, options.show)] as const);
const page = table(measured, await measureTranscripts(options.transcripts, options.show));
if (options.show) console.log(page);
else {
  const doc = await readFile(DOC, "utf8");
  const [before, after] = [doc.split(BEGIN)[0] ?? "", doc.split(END)[1] ?? ""];
  await writeFile(DOC, `${before}${BEGIN}\n\n${page}\n\n${END}${after}`);
}
