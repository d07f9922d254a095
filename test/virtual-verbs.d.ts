/** The module that test/verbs.ts makes of the examples. */
declare module "virtual:verbs" {
  export const verbs: readonly [verb: string, example: (given: object) => Promise<unknown>][];
}
