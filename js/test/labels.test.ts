import assert from "node:assert/strict";
import { test } from "node:test";

import { LABEL_HEIGHT, labelPlaces, labelWidth } from "../src/graph/labels.ts";
import { layered, type LayoutEdge } from "../src/graph/layout.ts";

const BOX = { width: 100, height: 42 };

function laidOut(count: number, edges: LayoutEdge[], direction: "down" | "right") {
  const nodes = Array.from({ length: count }, (_, id) => ({ id, first: id }));
  const gaps = { rankGap: direction === "down" ? 46 : 62, siblingGap: 12 };
  return layered(nodes, edges, { ...BOX, ...gaps, direction, available: 900 });
}

function edge(from: number, to: number): LayoutEdge {
  return { from, to, first: to };
}

test("labels of edges to one callee stand apart, from one another and from the boxes", () => {
  const edges = [edge(0, 1), edge(0, 2), edge(1, 3), edge(2, 3), edge(0, 3)];
  for (const direction of ["down", "right"] as const) {
    const layout = laidOut(4, edges, direction);
    const texts = edges.map((_, k) => `×${k + 2}`);
    const places = labelPlaces(texts, layout, BOX);
    const width = labelWidth("×2");
    for (const [k, a] of places.entries()) {
      for (const b of places.slice(k + 1))
        assert.ok(Math.abs(a.x - b.x) >= width || Math.abs(a.y - b.y) >= LABEL_HEIGHT, direction);
      for (const box of layout.boxes.values()) {
        const beside = Math.abs(a.x - box.x) >= (width + BOX.width) / 2;
        assert.ok(beside || Math.abs(a.y - box.y) >= (LABEL_HEIGHT + BOX.height) / 2, direction);
      }
    }
  }
});

test("a label alone stands at its arrow, and one without text takes no room", () => {
  const layout = laidOut(3, [edge(0, 2), edge(1, 2)], "down");
  const [first] = labelPlaces(["×2", ""], layout, BOX);
  const [, second] = labelPlaces(["", "×2"], layout, BOX);
  const { x, y } = layout.boxes.get(2) ?? { x: 0, y: 0 };

  assert.deepEqual(first, { x, y: y - BOX.height / 2 - 16 });
  assert.deepEqual(second, first);
});
