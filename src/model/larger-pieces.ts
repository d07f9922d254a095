/**
 * Passes an answer on in larger pieces than a model streams it.
 *
 * The AI SDK sends each piece through many streams, and in workerd a piece takes 0.15 ms of the processor. An answer of 400 words would
 * take more of it than the rest of a run. What a model writes is complete and in order, also before an error.
 */
import type { LanguageModel } from "ai";

/** Characters from which a piece is passed on. So many may be missing from the bill of an answer that is cut off. */
const PIECE_CHARS = 1_000;

/** A part of a streamed answer, in each version of the AI SDK's interface. Only the pieces of a text have a `delta`. */
interface StreamPart {
  readonly type: string;
  readonly id?: string;
  readonly delta?: string;
  readonly providerMetadata?: unknown;
}

interface Streaming {
  doStream(options: unknown): PromiseLike<{ readonly stream: ReadableStream<StreamPart> }>;
}

/** A model that is given by name streams as it does. */
export function inLargerPieces(model: LanguageModel): LanguageModel {
  if (typeof model === "string") return model;
  const streaming = model as unknown as Streaming;
  const doStream: Streaming["doStream"] = async (options) => {
    const answer = await streaming.doStream(options);
    return { ...answer, stream: joinPieces(answer.stream) };
  };
  return new Proxy(model, {
    get: (target, name): unknown => (name === "doStream" ? doStream : Reflect.get(target, name)),
  });
}

function joinPieces(stream: ReadableStream<StreamPart>): ReadableStream<StreamPart> {
  const reader = stream.getReader();
  let waiting: StreamPart | undefined;
  return new ReadableStream({
    async pull(controller) {
      const part = waiting ?? (await reader.read()).value;
      waiting = undefined;
      if (part === undefined) return controller.close();
      let text = part.delta;
      while (text !== undefined && text.length < PIECE_CHARS) {
        // An error is thrown again at the next read, once this piece was passed on.
        const { value } = await reader.read().catch(() => ({ value: undefined }));
        if (value === undefined || !goesOn(part, value)) {
          waiting = value;
          break;
        }
        text += value.delta ?? "";
      }
      controller.enqueue(text === undefined ? part : { ...part, delta: text });
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Whether a part is the next piece of the same text. */
function goesOn(part: StreamPart, next: StreamPart): boolean {
  const isSame = next.type === part.type && next.id === part.id && next.delta !== undefined;
  return isSame && next.providerMetadata === undefined && part.providerMetadata === undefined;
}
