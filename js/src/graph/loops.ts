/** Loops: edges from a model to itself, above its box. Pure. */

import type { Layout, LayoutEdge, Point } from "./layout.ts";

/** Height of a loop and its label above the box. */
export const LOOP_ROOM = 27;
/** Right of the middle, where other arrows end. */
const [FROM_RIGHT, REACH, RISE] = [24, 14, 16];
const LABEL_ABOVE = 20;

/** A box, whose position is its middle. */
export interface BoxArea extends Point {
  width: number;
  height: number;
}

export function hasLoops(edges: readonly LayoutEdge[]): boolean {
  return edges.some(({ from, to }) => from === to);
}

/** Return the path of a loop. */
export function loop({ x, y, width, height }: BoxArea): string {
  const [top, middle] = [y - height / 2, x + width / 2 - FROM_RIGHT];
  const [left, right] = [middle - REACH, middle + REACH];
  return `M${left} ${top} C${left} ${top - RISE} ${right} ${top - RISE} ${right} ${top - 2}`;
}

/** Return the middle of the label above a loop. */
export function loopLabel({ x, y, width, height }: BoxArea): Point {
  return { x: x + width / 2 - FROM_RIGHT, y: y - height / 2 - LABEL_ABOVE };
}

/** Return the layout moved down by the room that loops of its topmost boxes need. */
export function withRoom(
  layout: Layout,
  edges: readonly LayoutEdge[],
  boxHeight: number,
): Layout {
  const tops = edges
    .filter(({ from, to }) => from === to)
    .map(({ from }) => (layout.boxes.get(from)?.y ?? Infinity) - boxHeight / 2);
  const down = LOOP_ROOM - Math.min(LOOP_ROOM, ...tops);
  if (down === 0) return layout;
  const lower = ({ x, y }: Point): Point => ({ x, y: y + down });
  return {
    ...layout,
    height: layout.height + down,
    boxes: new Map([...layout.boxes].map(([id, at]) => [id, lower(at)])),
    routes: layout.routes.map((route) => ({ ...route, points: route.points.map(lower) })),
  };
}
