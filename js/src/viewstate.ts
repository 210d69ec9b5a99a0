/** What one view of a run hands over to the next, and how a call is found again. Pure. */

import type { Selection } from "./session.ts";
import type { Trace } from "./trace.ts";

export interface ViewState {
  selection: Selection | null;
  /** Keys of unfolded rows. */
  open: string[];
  /** The times shown; null for the whole run. */
  range: [number, number] | null;
  filter: string;
  critical: boolean;
  sizes: Sizes;
  /** How far the rows are scrolled. */
  top: number;
}

/** Of the panes that were dragged, in pixels. */
export interface Sizes {
  graph: number | null;
  side: number | null;
}

/** A call as it is known when rows are numbered anew. */
export interface Anchor {
  model: number;
  start: number;
}

/** How times that are the same may differ, in microseconds. */
const SAME = 1e-3;

export function anchorOf(trace: Trace, selection: Selection | null): Anchor | null {
  if (selection?.kind !== "call") return null;
  const { call } = selection;
  return { model: trace.calls.model[call], start: trace.start(call) };
}

/** The row of a call, looked for at its old place first; −1 if it has none. */
export function placeOf(trace: Trace, { model, start }: Anchor, old = 0): number {
  const same = (call: number): boolean =>
    trace.calls.model[call] === model && Math.abs(trace.start(call) - start) < SAME;
  return old < trace.n && same(old) ? old : trace.calls.model.findIndex((_, call) => same(call));
}
