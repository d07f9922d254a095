/** Pauses long work on the object's thread, so that waiting calls are answered first. */
export async function letOthersIn(): Promise<void> {
  await scheduler.wait(0);
}
