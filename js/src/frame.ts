/** The frame around the panes: one trace, one selection, one theme, in a shadow root of its own. */

import { CallGraph } from "./callgraph.ts";
import { h, setText } from "./dom.ts";
import { filterOf } from "./filter.ts";
import { time } from "./format.ts";
import { Inspector } from "./inspector.ts";
import type { Kernel } from "./kernel.ts";
import type { Command } from "./keys.ts";
import { dims, litModels, pathTo, relevanceOf, type Relevance } from "./relevance.ts";
import type { Row } from "./rows.ts";
import { selectedModel, type Hover, type Selection, type Session, type Tip } from "./session.ts";
import { splitter } from "./splitter.ts";
import style from "./style.css";
import { coloursOf, themeOf, watchTheme, type Colours } from "./theme.ts";
import { Timeline } from "./timeline.ts";
import { helpSheet, Toolbar } from "./toolbar.ts";
import { Tooltip } from "./tooltip.ts";
import { Trace } from "./trace.ts";
import { anchorOf, placeOf, type Anchor, type Sizes, type ViewState } from "./viewstate.ts";
import { Flag, type Store } from "./wire.ts";

/** Above and below the whole view. */
const BORDERS = 6;
const [LEAST_TIMELINE, MOST_TIMELINE] = [150, 300];
/** Few rows leave the inspector little room; so much it gets, if it has something to show. */
const MOST_ROOM = 460;

export interface FrameOptions {
  store: Store;
  kernel: Kernel | null;
  state?: ViewState;
  /** Told about every selection by hand. */
  onSelect?: (selection: Selection | null) => void;
  onFilter?: (text: string) => void;
  /** Told how high the view is, so that what replaces it can reserve the room. */
  onHeight?: (height: number) => void;
}

let frames = 0;

export class Frame implements Session {
  /** The shadow host, to be put into the page before `draw`. */
  readonly element = h("div", { class: "blsnb-view", "data-lm-suppress-shortcuts": "true" });
  kernel: Kernel | null;
  trace: Trace;
  colours!: Colours;
  selection: Selection | null = null;
  showsCritical = false;
  #options: FrameOptions;
  #root: HTMLElement;
  #panes: HTMLElement;
  #tip = new Tooltip();
  #announcer = h("div", { class: "hidden", "aria-live": "polite" });
  #help: HTMLElement | null = null;
  #toolbar: Toolbar;
  #graph: CallGraph;
  #timeline: Timeline;
  #inspector: Inspector;
  #hovered: Hover | null = null;
  #relevance: Relevance | null = null;
  #width = 0;
  #room = 0;
  #sizes: Sizes = { graph: null, side: null };
  /** The selected call as it is known when rows are numbered anew. */
  #anchor: Anchor | null = null;
  #stops: (() => void)[] = [];

  constructor(options: FrameOptions) {
    this.#options = options;
    this.kernel = options.kernel;
    this.trace = new Trace(options.store);
    const id = `blsnb-${++frames}`;
    this.#toolbar = new Toolbar({
      filter: (text) => this.#filter(text),
      toggleCritical: () => this.#toggleCritical(),
      toggleHelp: () => this.#toggleHelp(),
      leave: () => this.#timeline.focus(),
    });
    this.#graph = new CallGraph(this, id);
    this.#timeline = new Timeline(this, id);
    this.#inspector = new Inspector(this);
    const borders = [this.#sideBorder(), this.#graphBorder()];
    this.#panes = h(
      "div",
      { class: "panes" },
      this.#graph.element,
      this.#timeline.element,
      this.#inspector.element,
      borders,
    );
    this.#root = h(
      "div",
      { class: "view" },
      this.#toolbar.element,
      this.#panes,
      this.#tip.element,
      this.#announcer,
    );
    this.#attach();
  }

  /** What embedded previews point into. */
  get buffer(): ArrayBuffer {
    return this.#options.store.buffer;
  }

  /** Show what the store holds now; the element must be in the page. */
  draw(): void {
    this.trace = new Trace(this.#options.store);
    this.#findAgain();
    this.#applyTheme();
    this.#toolbar.draw(this.trace);
    this.#timeline.draw(this.trace);
    this.#drawGraph();
    this.#refreshSelection();
    this.#relate();
    this.#inspector.draw();
  }

  /** The first paint: with what an earlier view handed over, else with the first call selected. */
  start(): void {
    this.draw();
    const { state } = this.#options;
    if (state) this.#restore(state);
    else if (this.trace.roots.length)
      this.#take({ kind: "call", call: this.trace.roots[0] }, false);
    // While rows come, and where a view was before, nothing may move.
    if (state || this.trace.header.run.state === "running") return;
    this.#room = Math.min(MOST_ROOM, this.#inspector.wantedHeight);
    this.#drawGraph();
  }

  /** Take another store of the same run in the place of the first; what is looked at stays. */
  show(store: Store): void {
    this.#options.store = store;
    this.draw();
  }

  /** From now on there is somebody to ask. */
  connect(kernel: Kernel, onSelect: FrameOptions["onSelect"]): void {
    this.kernel = kernel;
    this.#options.onSelect = onSelect;
    this.#inspector.forget();
    this.#inspector.draw();
  }

  get state(): ViewState {
    const { range, open, top } = this.#timeline;
    return {
      selection: this.selection,
      open,
      range: range.isWhole ? null : [range.from, range.to],
      filter: this.#toolbar.filter.value,
      critical: this.showsCritical,
      sizes: { ...this.#sizes },
      top,
    };
  }

  select(selection: Selection | null, { reveal = false } = {}): void {
    this.#timeline.range.following = false;
    this.tip(null);
    this.#take(selection, reveal);
    this.#announce();
    this.#options.onSelect?.(selection);
  }

  /** Select a call from outside the view; a number that is no row selects nothing new. */
  selectRow(row: number): void {
    const selected = this.selection?.kind === "call" && this.selection.call === row;
    if (row >= 0 && row < this.trace.n && !selected)
      this.select({ kind: "call", call: row }, { reveal: true });
  }

  /** Filter by a text that does not come from the field itself. */
  filterBy(text: string): void {
    if (this.#toolbar.filter.value === text) return;
    this.#toolbar.filter.value = text;
    this.#relate();
  }

  hover(over: Hover | null): void {
    if (JSON.stringify(over) === JSON.stringify(this.#hovered)) return;
    this.#hovered = over;
    this.#relate();
  }

  tip(tip: Tip | null, event?: MouseEvent): void {
    if (tip && event) this.#tip.show(tip, event, this.#root);
    else this.#tip.hide();
  }

  dims(row: Row, open: boolean): boolean {
    return dims(this.#relevance, row, open);
  }

  command(name: Command): void {
    if (name === "nextError") this.#nextError();
    else if (name === "criticalPath") this.#toggleCritical();
    else if (name === "inspect") this.#inspector.focus();
    else if (name === "filter") this.#toolbar.filter.focus();
    else if (name === "help") this.#toggleHelp();
    else if (name === "clear") this.#clear();
  }

  dispose(): void {
    for (const stop of this.#stops) stop();
    this.#graph.dispose();
    this.#timeline.dispose();
    this.#inspector.dispose();
    this.element.remove();
  }

  #attach(): void {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    const shadow = this.element.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [sheet];
    shadow.append(this.#root);
    // A notebook's own shortcuts would act on the cell: "d d" deletes it.
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
    const observer = new ResizeObserver(() => this.#resized());
    observer.observe(this.#root);
    this.#stops.push(() => observer.disconnect(), this.#watchTheme());
  }

  /** Nobody tells a document that its output was removed: the page must not keep its frame alive. */
  #watchTheme(): () => void {
    const frame = new WeakRef(this);
    const stop = watchTheme(() => {
      const alive = frame.deref();
      if (alive) alive.#themeChanged();
      else stop();
    });
    return stop;
  }

  #applyTheme(): void {
    this.#root.dataset.theme = themeOf(this.element.parentElement ?? this.element);
    this.colours = coloursOf(this.#root);
  }

  #themeChanged(): void {
    if (!this.element.isConnected) return;
    this.#applyTheme();
    this.#timeline.repaint();
  }

  #resized(): void {
    const width = this.#root.clientWidth;
    if (width === 0) {
      // Out of the page: notebooks take cells out of view away, and may change theme meanwhile.
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
    const graph = this.#sizes.graph ?? this.#graph.draw(this.trace);
    if (this.#sizes.graph !== null) this.#graph.draw(this.trace);
    const timeline = Math.max(LEAST_TIMELINE, Math.min(MOST_TIMELINE, this.#timeline.wantedHeight));
    const above = this.#toolbar.element.offsetHeight + BORDERS;
    const least = Math.max(this.#room, (this.trace.header.ui.height ?? 0) - above);
    this.#root.style.setProperty("--graph", `${graph}px`);
    this.#root.style.setProperty("--timeline", `${timeline}px`);
    this.#root.style.setProperty("--height", `${Math.max(least, graph + timeline)}px`);
  }

  /** Where calls of a long run gave up their rows, the selected one may have another now. */
  #findAgain(): void {
    if (this.selection?.kind !== "call" || !this.#anchor) return;
    const call = placeOf(this.trace, this.#anchor, this.selection.call);
    if (call === this.selection.call) return;
    this.#inspector.forget();
    this.selection = call < 0 ? null : { kind: "call", call };
    this.#options.onSelect?.(this.selection);
  }

  /** A fold that is selected has more calls than when it was. */
  #refreshSelection(): void {
    if (this.selection?.kind !== "fold") return;
    const calls = this.#timeline.callsOf(this.selection.key);
    if (calls) this.selection = { ...this.selection, calls };
  }

  #restore({ selection, open, range, filter, critical, sizes, top }: ViewState): void {
    this.#timeline.restore(open);
    this.#toolbar.filter.value = filter;
    if (critical) this.#toggleCritical();
    if (sizes.side !== null) this.#resizeSide(sizes.side);
    this.#sizes = { ...sizes };
    // As high as the view before it, which had these rows.
    this.#drawGraph();
    if (range) this.#timeline.range.show(...range);
    this.#take(selection, false);
    this.#timeline.top = top;
  }

  #take(selection: Selection | null, reveal: boolean): void {
    this.selection = selection;
    this.#anchor = anchorOf(this.trace, selection);
    this.#relate();
    this.#timeline.mark(reveal);
    this.#inspector.draw();
  }

  /** Work out what stays bright, and tell the graph. */
  #relate(): void {
    const { trace, selection } = this;
    const filter = filterOf(this.#toolbar.filter.value, trace);
    this.#relevance = relevanceOf(trace, filter, selection, this.#hovered);
    this.#graph.mark({
      model: selectedModel(selection, trace),
      path: pathTo(trace, selection),
      lit: litModels(trace, filter, selection, this.#hovered),
    });
    this.#timeline.repaint();
  }

  #filter(text: string): void {
    this.#relate();
    this.#options.onFilter?.(text);
  }

  #toggleCritical(): void {
    this.showsCritical = !this.showsCritical;
    this.#toolbar.press(this.showsCritical);
    this.#timeline.repaint();
  }

  #toggleHelp(): void {
    if (this.#help) {
      this.#help.remove();
      this.#help = null;
      return this.#timeline.focus();
    }
    this.#help = helpSheet(() => this.#toggleHelp());
    this.#root.append(this.#help);
    this.#help.focus();
  }

  #nextError(): void {
    const { trace, selection } = this;
    const from = selection?.kind === "call" ? selection.call : -1;
    for (let k = 1; k <= trace.n; k++) {
      const call = (from + k + trace.n) % trace.n;
      if (trace.has(call, Flag.ERROR)) return this.select({ kind: "call", call }, { reveal: true });
    }
    setText(this.#announcer, "no errors");
  }

  #clear(): void {
    this.#toolbar.clearFilter();
    this.select(null);
  }

  #announce(): void {
    const { selection, trace } = this;
    if (selection?.kind === "call")
      setText(
        this.#announcer,
        `${trace.name(selection.call)}, ${time(trace.duration[selection.call])}`,
      );
    else if (selection?.kind === "missing") {
      const name = trace.comparison?.baseline.name(selection.missing[0]) ?? "";
      setText(this.#announcer, `${name}, missing`);
    } else setText(this.#announcer, selection ? trace.names[selection.model] : "nothing selected");
  }

  #sideBorder(): HTMLElement {
    return splitter({
      label: "Width of the inspector",
      axis: "x",
      behind: true,
      size: () => this.#inspector.element.offsetWidth,
      bounds: () => [220, Math.max(220, this.#root.clientWidth - 360)],
      resize: (size) => {
        this.#resizeSide(size);
        this.#graph.fit();
        this.#timeline.repaint();
      },
    });
  }

  #resizeSide(size: number): void {
    this.#sizes.side = size;
    this.#root.style.setProperty("--side", `${size}px`);
  }

  #graphBorder(): HTMLElement {
    return splitter({
      label: "Height of the call graph",
      axis: "y",
      behind: false,
      size: () => this.#graph.element.offsetHeight,
      bounds: () => [80, Math.max(80, this.#panes.clientHeight - 120)],
      resize: (size) => {
        this.#sizes.graph = size;
        this.#root.style.setProperty("--graph", `${size}px`);
        this.#graph.fit();
        this.#timeline.repaint();
      },
    });
  }
}
