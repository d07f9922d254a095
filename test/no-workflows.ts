/** Stands in for `cloudflare:workflows` where tests run in plain Node. */
export class NonRetryableError extends Error {}
