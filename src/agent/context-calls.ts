/**
 * The part of the callable surface that is about what a model is told beside the conversation, and what its calls came to.
 *
 * Thin like the rest of it (with-compaction.ts): every method parses its input and hands on.
 */
import type { ContextBlock } from "../context/render.ts";
import type { ModelUsage } from "./calibration.ts";
import { inputs, parseInput } from "./inputs.ts";
import type { addRunCalls } from "./run-calls.ts";
import { Session } from "./session.ts";

export function addContextCalls(Base: ReturnType<typeof addRunCalls>) {
  abstract class ContextCalls extends Base {
    async getContextBlocks(input: unknown): Promise<ContextBlock[]> {
      return this.#session(parseInput(inputs.session, input).sessionId).getContextBlocks();
    }

    /** Null when no such block is declared. */
    async getContextBlock(input: unknown): Promise<ContextBlock | null> {
      const { sessionId, label } = parseInput(inputs.block, input);
      return this.#session(sessionId).getContextBlock(label);
    }

    async replaceContextBlock(input: unknown): Promise<ContextBlock> {
      const { sessionId, label, content } = parseInput(inputs.writeBlock, input);
      return this.#session(sessionId).replaceContextBlock(label, content);
    }

    async appendContextBlock(input: unknown): Promise<ContextBlock> {
      const { sessionId, label, content } = parseInput(inputs.writeBlock, input);
      return this.#session(sessionId).appendContextBlock(label, content);
    }

    async freezeSystemPrompt(input: unknown): Promise<string> {
      return this.#session(parseInput(inputs.session, input).sessionId).freezeSystemPrompt();
    }

    async refreshSystemPrompt(input: unknown): Promise<string> {
      return this.#session(parseInput(inputs.session, input).sessionId).refreshSystemPrompt();
    }

    /** What changed since the prompt was frozen; null when nothing. */
    async reminder(input: unknown): Promise<string | null> {
      return this.#session(parseInput(inputs.session, input).sessionId).reminder();
    }

    async recordUsage(input: unknown): Promise<void> {
      const { sessionId, ...report } = parseInput(inputs.recordUsage, input);
      return this.#session(sessionId).recordUsage(report);
    }

    /** By model, the one that was called last first. */
    async getUsage(input: unknown): Promise<ModelUsage[]> {
      return this.#session(parseInput(inputs.session, input).sessionId).getUsage();
    }

    #session(sessionId: string): Session {
      return Session.create(this).forSession(sessionId);
    }
  }
  return ContextCalls;
}
