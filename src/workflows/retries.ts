/** How each kind of step is retried. Explicit, because the platform's defaults differ between local and production. */
import type { WorkflowStepConfig } from "cloudflare:workers";

/** A call to the agent: short, and worth many tries, because a reset or a deploy takes it away for seconds. */
export const AGENT_CALL = {
  retries: { limit: 8, delay: "1 second", backoff: "exponential" },
  timeout: "1 minute",
} as const satisfies WorkflowStepConfig;

/** A call to a model: slow by nature; quota, auth and refusal are not retried at all (they throw NonRetryableError). */
export const MODEL_CALL = {
  retries: { limit: 4, delay: "3 seconds", backoff: "exponential" },
  timeout: "5 minutes",
} as const satisfies WorkflowStepConfig;

/** Answers that could not be used, repair included, after which a run asks that model no more. */
export const MAX_WASTED_CALLS = 3;
