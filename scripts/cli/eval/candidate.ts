/** What is compared: summarisers of ours by threshold and template, and the two that need no summariser. */
import type { TemplateInput } from "../../../src/steps/draft/prompt.ts";
import type { Model } from "./keep.ts";

export const CANDIDATES = ["ours", "headtail", "whole"] as const;
export type CandidateKind = (typeof CANDIDATES)[number];

export interface NamedTemplate {
  readonly name: string;
  readonly input: TemplateInput;
}

export type Candidate =
  | {
      readonly kind: "ours";
      readonly name: string;
      readonly model: Model;
      readonly threshold: number;
      /** Null for the product's own. */
      readonly template: NamedTemplate | null;
    }
  | { readonly kind: "headtail"; readonly name: string; readonly threshold: number }
  | { readonly kind: "whole"; readonly name: string };

export interface Choice {
  readonly kinds: readonly CandidateKind[];
  readonly models: readonly Model[];
  readonly thresholds: readonly number[];
  readonly templates: readonly (NamedTemplate | null)[];
}

/** Every combination, in the order in which they were named. */
export function listCandidates({ kinds, models, thresholds, templates }: Choice): Candidate[] {
  return kinds.flatMap((kind): Candidate[] => {
    if (kind === "whole") return [{ kind, name: "whole" }];
    if (kind === "headtail") {
      return thresholds.map((threshold) => ({ kind, threshold, name: `head and tail at ${words(threshold)}` }));
    }
    return models.flatMap((model) =>
      thresholds.flatMap((threshold) =>
        templates.map((template) => ({ kind, model, threshold, template, name: nameOf(model, threshold, template) })),
      ),
    );
  });
}

function nameOf({ name }: Model, threshold: number, template: NamedTemplate | null): string {
  return `${name} at ${words(threshold)}${template === null ? "" : ` with ${template.name}`}`;
}

function words(threshold: number): string {
  return threshold.toLocaleString("en-US");
}
