/** Reads secrets that other projects made to test their own tools, from checkouts of those projects. */
import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";

/** A text that holds a secret. */
export interface Sample {
  readonly kind: string;
  readonly text: string;
  readonly secret: string;
}

export interface Corpus {
  readonly name: string;
  readonly what: string;
  readonly commit: string;
  readonly samples: readonly Sample[];
}

/** Kinds that are no secret by themselves. They are names of accounts, stores or domains, or numbers that salt or count. */
const NAMES_ONLY =
  /client-id|access-id|user-api-id|pub(?:lic)?(?:-api)?-key|^(?:UUID|AWS Client ID|AWS S3 Bucket|Firebase Domain|Salt|Nonce|Tencent WeChat API App ID)$/;

/** Secrets drawn for each rule. */
const DRAWN = 3;
const SEED = 1;

/**
 * Draws secrets from each rule's own pattern of gitleaks. A service whose tokens have no shape of their own is known by its name, so its
 * secrets stand in each of the assignments that gitleaks tests such rules with.
 */
export async function readGitleaks(folder: string, commit: string): Promise<Corpus> {
  const toml = await readFile(join(folder, "config/gitleaks.toml"), "utf8");
  const templates = readTemplates(await readFile(join(folder, "cmd/generate/config/utils/generate.go"), "utf8"));
  const samples = toml
    .split("[[rules]]")
    .slice(1)
    .flatMap((rule) => {
      const kind = /^id = "([^"]+)"/m.exec(rule)?.[1] ?? "";
      const pattern = /^regex = '''(.+)'''$/m.exec(rule)?.[1];
      return pattern === undefined || NAMES_ONLY.test(kind) ? [] : drawSamples(kind, pattern, templates);
    });
  return { name: "gitleaks", what: "secrets drawn from its rules", commit, samples };
}

/** The part before the secret in the pattern of a service that is known by its name. */
const NAMED =
  /^\(\?i\)\[\\w\.-\]\{0,50\}\?\(\?:(?<names>.+?)\)\(\?:\[ \\t\\w\.-\]\{0,20\}\).*?\{0,5\}\((?<secret>.+)\)\(\?:\[\\x60.*\)$/;

function drawSamples(kind: string, pattern: string, templates: readonly string[]): readonly Sample[] {
  const named = NAMED.exec(pattern)?.groups;
  const secrets = draw(named?.["secret"] ?? pattern);
  const name = /[a-z]{3,}/i.exec(named?.["names"] ?? "")?.[0] ?? "";
  const texts = named === undefined ? ["Use {s} for it."] : templates;
  return secrets.flatMap((secret) =>
    texts.map((template) => ({
      kind,
      secret,
      text: template
        .replaceAll("{i}", name)
        .replaceAll("{I}", name.toUpperCase())
        .replaceAll("{s}", () => secret),
    })),
  );
}

/** Draws from the subset of the pattern language that the generator knows. Returns none where a pattern needs more. */
function draw(pattern: string): readonly string[] {
  const known = pattern
    .replaceAll(/\(\?i\)|\\b/g, "")
    .replaceAll(/\(\?-?i:/g, "(?:")
    .replaceAll("[[:alnum:]]", "[A-Za-z0-9]")
    .replaceAll("[:alnum:]", "A-Za-z0-9")
    .replaceAll(/\(\?:\[\\x60'"\\s;\]\|\\\\\[nr\]\|\$\)/g, "");
  try {
    const drawn = fc.stringMatching(new RegExp(`^(?:${known})$`));
    return fc
      .sample(drawn, { numRuns: DRAWN, seed: SEED })
      .map((secret) => secret.replaceAll(/^[\s"'`]+|[\s"'`]+$/g, ""));
  } catch {
    return [];
  }
}

/** The assignments, in many languages, that gitleaks puts its secrets into. */
function readTemplates(source: string): readonly string[] {
  const list = /samples := map\[string\]string\{([^]*?)\n\t\}/.exec(source)?.[1] ?? "";
  return [...list.matchAll(/^\s*"[^"]+":\s*(?:"((?:\\.|[^"\\])*)"|`([^`]*)`),/gm)].map(([, quoted, raw]) =>
    raw === undefined ? (JSON.parse(`"${quoted ?? ""}"`) as string) : raw,
  );
}

interface Expected {
  readonly rule: string;
  readonly line_data_list: readonly {
    readonly line: string;
    readonly line_num: number;
    readonly path: string;
    readonly value: string;
  }[];
}

/** The samples of CredSweeper are files in many languages with the values that it expects to find in them. */
export async function readCredSweeper(folder: string, commit: string): Promise<Corpus> {
  const expected = JSON.parse(await readFile(join(folder, "tests/data/output.json"), "utf8")) as Expected[];
  const samples: Sample[] = [];
  for (const { rule, line_data_list: lines } of expected) {
    for (const { path, value, line } of lines.slice(0, 1)) {
      const file = join(folder, path);
      if (NAMES_ONLY.test(rule) || !existsSync(file)) continue;
      // A key in a block spans lines, so it needs the whole file. Every other sample is one line. Samples inside archives are skipped.
      const text = rule.includes("PEM") ? await readFile(file, "utf8") : line;
      if (text.includes(value)) samples.push({ kind: rule, text, secret: value });
    }
  }
  return { name: "CredSweeper", what: "its sample files", commit, samples };
}

interface Snapshot {
  readonly messages: readonly {
    readonly messageId: string;
    readonly range: readonly [number, number];
    readonly data?: Record<string, unknown>;
  }[];
}

/** The inputs of secretlint's tests in which its rules report something. */
export async function readSecretlint(folder: string, commit: string): Promise<Corpus> {
  const packages = join(folder, "packages/@secretlint");
  const samples: Sample[] = [];
  for (const name of await readdir(packages)) {
    const snapshots = join(packages, name, "test/snapshots");
    if (!name.startsWith("secretlint-rule-") || /preset|filter|no-|pattern/.test(name) || !existsSync(snapshots))
      continue;
    for (const snapshot of await readdir(snapshots))
      samples.push(...(await readSnapshot(name, join(snapshots, snapshot))));
  }
  return { name: "secretlint", what: "the inputs of its tests", commit, samples };
}

async function readSnapshot(rule: string, folder: string): Promise<readonly Sample[]> {
  const input = (await readdir(folder)).find((name) => name.startsWith("input"));
  if (input === undefined || !existsSync(join(folder, "output.json"))) return [];
  const text = await readFile(join(folder, input), "utf8");
  const { messages = [] } = JSON.parse(await readFile(join(folder, "output.json"), "utf8")) as Partial<Snapshot>;
  return messages.flatMap(({ data = {} }) => {
    const secret = Object.values(data).findLast((each) => typeof each === "string");
    const kind = rule.replace("secretlint-rule-", "");
    return typeof secret === "string" && secret.length >= 8 && text.includes(secret) ? [{ kind, text, secret }] : [];
  });
}
