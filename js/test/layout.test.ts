import assert from "node:assert/strict";
import { test } from "node:test";

import {
  layered,
  type LayoutEdge,
  type LayoutNode,
  type LayoutOptions,
  type Point,
} from "../src/graph/layout.ts";
import { random } from "./fixture.ts";

const OPTIONS: LayoutOptions = {
  width: 100,
  height: 40,
  rankGap: 46,
  siblingGap: 12,
  direction: "down",
  available: 700,
};

function nodes(count: number): LayoutNode[] {
  return Array.from({ length: count }, (_, id) => ({ id, first: id }));
}

function edge(from: number, to: number): LayoutEdge {
  return { from, to, first: to };
}

/** A tree of calls, with some edges across it. */
function randomEdges(count: number, seed: number): LayoutEdge[] {
  const next = random(seed);
  const edges = Array.from({ length: count - 1 }, (_, k) =>
    edge(Math.floor(next() * (k + 1)), k + 1),
  );
  for (let k = 0; k < count / 5; k++)
    edges.push(edge(Math.floor(next() * count), Math.floor(next() * count)));
  return edges;
}

test("no two boxes overlap, in either direction, zig-zag or not", () => {
  for (let seed = 1; seed <= 12; seed++) {
    for (const direction of ["down", "right"] as const) {
      const layout = layered(nodes(20), randomEdges(20, seed), { ...OPTIONS, direction });
      const boxes = [...layout.boxes.values()];
      for (const a of boxes) {
        for (const b of boxes) {
          assert.ok(
            a === b || Math.abs(a.x - b.x) >= 99.9 || Math.abs(a.y - b.y) >= 39.9,
            `seed ${seed}`,
          );
        }
        assert.ok(
          a.x >= 49.9 && a.x <= layout.width - 49.9 && a.y >= 20 && a.y <= layout.height - 20,
        );
      }
    }
  }
});

test("no edge passes behind a box, in either direction, zig-zag or not", () => {
  for (let seed = 1; seed <= 12; seed++) {
    for (const direction of ["down", "right"] as const) {
      const edges = randomEdges(30, seed);
      const { boxes, routes } = layered(nodes(30), edges, { ...OPTIONS, available: 500, direction });
      edges.forEach((ends, k) => {
        const others = [...boxes].filter(([id]) => id !== ends.from && id !== ends.to);
        const behind = others.filter(([, box]) => isBehind(routes[k].points, box));
        assert.deepEqual(behind, [], `seed ${seed}, ${direction}, ${ends.from} → ${ends.to}`);
      });
    }
  }
});

/** Whether a route between ranks and straight through them meets a box. */
function isBehind(points: Point[], box: Point): boolean {
  return points.slice(1).some((to, k) =>
    Array.from({ length: 21 }, (_, step) => step / 20).some((share) => {
      const x = points[k].x + share * (to.x - points[k].x);
      const y = points[k].y + share * (to.y - points[k].y);
      return Math.abs(x - box.x) < 50 && Math.abs(y - box.y) < 20;
    }),
  );
}

test("callees stand below their callers, except where an edge closes a cycle", () => {
  const edges = randomEdges(25, 3);
  const layout = layered(nodes(25), edges, OPTIONS);
  edges.forEach(({ from, to }, k) => {
    if (from === to) return;
    const down = (layout.boxes.get(to)?.y ?? 0) > (layout.boxes.get(from)?.y ?? 0);
    assert.equal(down, !layout.routes[k].back);
  });
});

test("the same graph is laid out the same", () => {
  const edges = randomEdges(30, 5);

  assert.deepEqual(layered(nodes(30), edges, OPTIONS), layered(nodes(30), edges, OPTIONS));
});

test("siblings stand in order of first call when no edges cross", () => {
  const { boxes, crossings } = layered(nodes(4), [edge(0, 3), edge(0, 1), edge(0, 2)], OPTIONS);
  const across = [1, 2, 3].map((id) => boxes.get(id)?.x ?? 0);

  assert.equal(crossings, 0);
  assert.deepEqual(
    across,
    across.toSorted((a, b) => a - b),
  );
});

test("crossings that another order avoids are avoided", () => {
  const edges = [edge(0, 1), edge(0, 2), edge(1, 4), edge(2, 3)];

  assert.equal(layered(nodes(5), edges, OPTIONS).crossings, 0);
});

test("a rank wider than the pane zig-zags over two rows", () => {
  const edges = Array.from({ length: 7 }, (_, k) => edge(0, k + 1));
  const rows = (available: number): number =>
    new Set(
      [...layered(nodes(8), edges, { ...OPTIONS, available }).boxes.values()].map((box) => box.y),
    ).size;

  assert.equal(rows(2000), 2);
  assert.equal(rows(500), 3);
});

test("routes run from the caller's border to the callee's", () => {
  const edges = randomEdges(15, 9).filter(({ from, to }) => from !== to);
  const { boxes, routes } = layered(nodes(15), edges, OPTIONS);
  edges.forEach(({ from, to }, k) => {
    const sign = routes[k].back ? -1 : 1;
    assert.equal(routes[k].points[0].y, (boxes.get(from)?.y ?? 0) + sign * 20);
    assert.equal(routes[k].points.at(-1)?.y, (boxes.get(to)?.y ?? 0) - sign * 20);
  });
});

test("routes of a zig-zag begin and end at the borders of both its rows", () => {
  const callers = Array.from({ length: 7 }, (_, k) => k + 1);
  const edges = callers.flatMap((id) => [edge(0, id), edge(id, id + 7)]);
  const { boxes, routes } = layered(nodes(15), edges, { ...OPTIONS, available: 500 });
  const place = (id: number): { x: number; y: number } => boxes.get(id) ?? { x: NaN, y: NaN };

  assert.equal(new Set(callers.map((id) => place(id).y)).size, 2);
  edges.forEach(({ from, to }, k) => {
    const ends = [routes[k].points[0], routes[k].points.at(-1)];
    assert.deepEqual(ends, [
      { x: place(from).x, y: place(from).y + 20 },
      { x: place(to).x, y: place(to).y - 20 },
    ]);
  });
});

test("recursion and cycles are laid out", () => {
  const { routes } = layered(nodes(2), [edge(0, 1), edge(1, 0), edge(1, 1)], OPTIONS);

  assert.deepEqual(
    routes.map((route) => [route.points.length > 0, route.back]),
    [
      [true, false],
      [true, true],
      [false, false],
    ],
  );
});

test("a cycle is laid out from its entry, else from its earliest call", () => {
  const cycle = [edge(0, 1), edge(1, 0)];
  const isAbove = (upper: number, lower: number, firsts: number[], edges: LayoutEdge[]): boolean => {
    const { boxes } = layered(
      firsts.map((first, id) => ({ id, first })),
      edges,
      OPTIONS,
    );
    return boxes.get(upper)!.y < boxes.get(lower)!.y;
  };

  assert.ok(isAbove(0, 1, [0, 1], cycle), "the earliest model is listed first");
  assert.ok(isAbove(1, 0, [1, 0], cycle), "the earliest model is listed last");
  assert.ok(isAbove(1, 0, [0, 1, 2], [...cycle, edge(2, 1)]), "a later model calls it");
});

test("a graph without models is empty", () => {
  assert.equal(layered([], [], OPTIONS).boxes.size, 0);
});
