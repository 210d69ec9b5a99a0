/** What stays bright when something is filtered, selected or hovered. Pure. */

import type { Row } from "./rows.ts";
import { selectedModel, type Hover, type Selection } from "./session.ts";
import type { Trace } from "./trace.ts";

/** Which rows of the timeline stay bright. */
export interface Relevance {
  /** Per call: 1 if it is meant, 2 if one below it is, 3 if both. */
  marks: Uint8Array;
  /** A caller that is unfolded stays bright only for itself. */
  strict: boolean;
}

type Filter = ((call: number) => boolean) | null;

/** A filter wins over a model that is hovered, and that over one that is selected. */
export function relevanceOf(
  trace: Trace,
  filter: Filter,
  selection: Selection | null,
  hover: Hover | null,
): Relevance | null {
  if (filter) return { marks: spread(trace, filter), strict: true };
  const selected = selection?.kind === "model" ? selection.model : null;
  const model = hover && "model" in hover ? hover.model : selected;
  if (model === null) return null;
  return { marks: spread(trace, (call) => trace.calls.model[call] === model), strict: false };
}

/** Whether a row is left aside. */
export function dims(relevance: Relevance | null, row: Row, open: boolean): boolean {
  if (!relevance) return false;
  if (row.kind === "missing") return true;
  const bright = relevance.strict && open ? 1 : 3;
  return !row.calls.some((call) => relevance.marks[call] & bright);
}

/** The edges from the request to the selected call, as "from>to". */
export function pathTo(trace: Trace, selection: Selection | null): Set<string> | null {
  if (selection?.kind !== "call") return null;
  const { model } = trace.calls;
  const chain = [...trace.ancestors(selection.call), selection.call];
  return new Set(chain.slice(1).map((call, k) => `${model[chain[k]]}>${model[call]}`));
}

/** Models that stay bright: of the hovered call and its kin, or of the filter; all if null. */
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
