import assert from "node:assert/strict";
import { test } from "node:test";

import { clicked, line, ordered, rate, type ModelRow } from "../src/dashboard/overview.ts";

function row(name: string, per_second: number | null, version = 1): ModelRow {
  const counts = { busy: 0, instances: 1, waiting: 0, requests: 0, failed: 0, failed_lately: 0 };
  return { name, version, state: "READY", reason: "", per_second, p50_us: null, p95_us: null, p99_us: null, queued_us: null, batch: null, ...counts };
}

const names = (rows: ModelRow[]): string[] => rows.map((each) => `${each.name} ${each.version}`);

test("names begin with A, numbers with the largest, a second click turns them", () => {
  assert.deepEqual(clicked({ key: "failed", down: true }, "name"), { key: "name", down: false });
  assert.deepEqual(clicked({ key: "name", down: false }, "p95_us"), { key: "p95_us", down: true });
  assert.deepEqual(clicked({ key: "p95_us", down: true }, "p95_us"), { key: "p95_us", down: false });
});

test("what is not known stands last in either direction", () => {
  const rows = [row("a", null), row("b", 1), row("c", 2)];
  assert.deepEqual(names(ordered(rows, { key: "per_second", down: true })), ["c 1", "b 1", "a 1"]);
  assert.deepEqual(names(ordered(rows, { key: "per_second", down: false })), ["b 1", "c 1", "a 1"]);
});

test("equals stand by name and version", () => {
  const rows = [row("b", 1), row("a", 1, 2), row("a", 1, 1)];
  assert.deepEqual(names(ordered(rows, { key: "per_second", down: true })), ["a 1", "a 2", "b 1"]);
});

test("rates have three digits", () => {
  assert.deepEqual([null, 0, 0.4, 12.34, 99.96, 1234.5].map(rate), ["–", "0", "0.4", "12.3", "100", "1,235"]);
});

test("a line ends at the right, its largest value at the top", () => {
  assert.equal(line([0, 4, 2], 5, 100, 40), "M50.0 40.0L75.0 0.0L100.0 20.0");
  assert.equal(line([1], 5, 100, 40), "");
  assert.equal(line([0, 0], 2, 10, 40), "M0.0 40.0L10.0 40.0");
});
