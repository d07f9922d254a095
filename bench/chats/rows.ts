/** Rows of one operation of a chat, as its Worker is asked for them over HTTP. */
import type { Session } from "agents/sessions";
import type { Meter, Rows } from "../objects/meter.ts";

/** `append` counts one message, and `wake` all rows since the object started. `forget` removes what is ours, and `die` ends the object. */
export type RowsOf = "fill" | "append" | "wake" | "forget" | "die";

export const ROWS_PATH = "rows";

interface Counted {
  readonly meter: Meter;
  readonly ctx: DurableObjectState;
  readonly session: Session;
}

/** Null where the request asks for something else. */
export async function answerRows(request: Request, counted: Counted): Promise<Response | null> {
  const url = new URL(request.url);
  if (!url.pathname.endsWith(`/${ROWS_PATH}`)) return null;
  const rows = await rowsOf(counted, url.searchParams.get("of") as RowsOf, Number(url.searchParams.get("many") ?? 0));
  return Response.json(rows);
}

async function rowsOf({ meter, ctx, session }: Counted, of: RowsOf, many: number): Promise<Rows | null> {
  const append = async (n: number): Promise<unknown> =>
    session.appendMessage({ id: `m${n}`, role: "user", parts: [{ type: "text", text: `Line ${n}. It matters.` }] });
  if (of === "fill") for (let n = 0; n < many; n++) await append(n);
  if (of === "append") return meter.count(() => append(many));
  if (of === "wake") return meter.takeStart();
  if (of === "forget") {
    const tables = ctx.storage.sql.exec<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'palimpsest_*'",
    );
    for (const { name } of tables.toArray()) ctx.storage.sql.exec(`DROP TABLE ${name}`);
  }
  // After the answer is sent.
  if (of === "die") setTimeout(() => ctx.abort("The benchmark ends this object."), 0);
  return null;
}
