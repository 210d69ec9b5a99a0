/** The state that one view of a run hands over to the next. Pure. */

import type { Hover, Selection } from "./session.ts";
import type { Trace } from "../trace/trace.ts";

export interface ViewState {
  selection: Held | null;
  /** Keys of unfolded rows. */
  open: string[];
  /** The times shown; null for the whole run. */
  range: [number, number] | null;
  filter: string;
  critical: boolean;
  sizes: Sizes;
  /** Scroll position of the rows. */
  top: number;
  /** Height in pixels that the inspector requested. */
  room: number;
  tensors: TensorsState;
}

/** The shown slice; kept while other calls are selected. */
export interface SliceState {
  mode: "grid" | "image";
  index: number[];
}

/** Tensors that were opened or closed, by role, name and response, and the slices that they show. */
export interface TensorsState {
  opened: Map<string, boolean>;
  /** By call id and position. */
  slices: Map<string, SliceState>;
}

/** Sizes of panes that the user has set, in pixels. */
export interface Sizes {
  graph: number | null;
  side: number | null;
}

/** A selection by ids of calls and keys of models, which stay when calls are dropped. */
export type Held =
  | { kind: "call" | "dropped"; id: number }
  | { kind: "model"; model: string }
  | { kind: "models"; models: readonly string[] }
  | { kind: "fold"; key: string; model: string; ids: readonly number[] }
  | { kind: "missing"; key: string; ids: readonly number[] };

export function held(trace: Trace, selection: Selection | null): Held | null {
  switch (selection?.kind) {
    case undefined:
      return null;
    case "call":
      return { kind: "call", id: trace.id(selection.call) };
    case "dropped":
      return selection;
    case "model":
      return { kind: "model", model: trace.modelKeys[selection.model] };
    case "models":
      return { kind: "models", models: selection.models.map((each) => trace.modelKeys[each]) };
    case "fold": {
      const { key, model, calls } = selection;
      const ids = calls.map((call) => trace.id(call));
      return { kind: "fold", key, model: trace.modelKeys[model], ids };
    }
    case "missing": {
      const { key, missing } = selection;
      const baseline = trace.comparison?.baseline;
      return { kind: "missing", key, ids: missing.map((call) => baseline?.id(call) ?? call) };
    }
  }
}

/** Return the same selection in another trace of the run; null if it has none of it. */
export function found(trace: Trace, sought: Held | null): Selection | null {
  switch (sought?.kind) {
    case undefined:
      return null;
    case "call":
    case "dropped": {
      const call = trace.at(sought.id);
      return call < 0 ? { kind: "dropped", id: sought.id } : { kind: "call", call };
    }
    case "model": {
      const model = trace.modelKeys.indexOf(sought.model);
      return model < 0 ? null : { kind: "model", model };
    }
    case "models": {
      const models = rows(sought.models, (key) => trace.modelKeys.indexOf(key));
      return models.length ? { kind: "models", models } : null;
    }
    case "fold": {
      const model = trace.modelKeys.indexOf(sought.model);
      const calls = rows(sought.ids, (id) => trace.at(id));
      return model < 0 || !calls.length ? null : { kind: "fold", key: sought.key, model, calls };
    }
    case "missing": {
      const baseline = trace.comparison?.baseline;
      const missing = rows(sought.ids, (id) => baseline?.at(id) ?? -1);
      return missing.length ? { kind: "missing", key: sought.key, missing } : null;
    }
  }
}

/** The selection of a view, which is found again when rows change. */
export class Selected {
  value: Selection | null = null;
  /** The same by ids, which stay when rows change. */
  held: Held | null = null;

  set(trace: Trace, selection: Selection | null): void {
    this.value = selection;
    this.held = held(trace, selection);
  }

  /** Find the selection in another trace: a call may have another row, or be dropped. */
  refind(trace: Trace): void {
    this.value = found(trace, this.held);
  }

  /** Id of the selected call, kept or dropped; −1 for none. */
  get id(): number {
    return this.held?.kind === "call" || this.held?.kind === "dropped" ? this.held.id : -1;
  }
}

/** Return the hovered call or models in another trace of the run. */
export function hoveredIn(trace: Trace, before: Trace, over: Hover | null): Hover | null {
  if (!over || trace === before) return over;
  if ("call" in over) {
    const call = trace.at(before.id(over.call));
    return call < 0 ? null : { call };
  }
  const models = rows(over.models, (each) => trace.modelKeys.indexOf(before.modelKeys[each]));
  return models.length ? { models } : null;
}

function rows<T>(sought: readonly T[], rowOf: (each: T) => number): number[] {
  return sought.map(rowOf).filter((row) => row >= 0);
}
