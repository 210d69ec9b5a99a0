/** Which rows and models stay bright for a filter, a selection or the pointer. Pure. */

import type { Row } from "./rows.ts";
import { selectedModel, type Hover, type Selection } from "./session.ts";
import type { Trace } from "../trace/trace.ts";

/** Which rows of the timeline stay bright. */
export interface Relevance {
  /** Marks of calls: 1 for a match, 2 for a match below it, 3 for both. */
  marks: Uint8Array;
  /** Whether an unfolded caller stays bright for its own match only. */
  strict: boolean;
}

type Filter = ((call: number) => boolean) | null;

/** Return the relevance: of the filter, else of the hovered models, else of the selected ones. */
export function relevanceOf(
  trace: Trace,
  filter: Filter,
  selection: Selection | null,
  hover: Hover | null,
): Relevance | null {
  if (filter) return { marks: spread(trace, filter), strict: true };
  const models = hover && "models" in hover ? hover.models : modelsOf(selection);
  if (models === null) return null;
  const meant = new Set(models);
  return { marks: spread(trace, (call) => meant.has(trace.calls.model[call])), strict: false };
}

function modelsOf(selection: Selection | null): readonly number[] | null {
  if (selection?.kind === "model") return [selection.model];
  return selection?.kind === "models" ? selection.models : null;
}

/** Return whether a row is dimmed. */
export function dims(relevance: Relevance | null, row: Row, open: boolean): boolean {
  if (!relevance) return false;
  if (row.kind === "missing") return true;
  const bright = relevance.strict && open ? 1 : 3;
  return !row.calls.some((call) => relevance.marks[call] & bright);
}

/** Return the steps from model to model from the client request to the selected call. */
export function pathTo(
  trace: Trace,
  selection: Selection | null,
): { from: number; to: number }[] | null {
  if (selection?.kind !== "call") return null;
  const { model } = trace.calls;
  const chain = [...trace.ancestors(selection.call), selection.call];
  return chain.slice(1).map((call, k) => ({ from: model[chain[k]], to: model[call] }));
}

/** Return the bright models: of the hovered call, its callers and callees, or of the filter. */
export function litModels(
  trace: Trace,
  filter: Filter,
  selection: Selection | null,
  hover: Hover | null,
): Set<number> | null {
  const { model } = trace.calls;
  const lit = new Set<number>();
  if (hover && "call" in hover) {
    const kin = [...trace.ancestors(hover.call), hover.call, ...trace.children(hover.call)];
    for (const call of kin) lit.add(model[call]);
  } else if (filter) {
    for (const [call, id] of model.entries()) if (filter(call)) lit.add(id);
  } else return null;
  const selected = selectedModel(selection, trace);
  return selected === null ? lit : lit.add(selected);
}

function spread(trace: Trace, meant: (call: number) => boolean): Uint8Array {
  const marks = new Uint8Array(trace.n);
  const { parent } = trace.calls;
  for (let call = 0; call < trace.n; call++) {
    if (!meant(call)) continue;
    marks[call] |= 1;
    for (let at = parent[call]; at >= 0 && !(marks[at] & 2); at = parent[at]) marks[at] |= 2;
  }
  return marks;
}
