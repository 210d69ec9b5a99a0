/** What the panes share: trace, selection, colours, and the methods of the frame. */

import type { Kernel } from "../kernel/kernel.ts";
import type { Command } from "../page/keys.ts";
import { OTHERS } from "../trace/modelgraph.ts";
import type { Row } from "./rows.ts";
import type { Colours } from "../page/theme.ts";
import type { PhaseSums } from "../trace/phases.ts";
import type { Trace } from "../trace/trace.ts";
import type { Drops } from "../trace/header.ts";

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

/** A call that is no longer kept, by its id. */
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

/** What is hovered: a call in the timeline, or the models of a box in the graph. */
export type Hover = { call: number } | { models: readonly number[] };

/** The content of a tooltip. */
export interface Tip {
  title: string;
  phases: PhaseSums;
  /** The states of the call in one line. */
  facts?: string;
  error?: string;
}

/** The frame, as a pane sees it. */
export interface Session {
  readonly trace: Trace;
  readonly colours: Colours;
  readonly kernel: Kernel | null;
  /** The buffer of embedded previews. */
  readonly buffer: ArrayBuffer;
  readonly selection: Selection | null;
  /** Show what the kernel has dropped since the run was drawn. */
  noteDropped(dropped: Drops): void;
  readonly showsCritical: boolean;
  select(selection: Selection | null, options?: { reveal?: boolean }): void;
  hover(over: Hover | null): void;
  tip(tip: Tip | null, event?: MouseEvent): void;
  /** Return whether filter, selection or pointer dim a row. */
  dims(row: Row, open: boolean): boolean;
  command(name: Command): void;
}

/** Return the calls of the execution of the selected call; empty if it was alone. */
export function selectedBatch(selection: Selection | null, trace: Trace): ReadonlySet<number> {
  const batch = selection?.kind === "call" ? trace.batch(selection.call) : [];
  return new Set(batch.length > 1 ? batch : []);
}

/** Return the model of the selection: its own, that of its call, or the shared box. */
export function selectedModel(selection: Selection | null, trace: Trace): number | null {
  if (!selection || selection.kind === "missing" || selection.kind === "dropped") return null;
  if (selection.kind === "models") return OTHERS;
  return selection.kind === "call" ? trace.calls.model[selection.call] : selection.model;
}
