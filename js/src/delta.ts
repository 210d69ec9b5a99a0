/** A time beside that of the baseline; twin of blsnb/views/delta.py. Pure. */

import { time } from "./format.ts";

/** What runs twice never takes the same time twice: by a share, and by so many microseconds. */
const ALIKE = 0.05;
const ALIKE_US = 20;

export type Sign = "▲" | "▼" | "≈";

/** Slower, faster, or within five per cent or 20 µs. */
export function signOf(now: number, before: number): Sign {
  const change = now - before;
  if (!(Math.abs(change) > Math.max(ALIKE * before, ALIKE_US))) return "≈";
  return change > 0 ? "▲" : "▼";
}

/** The sign, and by how much. */
export function deltaText(now: number, before: number): string {
  const sign = signOf(now, before);
  if (sign === "≈") return sign;
  return `${sign} ${sign === "▲" ? "+" : "−"}${time(Math.abs(now - before))}`;
}

/** The same without plus and minus, which the sign says already. */
export function shortDelta(now: number, before: number): string {
  const sign = signOf(now, before);
  return sign === "≈" ? sign : `${sign} ${time(Math.abs(now - before))}`;
}

/** The class, and the colour's name, in which a difference is told. */
export function toneOf(sign: Sign | "new"): "error" | "output" | "infer" | "fg2" {
  return ({ "▲": "error", "▼": "output", new: "infer", "≈": "fg2" } as const)[sign];
}
