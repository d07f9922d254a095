/** Every policy under which conversations are compared. */
import type { Lab } from "../lab.ts";
import { headAndTail } from "./head-and-tail.ts";
import type { Policy } from "./host.ts";
import { policyIn } from "./in-object.ts";
import { none } from "./none.ts";

/** Ours are `ours` and `ours with notes`. `none` compacts nothing. */
export function listPolicies(lab: Lab): readonly Policy[] {
  return [
    none,
    headAndTail(),
    policyIn(lab, { name: "sdk 0.20", home: "HostedSdk020" }),
    policyIn(lab, { name: "sdk 0.32", home: "HostedSdk032" }),
    policyIn(lab, { name: "ours", home: "HostedOurs" }),
    policyIn(lab, { name: "ours with notes", home: "HostedOurs", notes: true }),
  ];
}
