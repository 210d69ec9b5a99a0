/** The order of siblings in a layered layout: few crossings, else the order of calls. Pure. */

/** A box (`node >= 0`), or a bend where a long edge passes a rank. */
export interface Vertex {
  node: number;
  rank: number;
  order: number;
  up: Vertex[];
  down: Vertex[];
  slot: number;
  across: number;
  half: number;
  /** 1: in the lower row of a rank that zig-zags. */
  row: 0 | 1;
  tight: boolean;
}

const SWEEPS = 14;

/** Set the position of each vertex in its layer. */
export function renumber(layer: Vertex[]): void {
  layer.forEach((vertex, slot) => (vertex.slot = slot));
}

/** Reorder siblings by barycentre sweeps and swaps; the order of calls stays unless crossings fall. */
export function order(layers: Vertex[][]): number {
  let best = crossings(layers);
  let saved = layers.map((layer) => [...layer]);
  const keepIfBetter = (): void => {
    const now = crossings(layers);
    if (now >= best) return;
    best = now;
    saved = layers.map((layer) => [...layer]);
  };
  for (const downFirst of [true, false]) {
    for (const layer of layers) renumber(layer.sort((a, b) => a.order - b.order));
    for (let sweep = 0; sweep < SWEEPS && best > 0; sweep++) {
      sortByNeighbours(layers, (sweep % 2 === 0) === downFirst);
      keepIfBetter();
      swapNeighbours(layers);
      keepIfBetter();
    }
  }
  saved.forEach((layer, rank) => {
    layers[rank] = layer;
    renumber(layer);
  });
  return best;
}

function sortByNeighbours(layers: Vertex[][], down: boolean): void {
  for (const layer of down ? layers : layers.toReversed()) {
    const centre = new Map(
      layer.map((vertex) => [vertex, meanSlot(down ? vertex.up : vertex.down, vertex.slot)]),
    );
    layer.sort((a, b) => centre.get(a)! - centre.get(b)! || a.order - b.order);
    renumber(layer);
  }
}

function meanSlot(neighbours: Vertex[], otherwise: number): number {
  if (neighbours.length === 0) return otherwise;
  return neighbours.reduce((sum, vertex) => sum + vertex.slot, 0) / neighbours.length;
}

function swapNeighbours(layers: Vertex[][]): void {
  for (const layer of layers) {
    for (let k = 0; k + 1 < layer.length; k++) {
      const [left, right] = [layer[k], layer[k + 1]];
      if (crossingsOf(right, left) >= crossingsOf(left, right)) continue;
      layer[k] = right;
      layer[k + 1] = left;
      renumber(layer);
    }
  }
}

/** Count crossings between the edges of two siblings in this order. */
function crossingsOf(left: Vertex, right: Vertex): number {
  let sum = 0;
  for (const side of ["up", "down"] as const) {
    for (const a of left[side]) for (const b of right[side]) if (a.slot > b.slot) sum++;
  }
  return sum;
}

/** All crossings, counted as inversions with a Fenwick tree. */
function crossings(layers: Vertex[][]): number {
  let sum = 0;
  for (let rank = 0; rank + 1 < layers.length; rank++) {
    const tree = new Int32Array(layers[rank + 1].length + 2);
    const ends = layers[rank].flatMap((vertex) =>
      vertex.down.map((end) => end.slot).sort((a, b) => a - b),
    );
    for (const end of ends.reverse()) {
      for (let k = end; k > 0; k -= k & -k) sum += tree[k];
      for (let k = end + 1; k < tree.length; k += k & -k) tree[k]++;
    }
  }
  return sum;
}
