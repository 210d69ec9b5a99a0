/** Coordinates across the ranks of a call graph, by isotonic regression. Pure. */

import type { Vertex } from "./ordering.ts";

/** Distance between boxes of a rank in two lines. */
const TIGHT_GAP = 10;

/** Set `across`: move each vertex towards its neighbours; order and distances stay. */
export function spread(layers: Vertex[][], gap: number): void {
  for (const layer of layers) {
    const offsets = offsetsOf(layer, gap);
    layer.forEach((vertex, k) => (vertex.across = offsets[k] - offsets[layer.length - 1] / 2));
  }
  for (let pass = 0; pass < 24; pass++) {
    const down = pass % 2 === 0;
    for (const layer of down ? layers : layers.toReversed()) {
      const wanted = layer.map((vertex) => {
        const neighbours =
          pass >= 20 ? [...vertex.up, ...vertex.down] : down ? vertex.up : vertex.down;
        return { at: meanAcross(neighbours, vertex.across), weight: weight(vertex, neighbours) };
      });
      isotonic(layer, wanted, offsetsOf(layer, gap));
    }
  }
}

function meanAcross(neighbours: Vertex[], otherwise: number): number {
  if (neighbours.length === 0) return otherwise;
  return neighbours.reduce((sum, vertex) => sum + vertex.across, 0) / neighbours.length;
}

/** Bends weigh more, so that long edges are straight. */
function weight(vertex: Vertex, neighbours: Vertex[]): number {
  return (neighbours.length > 0 ? 1 : 0.01) * (vertex.node < 0 ? 4 : 1);
}

function offsetsOf(layer: Vertex[], gap: number): number[] {
  let offset = 0;
  return layer.map((vertex, k) => {
    if (k === 0) return 0;
    const before = layer[k - 1];
    const near = before.tight || vertex.tight ? TIGHT_GAP : gap;
    offset += reach(before, vertex) + reach(vertex, before) + near;
    return offset;
  });
}

/** Return the room of a vertex towards a sibling: boxes in two lines overlap, a bend passes both. */
function reach(vertex: Vertex, sibling: Vertex): number {
  return vertex.tight && !sibling.tight ? 2 * vertex.half : vertex.half;
}

/** Least squares under order constraints: pool adjacent violators. */
function isotonic(
  layer: Vertex[],
  wanted: { at: number; weight: number }[],
  offsets: number[],
): void {
  const blocks: { sum: number; weight: number; size: number }[] = [];
  wanted.forEach(({ at, weight }, k) => {
    let block = { sum: (at - offsets[k]) * weight, weight, size: 1 };
    for (
      let last = blocks.at(-1);
      last && last.sum / last.weight > block.sum / block.weight;
      last = blocks.at(-1)
    ) {
      blocks.pop();
      block = {
        sum: block.sum + last.sum,
        weight: block.weight + last.weight,
        size: block.size + last.size,
      };
    }
    blocks.push(block);
  });
  let k = 0;
  for (const { sum, weight, size } of blocks) {
    for (let end = k + size; k < end; k++) layer[k].across = sum / weight + offsets[k];
  }
}
