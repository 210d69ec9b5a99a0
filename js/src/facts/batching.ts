/** Batches: which calls shared an execution, and why a call missed earlier ones. Pure. */

import { count, counted } from "../page/format.ts";
import type { Trace } from "../trace/trace.ts";
import type { Batching } from "../trace/header.ts";

/** Facts about the batch of a call. */
export interface BatchFacts {
  /** Number of requests of its `execute`; 0 if unknown. */
  size: number;
  /** Why the batch was executed at that time. */
  because: string;
  /** Other calls of this run in the batch. */
  mates: readonly number[];
  /** Requests of other runs in the batch, in words. */
  others: string;
  /** Why it missed earlier batches: a reason, and the first call of that batch, or -1. */
  apart: readonly { words: string; call: number }[];
}

/** Return the batch of a call; null for a model that executes each request alone. */
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
