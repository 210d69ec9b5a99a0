/** The timeline: a tree of rows as virtual elements, their bars on one canvas beside them. */

import { Bars, Plane, ROW_HEIGHT } from "./bars.ts";
import { context, h, svg } from "./dom.ts";
import { count, counted, time } from "./format.ts";
import { commandOf, type Command } from "./keys.ts";
import { TimeRange } from "./range.ts";
import { Rows, type Row } from "./rows.ts";
import type { Session } from "./session.ts";
import { Axis, Strip } from "./strip.ts";
import type { Trace } from "./trace.ts";
import { Flag } from "./wire.ts";

const NAMES_WIDTH = 232;
/** Room for a duration behind the last bar. */
const LABEL_ROOM = 74;
const ROWS_AT_FIRST = 24;
const PAGE = 10;
const ZOOM_STEP = 0.7;
const PAN_STEP = 0.2;

interface Shown {
  element: HTMLElement;
  row: Row;
  facts: string;
}

export class Timeline {
  readonly element: HTMLElement;
  readonly range = new TimeRange();
  #session: Session;
  #id: string;
  #rows: Rows | null = null;
  #shown = new Map<string, Shown>();
  #cursor = "";
  /** Folds changed by hand are kept while a run grows. */
  #touched = false;
  #strip = new Strip(this.range, () => this.repaint());
  #axis = new Axis();
  #canvas = h("canvas", { class: "bars", "aria-hidden": "true" });
  #list = h("div", { class: "rows", role: "none" });
  #tree: HTMLElement;
  #frame = 0;

  constructor(session: Session, id: string) {
    this.#session = session;
    this.#id = id;
    const label = { "aria-label": "Timeline of calls", "aria-multiselectable": "true" };
    this.#tree = h("div", { class: "tree", role: "tree", tabindex: 0, ...label }, this.#list, this.#canvas);
    this.element = h("div", { class: "timeline" }, this.#strip.element, this.#axis.element, this.#tree);
    this.#listen();
  }

  /** Show the rows of a trace; what is unfolded stays so. */
  draw(trace: Trace): void {
    this.#rows = new Rows(trace, this.#rows?.open);
    if (!this.#touched) this.#rows.openDefault(ROWS_AT_FIRST);
    this.range.grow(trace.wall);
    this.#resized();
  }

  /** Follow the selection: scroll to its row, if asked by unfolding the path to it. */
  mark(reveal: boolean): void {
    const { selection } = this.#session;
    if (!this.#rows || !selection) return this.repaint();
    let row: Row | null | undefined;
    if (selection.kind === "call" && reveal) {
      row = this.#rows.reveal(selection.call);
      this.#touched = true;
      this.#resized();
    } else row = this.#rows.list.find((each) => this.#isSelected(each));
    if (row && reveal) this.#cursor = row.key;
    if (row && reveal) this.#scrollTo(row);
    this.repaint();
  }

  /** Keys of unfolded rows, to hand over to another view of the run. */
  get open(): string[] {
    return [...(this.#rows?.open ?? [])];
  }

  callsOf(key: string): readonly number[] | undefined {
    return this.#rows?.find(key)?.calls;
  }

  restore(open: string[]): void {
    if (!this.#rows || open.length === 0) return;
    this.#rows = new Rows(this.#rows.trace, open);
    this.#touched = true;
    this.#resized();
  }

  focus(): void {
    this.#tree.focus();
  }

  /** Height in which all rows can be seen. */
  get wantedHeight(): number {
    return (this.#rows?.list.length ?? 0) * ROW_HEIGHT + 56;
  }

  repaint(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#paint();
    });
  }

  dispose(): void {
    cancelAnimationFrame(this.#frame);
    this.element.remove();
  }

  #resized(): void {
    this.#list.style.height = `${(this.#rows?.list.length ?? 0) * ROW_HEIGHT}px`;
    this.repaint();
  }

  #plane(): Plane {
    const width = this.#tree.clientWidth;
    const left = Math.round(Math.min(NAMES_WIDTH, 0.38 * width));
    this.element.style.setProperty("--names", `${left}px`);
    return new Plane(this.range, left, Math.max(50, width - left - LABEL_ROOM), width);
  }

  #paint(): void {
    const { trace, colours, showsCritical } = this.#session;
    const [rows, height] = [this.#rows, this.#tree.clientHeight];
    if (!rows || this.#tree.clientWidth === 0) return;
    const plane = this.#plane();
    const top = this.#tree.scrollTop;
    const first = Math.max(0, Math.floor(top / ROW_HEIGHT));
    const visible = rows.list.slice(first, Math.ceil((top + height) / ROW_HEIGHT));
    this.#showRows(visible);

    const times = this.#axis.paint(plane, colours, rows.list.length);
    const pen = context(this.#canvas, plane.right, height);
    pen.fillStyle = colours.line2;
    for (const us of times) if (plane.x(us) >= plane.left) pen.fillRect(Math.round(plane.x(us)), 0, 1, height);
    pen.save();
    pen.beginPath();
    pen.rect(plane.left - 1, 0, plane.right, height);
    pen.clip();
    const bars = new Bars(trace, pen, plane, colours);
    for (const row of visible) {
      const critical = showsCritical && row.calls.some((call) => trace.critical.has(call));
      bars.paint(row, row.index * ROW_HEIGHT - top, { dim: this.#session.dims(row, rows.isOpen(row)), critical });
    }
    pen.restore();
    this.#strip.paint(trace, plane, colours);
  }

  /** Elements for the rows in view only, in their order; kept as long as they stay in view. */
  #showRows(visible: Row[]): void {
    const keys = new Set(visible.map((row) => row.key));
    for (const [key, { element }] of this.#shown) {
      if (keys.has(key)) continue;
      element.remove();
      this.#shown.delete(key);
    }
    let next = this.#list.firstElementChild;
    for (const row of visible) {
      const { element } = this.#rowElement(row);
      if (element === next) next = next.nextElementSibling;
      else this.#list.insertBefore(element, next);
    }
    const cursor = this.#shown.get(this.#cursor);
    if (cursor) this.#tree.setAttribute("aria-activedescendant", cursor.element.id);
    else this.#tree.removeAttribute("aria-activedescendant");
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
    const selected = this.#isSelected(row);
    element.classList.toggle("selected", selected);
    element.classList.toggle("cursor", row.key === this.#cursor);
    element.classList.toggle("dim", this.#session.dims(row, this.#rows?.isOpen(row) ?? false));
    element.setAttribute("aria-selected", String(selected));
    return shown;
  }

  /** All that the element of a row shows, to see whether it must be filled anew. */
  #facts(row: Row): string {
    const { trace } = this.#session;
    const [call] = row.calls;
    const { flags, responses } = trace.calls;
    const state = [flags[call], responses[call], trace.duration[call], trace.names[row.model]];
    const tree = [row.calls.length, row.depth, row.position, row.siblings];
    return [...state, ...tree, this.#rows?.hasChildren(row), this.#rows?.isOpen(row), this.#errors(row)].join();
  }

  #errors(row: Row): number {
    return row.calls.reduce((sum, call) => sum + (this.#session.trace.has(call, Flag.ERROR) ? 1 : 0), 0);
  }

  #fill(element: HTMLElement, row: Row): void {
    const { trace } = this.#session;
    const [call] = row.calls;
    const branches = this.#rows?.hasChildren(row) ?? false;
    element.setAttribute("aria-level", String(row.depth + 1));
    element.setAttribute("aria-posinset", String(row.position));
    element.setAttribute("aria-setsize", String(row.siblings));
    if (branches) element.setAttribute("aria-expanded", String(this.#rows?.isOpen(row)));
    else element.removeAttribute("aria-expanded");
    element.setAttribute("aria-description", row.kind === "call" ? time(trace.duration[call]) : counted(row.calls.length, "call"));
    const triangle = branches && svg("svg", { viewBox: "0 0 8 8" }, svg("path", { d: "M2 0 L7 4 L2 8z", fill: "currentColor" }));
    const guides = Array.from({ length: row.depth }, () => h("span", { class: "guide" }));
    const name = row.kind === "calls" ? "individual calls" : trace.names[row.model];
    const names = h("div", { class: "names" }, guides, h("span", { class: "triangle" }, triangle));
    names.append(h("span", { class: `name ${row.kind} ${trace.header.models[row.model].kind}`, title: name }, name));
    names.append(...this.#badges(row));
    element.replaceChildren(names);
  }

  #badges(row: Row): HTMLElement[] {
    const { trace } = this.#session;
    const [call] = row.calls;
    const badges: HTMLElement[] = [];
    const badge = (text: string, kind = ""): number => badges.push(h("span", { class: `badge ${kind}` }, text));
    if (row.kind !== "call") badges.push(h("span", { class: "count" }, `×${count(row.calls.length)}`));
    else if (row.ordinal) badges.push(h("span", { class: "count" }, `#${count(row.ordinal)}`));
    const errors = this.#errors(row);
    if (errors) badge(row.kind === "call" ? "error" : counted(errors, "error"), "error");
    if (row.kind !== "call") return badges;
    if (trace.has(call, Flag.CANCELLED)) badge("cancelled");
    if (trace.has(call, Flag.CACHE_HIT)) badge("cached");
    if (trace.has(call, Flag.DECOUPLED)) badge(counted(trace.calls.responses[call], "response"));
    if (trace.header.notes[call]) badge("note");
    return badges;
  }

  #isSelected(row: Row): boolean {
    const { selection } = this.#session;
    if (!selection) return false;
    if (selection.kind === "fold") return row.key === selection.key;
    if (selection.kind === "model") return row.model === selection.model;
    return row.kind === "call" && row.calls[0] === selection.call;
  }

  #listen(): void {
    const tree = this.#tree;
    tree.addEventListener("scroll", () => this.repaint());
    tree.addEventListener("keydown", (event) => this.#key(event));
    tree.addEventListener("click", (event) => this.#click(event));
    tree.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    tree.addEventListener("pointermove", (event) => this.#hover(event));
    tree.addEventListener("pointerleave", () => this.#leave());
  }

  #rowOf(event: Event): Row | undefined {
    const element = (event.target as Element).closest("[role=treeitem]");
    return [...this.#shown.values()].find((shown) => shown.element === element)?.row;
  }

  #click(event: MouseEvent): void {
    const row = this.#rowOf(event);
    if (!row || !this.#rows) return;
    this.range.following = false;
    this.#cursor = row.key;
    const onTriangle = (event.target as Element).closest(".triangle") !== null;
    if (onTriangle && this.#rows.hasChildren(row)) this.#toggle(row);
    else this.#select(row);
  }

  #select(row: Row): void {
    this.#cursor = row.key;
    const { key, model, calls } = row;
    this.#session.select(row.kind === "call" ? { kind: "call", call: calls[0] } : { kind: "fold", key, model, calls });
  }

  #toggle(row: Row, show?: boolean): void {
    this.#touched = true;
    this.range.following = false;
    this.#rows?.toggle(row, show);
    this.#resized();
  }

  #scrollTo(row: Row): void {
    const top = row.index * ROW_HEIGHT;
    const bottom = top + ROW_HEIGHT - this.#tree.clientHeight;
    if (top < this.#tree.scrollTop) this.#tree.scrollTop = top;
    else if (bottom > this.#tree.scrollTop) this.#tree.scrollTop = bottom;
    this.repaint();
  }

  #wheel(event: WheelEvent): void {
    if (event.ctrlKey || event.metaKey) {
      const x = event.clientX - this.#tree.getBoundingClientRect().left;
      this.#zoom(() => this.range.zoom(Math.exp(event.deltaY * 0.002), this.#plane().time(x)));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const pixels = event.deltaX || event.deltaY;
      this.#zoom(() => this.range.pan((pixels / this.#plane().width) * this.range.width));
    } else return;
    event.preventDefault();
  }

  #zoom(change: () => void): void {
    change();
    this.repaint();
  }

  /** Over a fold, the call nearest to the pointer is meant. */
  #hover(event: PointerEvent): void {
    const row = this.#rowOf(event);
    const x = event.clientX - this.#tree.getBoundingClientRect().left;
    if (!row || x < this.#plane().left) return this.#leave();
    const { trace } = this.#session;
    const at = this.#plane().time(x);
    const away = (call: number): number => Math.max(trace.start(call) - at, at - trace.end(call), 0);
    const call = row.calls.reduce((best, each) => (away(each) < away(best) ? each : best));
    this.#session.hover({ call });
    const title = `${trace.name(call)}${row.kind === "call" ? "" : ` · 1 of ${count(row.calls.length)}`}  ${time(trace.duration[call])}`;
    this.#session.tip({ title, phases: trace.phases([call]), error: trace.header.errors[call] }, event);
  }

  #leave(): void {
    this.#session.hover(null);
    this.#session.tip(null);
  }

  #key(event: KeyboardEvent): void {
    const command = commandOf(event);
    if (!command) return;
    event.preventDefault();
    this.#obey(command);
  }

  #obey(command: Command): void {
    const list = this.#rows?.list ?? [];
    const at = list.findIndex((row) => row.key === this.#cursor);
    const row: Row | undefined = list[at];
    switch (command) {
      case "down":
        return this.#goTo(at + 1);
      case "up":
        return this.#goTo(at - 1);
      case "first":
        return this.#goTo(0);
      case "last":
        return this.#goTo(list.length - 1);
      case "pageDown":
        return this.#goTo(at + PAGE);
      case "pageUp":
        return this.#goTo(at - PAGE);
      case "unfold":
        return row && this.#unfold(row);
      case "fold":
        return row && this.#fold(row);
      case "zoomIn":
        return this.#zoom(() => this.range.zoom(ZOOM_STEP));
      case "zoomOut":
        return this.#zoom(() => this.range.zoom(1 / ZOOM_STEP));
      case "zoomAll":
        return this.#zoom(() => this.range.all());
      case "zoomSelected":
        return row && this.#zoom(() => this.#showCalls(row.calls));
      case "panLeft":
        return this.#zoom(() => this.range.pan(-PAN_STEP * this.range.width));
      case "panRight":
        return this.#zoom(() => this.range.pan(PAN_STEP * this.range.width));
      default:
        return this.#session.command(command);
    }
  }

  #goTo(index: number): void {
    const list = this.#rows?.list ?? [];
    if (list.length === 0) return;
    this.range.following = false;
    const row = list[Math.max(0, Math.min(list.length - 1, index))];
    this.#scrollTo(row);
    this.#select(row);
  }

  #unfold(row: Row): void {
    if (!this.#rows?.hasChildren(row)) return;
    if (this.#rows.isOpen(row)) this.#goTo(row.index + 1);
    else this.#toggle(row, true);
  }

  #fold(row: Row): void {
    if (this.#rows?.isOpen(row)) this.#toggle(row, false);
    else if (row.parent) this.#goTo(row.parent.index);
  }

  #showCalls(calls: readonly number[]): void {
    const { trace } = this.#session;
    const from = calls.reduce((least, call) => Math.min(least, trace.start(call)), Infinity);
    const to = calls.reduce((most, call) => Math.max(most, trace.end(call)), 0);
    const room = 0.08 * (to - from);
    this.range.show(from - room, to + room);
  }
}
