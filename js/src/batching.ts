/** Why was this not batched? With whom a call was executed, and why not with others. Pure. */

import { count, counted } from "./format.ts";
import type { Trace } from "./trace.ts";
import type { Batching } from "./header.ts";

/** What there is to say of a call's batch, as texts and rows. */
export interface BatchFacts {
  /** How many requests its `execute` was for; 0 where that is not known. */
  size: number;
  /** Why it left when it did. */
  because: string;
  /** The other calls of this run in it. */
  mates: readonly number[];
  /** Who else was in it, in words. */
  others: string;
  /** Why it was not taken along before: the words, and the first call of that batch, or -1. */
  apart: readonly { words: string; call: number }[];
}

/** Everything of a call's batch; null for a model that executes each request alone. */
export function batchFacts(trace: Trace, call: number): BatchFacts | null {
  const entries = trace.header.batching[trace.id(call)] ?? [];
  const mates = trace.batch(call).filter((each) => each !== call);
  const size = Math.max(trace.calls.batch[call], mates.length ? mates.length + 1 : 0);
  if (entries.length === 0 && size < 2) return null;
  const joined = entries.filter(([, joins]) => joins).at(-1);
  return {
    size,
    because: joined?.[3] ?? "",
    mates,
    others: others(size - 1 - mates.length, joined?.[4] ?? []),
    apart: entries.filter(([, joins]) => !joins).map((entry) => apart(trace, call, entry)),
  };
}

function others(number: number, runs: readonly string[]): string {
  if (number <= 0) return "";
  const named = runs.length ? `: runs ${runs.join(", ")}${runs.length === 8 ? ", …" : ""}` : "";
  return `${counted(number, "request")} of other runs${named}`;
}

function apart(
  trace: Trace,
  call: number,
  [execution, , , words, , times]: Batching,
): { words: string; call: number } {
  const before = times > 1 ? `not with ${count(times)} executions before: ` : "";
  const [first = -1] = trace.executed(trace.calls.model[call], execution);
  return { words: before + words, call: first };
}
