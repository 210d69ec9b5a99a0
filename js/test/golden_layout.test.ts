/** Where boxes, routes and labels of graphs stand, to the pixel. */

import { test } from "node:test";

import { same } from "./drawing.ts";
import { random } from "./fixture.ts";
import { labelPlaces } from "../src/graph/labels.ts";
import { layered, type LayoutEdge, type LayoutOptions } from "../src/graph/layout.ts";
import { loop, loopLabel, withRoom } from "../src/graph/loops.ts";

const GRAPHS: Record<string, [from: number, to: number][]> = {
  chain: [[0, 1], [1, 2], [2, 3]],
  fan: [[0, 1], [0, 2], [0, 3], [0, 4], [0, 5], [0, 6], [0, 7]],
  diamond: [[0, 1], [0, 2], [1, 3], [2, 3], [0, 3]],
  "with a cycle": [[0, 1], [1, 2], [2, 0], [2, 3], [3, 1]],
  "calling itself": [[0, 0], [0, 1], [1, 1], [1, 2]],
  "two roots": [[0, 2], [1, 2], [1, 3], [4, 3]],
  "long edges": [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4], [0, 3], [1, 4]],
};
const OPTIONS: LayoutOptions[] = [
  { width: 96, height: 42, rankGap: 46, siblingGap: 12, direction: "down", available: 640 },
  { width: 96, height: 42, rankGap: 62, siblingGap: 10, direction: "right", available: 640 },
];

function tangled(size: number, seed: number): [number, number][] {
  const next = random(seed);
  const edges: [number, number][] = [];
  for (let to = 1; to < size; to++)
    for (let k = 0; k < 2; k++) edges.push([Math.floor(next() * to), to]);
  return edges;
}

function lines(name: string, pairs: [number, number][], options: LayoutOptions): string[] {
  const edges: LayoutEdge[] = pairs.map(([from, to], first) => ({ from, to, first }));
  const ids = [...new Set(pairs.flat())].sort((a, b) => a - b);
  const nodes = ids.map((id) => ({ id, first: (id * 7) % 5 }));
  const layout = withRoom(layered(nodes, edges, options), edges, options.height);
  const texts = edges.map(({ to }) => (to % 2 ? `×${to}0` : ""));
  const labels = labelPlaces(texts, layout, options);
  const at = ({ x, y }: { x: number; y: number }): string => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const { width, height, crossings } = layout;
  const loops = edges.filter(({ from, to }) => from === to).map(({ from }) => {
    const area = { ...layout.boxes.get(from)!, width: options.width, height: options.height };
    return `  loop ${from}: ${loop(area).replace(/\d+\.\d+/g, (each) => Number(each).toFixed(1))}, label ${at(loopLabel(area))}`;
  });
  return [
    `${name}, ${options.direction}: ${width.toFixed(1)} × ${height.toFixed(1)}, ${crossings} crossings`,
    ...[...layout.boxes].map(([id, centre]) => `  box ${id}: ${at(centre)}`),
    ...layout.routes.map(({ points, back }, k) =>
      `  ${pairs[k].join(" → ")}${back ? " back" : ""}: ${points.map(at).join(", ")}; label ${at(labels[k])}`,
    ),
    ...loops,
  ];
}

test("boxes stand in ranks, edges go straight through them, labels are clear of both", () => {
  const graphs = { ...GRAPHS, tangled: tangled(9, 3), "tangled more": tangled(14, 8) };
  same(
    Object.entries(graphs).flatMap(([name, pairs]) =>
      OPTIONS.flatMap((options) => lines(name, pairs, options)),
    ),
    "layout",
  );
});
