/** The overview of a server: what Python sends, the order of its rows, its numbers as text. */

import { count } from "../page/format.ts";

/** One model version; unknown numbers are null. Twin of ModelRow in views/live/overview.py. */
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

/** Key of a column. */
export type Key = Exclude<keyof ModelRow, "version" | "reason" | "instances" | "failed_lately">;

export interface Order {
  key: Key;
  down: boolean;
}

/** Return the order after a click on a head: names ascending first, numbers descending. */
export function clicked(order: Order, key: Key): Order {
  if (order.key === key) return { key, down: !order.down };
  return { key, down: key !== "name" && key !== "state" };
}

/** Return the rows in an order, unknown numbers last, equal ones by name and version. */
export function ordered(rows: readonly ModelRow[], { key, down }: Order): ModelRow[] {
  const sign = down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [left, right] = [a[key], b[key]];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    const by = left < right ? -1 : left > right ? 1 : 0;
    return by * sign || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.version - b.version);
  });
}

/** Return a rate with three digits, or as a count. */
export function rate(perSecond: number | null): string {
  if (perSecond === null) return "–";
  if (perSecond >= 99.95) return count(Math.round(perSecond));
  return String(Number(perSecond.toPrecision(3)));
}

/** Return the path of a chart, the last value at its right end; empty for fewer than two. */
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
