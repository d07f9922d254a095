/** The Worker under test: what is deployed, plus Durable Objects that only tests need. */
import { DurableObject } from "cloudflare:workers";

/** A bare Durable Object whose storage a test of src/memory borrows with `runInDurableObject`. */
export class StorageProbe extends DurableObject {}
