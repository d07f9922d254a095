/** Formats numbers and times for the page. Pure, because the time is an argument and the locale is fixed. */
const COUNT = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const MONEY = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 4 });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** Formats 12345 as 12,345. */
export function count(value: number): string {
  return COUNT.format(value);
}

/** Formats 12345 as 12.3K, for gauges and axes. */
export function short(value: number): string {
  return SHORT.format(value);
}

/** Formats an amount without a currency, because the agent knows none. */
export function money(value: number): string {
  return MONEY.format(value);
}

export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Formats a duration in two units at most, as in 840 ms, 12.4 s, 3 min 20 s, 2 h 5 min. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function when(at: number): string {
  return DAY.format(at);
}

/** Formats the time since a moment in one unit. After a day it shows the date. */
export function ago(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1_000));
  if (seconds < 60) return "just now";
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`;
  return when(at);
}
