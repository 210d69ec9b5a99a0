/** Positions of the labels of edges: on their edge, clear of boxes and other labels. Pure. */

import type { Layout, Point, Route } from "./layout.ts";

export const LABEL_HEIGHT = 13;
const CHARACTER = 6.4;
const MARGIN = 4;
/** Distance from the tip of the arrow to the middle of the label. */
const [BEFORE_BOX_DOWN, BEFORE_BOX_RIGHT] = [16, 26];
/** Share of a curve that follows the direction of its ends. */
export const LEAVE = 0.45;
export const ARRIVE = 0.85;
const ALONG = [0.5, 0.65, 0.35, 0.8, 0.2];

export interface Area extends Point {
  width: number;
  height: number;
}

export function labelWidth(text: string): number {
  return text.length * CHARACTER + MARGIN;
}

/** Return the area of a label with its middle at a point. */
export function labelArea({ x, y }: Point, text: string): Area {
  return { x, y, width: labelWidth(text), height: LABEL_HEIGHT };
}

/** Return a position per route, clear of boxes, other labels and `others`. */
export function labelPlaces(
  texts: readonly string[],
  { routes, boxes, direction }: Layout,
  box: { width: number; height: number },
  others: readonly Area[] = [],
): Point[] {
  const taken = [...others, ...[...boxes.values()].map((centre) => ({ ...centre, ...box }))];
  return routes.map((route, k) => {
    if (!texts[k] || route.points.length === 0) return { x: 0, y: 0 };
    const candidates = [beforeBox(route, direction), ...along(route, direction)];
    const areas = candidates.map((at) => labelArea(at, texts[k]));
    const found = areas.find((area) => !taken.some((other) => overlap(area, other))) ?? areas[0];
    taken.push(found);
    return { x: found.x, y: found.y };
  });
}

/** Return the position at the arrow. */
function beforeBox({ points, back }: Route, direction: Layout["direction"]): Point {
  const { x, y } = points[points.length - 1];
  const sign = back ? -1 : 1;
  return direction === "down"
    ? { x, y: y - BEFORE_BOX_DOWN * sign }
    : { x: x - BEFORE_BOX_RIGHT * sign, y };
}

/** Return further positions on the edge, from its end to its start. */
function along({ points }: Route, direction: Layout["direction"]): Point[] {
  const segments = points.slice(1).map((to, k): [Point, Point] => [points[k], to]);
  return segments
    .reverse()
    .flatMap(([from, to]) => ALONG.map((share) => onCurve(from, to, share, direction)));
}

function onCurve(from: Point, to: Point, t: number, direction: Layout["direction"]): Point {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const [leave, arrive] = direction === "down" ? [LEAVE, 1 - ARRIVE] : [0.5, 0.5];
  const [first, second, last] = [3 * t * (1 - t) ** 2, 3 * t ** 2 * (1 - t), t ** 3];
  const main = first * leave + second * arrive + last;
  const side = second + last;
  return direction === "down"
    ? { x: from.x + side * dx, y: from.y + main * dy }
    : { x: from.x + main * dx, y: from.y + side * dy };
}

function overlap(a: Area, b: Area): boolean {
  return (
    2 * Math.abs(a.x - b.x) < a.width + b.width && 2 * Math.abs(a.y - b.y) < a.height + b.height
  );
}
