/** The rows of the timeline: a tree of calls in which repeated calls of one model are folded. Pure. */

import type { Trace } from "../trace/trace.ts";

/**
 * `call`: one call. `fold`: calls of one model from one caller (or, below another fold, from all its
 * calls). `calls`: parent of the single calls of a fold that has callees. `missing`: calls that only
 * the baseline has.
 */
export interface Row {
  kind: "call" | "fold" | "calls" | "missing";
  /** Made of ids and names, so that it stays the same when calls are dropped. */
  key: string;
  /** −1 for calls that are missing. */
  model: number;
  calls: readonly number[];
  /** Missing calls, as rows of the baseline. */
  missing: readonly number[];
  /** Whether it is a single call of a fold, which shows its id. */
  inFold: boolean;
  parent: Row | null;
  depth: number;
  position: number;
  siblings: number;
  index: number;
}

/** Minimum number of calls of one model by one caller that share a row. */
export const FOLD_FROM = 4;

export class Rows {
  readonly trace: Trace;
  /** Keys of the rows whose children are shown; kept when the trace grows. */
  readonly open: Set<string>;
  list: Row[] = [];
  #children = new Map<Row, Row[]>();
  #lacking = new Map<Row, boolean>();
  #top: Row[];

  constructor(trace: Trace, open: Iterable<string> = []) {
    this.trace = trace;
    this.open = new Set(open);
    this.#top = this.#withMissing(null, this.#folded(null, trace.roots, FOLD_FROM), null);
    this.rebuild();
  }

  /** List the visible rows, top to bottom. */
  rebuild(): void {
    this.list = [];
    const waiting = this.#top.toReversed();
    for (let row = waiting.pop(); row; row = waiting.pop()) {
      row.index = this.list.length;
      this.list.push(row);
      if (!this.open.has(row.key)) continue;
      for (const child of this.children(row).toReversed()) waiting.push(child);
    }
  }

  /** Show or hide the children of a row. */
  toggle(row: Row, show = !this.open.has(row.key)): void {
    if (show) this.open.add(row.key);
    else this.open.delete(row.key);
    this.rebuild();
  }

  hasChildren(row: Row): boolean {
    const { comparison } = this.trace;
    if (row.kind === "missing")
      return row.missing.some((call) => !comparison?.baseline.isLeaf(call));
    return row.kind !== "call" || !this.trace.isLeaf(row.calls[0]) || this.#lacks(row);
  }

  isOpen(row: Row): boolean {
    return this.open.has(row.key) && this.hasChildren(row);
  }

  children(row: Row): Row[] {
    let rows = this.#children.get(row);
    if (!rows) this.#children.set(row, (rows = this.#childrenOf(row)));
    return rows;
  }

  find(key: string): Row | undefined {
    return this.list.find((row) => row.key === key);
  }

  /** Unfold level by level up to a number of rows; single calls of folds stay hidden. */
  openDefault(atMost: number): void {
    this.open.clear();
    const waiting = [...this.#top];
    let shown = waiting.length;
    for (let row = waiting.shift(); row; row = waiting.shift()) {
      if (!this.hasChildren(row) || row.kind === "calls" || this.#isPlainFold(row)) continue;
      const children = this.children(row);
      if (shown + children.length > atMost && shown > 1) continue;
      this.open.add(row.key);
      shown += children.length;
      waiting.push(...children);
    }
    this.rebuild();
  }

  /** Unfold the path to a call and return its row. */
  reveal(call: number): Row | null {
    let rows = this.#top;
    let found: Row | null = null;
    for (const step of [...this.trace.ancestors(call), call]) {
      if (found) this.open.add(found.key);
      found = this.#descend(rows, step);
      if (!found) break;
      rows = this.children(found);
    }
    this.rebuild();
    return found;
  }

  /** Return the row of a call among some rows, and unfold its folds. */
  #descend(rows: Row[], call: number): Row | null {
    const single = rows.find((row) => row.kind === "call" && row.calls[0] === call);
    if (single) return single;
    const fold = rows.find(
      (row) => row.kind !== "call" && row.model === this.trace.calls.model[call],
    );
    if (!fold) return null;
    this.open.add(fold.key);
    const within = this.children(fold);
    const calls = within.find((row) => row.kind === "calls");
    if (!calls) return within.find((row) => row.calls[0] === call) ?? null;
    this.open.add(calls.key);
    return this.children(calls).find((row) => row.calls[0] === call) ?? null;
  }

  /** Whether the children of a fold are its calls, which made no calls. */
  #isPlainFold(row: Row): boolean {
    return (
      row.kind === "fold" &&
      row.calls.every((call) => this.trace.isLeaf(call)) &&
      !this.#lacks(row)
    );
  }

  /** Whether calls below this row are missing. */
  #lacks(row: Row): boolean {
    const { comparison } = this.trace;
    if (!comparison) return false;
    let lacks = this.#lacking.get(row);
    if (lacks === undefined) {
      lacks = comparison.missing(comparison.beforeAll(row.calls)).length > 0;
      this.#lacking.set(row, lacks);
    }
    return lacks;
  }

  /** Insert the missing calls below some callers where they once started. */
  #withMissing(parent: Row | null, rows: Row[], callers: readonly number[] | null): Row[] {
    const { comparison } = this.trace;
    const calls = comparison?.missing(callers) ?? [];
    if (!comparison || calls.length === 0) return rows;
    const { baseline } = comparison;
    const at = parent ? `${parent.key}/` : "";
    for (const [model, group] of byModel(baseline, calls)) {
      const folded = group.length >= FOLD_FROM;
      for (const missing of folded ? [group] : group.map((call) => [call])) {
        const key = folded
          ? `${at}xm${baseline.modelKeys[model]}`
          : `${at}x${baseline.id(missing[0])}`;
        const row = newRow("missing", parent, key, -1, []);
        row.missing = missing;
        const start = baseline.start(missing[0]);
        const later = rows.findIndex((each) => this.#start(each) > start);
        rows.splice(later < 0 ? rows.length : later, 0, row);
      }
    }
    return numbered(rows);
  }

  #start(row: Row): number {
    if (row.kind !== "missing") return this.trace.start(row.calls[0]);
    return this.trace.comparison?.baseline.start(row.missing[0]) ?? 0;
  }

  #childrenOf(row: Row): Row[] {
    const before = this.trace.comparison?.beforeAll(row.calls) ?? [];
    if (row.kind === "missing") return this.#withMissing(row, [], row.missing);
    if (row.kind === "call") {
      const rows = this.#folded(row, this.trace.children(row.calls[0]), FOLD_FROM);
      return this.#withMissing(row, rows, before);
    }
    if (row.kind === "calls" || this.#isPlainFold(row)) return this.#singles(row);
    const below = row.calls.flatMap((call) => Array.from(this.trace.children(call)));
    const rows = this.#withMissing(row, this.#folded(row, below, 1), before);
    rows.push(newRow("calls", row, `${row.key}/calls`, row.model, row.calls));
    return numbered(rows);
  }

  #singles(fold: Row): Row[] {
    const rows = fold.calls.map((call) => {
      const key = `${fold.key}/${this.trace.id(call)}`;
      const row = newRow("call", fold, key, fold.model, [call]);
      row.inFold = true;
      return row;
    });
    return numbered(rows);
  }

  /** Return rows of calls in order of their start, folded by model from `foldFrom` calls on. */
  #folded(parent: Row | null, calls: Iterable<number>, foldFrom: number): Row[] {
    const { trace } = this;
    const at = parent ? `${parent.key}/` : "";
    const rows: Row[] = [];
    for (const [model, group] of byModel(trace, calls)) {
      if (group.length >= foldFrom)
        rows.push(newRow("fold", parent, `${at}m${trace.modelKeys[model]}`, model, group));
      else
        for (const call of group)
          rows.push(newRow("call", parent, `${at}${trace.id(call)}`, model, [call]));
    }
    rows.sort((a, b) => trace.start(a.calls[0]) - trace.start(b.calls[0]));
    return numbered(rows);
  }
}

function byModel(trace: Trace, calls: Iterable<number>): Map<number, number[]> {
  const groups = new Map<number, number[]>();
  for (const call of calls) {
    const model = trace.calls.model[call];
    const group = groups.get(model);
    if (group) group.push(call);
    else groups.set(model, [call]);
  }
  for (const group of groups.values()) group.sort((a, b) => trace.start(a) - trace.start(b));
  return groups;
}

function newRow(
  kind: Row["kind"],
  parent: Row | null,
  key: string,
  model: number,
  calls: readonly number[],
): Row {
  const depth = parent ? parent.depth + 1 : 0;
  return {
    kind,
    key,
    model,
    calls,
    missing: [],
    inFold: false,
    parent,
    depth,
    position: 0,
    siblings: 0,
    index: -1,
  };
}

function numbered(rows: Row[]): Row[] {
  rows.forEach((row, k) => {
    row.position = k + 1;
    row.siblings = rows.length;
  });
  return rows;
}
