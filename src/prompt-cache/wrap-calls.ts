/** A model of the AI SDK whose calls pass through a function. Everything else is the model's own. */
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { LanguageModel } from "ai";

/** A model of any version that the AI SDK takes. Their prompts and tools have one form. */
export type AnyModel = Exclude<LanguageModel, string>;

type Ask = (options: LanguageModelV4CallOptions) => PromiseLike<unknown>;

/** The same model, except that `call` makes each of its calls by `ask`. */
export function wrapCalls<M extends AnyModel>(
  model: M,
  call: (ask: Ask, options: LanguageModelV4CallOptions) => PromiseLike<unknown>,
): M {
  return new Proxy(model, {
    get(target, name) {
      // Getters and methods run on the model itself, because they may use private fields.
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const own = value.bind(target) as Ask;
      return isCall(name) ? (options: LanguageModelV4CallOptions) => call(own, options) : own;
    },
  });
}

function isCall(name: string | symbol): boolean {
  return (
    name === ("doStream" satisfies keyof LanguageModelV4) || name === ("doGenerate" satisfies keyof LanguageModelV4)
  );
}
