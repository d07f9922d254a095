/** Waiting for what happens elsewhere: in another process, in a file. Outside of a test runner too. */

/** What `attempt` gives once it no longer throws. After `withinMs`, the last reason why it did is thrown. */
export async function until<T>(
  attempt: () => T | Promise<T>,
  { withinMs, everyMs }: { readonly withinMs: number; readonly everyMs: number },
): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() >= end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
