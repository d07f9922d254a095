/** A pause in a long piece of work on the object's thread: what came meanwhile is answered first. */
export async function letOthersIn(): Promise<void> {
  await scheduler.wait(0);
}
