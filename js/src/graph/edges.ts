/** The edges of the call graph: solid for calls, dashed for async ones, dotted for streams. */

import { ERROR_SHARE } from "./boxes.ts";
import { svg } from "../page/dom.ts";
import { count } from "../page/format.ts";
import { ARRIVE, LABEL_HEIGHT, labelWidth, LEAVE } from "./labels.ts";
import type { Point, Route } from "./layout.ts";
import { loop, loopLabel, type BoxArea } from "./loops.ts";
import type { ModelEdge } from "../trace/modelgraph.ts";

type Direction = "down" | "right";

/** Create the line and the label of an edge. */
export function edgeElement(
  edge: ModelEdge,
  route: Route,
  direction: Direction,
  caller: BoxArea,
  place: Point,
): SVGGElement {
  const recursive = route.points.length === 0;
  const d = recursive ? loop(caller) : curve(route, direction);
  const at = recursive ? loopLabel(caller) : place;
  const kind = kindOf(edge);
  const failing = edge.errors / edge.count > ERROR_SHARE ? "failing" : "";
  const label = edgeLabel(edge);
  const [width, height] = [labelWidth(label), LABEL_HEIGHT];
  const back = { class: "label", x: at.x - width / 2, y: at.y - height / 2, width, height, rx: 3 };
  return svg(
    "g",
    { class: `edge ${kind} ${failing}` },
    svg("path", { d }),
    label && svg("rect", back),
    label && svg("text", { x: at.x, y: at.y + 3.5, "text-anchor": "middle" }, label),
  );
}

/** Return the kind of an edge, which is also its class and its entry in the legend. */
export function kindOf({ streams, async }: ModelEdge): "call" | "async" | "stream" {
  if (streams) return "stream";
  return async ? "async" : "call";
}

/** Return the label of an edge: the number of calls, or of responses of streams. */
export function edgeLabel({ count: calls, streams, responses }: ModelEdge): string {
  const times = calls > 1 ? `×${count(calls)}` : "";
  return streams ? `${times} ${count(responses)} resp`.trim() : times;
}

/** Return a path that is straight in ranks and curved between them, with room for the arrow. */
function curve({ points, back }: Route, direction: Direction): string {
  const down = direction === "down";
  const sign = back ? -1 : 1;
  let [from] = points;
  let path = `M${from.x} ${from.y}`;
  points.slice(1).forEach((point, k) => {
    const last = k === points.length - 2;
    const to = !last
      ? point
      : down
        ? { x: point.x, y: point.y - 2 * sign }
        : { x: point.x - 2 * sign, y: point.y };
    path += segment(from, to, down);
    from = to;
  });
  return path;
}

function segment(from: Point, to: Point, down: boolean): string {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  if (down ? dx === 0 : dy === 0) return ` L${to.x} ${to.y}`;
  if (down)
    return ` C${from.x} ${from.y + LEAVE * dy} ${to.x} ${to.y - ARRIVE * dy} ${to.x} ${to.y}`;
  return ` C${from.x + 0.5 * dx} ${from.y} ${to.x - 0.5 * dx} ${to.y} ${to.x} ${to.y}`;
}
