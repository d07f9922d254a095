/** Waits for something in another process or in a file. Works outside of a test runner too. */

/** The result of `attempt` once it no longer throws. After `withinMs` the last error is thrown. */
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
