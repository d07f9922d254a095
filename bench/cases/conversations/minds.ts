/** What a reader of the view still knows: exams on real conversations, with strong readers in every part. Measured apart, and told here. */
import type { Case } from "../../case.ts";
import { readScores } from "../../minds/scores.ts";
import { readRecorded } from "../../minds/recorded.ts";
import { tellScores } from "../../minds/tell.ts";

export const minds: Case = {
  name: "minds",
  timed: false,
  measure: async () => tellScores(readScores(), readRecorded()),
};
