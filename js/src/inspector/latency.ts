/** Latencies of calls: quantiles and distribution. */

import { h } from "../page/dom.ts";
import type { Counted } from "../trace/folded.ts";
import { count, time } from "../page/format.ts";
import { distribution, factGrid } from "../facts/tensorfacts.ts";

const BINS = 36;
/** Ratio to p90 from which latencies are left out of the histogram. */
const FAR_OUT = 3;
/** Minimum end of a histogram without outliers, in µs: the usual latency may be 0. */
const LEAST_US = 1;
/** Minimum number of latencies of a histogram. */
const MIN_FOR_HISTOGRAM = 4;

/** Latencies in ascending order, with the number of calls of each. */
type Latencies = readonly (readonly [us: number, calls: number])[];

/** Return the latencies of all calls, those that are only counted included. */
export function latency(durations: readonly number[], gone: Counted | null): HTMLElement[] {
  const kept = durations.map((us) => [us, 1] as const);
  const all = [...kept, ...(gone?.latencies ?? [])].sort(([a], [b]) => a - b);
  const calls = all.reduce((sum, [, each]) => sum + each, 0);
  const within = calls > kept.length ? h("span", {}, `all ${count(calls)}, within 5 %`) : "";
  const heading = h("h4", {}, "Latency per call", within);
  const alike = time(all[0]?.[0] ?? NaN) === time(all[all.length - 1]?.[0] ?? NaN);
  const shape = calls < MIN_FOR_HISTOGRAM || alike ? [] : histogram(all, calls);
  return [heading, factGrid(quantiles(all, calls)), ...shape];
}

function quantiles(all: Latencies, calls: number): [string, string][] {
  const quantile = (share: number): string => time(quantileOf(all, calls, share));
  const mean = all.reduce((sum, [us, each]) => sum + us * each, 0) / calls;
  return [
    ["p50", quantile(0.5)],
    ["p90", quantile(0.9)],
    ["p99", quantile(0.99)],
    ["min", quantile(0)],
    ["max", quantile(1)],
    ["mean", time(mean)],
  ];
}

/** Return the latency that a share of the calls does not exceed. */
function quantileOf(all: Latencies, calls: number, share: number): number {
  const at = Math.min(calls - 1, Math.floor(share * calls));
  let before = 0;
  for (const [us, each] of all) if ((before += each) > at) return us;
  return NaN;
}

/** Return a histogram without the outliers, which are counted beside it. */
function histogram(all: Latencies, calls: number): HTMLElement[] {
  const [low, most] = [all[0][0], all[all.length - 1][0]];
  const usual = quantileOf(all, calls, 0.9);
  const high = most > Math.max(LEAST_US, FAR_OUT * usual) ? Math.max(LEAST_US, 1.5 * usual) : most;
  const counts = new Array<number>(BINS).fill(0);
  let beyond = 0;
  for (const [us, each] of all)
    if (us > high) beyond += each;
    else counts[Math.min(BINS - 1, Math.floor(((us - low) / (high - low)) * BINS))] += each;
  const more = beyond ? `, ${count(beyond)} more up to ${time(most)}` : "";
  const show = (each: number | null): string => time(each ?? NaN) + (each === high ? more : "");
  return distribution({ low, high, counts }, "latencies", show);
}
