/** What the command line takes from the package. It is built with the package, so that the command line holds no copy of it. */
export { RUN_EVENT } from "../../src/agent/events.ts";
export { checkPrices, dollarsOf, pricesOf } from "../../src/costs/sums.ts";
export { isAgentName, MAX_AGENT_NAME_CHARS, writeAgentName } from "../../src/doors/agent-name.ts";
export { errorCode, PalimpsestError } from "../../src/errors.ts";
export { explainCall } from "../../src/explain-call.ts";
export { chooseConversation, FORMATS, importTranscript } from "../../src/import/import.ts";
export { partsOf } from "../../src/import/parts.ts";
export { MIN_WINDOW_TOKENS } from "../../src/model/chosen.ts";
export { parseTemplate } from "../../src/steps/draft/prompt.ts";
export { fieldText, hasResult, jsonText, measureMessage, toolName, toolPart } from "../../src/steps/message/message.ts";
export { showInvisible } from "../../src/steps/text/text.ts";
export { estimateTokens } from "../../src/steps/tokens/tokens.ts";
export { isSummary } from "../../src/steps/view/view.ts";
