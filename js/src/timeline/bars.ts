/** Bars of the timeline on a canvas; shape and order carry the meaning, colour repeats it. */

import { paintBefore, paintMissing } from "./baselinebar.ts";
import { Brush } from "./brush.ts";
import { CallBar } from "./callbar.ts";
import { FoldBar } from "./foldbar.ts";
import type { Plane } from "./plane.ts";
import type { Row } from "../session/rows.ts";
import type { Colours } from "../page/theme.ts";
import type { Trace } from "../trace/trace.ts";

export const ROW_HEIGHT = 22;
const DIM = 0.4;

export interface RowLook {
  dim: boolean;
  critical: boolean;
  /** The call shared its execution with the selected call. */
  mate: boolean;
}

/** Paints the rows of one trace. */
export class Bars {
  #trace: Trace;
  #brush: Brush;
  #call: CallBar;
  #fold: FoldBar;

  constructor(trace: Trace, pen: CanvasRenderingContext2D, plane: Plane, colours: Colours) {
    this.#trace = trace;
    this.#brush = new Brush(pen, plane, colours);
    this.#call = new CallBar(trace, this.#brush);
    this.#fold = new FoldBar(trace, this.#brush);
  }

  paint(row: Row, top: number, { dim, critical, mate }: RowLook): void {
    const middle = top + ROW_HEIGHT / 2;
    this.#brush.strength = dim ? DIM : 1;
    if (row.kind === "missing") return paintMissing(this.#trace, row, middle, this.#brush);
    paintBefore(this.#trace, row, middle, this.#brush);
    (row.kind === "call" ? this.#call : this.#fold).paint(row, middle, critical);
    if (mate) this.#call.frame(row, middle);
  }
}
