/** What the panes share: one selection, one set of colours, and the door to the frame that holds them. */

import type { Kernel } from "./kernel.ts";
import type { Command } from "./keys.ts";
import { OTHERS } from "./modelgraph.ts";
import type { Row } from "./rows.ts";
import type { Colours } from "./theme.ts";
import type { PhaseSums, Trace } from "./trace.ts";
import type { Drops } from "./header.ts";

/**
 * One call, all calls of a model, the calls of one folded row, calls that are missing, or the models
 * that share one box.
 */
export type Selection =
  | { kind: "call"; call: number }
  | { kind: "model"; model: number }
  | { kind: "models"; models: readonly number[] }
  | { kind: "fold"; key: string; model: number; calls: readonly number[] }
  | Dropped
  | Missing;

/** A call that has no row, by its id. */
export interface Dropped {
  kind: "dropped";
  id: number;
}

/** Calls that only the baseline has, by their rows there. */
export interface Missing {
  kind: "missing";
  key: string;
  missing: readonly number[];
}

/** What the pointer is over: a call in the timeline, or the models of a box in the graph. */
export type Hover = { call: number } | { models: readonly number[] };

/** What a tooltip tells. */
export interface Tip {
  title: string;
  phases: PhaseSums;
  /** What kind of call it is, in a line. */
  facts?: string;
  error?: string;
}

/** What a pane may ask of the frame. */
export interface Session {
  readonly trace: Trace;
  readonly colours: Colours;
  readonly kernel: Kernel | null;
  /** What embedded previews point into. */
  readonly buffer: ArrayBuffer;
  readonly selection: Selection | null;
  /** Take note of what a kernel has dropped of the run since it was drawn. */
  learn(dropped: Drops): void;
  readonly showsCritical: boolean;
  select(selection: Selection | null, options?: { reveal?: boolean }): void;
  hover(over: Hover | null): void;
  tip(tip: Tip | null, event?: MouseEvent): void;
  /** Whether the filter, or what is selected or hovered, leaves this row aside. */
  dims(row: Row, open: boolean): boolean;
  command(name: Command): void;
}

/** The calls that were executed together with the selected one, which is among them; none else. */
export function selectedBatch(selection: Selection | null, trace: Trace): ReadonlySet<number> {
  const batch = selection?.kind === "call" ? trace.batch(selection.call) : [];
  return new Set(batch.length > 1 ? batch : []);
}

/** The model that is selected, directly or by one of its calls; that of the box that many share. */
export function selectedModel(selection: Selection | null, trace: Trace): number | null {
  if (!selection || selection.kind === "missing" || selection.kind === "dropped") return null;
  if (selection.kind === "models") return OTHERS;
  return selection.kind === "call" ? trace.calls.model[selection.call] : selection.model;
}
