/** Differences of durations; twin of blsnb/views/delta.py. Pure. */

import { time } from "./format.ts";

/** Smaller differences are noise: a share of the duration, and microseconds. */
const NOISE_SHARE = 0.05;
const NOISE_US = 20;

export type Sign = "▲" | "▼" | "≈";

/** Return whether a duration is longer, shorter, or within 5 % or 20 µs. */
export function signOf(now: number, before: number): Sign {
  const change = now - before;
  if (!(Math.abs(change) > Math.max(NOISE_SHARE * before, NOISE_US))) return "≈";
  return change > 0 ? "▲" : "▼";
}

/** Return the sign and the difference. */
export function deltaText(now: number, before: number): string {
  const sign = signOf(now, before);
  if (sign === "≈") return sign;
  return `${sign} ${sign === "▲" ? "+" : "−"}${time(Math.abs(now - before))}`;
}

/** Return the sign and the size of the difference. */
export function shortDelta(now: number, before: number): string {
  const sign = signOf(now, before);
  return sign === "≈" ? sign : `${sign} ${time(Math.abs(now - before))}`;
}

/** Return the colour of a difference, by name. */
export function toneOf(sign: Sign | "new"): "error" | "output" | "infer" | "fg2" {
  return ({ "▲": "error", "▼": "output", new: "infer", "≈": "fg2" } as const)[sign];
}
