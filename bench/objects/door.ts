/** The objects over HTTP, for ways to run the Worker that give no bindings. A request names a method and its arguments as JSON. */
import { z } from "zod";

const Knock = z.object({
  binding: z.enum(["Ours", "Sdk020", "Sdk032", "Client"]),
  name: z.string(),
  method: z.string(),
  args: z.array(z.unknown()),
});

export type Knocked = z.infer<typeof Knock>;

/** Answers with the method's result as JSON. An error of the method fails the request. */
export async function answer(request: Request, env: Cloudflare.Env): Promise<Response> {
  if (request.method !== "POST") return new Response("bench");
  const { binding, name, method, args } = Knock.parse(await request.json());
  const stub = env[binding].getByName(name) as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>;
  return Response.json((await stub[method]?.(...args)) ?? null);
}
