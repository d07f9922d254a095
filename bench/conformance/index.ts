/**
 * `palimpsest/conformance`: what any store of conversations should keep, as facts to check on a store of your own. docs/testing.md has an
 * example.
 */
export { FACTS as STORE_FACTS } from "./facts.ts";
export type { Fact } from "./fact.ts";
export {
  noSuchThing,
  type Block,
  type Range,
  type Recent,
  type SessionStore,
  type Store,
  type Summariser,
  type TriggerOptions,
  type Verb,
} from "./store.ts";
export { judge, type Verdict } from "./verdict.ts";
export type { Rows } from "../objects/meter.ts";
