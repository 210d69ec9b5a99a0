/** Elements of the rows of the timeline that are in view. */

import { ROW_HEIGHT } from "./bars.ts";
import { h, svg } from "../page/dom.ts";
import type { Counted } from "../trace/folded.ts";
import { count, counted, time } from "../page/format.ts";
import type { Row, Rows } from "../session/rows.ts";
import { selectedBatch, type Selection, type Session } from "../session/session.ts";
import { Flag } from "../trace/wire.ts";

/** Maximum indentation: deep recursion leaves room for names. */
const MAX_GUIDES = 10;

interface Shown {
  element: HTMLElement;
  row: Row;
  facts: string;
}

export class RowElements {
  readonly element = h("div", { class: "rows", role: "none" });
  #session: Session;
  #id: string;
  /** The rows that were shown last. */
  #rows!: Rows;
  #cursor = "";
  #batch: ReadonlySet<number> = new Set();
  #shown = new Map<string, Shown>();

  constructor(session: Session, id: string) {
    this.#session = session;
    this.#id = id;
  }

  /** Show the rows in view; an element stays as long as its row is in view. */
  show(visible: readonly Row[], rows: Rows, cursor: string): HTMLElement | undefined {
    this.#rows = rows;
    this.#cursor = cursor;
    this.#batch = selectedBatch(this.#session.selection, rows.trace);
    const keys = new Set(visible.map((row) => row.key));
    for (const [key, { element }] of this.#shown) {
      if (keys.has(key)) continue;
      element.remove();
      this.#shown.delete(key);
    }
    let next = this.element.firstElementChild;
    for (const row of visible) {
      const { element } = this.#rowElement(row);
      if (element === next) next = next.nextElementSibling;
      else this.element.insertBefore(element, next);
    }
    return this.#shown.get(cursor)?.element;
  }

  #rowElement(row: Row): Shown {
    let shown = this.#shown.get(row.key);
    if (!shown) {
      const element = h("div", { class: "row", role: "treeitem", id: `${this.#id}-${row.key}` });
      this.#shown.set(row.key, (shown = { element, row, facts: "" }));
    }
    const { element } = shown;
    shown.row = row;
    const facts = this.#facts(row);
    if (shown.facts !== facts) this.#fill(element, row);
    shown.facts = facts;
    element.style.top = `${row.index * ROW_HEIGHT}px`;
    const selected = isSelected(row, this.#session.selection);
    element.classList.toggle("selected", selected);
    element.classList.toggle("mate", row.kind === "call" && this.#batch.has(row.calls[0]));
    element.classList.toggle("cursor", row.key === this.#cursor);
    element.classList.toggle("dim", this.#session.dims(row, this.#rows.isOpen(row)));
    element.setAttribute("aria-selected", String(selected));
    return shown;
  }

  /** Return all that the element of a row shows, to notice changes. */
  #facts(row: Row): string {
    const { trace } = this.#session;
    const [call] = row.calls;
    const { flags, responses } = trace.calls;
    const state = [flags[call], responses[call], trace.duration[call], trace.names[row.model]];
    const tree = [row.calls.length, row.depth, row.position, row.siblings];
    return [
      row.missing.length,
      this.#counted(row)?.calls,
      ...state,
      ...tree,
      this.#rows.hasChildren(row),
      this.#rows.isOpen(row),
      this.#errors(row),
    ].join();
  }

  #errors(row: Row): number {
    const { length } = this.#session.trace.failedOf(row.calls);
    return length + (this.#counted(row)?.errors ?? 0);
  }

  /** Return the calls of a fold that are only counted. */
  #counted(row: Row): Counted | null {
    return row.kind === "fold" ? this.#session.trace.folded.beside(row.calls) : null;
  }

  #fill(element: HTMLElement, row: Row): void {
    const { trace } = this.#session;
    const branches = this.#rows.hasChildren(row);
    element.setAttribute("aria-level", String(row.depth + 1));
    element.setAttribute("aria-posinset", String(row.position));
    element.setAttribute("aria-setsize", String(row.siblings));
    if (branches) element.setAttribute("aria-expanded", String(this.#rows.isOpen(row)));
    else element.removeAttribute("aria-expanded");
    element.setAttribute(
      "aria-description",
      this.#description(row),
    );
    const triangle =
      branches &&
      svg(
        "svg",
        { viewBox: "0 0 8 8", "aria-hidden": "true" },
        svg("path", { d: "M2 0 L7 4 L2 8z", fill: "currentColor" }),
      );
    const guides = Array.from({ length: Math.min(row.depth, MAX_GUIDES) }, () =>
      h("span", { class: "guide" }),
    );
    const name = this.#name(row);
    const kind = trace.header.models[row.model]?.kind ?? "";
    const names = h("div", { class: "names" }, guides, h("span", { class: "triangle" }, triangle));
    names.append(
      h(
        "span",
        { class: `name ${row.kind} ${kind}`, title: name },
        name,
      ),
    );
    names.append(...this.#badges(row));
    element.replaceChildren(names);
  }

  #name(row: Row): string {
    const { trace } = this.#session;
    if (row.kind === "calls") return "individual calls";
    if (row.kind === "missing") return trace.comparison?.baseline.name(row.missing[0]) ?? "";
    return trace.names[row.model];
  }

  #description(row: Row): string {
    const { trace } = this.#session;
    if (row.kind === "missing") return `missing, ${counted(row.missing.length, "call")} before`;
    const [call] = row.calls;
    if (row.kind !== "call")
      return counted(row.calls.length + (this.#counted(row)?.calls ?? 0), "call");
    const before = trace.comparison?.before(call) ?? -1;
    const now = time(trace.duration[call]);
    return before < 0 ? now : `${now}, before ${time(trace.comparison!.baseline.duration[before])}`;
  }

  #badges(row: Row): HTMLElement[] {
    const { trace } = this.#session;
    const [call] = row.calls;
    const badges: HTMLElement[] = [];
    const badge = (text: string, kind = ""): number =>
      badges.push(h("span", { class: `badge ${kind}`, title: text }, text));
    if (row.kind === "missing") {
      const { length } = row.missing;
      if (length > 1 && trace.comparison?.baseline.folded.has(row.missing))
        badge(`${count(length)} kept`, "kept");
      else if (length > 1) badges.push(h("span", { class: "count" }, `×${count(length)}`));
      badge("missing");
      return badges;
    }
    const gone = this.#counted(row)?.calls ?? 0;
    if (row.kind !== "call")
      badges.push(h("span", { class: "count" }, `×${count(row.calls.length + gone)}`));
    else if (row.inFold) badges.push(h("span", { class: "count" }, `call ${trace.id(call)}`));
    const errors = this.#errors(row);
    if (errors) badge(row.kind === "call" ? "error" : counted(errors, "error"), "error");
    if (gone) badge(`${count(row.calls.length)} kept`, "kept");
    for (const text of this.#compared(row)) badge(text, "compared");
    if (row.kind !== "call") return badges;
    if (trace.has(call, Flag.CANCELLED)) badge("cancelled");
    if (trace.has(call, Flag.CACHE_HIT)) badge("cached");
    if (trace.has(call, Flag.DECOUPLED)) badge(counted(trace.calls.responses[call], "response"));
    if (trace.header.notes[trace.id(call)]) badge("note");
    return badges;
  }

  /** Return badges for new and changed calls. */
  #compared(row: Row): string[] {
    const { comparison } = this.#session.trace;
    if (!comparison) return [];
    const added = row.calls.filter((call) => comparison.isNew(call)).length;
    const changed = row.calls.filter((call) => comparison.changed.has(call)).length;
    const word = (number: number, text: string): string =>
      row.kind === "call" ? text : `${count(number)} ${text}`;
    return [added && word(added, "new"), changed && word(changed, "changed")].filter(
      (text): text is string => typeof text === "string",
    );
  }

  /** Return the row of a pointer event. */
  rowAt(event: Event): Row | undefined {
    const element = (event.target as Element).closest("[role=treeitem]");
    return [...this.#shown.values()].find((shown) => shown.element === element)?.row;
  }
}

export function isSelected(row: Row, selection: Selection | null): boolean {
  if (!selection || selection.kind === "dropped") return false;
  if (selection.kind === "fold" || selection.kind === "missing") return row.key === selection.key;
  if (selection.kind === "model") return row.model === selection.model;
  if (selection.kind === "models") return selection.models.includes(row.model);
  return row.kind === "call" && row.calls[0] === selection.call;
}
