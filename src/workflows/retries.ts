/** Retries of each kind of step. They are explicit, because the platform's defaults differ between local and production. */
import type { WorkflowStepConfig } from "cloudflare:workers";

/** A call to the agent is short. It gets many tries, because a reset or a deploy makes the agent unreachable for seconds. */
export const AGENT_CALL = {
  retries: { limit: 8, delay: "1 second", backoff: "exponential" },
  timeout: "1 minute",
} as const satisfies WorkflowStepConfig;

/**
 * A call to a model is slow. Quota, auth and refusal errors are not retried, because they throw a NonRetryableError. A model that fails uses
 * up {@link MODEL_RETRIES}. The step has more tries, because each of them also calls the agent, which may be away.
 */
export const MODEL_CALL = {
  retries: { limit: 8, delay: "3 seconds", backoff: "exponential" },
  timeout: "5 minutes",
} as const satisfies WorkflowStepConfig;

/** A run asks a model for no further chunk after this many unusable answers, each with its repair. Chunks that are under way end. */
export const MAX_WASTED_CALLS = 3;
