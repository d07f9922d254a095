/** The call that the room of costs adds. */
import { z } from "zod";
import { callOf } from "../agent/calls.ts";
import { sessionId } from "../agent/inputs.ts";
import type { CostMethods } from "./session-costs.ts";

const call = callOf<CostMethods>();

export const costCalls = {
  /** Tells what a conversation's model calls cost, by model, and what they would have cost without compaction. */
  getCosts: call({
    group: "read",
    input: z.strictObject({ sessionId }),
    run: ({ session }, { sessionId: id }) => session(id).getCosts(),
  }),
};
