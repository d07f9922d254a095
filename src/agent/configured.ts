/**
 * The settings that a session can receive before its use, shared by a session and by a manager of all sessions.
 *
 * Checks each setting at once, and passes it on as a change of settings or as work for a room. The implementer of {@link Configured.collect}
 * decides when it takes effect. A session applies it before its next use, and a manager applies it to each session before any code of the
 * session's own.
 */
import type { SecretRules } from "../redact/secret-rules.ts";
import { checkPreviews, type PreviewOptions } from "../fit/preview.ts";
import { refuseMissing } from "./missing-room.ts";
import {
  type AfterCompaction,
  changedThreshold,
  type CompactAfterOptions,
  type Threshold,
  type OnCompactionError,
  type BuilderCall,
} from "./settings.ts";
import { checkRules } from "./redaction.ts";

export abstract class Configured {
  /** @internal */
  protected abstract collect(call: BuilderCall): this;

  /**
   * Compacts through the durable workflow. A number is the largest estimate of a view in tokens. With `auto`, the default, the prices decide.
   * Older messages become a summary once carrying them has cost one and a half times as much as the summary, and at the ceiling at the
   * latest, which is four fifths of the window. Without a window one of 128,000 tokens is assumed, and the log says so. Throws
   * `invalid_options`.
   * @example session.compactAfter(60_000, { budget: { dayTokens: 1_000_000 } });
   */
  compactAfter(threshold: Threshold = "auto", options: CompactAfterOptions = {}): this {
    return this.collect({ settings: changedThreshold(threshold, options) });
  }

  /**
   * Shows the start and the end of a tool output of more than `maxBytes`, and where the whole is. Throws `invalid_options`.
   * @example session.previewToolOutputs({ maxBytes: 20_000 });
   */
  previewToolOutputs(options: PreviewOptions): this {
    checkPreviews(options);
    return this.collect({ settings: (settings) => ({ ...settings, previews: options }) });
  }

  /**
   * Blanks texts that look like secrets before a summariser sees them, and in the stored form of its answer. Messages stay unchanged. Pass
   * `secretRules()` of `palimpsest/redact`, or rules of your own. Throws `invalid_options`.
   * @example session.redactSecrets(secretRules());
   */
  redactSecrets(rules: SecretRules): this {
    const secretRules = checkRules(rules);
    return this.collect({ settings: (settings) => ({ ...settings, secretRules }) });
  }

  /**
   * Calls the function for each overlay that a run brought into force, at least once. It is called again when it threw, or when the object
   * died before it was done. `run.id` is the same each time, and the event names the session. Its answer is shown behind that summary. Its
   * error goes to {@link onCompactionError} and is swallowed.
   * @example session.onAfterCompaction(({ run }) => `Run ${run.id} wrote a summary.`);
   */
  onAfterCompaction(afterCompaction: AfterCompaction): this {
    return this.collect({ settings: (settings) => ({ ...settings, afterCompaction }) });
  }

  /**
   * Called for every run that ends as `failed`, and once a session and start of the object for a summary that no model made. Its errors are
   * swallowed.
   * @example session.onCompactionError((error, run) => console.error(run.id, error));
   */
  onCompactionError(onError: OnCompactionError): this {
    return this.collect({ settings: (settings) => ({ ...settings, onError }) });
  }

  static {
    refuseMissing(this.prototype);
  }
}
