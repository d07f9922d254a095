/** `palimpsest/testing`, helpers for the tests of your own agent, in workerd. */
export { fakeClock, finishRuns, type FakeClock, type FinishOptions } from "./runs.ts";
export { scriptedModel, scriptModel, summaryOf, type SummaryRequest, type SummaryScript } from "./script.ts";
