/**
 * What a model is sent of a message's data, by the caller's `convertDataPart`.
 *
 * It is a part of the message before the view is repaired, cut or measured. So it has its size, and a message of data alone is sent.
 */
import type { convertToModelMessages, DataUIPart, UIDataTypes, UIMessage } from "ai";
import type { Part } from "../steps/message/message.ts";
import { plain } from "./plain.ts";

export type ConvertDataPart = NonNullable<NonNullable<Parameters<typeof convertToModelMessages>[1]>["convertDataPart"]>;

/** The same message where it has no data, or where nobody converts it. */
export function saidOfData(message: UIMessage, convert: ConvertDataPart | undefined): UIMessage {
  if (convert === undefined || !message.parts.some(isData)) return message;
  const parts = message.parts.flatMap((part): Part[] => {
    const said = isData(part) ? convert(part) : part;
    if (said === undefined) return [];
    if (said === part) return [part];
    if (said.type === "text") return [{ type: "text", text: said.text }];
    const { mediaType, filename, data } = said as Extract<typeof said, { data: unknown }>;
    return [{ type: "file", mediaType, url: urlOf(data, mediaType), ...(filename !== undefined && { filename }) }];
  });
  return { ...message, parts };
}

function isData(part: Part): part is DataUIPart<UIDataTypes> {
  return part.type.startsWith("data-");
}

/** The address of a file, in any form that the AI SDK takes. */
function urlOf(data: unknown, mediaType: string): string {
  if (data instanceof URL) return data.href;
  if (typeof data === "string") return URL.canParse(data) ? data : `data:${mediaType};base64,${data}`;
  const { type, data: bytes, url, text } = data as Record<"type" | "data" | "url" | "text", unknown>;
  if (type === "url") return urlOf(url, mediaType);
  if (type === "data") return urlOf(bytes, mediaType);
  if (type === "text") return `data:${mediaType},${encodeURIComponent(String(text))}`;
  return (plain(data) as string).replace("application/octet-stream", mediaType);
}
