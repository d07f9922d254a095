/**
 * What a session can be told before it is used: one list, for a session and for a manager of all of them.
 *
 * Job: check what is said at once, and hand it on as a change of settings or as work for a room. Boundary: when it comes into
 * force is the business of whoever is told ({@link Configured.tell}): a session before its next use, a manager's sessions before
 * any code of their own.
 */
import type { SecretRules } from "../redact/secret-rules.ts";
import { checkPreviews, type PreviewOptions } from "../steps/view/preview.ts";
import type { Told } from "./core.ts";
import { notesText } from "./notes/session-notes.ts";
import {
  type AfterCompaction,
  type ApprovalOptions,
  type KeepNotesOptions,
  compactAfter,
  type CompactAfterOptions,
  type Threshold,
  type InlineCompaction,
  type SessionSettings,
} from "./settings.ts";
import { resolveApproval } from "./runs/approval.ts";
import { resolveInline, type OnCompactionOptions } from "./runs/inline.ts";
import { checkNotes } from "./notes/settings.ts";
import { checkRules } from "./redaction.ts";

export abstract class Configured {
  protected abstract tell(told: Told): this;

  /**
   * Compacts when the view is estimated at more than this many tokens, through the durable workflow unless
   * {@link onCompaction} brings a function. With `auto` the prices decide: older tool outputs give way to stubs, and older
   * messages to a summary, once it has cost as much to carry them, and at the ceiling at the latest. Throws `invalid_options`.
   */
  compactAfter(threshold: Threshold, options: CompactAfterOptions = {}): this {
    return this.tell({ settings: compactAfter(threshold, options) });
  }

  /** Shows the start and the end of a tool output of more than `maxBytes`, and where the whole is. Throws `invalid_options`. */
  previewToolOutputs(options: PreviewOptions): this {
    checkPreviews(options);
    return this.tell({ settings: (settings) => ({ ...settings, previews: options }) });
  }

  /**
   * Replaces the durable workflow by a function of the caller's, called off the append's path. Past `timeoutMs`, five
   * minutes by default, its run ends as `failed` with the code `timed-out`. Throws `invalid_options`.
   */
  onCompaction(compact: InlineCompaction, options: OnCompactionOptions = {}): this {
    const inline = resolveInline(compact, options);
    return this.tell({ settings: (settings) => ({ ...settings, inline }) });
  }

  /** Each summary waits for a person before it is committed. Throws `invalid_options`. */
  requireApproval(options: ApprovalOptions = {}): this {
    const approval = resolveApproval(options);
    return this.tell({ settings: (settings) => ({ ...settings, approval }) });
  }

  /**
   * Blanks what looks like a secret before a summariser is shown it, and in what is kept of its answer. Messages stay as they
   * came. Pass `secretRules()` of `palimpsest/redact`, or rules of your own. Throws `invalid_options`.
   */
  redactSecrets(rules: SecretRules): this {
    const secretRules = checkRules(rules);
    return this.tell({ settings: (settings) => ({ ...settings, secretRules }) });
  }

  /**
   * Keeps notes of the conversation in the background; when a compaction comes due they are the summary, without a model
   * call, wherever they hold. Throws `invalid_options`.
   */
  keepNotes(options: KeepNotesOptions = {}): this {
    checkNotes(options);
    const { asBlock } = options;
    const description = "Notes of this session, kept as it goes on.";
    return this.tell({
      settings: (settings) => ({ ...settings, notes: options }),
      ...(asBlock !== undefined && {
        apply: (sessionId, core) =>
          core.rooms.declareText(sessionId, asBlock, { description, get: async () => notesText(core, sessionId) }),
      }),
    });
  }

  /**
   * Is told of each overlay that a run brought into force, at least once: again when it threw, or when the object died before
   * it was done. `run.id` is the same each time; the event names the session. What it returns is shown behind that summary.
   * What it throws goes to {@link onCompactionError}, and is swallowed.
   */
  onAfterCompaction(afterCompaction: AfterCompaction): this {
    return this.tell({ settings: (settings) => ({ ...settings, afterCompaction }) });
  }

  /** Is told of every run that ends in `failed`. What it throws is swallowed. */
  onCompactionError(onError: NonNullable<SessionSettings["onError"]>): this {
    return this.tell({ settings: (settings) => ({ ...settings, onError }) });
  }
}
