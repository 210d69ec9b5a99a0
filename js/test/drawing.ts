/** What a page shows, as lines: elements with their attributes and texts, canvases with what is painted. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";

import { penOf } from "./page.ts";

/** Lines of an element and all that is in it; deeper ones are indented further. */
export function drawn(element: Element, depth = 0): string[] {
  const indent = "  ".repeat(depth);
  const tag = element.tagName.toLowerCase();
  if (tag === "style") return [];
  const attributes = [...element.attributes]
    .filter(({ value }) => value !== "")
    .map(({ name, value }) => `${name}=${JSON.stringify(rounded(value.trim()))}`)
    .sort();
  const own = [...element.childNodes].filter(({ nodeType }) => nodeType === 3);
  const text = own.map(({ textContent }) => textContent).join("").trim();
  const state = "value" in element && tag === "input" ? [`is ${(element as HTMLInputElement).value}`] : [];
  const head = [tag, ...attributes, ...state, ...(text ? [`: ${text}`] : [])].join(" ");
  const painted = tag === "canvas" ? penOf(element as HTMLCanvasElement).painted : [];
  const inside = [...(element.shadowRoot?.children ?? []), ...element.children];
  return [
    `${indent}${head}`,
    ...painted.map((line) => `${indent}  ~ ${line}`),
    ...inside.flatMap((child) => drawn(child, depth + 1)),
  ];
}

/** Beyond a thousandth numbers may differ between machines; views are numbered as they are made. */
function rounded(text: string): string {
  return text.replace(/blsnb-\d+/g, "blsnb").replace(/-?\d+\.\d{4,}/g, (number) => String(Math.round(Number(number) * 1000) / 1000));
}

function checksum(lines: readonly string[]): number {
  let sum = 7;
  for (const character of lines.join()) sum = (31 * sum + character.charCodeAt(0)) % 1_000_003;
  return sum;
}

/** The lines that went and came between two drawings. */
export function changes(before: readonly string[], after: readonly string[]): string[] {
  const count = new Map<string, number>();
  for (const line of before) count.set(line, (count.get(line) ?? 0) + 1);
  const added = after.filter((line) => {
    const left = count.get(line) ?? 0;
    if (left) count.set(line, left - 1);
    return left === 0;
  });
  const gone = new Map(count);
  const removed = before.filter((line) => {
    const left = gone.get(line) ?? 0;
    if (left) gone.set(line, left - 1);
    return left > 0;
  });
  return [...removed.map((line) => `- ${line.trim()}`), ...added.map((line) => `+ ${line.trim()}`)];
}

/** Number of changed lines of a step that are written out; of the others only a checksum is. */
const LISTED = 24;

/** Follows what an element shows, step by step, and compares all of it with a file. */
export class Story {
  #element: Element;
  #lines: string[];
  #last: string[];

  /** `whole`: begin with all that is shown, not with the first change. */
  constructor(element: Element, { whole = false } = {}) {
    this.#element = element;
    this.#last = drawn(element);
    this.#lines = whole ? [...this.#last] : [];
  }

  /** Add what has changed since the last step. */
  step(title: string): void {
    const now = drawn(this.#element);
    const changed = changes(this.#last, now);
    this.#lines.push("", `# ${title}`, ...changed.slice(0, LISTED));
    const others = changed.slice(LISTED);
    if (others.length) this.#lines.push(`… ${others.length} more, checksum ${checksum(others)}`);
    this.#last = now;
  }

  /** Compare it with a file beside the tests; `BLSNB_WRITE_GOLDEN=1` writes the file anew. */
  equals(name: string): void {
    same(this.#lines, name);
  }
}

/** Compare lines with those of a file beside the tests. */
export function same(lines: readonly string[], name: string): void {
  const file = new URL(`./golden/${name}.txt`, import.meta.url);
  const text = `${lines.join("\n")}\n`;
  if (process.env.BLSNB_WRITE_GOLDEN) return writeFileSync(file, text);
  const expected = new TextDecoder().decode(readFileSync(file)).split("\n");
  const actual = text.split("\n");
  const at = actual.findIndex((line, k) => line !== expected[k]);
  assert.equal(
    actual.slice(at, at + 3).join("\n"),
    at < 0 ? "" : expected.slice(at, at + 3).join("\n"),
    `line ${at + 1} of golden/${name}.txt`,
  );
  assert.equal(actual.length, expected.length, `lines of golden/${name}.txt`);
}
