/** Checks the options of `shadow` at once, and keeps the shadows of a session among its settings. */
import type { SessionSettings } from "../agent/settings.ts";
import { inWords, PalimpsestError } from "../errors.ts";
import { checkFields, type FieldNames } from "../known-fields.ts";
import { MAX_NAME_CHARS } from "../limits.ts";
import { parseTemplate, type Template, type TemplateInput } from "../steps/draft/template.ts";
import type { Policy } from "../steps/plan/policy.ts";

/** The numbers of a policy that decide what a summary and the names beside it keep. The cut is the real run's. */
export type ShadowPolicy = {
  readonly [Name in "summaryTokens" | "pinnedTokens" | "loadedTokens" | "stackTokens" | "maxSummaryRatio"]?:
    | Policy[Name]
    | undefined;
};

/** A second summariser. At least one of `model`, `template` and `policy` differs from the session's own. */
export interface ShadowOptions {
  /** Its name in reports and in the names of steps. Default: the name of its model, or `shadow`. */
  readonly name?: string | undefined;
  /** The name with which the Workflow's `model()` is called. Default: the session's own model. */
  readonly model?: string | undefined;
  /** The sections of its summaries. Default: the session's own. */
  readonly template?: TemplateInput | undefined;
  /** Default: the session's own. */
  readonly policy?: ShadowPolicy | undefined;
  /** Most tokens that it reads and writes in one agent and UTC day. Default 200,000. */
  readonly dayTokens?: number | undefined;
}

/** {@link ShadowOptions}, checked. */
export interface Shadow {
  readonly name: string;
  readonly model: string | null;
  readonly template: Template | null;
  readonly policy: Partial<Policy>;
  readonly dayTokens: number;
}

/** The name under which the room keeps its settings. */
const ROOM = "shadow";

/** Most shadows of one session. Each costs what the real summary costs. */
export const MAX_SHADOWS = 4;

/** Most characters of a name, which is a part of the names of steps. */
export const MAX_SHADOW_NAME_CHARS = 60;

/** Most characters of a template, as JSON. A prompt leaves 1,500 tokens for all that is not the conversation. */
export const MAX_TEMPLATE_CHARS = 5_000;

/** Default tokens a day, some four chunks of the largest default size with their answers. */
export const DEFAULT_DAY_TOKENS = 200_000;

const OPTIONS: FieldNames<ShadowOptions> = { name: true, model: true, template: true, policy: true, dayTokens: true };

/** The least value of each number. */
const LEAST: { readonly [Name in keyof Required<ShadowPolicy>]: number } = {
  summaryTokens: 1,
  pinnedTokens: 0,
  loadedTokens: 0,
  stackTokens: 1,
  maxSummaryRatio: 0,
};

/** The shadows of a session, in the order of their declaration. */
export function shadowsOf({ rooms }: Pick<SessionSettings, "rooms">): readonly Shadow[] {
  return (rooms[ROOM] as readonly Shadow[] | undefined) ?? [];
}

/**
 * The change of a session's settings by one more shadow. Checks the options at once, and the session's other shadows when it is applied.
 * Throws `invalid_options`.
 */
export function addShadow(options: ShadowOptions): (settings: SessionSettings) => SessionSettings {
  const shadow = checkShadow(options);
  return (settings) => {
    const known = shadowsOf(settings);
    const same = known.find(({ name }) => name === shadow.name);
    if (same !== undefined && JSON.stringify(same) === JSON.stringify(shadow)) return settings;
    if (same !== undefined) {
      throw invalid(`There are two shadows "${shadow.name}" with other options: give each a name of its own.`);
    }
    if (known.length >= MAX_SHADOWS) {
      throw invalid(`A session may have ${MAX_SHADOWS} shadows, and each costs what a summary costs: leave one out.`);
    }
    return { ...settings, rooms: { ...settings.rooms, [ROOM]: [...known, shadow] } };
  };
}

function checkShadow(options: ShadowOptions): Shadow {
  checkFields("shadow", options, OPTIONS);
  const { model, template, policy = {}, dayTokens = DEFAULT_DAY_TOKENS } = options;
  const { name = model ?? "shadow" } = options;
  if (model !== undefined && (typeof model !== "string" || model.trim() === "" || model.length > MAX_NAME_CHARS)) {
    throw invalid(
      `shadow: model is ${JSON.stringify(model)}: give the name that your Workflow's model() is to be called with, at most ${MAX_NAME_CHARS} characters.`,
    );
  }
  if (
    typeof name !== "string" ||
    !/^[^\p{C}]*[^\p{C}\s][^\p{C}]*$/u.test(name) ||
    name.length > MAX_SHADOW_NAME_CHARS
  ) {
    throw invalid(
      `shadow: name is ${JSON.stringify(name)}: give a line of at most ${MAX_SHADOW_NAME_CHARS} characters, beside a model with a longer name too.`,
    );
  }
  if (!Number.isSafeInteger(dayTokens) || dayTokens < 1) {
    throw invalid(`shadow: dayTokens is ${inWords(dayTokens)}: give a whole number of at least 1.`);
  }
  const checked = checkPolicy(policy);
  const sections = template === undefined ? null : parseTemplate(template);
  if (JSON.stringify(sections).length > MAX_TEMPLATE_CHARS) {
    throw invalid(
      `shadow: the template has ${JSON.stringify(sections).length} characters: shorten its hints to ${MAX_TEMPLATE_CHARS} in all, so that a prompt has room for the conversation.`,
    );
  }
  if (model === undefined && sections === null && Object.keys(checked).length === 0) {
    throw invalid("shadow: it differs in nothing from the real summary. Give a model, a template or a policy.");
  }
  return { name, model: model ?? null, template: sections, policy: checked, dayTokens };
}

function checkPolicy(policy: ShadowPolicy): Partial<Policy> {
  checkFields("shadow: policy", policy, {
    summaryTokens: true,
    pinnedTokens: true,
    loadedTokens: true,
    stackTokens: true,
    maxSummaryRatio: true,
  });
  const given = Object.entries(policy).filter((entry): entry is [keyof ShadowPolicy, number] => entry[1] !== undefined);
  for (const [name, value] of given) {
    const isRatio = name === "maxSummaryRatio";
    if (isRatio ? value > 0 && value < 1 : Number.isSafeInteger(value) && value >= LEAST[name]) continue;
    const wanted = isRatio ? "a share between 0 and 1" : `a whole number of at least ${LEAST[name]}`;
    throw invalid(`shadow: policy.${name} is ${inWords(value)}: give ${wanted}.`);
  }
  return Object.fromEntries(given);
}

function invalid(message: string): PalimpsestError {
  return new PalimpsestError("invalid_options", message);
}
