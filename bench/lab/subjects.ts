/** The objects on which operations are counted and timed, and their content. */
import { CONTENDERS, type ContenderName, type Lab, type Subject } from "./lab.ts";
import { LAST_OF_SDK, VISIBLE } from "./operations.ts";

export function listContenders(size: number): readonly ContenderName[] {
  return size > LAST_OF_SDK ? ["Ours"] : CONTENDERS;
}

/** An object that holds `size` messages, all but 13 of them under one summary. */
export async function prepareSubject(
  lab: Lab,
  contender: ContenderName,
  { name, size }: { readonly name: string; readonly size: number },
): Promise<Subject> {
  const subject = lab.subject(contender, name);
  const visible = await subject.prepare(size);
  if (visible !== VISIBLE) throw new Error(`${contender} shows ${visible} messages instead of ${VISIBLE}.`);
  return subject;
}
