/**
 * The tab of log lines: newest first, filtered by model, level, call and text. While a reader is in the
 * list, or has selected text in it, its lines stay.
 */

import { followAttention } from "../../page/attention.ts";
import { h, setText } from "../../page/dom.ts";
import { count, counted } from "../../page/format.ts";
import type { Row } from "../link/link.ts";

interface Line {
  number: string;
  model: string;
  level: string;
  /** Run and call; empty for a line of no call. */
  call: string;
  text: string;
}

const LEVELS = ["ERROR", "WARNING", "INFO", "VERBOSE"];
/** Maximum number of lines that are drawn. */
const MAX_LINES = 300;

export class Logs {
  readonly node: HTMLElement;
  #lines: Line[] = [];
  #list = h("ul", { class: "rows lines", "aria-label": "log lines", tabindex: 0 });
  #note = h("p", { class: "note" });
  #waits = h("p", { class: "note waits" });
  /** The newest line that is drawn or filtered out. */
  #newest = -1;
  #elements = new WeakMap<Line, HTMLElement>();
  #isAttended = false;
  #models = this.#select("Model", "all models", () => unique(this.#lines.map(({ model }) => model)).sort());
  #level = h("select", { "aria-label": "Level", onchange: () => this.#draw() }, options("all levels", LEVELS));
  #call = this.#select("Call", "all calls", () => unique(this.#lines.map(({ call }) => call).filter(Boolean)).reverse());
  #text = h("input", { type: "search", placeholder: "Filter lines", "aria-label": "Filter lines", oninput: () => this.#draw() });

  constructor() {
    const filters = h("div", { class: "filters" }, this.#models, this.#level, this.#call);
    this.node = h("div", { class: "listing" }, this.#text, filters, this.#list, this.#note, this.#waits);
    followAttention(
      () => this.#list,
      (attended) => {
        this.#isAttended = attended;
        this.#refresh();
      },
    );
    document.addEventListener("selectionchange", () => this.#waits.textContent && this.#refresh());
  }

  show(rows: Iterable<Row>): void {
    this.#lines = [...rows] as unknown as Line[];
    this.#refresh();
  }

  /** Return a filter that looks for its values when it is about to open: they change with each line. */
  #select(label: string, all: string, values: () => string[]): HTMLSelectElement {
    const offered = (): void => offer(select, all, values());
    const events = { onchange: () => this.#draw(), onfocus: offered, onpointerdown: offered };
    const select = h("select", { "aria-label": label, ...events }, options(all, []));
    return select;
  }

  /** Draw the lines unless the drawn ones are being read; those of another kernel are drawn at once. */
  #refresh(): void {
    if (!this.#isRead() || this.#last < this.#newest) return this.#draw();
    const { length } = this.#matching().filter(({ number }) => Number(number) > this.#newest);
    setText(this.#waits, length ? `${counted(length, "new line")} when the pointer, the focus and the selection leave the list.` : "");
  }

  get #last(): number {
    return Number(this.#lines.at(-1)?.number ?? -1);
  }

  #isRead(): boolean {
    const selection = document.getSelection();
    const isSelected = selection !== null && !selection.isCollapsed && this.#list.contains(selection.anchorNode);
    return this.#isAttended || isSelected;
  }

  #matching(): Line[] {
    const wanted = this.#text.value.trim().toLowerCase();
    const [model, level, call] = [this.#models, this.#level, this.#call].map(({ value }) => value);
    return this.#lines.filter(
      (line) =>
        (!model || line.model === model) &&
        (!level || line.level === level) &&
        (!call || line.call === call) &&
        line.text.toLowerCase().includes(wanted),
    );
  }

  #draw(): void {
    const found = this.#matching();
    const drawn = found.slice(-MAX_LINES).reverse();
    this.#place(drawn.map((line) => this.#elementOf(line)));
    this.#newest = this.#last;
    setText(this.#waits, "");
    const left = found.length - drawn.length;
    const none = this.#lines.length ? "No line matches." : "Nothing has been logged.";
    setText(this.#note, drawn.length ? (left ? `${count(left)} earlier lines` : "") : none);
  }

  #elementOf(line: Line): HTMLElement {
    const known = this.#elements.get(line) ?? lineOf(line);
    this.#elements.set(line, known);
    return known;
  }

  /** Show elements; those that are shown already are not moved. */
  #place(elements: HTMLElement[]): void {
    const kept = new Set<Element>(elements);
    for (const each of [...this.#list.children]) if (!kept.has(each)) each.remove();
    let next = this.#list.firstElementChild;
    for (const each of elements) {
      if (each === next) next = next.nextElementSibling;
      else this.#list.insertBefore(each, next);
    }
  }
}

function lineOf({ model, level, call, text }: Line): HTMLElement {
  const kind = { ERROR: "failed", WARNING: "stale" }[level] ?? "";
  return h("li", call ? { title: call } : {}, h("span", { class: `state ${kind}` }, level), " ", h("b", {}, model), " ", h("span", { class: "text" }, text.trimEnd()));
}

/** Offer other values; the chosen one stays. */
function offer(select: HTMLSelectElement, all: string, values: string[]): void {
  const chosen = select.value;
  const isKept = !chosen || values.includes(chosen);
  select.replaceChildren(...options(all, isKept ? values : [chosen, ...values]));
  select.value = chosen;
}

function unique(values: string[]): string[] {
  return [...new Set(values)];
}

function options(all: string, values: string[]): HTMLElement[] {
  return [h("option", { value: "" }, all), ...values.map((value) => h("option", { value }, value))];
}
