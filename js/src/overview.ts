/** A server as it is now: what travels from Python, in which order it is read, how it is written. */

import { count } from "./format.ts";

/** One model version; what is not known is null. Twin of ModelRow in views/live/overview.py. */
export interface ModelRow {
  name: string;
  version: number;
  state: string;
  reason: string;
  busy: number;
  instances: number;
  waiting: number;
  per_second: number | null;
  p50_us: number | null;
  p95_us: number | null;
  p99_us: number | null;
  queued_us: number | null;
  batch: number | null;
  requests: number;
  failed: number;
  failed_lately: number;
}

export interface Overview {
  in_flight: number;
  per_second: number | null;
  waiting: number;
  failed: number;
  rows: ModelRow[];
  history: number[];
  ended: boolean;
}

/** What a column is ordered by. */
export type Key = Exclude<keyof ModelRow, "version" | "reason" | "instances" | "failed_lately">;

export interface Order {
  key: Key;
  down: boolean;
}

/** Which order a click on a column's head gives: names begin with A, numbers with the largest. */
export function clicked(order: Order, key: Key): Order {
  if (order.key === key) return { key, down: !order.down };
  return { key, down: key !== "name" && key !== "state" };
}

/** The rows in an order; what is not known stands last, equals by name and version. */
export function ordered(rows: readonly ModelRow[], { key, down }: Order): ModelRow[] {
  const sign = down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [left, right] = [a[key], b[key]];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    const by = left < right ? -1 : left > right ? 1 : 0;
    return by * sign || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.version - b.version);
  });
}

/** A rate in three digits, or as a count. */
export function rate(perSecond: number | null): string {
  if (perSecond === null) return "–";
  if (perSecond >= 99.95) return count(Math.round(perSecond));
  return String(Number(perSecond.toPrecision(3)));
}

/** A line through numbers in a box, the latest at the right end; empty for fewer than two. */
export function line(
  values: readonly number[],
  places: number,
  width: number,
  height: number,
): string {
  if (values.length < 2) return "";
  const most = Math.max(...values, 1e-9);
  const left = places - values.length;
  const points = values.map((value, at) => {
    const x = ((left + at) / (places - 1)) * width;
    return `${x.toFixed(1)} ${(height - (value / most) * height).toFixed(1)}`;
  });
  return `M${points.join("L")}`;
}
