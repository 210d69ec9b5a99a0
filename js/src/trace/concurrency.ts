/** Number of calls that ran at once, counted exactly by a sweep over starts and ends. */

/** From `times[k]` to `times[k + 1]`, `counts[k]` calls ran. */
export interface Steps {
  times: Float64Array;
  counts: Int32Array;
  max: number;
}

/** Count overlapping intervals; one that ends where another starts does not overlap it. */
export function concurrency(starts: ArrayLike<number>, ends: ArrayLike<number>): Steps {
  const opening = ordered(new Float64Array(starts));
  const closing = ordered(new Float64Array(ends));
  const times = new Float64Array(opening.length + closing.length);
  const counts = new Int32Array(times.length);
  let size = 0;
  let running = 0;
  let max = 0;
  for (let open = 0, close = 0; close < closing.length;) {
    const at = open < opening.length ? Math.min(opening[open], closing[close]) : closing[close];
    while (close < closing.length && closing[close] === at) (close++, running--);
    while (open < opening.length && opening[open] === at) (open++, running++);
    times[size] = at;
    counts[size++] = running;
    max = Math.max(max, running);
  }
  return { times: times.subarray(0, size), counts: counts.subarray(0, size), max };
}

function ordered(times: Float64Array): Float64Array {
  // Most are in order already, which is found faster than they are sorted.
  for (let k = 1; k < times.length; k++) if (times[k] < times[k - 1]) return times.sort();
  return times;
}

/** Return the maximum number of calls at once in each of `width` equal parts of `from … to`. */
export function perPixel(steps: Steps, from: number, to: number, width: number): Uint32Array {
  const most = new Uint32Array(width);
  const { times, counts } = steps;
  const scale = width / (to - from);
  for (let k = firstVisible(times, from); k < times.length && times[k] < to; k++) {
    if (counts[k] === 0) continue;
    const end = k + 1 < times.length ? times[k + 1] : times[k];
    const first = Math.max(0, Math.floor((times[k] - from) * scale));
    const last = Math.min(width - 1, Math.max(first, Math.ceil((end - from) * scale) - 1));
    for (let x = first; x <= last; x++) if (counts[k] > most[x]) most[x] = counts[k];
  }
  return most;
}

/** Return the step at `from`, found by bisection. */
function firstVisible(times: Float64Array, from: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= from) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}
