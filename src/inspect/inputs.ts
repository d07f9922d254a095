/** The inputs of the room's calls and methods. */
import { z } from "zod";
import { flag, id, leafId, page, sessionId, wholeNumber, type FieldsOf } from "../agent/inputs.ts";
import type { PlanQuestion } from "./plan.ts";

const planQuestion = { leafId, manual: flag, rebuild: flag } satisfies FieldsOf<PlanQuestion>;

export const inspectInputs = {
  overlay: z.strictObject({ sessionId, overlayId: id }),
  plan: z.strictObject(planQuestion),
  health: z.strictObject({ limit: page.default(50), before: wholeNumber.positive().optional() }),
};
