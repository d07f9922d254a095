/** `palimpsest/testing`: for the tests of an agent of yours, in workerd. */
export { fakeClock, finishRuns, type FakeClock, type FinishOptions } from "./runs.ts";
export { scriptedModel, scriptModel, summaryOf, type SummaryRequest, type SummaryScript } from "./script.ts";
