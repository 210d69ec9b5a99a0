/** The timeline: a tree of rows, of which those in view have elements, and one canvas for their bars. */

import { ROW_HEIGHT } from "./bars.ts";
import { h } from "../page/dom.ts";
import { commandOf, EVERYWHERE, type Command } from "../page/keys.ts";
import { planeOf, type Plane } from "./plane.ts";
import { TimeRange } from "./range.ts";
import { isSelected, RowElements } from "./rowelements.ts";
import { extentOf, tipOf } from "./rowtip.ts";
import { Rows, type Row } from "../session/rows.ts";
import { paintRows } from "./rowcanvas.ts";
import type { Session } from "../session/session.ts";
import { Axis, Strip } from "./strip.ts";
import type { Trace } from "../trace/trace.ts";

const INITIAL_ROWS = 24;
const PAGE = 10;
const ZOOM_STEP = 0.7;
const PAN_STEP = 0.2;

export class Timeline {
  readonly element: HTMLElement;
  readonly range = new TimeRange();
  #session: Session;
  #rows: Rows;
  #cursor = "";
  /** Whether the user changed folds, which are then kept while a run grows. */
  #touched = false;
  #strip = new Strip(this.range, () => this.repaint());
  #axis = new Axis();
  #canvas = h("canvas", { class: "bars", "aria-hidden": "true" });
  #elements: RowElements;
  #tree: HTMLElement;
  #frame = 0;
  #top = 0;

  constructor(session: Session, id: string) {
    this.#session = session;
    this.#rows = new Rows(session.trace);
    this.#elements = new RowElements(session, id);
    const label = { "aria-label": "Timeline of calls", "aria-multiselectable": "true" };
    this.#tree = h(
      "div",
      { class: "tree", role: "tree", tabindex: 0, ...label },
      this.#elements.element,
      this.#canvas,
    );
    this.element = h(
      "div",
      { class: "timeline" },
      this.#strip.element,
      this.#axis.element,
      this.#tree,
    );
    this.#listen();
  }

  /** Show the rows of a trace; unfolded rows stay unfolded. */
  draw(trace: Trace): void {
    this.#rows = new Rows(trace, this.#rows.open);
    if (!this.#touched) this.#rows.openDefault(INITIAL_ROWS);
    this.range.grow(Math.max(trace.wall, trace.comparison?.baseline.wall ?? 0));
    this.#resized();
    if (this.range.following && trace.header.run.state === "running") this.#scrollToLatest();
  }

  /** Scroll position of the rows; an element out of the page loses it. */
  get top(): number {
    return this.#top;
  }

  set top(top: number) {
    this.#tree.scrollTop = top;
  }

  /** Show the selection; with `reveal` unfold its path and scroll to its row. */
  mark(reveal: boolean): void {
    const { selection } = this.#session;
    if (!selection) return this.repaint();
    let row: Row | null | undefined;
    if (selection.kind === "call" && reveal) {
      row = this.#rows.reveal(selection.call);
      this.#touched = true;
      this.#resized();
    } else row = this.#rows.list.find((each) => isSelected(each, selection));
    // Keys start at the selected row.
    if (row && (reveal || !this.#cursor)) this.#cursor = row.key;
    if (row && reveal) this.#scrollTo(row, true);
    this.repaint();
  }

  /** Keys of unfolded rows, for another view of the run. */
  get open(): string[] {
    return [...this.#rows.open];
  }

  callsOf(key: string): readonly number[] | undefined {
    return this.#rows.find(key)?.calls;
  }

  restore(open: string[]): void {
    if (open.length === 0) return;
    this.#rows = new Rows(this.#rows.trace, open);
    this.#touched = true;
    this.#resized();
  }

  focus(): void {
    this.#tree.focus();
  }

  /** Height that shows all rows. */
  get wantedHeight(): number {
    return this.#rows.list.length * ROW_HEIGHT + 56;
  }

  repaint(): void {
    this.#frame ||= requestAnimationFrame(() => this.paintNow());
  }

  /** Paint at once: a page that is printed has no next frame. */
  paintNow(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#paint();
  }

  dispose(): void {
    cancelAnimationFrame(this.#frame);
    this.element.remove();
  }

  #resized(): void {
    this.#elements.element.style.height = `${this.#rows.list.length * ROW_HEIGHT}px`;
    this.repaint();
  }

  #plane(): Plane {
    const { comparison } = this.#session.trace;
    const plane = planeOf(this.range, this.#tree.clientWidth, comparison !== null);
    this.element.style.setProperty("--names", `${plane.left}px`);
    return plane;
  }

  #paint(): void {
    const { trace, colours } = this.#session;
    const [rows, height] = [this.#rows, this.#tree.clientHeight];
    if (this.#tree.clientWidth === 0) return;
    const plane = this.#plane();
    const top = this.#tree.scrollTop;
    const first = Math.max(0, Math.floor(top / ROW_HEIGHT));
    const visible = rows.list.slice(first, Math.ceil((top + height) / ROW_HEIGHT));
    const cursor = this.#elements.show(visible, rows, this.#cursor);
    if (cursor) this.#tree.setAttribute("aria-activedescendant", cursor.id);
    else this.#tree.removeAttribute("aria-activedescendant");

    this.#tree.setAttribute("aria-description", `shows ${this.range.words}`);
    const times = this.#axis.paint(plane, colours, rows.list.length);
    paintRows(this.#canvas, this.#session, { plane, rows, visible, top, height, times });
    this.#strip.paint(trace, plane, colours);
  }

  #listen(): void {
    const tree = this.#tree;
    tree.addEventListener("scroll", () => {
      if (tree.isConnected) this.#top = tree.scrollTop;
      this.#leave();
      this.repaint();
    });
    tree.addEventListener("keydown", (event) => this.#key(event));
    tree.addEventListener("click", (event) => this.#click(event));
    tree.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    tree.addEventListener("pointermove", (event) => this.#hover(event));
    tree.addEventListener("pointerleave", () => this.#leave());
  }

  #click(event: MouseEvent): void {
    const row = this.#elements.rowAt(event);
    if (!row) return;
    this.range.following = false;
    this.#cursor = row.key;
    const onTriangle = (event.target as Element).closest(".triangle") !== null;
    if (onTriangle && this.#rows.hasChildren(row)) this.#toggle(row);
    else this.#select(row);
  }

  #select(row: Row): void {
    this.#cursor = row.key;
    const { kind, key, model, calls, missing } = row;
    if (kind === "call") this.#session.select({ kind, call: calls[0] });
    else if (kind === "missing") this.#session.select({ kind, key, missing });
    else this.#session.select({ kind: "fold", key, model, calls });
  }

  #toggle(row: Row, show?: boolean): void {
    this.#touched = true;
    this.range.following = false;
    this.#rows.toggle(row, show);
    this.#resized();
  }

  /** Scroll a row into view, after a jump to the middle. */
  #scrollTo(row: Row, jump = false): void {
    const top = row.index * ROW_HEIGHT;
    const { clientHeight, scrollTop } = this.#tree;
    const bottom = top + ROW_HEIGHT - clientHeight;
    if (top >= scrollTop && bottom <= scrollTop) return;
    if (jump) this.#tree.scrollTop = top - clientHeight / 2;
    else this.#tree.scrollTop = top < scrollTop ? top : bottom;
    this.repaint();
  }

  /** Scroll to the last call, or to its caller if that is folded. */
  #scrollToLatest(): void {
    const rows = this.#rows;
    if (rows.trace.n === 0) return;
    const latest = rows.trace.n - 1;
    const path = new Set([...rows.trace.ancestors(latest), latest]);
    const row = rows.list.findLast(({ calls }) => path.has(calls[calls.length - 1]));
    if (row) this.#scrollTo(row);
  }

  #wheel(event: WheelEvent): void {
    if (event.ctrlKey || event.metaKey) {
      const x = event.clientX - this.#tree.getBoundingClientRect().left;
      this.#zoom(() => this.range.zoom(Math.exp(event.deltaY * 0.002), this.#plane().time(x)));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const pixels = event.deltaX || event.deltaY;
      this.#zoom(() => this.range.pan((pixels / this.#plane().width) * this.range.width));
    } else {
      // Rows no longer follow a running run once the user has scrolled.
      this.range.following = false;
      return;
    }
    event.preventDefault();
  }

  #zoom(change: () => void): void {
    change();
    this.repaint();
  }

  #hover(event: PointerEvent): void {
    const row = this.#elements.rowAt(event);
    const x = event.clientX - this.#tree.getBoundingClientRect().left;
    if (!row || x < this.#plane().left) return this.#leave();
    const { call, tip } = tipOf(this.#session.trace, row, this.#plane().time(x));
    this.#session.hover(call < 0 ? null : { call });
    this.#session.tip(tip, event);
  }

  #leave(): void {
    this.#session.hover(null);
    this.#session.tip(null);
  }

  #key(event: KeyboardEvent): void {
    const command = commandOf(event);
    if (!command || EVERYWHERE.has(command)) return;
    event.preventDefault();
    this.#leave();
    this.#run(command);
  }

  #run(command: Command): void {
    const { list } = this.#rows;
    const at = list.findIndex((row) => row.key === this.#cursor);
    const row: Row | undefined = list[at];
    const targets: Partial<Record<Command, number>> = {
      down: at + 1,
      up: at - 1,
      first: 0,
      last: list.length - 1,
      pageDown: at + PAGE,
      pageUp: at - PAGE,
    };
    const target = targets[command];
    if (target !== undefined) return this.#goTo(target);
    switch (command) {
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
        return row && this.#zoom(() => this.range.show(...extentOf(this.#session.trace, row)));
      case "panLeft":
        return this.#zoom(() => this.range.pan(-PAN_STEP * this.range.width));
      case "panRight":
        return this.#zoom(() => this.range.pan(PAN_STEP * this.range.width));
      default:
        return this.#session.command(command);
    }
  }

  #goTo(index: number): void {
    const { list } = this.#rows;
    if (list.length === 0) return;
    this.range.following = false;
    const row = list[Math.max(0, Math.min(list.length - 1, index))];
    this.#scrollTo(row);
    this.#select(row);
  }

  #unfold(row: Row): void {
    if (!this.#rows.hasChildren(row)) return;
    if (this.#rows.isOpen(row)) this.#goTo(row.index + 1);
    else this.#toggle(row, true);
  }

  #fold(row: Row): void {
    if (this.#rows.isOpen(row)) this.#toggle(row, false);
    else if (row.parent) this.#goTo(row.parent.index);
  }
}
