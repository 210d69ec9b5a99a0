/** Sequences: the calls of one model with one correlation id, from start to end. Pure. */

import type { Trace } from "./trace.ts";

/** The sequence of a call. */
export interface Sequence {
  /** The correlation id as text. */
  id: string;
  /** All calls of the sequence in this run, in order of start. */
  calls: readonly number[];
  /** Position of the call among them. */
  position: number;
}

const found = new WeakMap<Trace, Map<number, number[]>>();

/** Return the sequence of a call; null if it belongs to none. */
export function sequenceOf(trace: Trace, call: number): Sequence | null {
  const id = trace.header.requests[trace.id(call)]?.correlation_id;
  if (id === undefined) return null;
  const calls = sequences(trace).get(call) ?? [call];
  return { id, calls, position: calls.indexOf(call) };
}

function sequences(trace: Trace): Map<number, number[]> {
  let known = found.get(trace);
  if (!known) found.set(trace, (known = bySequence(trace)));
  return known;
}

/** Return the calls of the sequence of each call; a start flag begins another sequence. */
function bySequence(trace: Trace): Map<number, number[]> {
  const [open, of] = [new Map<string, number[]>(), new Map<number, number[]>()];
  const { requests } = trace.header;
  // Ids are in order of start.
  for (const key of Object.keys(requests)) {
    const call = trace.at(Number(key));
    const { correlation_id: id, sequence_start: starts } = requests[key];
    if (call < 0 || id === undefined) continue;
    const name = `${trace.calls.model[call]} ${id}`;
    const known = starts ? undefined : open.get(name);
    const calls = known ?? [];
    if (!known) open.set(name, calls);
    calls.push(call);
    of.set(call, calls);
  }
  return of;
}
