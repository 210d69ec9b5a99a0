import assert from "node:assert/strict";
import { test } from "node:test";

import { labelArea, labelPlaces, labelWidth } from "../src/graph/labels.ts";
import { layered } from "../src/graph/layout.ts";
import { loop, LOOP_ROOM, loopLabel, withRoom } from "../src/graph/loops.ts";

const BOX = { width: 112, height: 42 };
const OPTIONS = { ...BOX, rankGap: 46, siblingGap: 12, direction: "down", available: 900 } as const;

function edge(from: number, to: number) {
  return { from, to, first: to };
}

function nodes(count: number) {
  return Array.from({ length: count }, (_, id) => ({ id, first: id }));
}

test("a topmost box that calls itself has room for its loop, others are not moved", () => {
  const layout = layered(nodes(2), [edge(0, 1)], OPTIONS);
  const lower = withRoom(layout, [edge(0, 0), edge(0, 1)], BOX.height);
  const top = (lower.boxes.get(0)?.y ?? 0) - BOX.height / 2;

  assert.equal(top, LOOP_ROOM);
  assert.equal(lower.height, layout.height + LOOP_ROOM);
  assert.equal(lower.routes[0].points[0].y, layout.routes[0].points[0].y + LOOP_ROOM);
  assert.equal(withRoom(layout, [edge(0, 1), edge(1, 1)], BOX.height), layout);
});

test("the loop and what it says stay clear of what the middle of the box is for", () => {
  const caller = { x: 100, y: 100, ...BOX };
  const xs = [...loop(caller).matchAll(/(-?[\d.]+) (-?[\d.]+)/g)].map(([, x]) => Number(x));

  assert.ok(Math.min(...xs) > caller.x + labelWidth("×2") / 2);
  assert.ok(Math.max(...xs) < caller.x + caller.width / 2);
});

test("the label of an edge keeps clear of the label of a loop", () => {
  const edges = [edge(0, 1), edge(1, 1)];
  const layout = layered(nodes(2), edges, OPTIONS);
  const caller = { ...(layout.boxes.get(1) ?? { x: 0, y: 0 }), ...BOX };
  const taken = labelArea(loopLabel(caller), "×12,345");
  const [place] = labelPlaces(["×1,234", ""], layout, BOX, [taken]);

  const beside = Math.abs(place.x - taken.x) >= (labelWidth("×1,234") + taken.width) / 2;
  assert.ok(beside || Math.abs(place.y - taken.y) >= taken.height);
});
