/** A model that calls itself: a loop above its box, for which there must be room. Pure. */

import type { Layout, LayoutEdge, Point } from "./layout.ts";

/** Of the loop and its label, above the box. */
export const LOOP_ROOM = 27;
/** Right of the middle, where the arrow of another caller arrives. */
const [FROM_RIGHT, REACH, RISE] = [24, 14, 16];
const LABEL_ABOVE = 20;

/** A box by its middle. */
export interface BoxArea extends Point {
  width: number;
  height: number;
}

export function hasLoops(edges: readonly LayoutEdge[]): boolean {
  return edges.some(({ from, to }) => from === to);
}

/** The curve of the loop, as a path. */
export function loop({ x, y, width, height }: BoxArea): string {
  const [top, middle] = [y - height / 2, x + width / 2 - FROM_RIGHT];
  const [left, right] = [middle - REACH, middle + REACH];
  return `M${left} ${top} C${left} ${top - RISE} ${right} ${top - RISE} ${right} ${top - 2}`;
}

/** The middle of what is written above the loop. */
export function loopLabel({ x, y, width, height }: BoxArea): Point {
  return { x: x + width / 2 - FROM_RIGHT, y: y - height / 2 - LABEL_ABOVE };
}

/** The layout, lower by what the loops of its topmost boxes need. */
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
