/** What the calls and methods of the room of shadows take. */
import { z } from "zod";
import { id, page, sessionId } from "../agent/inputs.ts";

const limit = page.default(50);

/** What methods take as an object. */
export const shadowInputs = {
  compareShadows: z.strictObject({ limit }),
  getShadows: z.strictObject({ overlayId: id }),
};

/** What calls take, which is the same and the session's id. */
export const compareInSession = z.strictObject({ sessionId, limit });
export const shadowsInSession = z.strictObject({ sessionId, overlayId: id });
