/** What the flags of `palimpsest eval` mean, checked before anything is asked. */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { PriceList } from "../../../src/costs/sums.ts";
import type { Format } from "../../../src/import/import.ts";
import type { TemplateInput } from "../../../src/steps/draft/prompt.ts";
import { CommandFailure, EXIT } from "../failure.ts";
import type { Choice, NamedTemplate } from "./candidate.ts";
import type { Endpoint } from "./chat.ts";
import { OWN_TEMPLATE, type EvalFlags } from "./flags.ts";
import type { Model } from "./keep.ts";
import { LEAST_THRESHOLD } from "./session.ts";
import { MIN_WINDOW_TOKENS, checkPrices, parseTemplate } from "../in-package.ts";

export interface EvalOptions {
  readonly judge: Model;
  readonly judgeWindow: number;
  readonly modelWindow: number;
  readonly choice: Choice;
  readonly until: number | undefined;
  readonly questions: number;
  /** An exam of the user's own, as JSON. */
  readonly exam: string | null;
  readonly prices: PriceList | null;
  readonly keep: string;
  readonly report: string | null;
  readonly format: Format | undefined;
  readonly index: number | undefined;
}

type Env = Readonly<Record<string, string | undefined>>;

const MOST_QUESTIONS = 60;
/** Throws a {@link CommandFailure} that says what to change. */
export async function readEvalOptions(flags: EvalFlags, env: Env): Promise<EvalOptions> {
  if (flags.judge === undefined) {
    throw wrong(
      "No judge is given. Name a strong model with --judge MODEL --judge-url URL, such as --judge gpt-5.2 --judge-url https://api.openai.com/v1.",
    );
  }
  if (flags.questions > MOST_QUESTIONS) throw wrong(`--questions takes up to ${MOST_QUESTIONS}.`);
  if (flags.threshold.some((tokens) => tokens < LEAST_THRESHOLD)) {
    throw wrong(`--threshold takes ${LEAST_THRESHOLD} or more.`);
  }
  const judge = readModel(flags.judge, flags.judgeUrl, { env, keyNames: ["PALIMPSEST_JUDGE_KEY"] });
  const modelUrl = flags.modelUrl ?? flags.judgeUrl;
  const keyNames = ["PALIMPSEST_MODEL_KEY", ...(modelUrl === flags.judgeUrl ? ["PALIMPSEST_JUDGE_KEY"] : [])];
  const named = flags.model?.map((name) => readModel(name, modelUrl, { env, keyNames }));
  const models = named ?? [judge];
  requireOneEach([judge, ...models]);
  return {
    judge,
    judgeWindow: requireWindow("--judge-window", flags.judgeWindow),
    modelWindow: requireWindow("--model-window", flags.modelWindow),
    choice: {
      kinds: flags.candidates,
      models,
      thresholds: flags.threshold,
      templates: await Promise.all((flags.template ?? [OWN_TEMPLATE]).map(readTemplate)),
    },
    until: flags.until,
    questions: flags.questions,
    exam: flags.exam === undefined ? null : await readText(flags.exam),
    prices: flags.prices === undefined ? null : checkPrices((await readJson(flags.prices)) as PriceList),
    keep: flags.keep,
    report: flags.report ?? null,
    format: flags.format,
    index: flags.index,
  };
}

interface Keys {
  readonly env: Env;
  /** Variables that hold the key of the given URL, the first that is set counts. */
  readonly keyNames: readonly string[];
}

/** A model that names an address of its own gets the key of that host alone, so no key goes to an endpoint that it is not for. */
function readModel(name: string, url: string | undefined, { env, keyNames }: Keys): Model {
  const [, own, at] = /^(.+)@(https?:\/\/\S+)$/.exec(name) ?? [];
  const address = at ?? url;
  if (address === undefined) return { name, endpoint: null };
  const ofHost = `PALIMPSEST_KEY_${hostOf(address)
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]/g, "_")}`;
  const isShared = at === undefined || at === url;
  const names = [ofHost, ...(isShared ? keyNames : [])];
  const keyName = names.find((each) => (env[each] ?? "") !== "");
  const key = keyName === undefined ? null : (env[keyName] ?? null);
  const endpoint: Endpoint = { url: address, key, keyName: keyName ?? (isShared ? (keyNames[0] ?? ofHost) : ofHost) };
  return { name: own ?? name, endpoint };
}

function hostOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw wrong(`An endpoint is an address such as https://api.openai.com/v1, not ${JSON.stringify(url)}.`);
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw wrong("An endpoint's address holds no user name or password: set the key in its environment variable.");
  }
  return parsed.hostname;
}

/** Answers are kept by a model's name, so one name cannot mean two. */
function requireOneEach(models: readonly Model[]): void {
  for (const { name, endpoint } of models) {
    const other = models.find((each) => each.name === name && each.endpoint?.url !== endpoint?.url);
    if (other !== undefined) {
      throw wrong(
        `${name} is named with two endpoints. Answers are kept by a model's name: compare them in two folders, with --keep.`,
      );
    }
  }
}

async function readTemplate(file: string): Promise<NamedTemplate | null> {
  if (file === OWN_TEMPLATE) return null;
  const input = (await readJson(file)) as TemplateInput;
  parseTemplate(input);
  return { name: basename(file).replace(/\.json$/, ""), input };
}

async function readJson(file: string): Promise<unknown> {
  const text = await readText(file);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw wrong(`${file} is no JSON.`);
  }
}

async function readText(file: string): Promise<string> {
  return readFile(file, "utf8").catch((error: unknown) => {
    throw wrong(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  });
}

function requireWindow(flag: string, tokens: number): number {
  if (tokens >= MIN_WINDOW_TOKENS) return tokens;
  throw wrong(`${flag} takes ${MIN_WINDOW_TOKENS} or more.`);
}

function wrong(message: string): CommandFailure {
  return new CommandFailure(EXIT.usage, message, "invalid_options");
}
