/** Emphasis of the filtered, hovered and selected calls and models. */

import type { GraphMarks } from "../graph/callgraph.ts";
import { filterOf } from "../trace/filter.ts";
import { dims, litModels, pathTo, relevanceOf, type Relevance } from "../session/relevance.ts";
import type { Row } from "../session/rows.ts";
import { selectedModel, type Hover, type Selection } from "../session/session.ts";
import type { Trace } from "../trace/trace.ts";
import { hoveredIn } from "../session/viewstate.ts";

export class Emphasis {
  #hovered: Hover | null = null;
  #trace: Trace | null = null;
  #relevance: Relevance | null = null;

  /** Set the hovered call or models; returns whether they changed. */
  hover(over: Hover | null): boolean {
    const changed = JSON.stringify(over) !== JSON.stringify(this.#hovered);
    this.#hovered = over;
    return changed;
  }

  /** Compute the emphasis, and return what the graph shows of it. */
  relate(trace: Trace, text: string, selection: Selection | null): GraphMarks {
    this.#hovered = hoveredIn(trace, this.#trace ?? trace, this.#hovered);
    this.#trace = trace;
    const filter = filterOf(text, trace);
    this.#relevance = relevanceOf(trace, filter, selection, this.#hovered);
    return {
      model: selectedModel(selection, trace),
      path: pathTo(trace, selection),
      lit: litModels(trace, filter, selection, this.#hovered),
    };
  }

  /** Return whether a row of the timeline is dimmed. */
  dims(row: Row, open: boolean): boolean {
    return dims(this.#relevance, row, open);
  }
}
