/** `palimpsest/approval`: a person has the last word on each summary, as a room of an agent. */
export type { ApprovalOptions, Decided, Proposal } from "./approval.ts";
export { approval, type ApprovalMethods, type ApprovalExtension } from "./room.ts";
