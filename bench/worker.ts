/** The Worker under measurement, with ours and two versions of the SDK's sessions as one Durable Object class each. */
import { answer } from "./objects/door.ts";

export { Client } from "./objects/client.ts";
export { CompactionWorkflow } from "./objects/compaction.ts";
export { HostedOurs } from "./objects/hosted/ours.ts";
export { HostedSdk020 } from "./objects/hosted/sdk-020.ts";
export { HostedSdk032 } from "./objects/hosted/sdk-032.ts";
export { Ours } from "./objects/ours.ts";
export { Sdk020 } from "./objects/sdk-020.ts";
export { Sdk032 } from "./objects/sdk-032.ts";
export { EmptyWorkflow } from "./objects/workflows.ts";

export default { fetch: answer } satisfies ExportedHandler<Cloudflare.Env>;
