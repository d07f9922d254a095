/** What the model may do: look a parcel up. */
import { tool, type ToolSet } from "ai";
import { z } from "zod";

const PLACES = ["Lisbon", "Tromsø", "Valparaíso", "Nagasaki", "Dakar"];

export const tools = {
  trackParcel: tool({
    description: "Tells where a parcel is.",
    inputSchema: z.object({ number: z.number().int() }),
    execute: async ({ number }) => ({
      number,
      at: PLACES[number % PLACES.length],
      log: Array.from(
        { length: 12 },
        (_, day) => `Day ${day + 1}: scanned in ${PLACES[(number + day) % PLACES.length]}`,
      ),
    }),
  }),
} satisfies ToolSet;
