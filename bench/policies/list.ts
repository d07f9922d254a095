/** Every policy under which conversations are compared. */
import type { Lab } from "../lab/lab.ts";
import { headAndTail } from "./head-and-tail.ts";
import type { Policy } from "./host.ts";
import { policyIn } from "./in-object.ts";
import { none } from "./none.ts";

export const NOTES_BEHIND = "ours with notes behind the prompt";

/**
 * Ours are `ours`, `ours with notes`, and notes whose updates continue the prompt that the agent last sent. `none` compacts nothing.
 */
export function listPolicies(lab: Lab): readonly Policy[] {
  return [
    none,
    headAndTail(),
    policyIn(lab, { name: "sdk 0.20", home: "HostedSdk020" }),
    policyIn(lab, { name: "sdk 0.32", home: "HostedSdk032" }),
    policyIn(lab, { name: "ours", home: "HostedOurs" }),
    policyIn(lab, { name: "ours with notes", home: "HostedOurs", extra: "&notes=1" }),
    policyIn(lab, { name: NOTES_BEHIND, home: "HostedOurs", extra: "&notes=1&behind=1" }),
  ];
}
