/** The canvas of the timeline: lines at round times, and the bars of the rows in view. */

import { Bars, ROW_HEIGHT } from "./bars.ts";
import { context } from "../page/dom.ts";
import type { Plane } from "./plane.ts";
import type { Row, Rows } from "../session/rows.ts";
import { selectedBatch, type Session } from "../session/session.ts";

export interface RowsInView {
  plane: Plane;
  rows: Rows;
  visible: readonly Row[];
  /** Scroll position of the rows. */
  top: number;
  height: number;
  /** Times with a line, in microseconds. */
  times: readonly number[];
}

export function paintRows(canvas: HTMLCanvasElement, session: Session, view: RowsInView): void {
  const { trace, colours, showsCritical, selection } = session;
  const { plane, rows, visible, top, height, times } = view;
  const pen = context(canvas, plane.right, height);
  pen.fillStyle = colours.line2;
  for (const us of times)
    // Inside the focus ring of the tree.
    if (plane.x(us) >= plane.left) pen.fillRect(Math.round(plane.x(us)), 2, 1, height - 4);
  pen.save();
  pen.beginPath();
  pen.rect(plane.left - 1, 0, plane.right, height);
  pen.clip();
  const bars = new Bars(trace, pen, plane, colours);
  const batch = selectedBatch(selection, trace);
  for (const row of visible) {
    const critical = showsCritical && row.calls.some((call) => trace.critical.has(call));
    bars.paint(row, row.index * ROW_HEIGHT - top, {
      dim: session.dims(row, rows.isOpen(row)),
      critical,
      mate: row.kind === "call" && batch.has(row.calls[0]),
    });
  }
  pen.restore();
}
