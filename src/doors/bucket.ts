/** A token bucket: so many calls in a row, refilled at a steady rate. Pure: the moment is handed in. */
export interface Rate {
  /** Calls in a row. */
  readonly burst: number;
  readonly perSecond: number;
}

export interface Bucket {
  readonly tokens: number;
  /** Epoch ms at which it held them. */
  readonly at: number;
}

export function fullBucket({ burst }: Rate, at: number): Bucket {
  return { tokens: burst, at };
}

/** The bucket after one more call, and whether that call may be made. A clock that went back refills nothing. */
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
