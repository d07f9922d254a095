/** A token bucket, which allows a burst of calls and refills at a steady rate. It is pure, and the caller passes the time. */
export interface Rate {
  /** Most calls in a row. */
  readonly burst: number;
  readonly perSecond: number;
}

export interface Bucket {
  readonly tokens: number;
  /** Epoch ms at which the bucket held these tokens. */
  readonly at: number;
}

export function fullBucket({ burst }: Rate, at: number): Bucket {
  return { tokens: burst, at };
}

/** Returns the bucket after one more call, and whether that call may be made. A clock that went back refills nothing. */
export function takeToken(
  bucket: Bucket,
  rate: Rate,
  now: number,
): { readonly taken: boolean; readonly bucket: Bucket } {
  const elapsed = Math.max(0, now - bucket.at);
  const tokens = Math.min(rate.burst, bucket.tokens + (elapsed / 1000) * rate.perSecond);
  const taken = tokens >= 1;
  return { taken, bucket: { tokens: taken ? tokens - 1 : tokens, at: Math.max(now, bucket.at) } };
}
