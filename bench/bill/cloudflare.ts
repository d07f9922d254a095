/**
 * Cloudflare's prices on the paid plan and its limits, as its documentation gave them at {@link LOOKED_UP}. They are an assumption to look
 * up again before planning by it.
 */

export const LOOKED_UP = "November 2026";

/** Pages of developers.cloudflare.com. */
export const SOURCES = [
  "durable-objects/platform/pricing",
  "durable-objects/platform/limits",
  "workers/platform/pricing",
  "workflows/reference/pricing",
  "workflows/reference/limits",
  "workers-ai/platform/limits",
] as const;

/** US dollars a month, before any use. */
export const PLAN = 5;

export interface Price {
  readonly name: string;
  /** The price is `dollars` for `per` units. The plan includes `included` units a month. */
  readonly dollars: number;
  readonly per: number;
  readonly included: number;
}

const MILLION = 1_000_000;

export const CLOUDFLARE = {
  rowsRead: { name: "rows read", dollars: 0.001, per: MILLION, included: 25_000 * MILLION },
  rowsWritten: { name: "rows written", dollars: 1, per: MILLION, included: 50 * MILLION },
  objectRequests: { name: "requests to objects", dollars: 0.15, per: MILLION, included: MILLION },
  objectSeconds: { name: "GB-seconds of objects", dollars: 12.5, per: MILLION, included: 400_000 },
  storedGigabytes: { name: "GB stored by objects", dollars: 0.2, per: 1, included: 5 },
  workerRequests: {
    name: "requests to the Worker and workflow instances",
    dollars: 0.3,
    per: MILLION,
    included: 10 * MILLION,
  },
  workflowGigabytes: { name: "GB kept by workflows", dollars: 0.2, per: 1, included: 1 },
} as const satisfies Record<string, Price>;

export type Units = { readonly [Kind in keyof typeof CLOUDFLARE]: number };

/** Dollars a month for so many units of one kind, beyond the included ones. */
export function chargeFor(kind: keyof Units, units: number): number {
  const { dollars, per, included } = CLOUDFLARE[kind];
  return (Math.max(0, units - included) * dollars) / per;
}

/** The platform's limits. */
export const LIMITS = {
  instancesPerSecond: 100,
  instancesAtOnce: 50_000,
  instanceSteps: 10_000,
  stepResultBytes: 1_048_576,
  objectGigabytes: 10,
  /** The documented figure. The real one depends on what the object does. */
  objectRequestsPerSecond: 1_000,
  /** Workers AI, text generation, for most models. Other providers have their own limits. */
  modelCallsPerMinute: 300,
} as const;
