/** The frame of a view: panes that share one trace, one selection and one theme. */

import { Announcer } from "./announcer.ts";
import { CallGraph } from "../graph/callgraph.ts";
import { h } from "../page/dom.ts";
import { notices } from "../facts/dropped.ts";
import { Emphasis } from "./emphasis.ts";
import { Help } from "./help.ts";
import { Inspector } from "../inspector/inspector.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { commandEverywhere, type Command } from "../page/keys.ts";
import { Panes } from "./panes.ts";
import { holdOnce, pressedIn } from "../page/press.ts";
import type { Row } from "../session/rows.ts";
import type { Hover, Selection, Session, Tip } from "../session/session.ts";
import { Skin } from "../page/skin.ts";
import type { Colours } from "../page/theme.ts";
import { Timeline } from "../timeline/timeline.ts";
import { Toolbar } from "./toolbar.ts";
import { Tooltip } from "./tooltip.ts";
import { Trace } from "../trace/trace.ts";
import { found, Selected, type ViewState } from "../session/viewstate.ts";
import type { Drops } from "../trace/header.ts";
import type { FrameOptions } from "./frameoptions.ts";
import type { Store } from "../trace/store.ts";

const BORDERS_HEIGHT = 6;
/** Maximum height that the inspector requests where there are few rows. */
const MAX_ROOM = 460;

let frames = 0;

export class Frame implements Session {
  kernel: Kernel | null;
  trace: Trace;
  showsCritical = false;
  #options: FrameOptions;
  #root: HTMLElement;
  #skin: Skin;
  #panes: Panes;
  #tip = new Tooltip();
  #announcer = new Announcer();
  #help: Help;
  #toolbar: Toolbar;
  #graph: CallGraph;
  #timeline: Timeline;
  #inspector: Inspector;
  #notices = h("div", { class: "notices", role: "note", "aria-label": "No longer kept" });
  #emphasis = new Emphasis();
  #width = 0;
  #room = 0;
  #selected = new Selected();
  #stops: (() => void)[] = [];
  #isPressed: () => boolean;
  /** The store that is drawn after the pointer is released; null if none waits. */
  #late: Store | null = null;

  constructor(options: FrameOptions) {
    this.#options = options;
    this.kernel = options.kernel;
    this.trace = new Trace(options.store);
    const id = `blsnb-${++frames}`;
    this.#toolbar = new Toolbar({
      filter: (text) => this.#filter(text),
      toggleCritical: () => this.#toggleCritical(),
      toggleHelp: () => this.#help.toggle(),
      leave: () => this.#timeline.focus(),
    });
    this.#graph = new CallGraph(this, id);
    this.#timeline = new Timeline(this, id);
    this.#inspector = new Inspector(this);
    this.#panes = new Panes(this.#graph, this.#timeline, this.#inspector, () => {
      this.#graph.fit();
      this.#timeline.repaint();
    });
    const above = [this.#toolbar.element, this.#notices, this.#panes.element];
    this.#root = h("div", { class: "view" }, above, this.#tip.element, this.#announcer.element);
    this.#help = new Help(this.#root, () => this.#timeline.focus());
    this.#skin = new Skin(this.#root);
    this.#isPressed = pressedIn(this.#root, () => this.#late && this.show(this.#late));
    holdOnce(this.#root);
    this.#root.addEventListener("keydown", (event) => this.#key(event));
    const observer = new ResizeObserver(() => this.#resized());
    observer.observe(this.#root);
    const watched = this.#skin.watch(
      () => this.#themeChanged(),
      () => {
        this.#resized();
        this.#timeline.paintNow();
      },
    );
    this.#stops.push(() => observer.disconnect(), watched);
  }

  /** The element of the view; it must be in the page before `draw`. */
  get element(): HTMLElement {
    return this.#skin.element;
  }

  get selection(): Selection | null {
    return this.#selected.value;
  }

  get colours(): Colours {
    return this.#skin.colours;
  }

  get buffer(): ArrayBuffer {
    return this.#options.store.buffer;
  }

  /** Show the calls in the store; the element must be in the page. */
  draw(): void {
    this.show(this.#late ?? this.#options.store);
  }

  #draw(): void {
    this.#selected.refind(this.trace);
    this.#skin.apply();
    this.#toolbar.draw(this.trace);
    this.#notices.replaceChildren(...notices(this.trace.header.run.dropped));
    this.#timeline.draw(this.trace);
    this.#drawGraph();
    this.#refreshSelection();
    this.#relate();
    this.#inspector.draw();
  }

  /** Draw first, with the state of an earlier view, else with the first call selected. */
  start(): void {
    this.#draw();
    const { state } = this.#options;
    if (state) this.#restore(state);
    else if (this.trace.roots.length)
      this.#take({ kind: "call", call: this.trace.roots[0] }, false);
    // Nothing may move while rows arrive, and where a view was before.
    if (state || this.trace.header.run.state === "running") return;
    this.#room = Math.min(MAX_ROOM, this.#inspector.wantedHeight);
    this.#drawGraph();
  }

  /** Show a store of the same run; selection and zoom stay. */
  show(store: Store): void {
    // What is replaced below a pressed pointer gets no click.
    this.#late = this.#isPressed() ? store : null;
    if (this.#late) return;
    const isOther = store !== this.#options.store;
    this.#options.store = store;
    this.trace = new Trace(store);
    this.#draw();
    // The kernel has connected it by now.
    if (isOther) this.#inspector.reach();
  }

  connect(kernel: Kernel | null, onSelect: FrameOptions["onSelect"]): void {
    this.kernel = kernel;
    this.#options.onSelect = onSelect;
    this.#inspector.forget();
    this.#inspector.draw();
  }

  noteDropped(dropped: Drops): void {
    const { run } = this.trace.header;
    if (JSON.stringify(run.dropped) === JSON.stringify(dropped)) return;
    run.dropped = dropped;
    this.#notices.replaceChildren(...notices(dropped));
    this.#drawGraph();
    this.#timeline.repaint();
    this.#inspector.draw();
  }

  get state(): ViewState {
    const { range, open, top } = this.#timeline;
    return {
      selection: this.#selected.held,
      open,
      range: range.isWhole ? null : [range.from, range.to],
      filter: this.#toolbar.filter.value,
      critical: this.showsCritical,
      sizes: this.#panes.sizes,
      top,
      room: this.#room,
      tensors: this.#inspector.tensors,
    };
  }

  select(selection: Selection | null, { reveal = false } = {}): void {
    this.#timeline.range.following = false;
    this.tip(null);
    this.#take(selection, reveal);
    this.#announcer.selected(selection, this.trace);
    this.#options.onSelect?.(this.#selected.id);
  }

  /** Select a call by id, as Python does; an unknown id changes nothing. */
  selectCall(id: number): void {
    if (this.#selected.id === id) return;
    const call = this.trace.at(id);
    if (call >= 0) this.select({ kind: "call", call }, { reveal: true });
    else if (this.trace.wasDropped(id)) this.select({ kind: "dropped", id });
  }

  /** Set the filter, as Python does. */
  filterBy(text: string): void {
    if (this.#toolbar.filter.value === text) return;
    this.#toolbar.filter.value = text;
    this.#relate();
  }

  hover(over: Hover | null): void {
    if (this.#emphasis.hover(over)) this.#relate();
  }

  tip(tip: Tip | null, event?: MouseEvent): void {
    if (tip && event) this.#tip.show(tip, event, this.#root);
    else this.#tip.hide();
  }

  dims(row: Row, open: boolean): boolean {
    return this.#emphasis.dims(row, open);
  }

  command(name: Command): void {
    if (name === "nextError") this.#nextError();
    else if (name === "criticalPath") this.#toggleCritical();
    else if (name === "inspect") this.#inspector.focus();
    else if (name === "filter") this.#toolbar.filter.focus();
    else if (name === "help") this.#help.toggle();
    else if (name === "clear") this.#clear();
  }

  dispose(): void {
    this.#late = null;
    for (const stop of this.#stops) stop();
    this.#graph.dispose();
    this.#timeline.dispose();
    this.#inspector.dispose();
    this.element.remove();
  }

  #themeChanged(): void {
    if (!this.element.isConnected) return;
    this.#skin.apply();
    this.#timeline.repaint();
  }

  #resized(): void {
    const width = this.#root.clientWidth;
    if (width === 0) {
      // Notebooks remove cells that are out of view; until they return the theme may change.
      this.#width = 0;
      return;
    }
    this.#options.onHeight?.(this.element.offsetHeight);
    if (width !== this.#width) {
      this.#width = width;
      this.#themeChanged();
      this.#drawGraph();
      this.#relate();
    }
    this.#timeline.repaint();
  }

  #drawGraph(): void {
    const above = this.#toolbar.element.offsetHeight + this.#notices.offsetHeight + BORDERS_HEIGHT;
    this.#panes.arrange({
      graph: this.#graph.draw(this.trace),
      timeline: this.#timeline.wantedHeight,
      least: Math.max(this.#room, (this.trace.header.ui.height ?? 0) - above),
    });
  }

  /** Add new calls to a selected fold. */
  #refreshSelection(): void {
    if (this.selection?.kind !== "fold") return;
    const calls = this.#timeline.callsOf(this.selection.key);
    if (calls) this.#selected.set(this.trace, { ...this.selection, calls });
  }

  #restore({ selection, open, range, filter, critical, sizes, top, room, tensors }: ViewState): void {
    this.#timeline.restore(open);
    this.#toolbar.filter.value = filter;
    if (critical) this.#toggleCritical();
    this.#panes.sizes = sizes;
    this.#room = room;
    this.#inspector.tensors = tensors;
    // As high as the view before it, which showed these rows.
    this.#drawGraph();
    if (range) this.#timeline.range.show(...range);
    this.#take(found(this.trace, selection), false);
    this.#timeline.top = top;
  }

  #take(selection: Selection | null, reveal: boolean): void {
    this.#selected.set(this.trace, selection);
    this.#relate();
    this.#timeline.mark(reveal);
    this.#inspector.draw();
  }

  /** Compute the emphasis of graph and rows. */
  #relate(): void {
    const { value } = this.#toolbar.filter;
    this.#graph.mark(this.#emphasis.relate(this.trace, value, this.selection));
    this.#timeline.repaint();
  }

  #filter(text: string): void {
    this.#relate();
    this.#options.onFilter?.(text);
  }

  /** Handle keys of every pane, unless a field or a pane has handled them. */
  #key(event: KeyboardEvent): void {
    const command = commandEverywhere(event);
    if (!command) return;
    event.preventDefault();
    this.hover(null);
    this.tip(null);
    if (command === "clear" && (event.target as Element).closest(".inspector")) this.#timeline.focus();
    else this.command(command);
  }

  #toggleCritical(): void {
    this.showsCritical = !this.showsCritical;
    this.#toolbar.press(this.showsCritical);
    this.#timeline.repaint();
  }

  #nextError(): void {
    const { selection } = this;
    const call = this.trace.nextFailed(selection?.kind === "call" ? selection.call : -1);
    if (call >= 0) this.select({ kind: "call", call }, { reveal: true });
    else this.#announcer.say("no errors");
  }

  #clear(): void {
    this.#toolbar.clearFilter();
    this.select(null);
  }
}
