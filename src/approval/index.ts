/** `palimpsest/approval`: a person has the last word on each summary, as a room of an agent. */
export {
  approval,
  type ApprovalExtension,
  type ApprovalMethods,
  type ApprovalOptions,
  type Decided,
  type Proposal,
} from "./room.ts";
