/** The parts of JupyterLab and Notebook 7 that the panel uses; the hosts bring their code. */

export interface Signal<Sender, Value> {
  connect(slot: (sender: Sender, value: Value) => void): boolean;
  disconnect(slot: (sender: Sender, value: Value) => void): boolean;
}

export interface CommMessage {
  content: { data: Record<string, unknown> };
  buffers?: (ArrayBuffer | ArrayBufferView)[];
}

export interface Comm {
  readonly isDisposed: boolean;
  onMsg: (message: CommMessage) => void;
  onClose: (message: CommMessage) => void;
  open(data: Record<string, unknown>): unknown;
  send(data: Record<string, unknown>): unknown;
  close(): unknown;
}

export interface KernelMessage {
  header: { msg_type: string };
  parent_header: { msg_type?: string };
  content: Record<string, unknown>;
}

export interface KernelConnection {
  readonly id: string;
  readonly status: string;
  readonly isDisposed: boolean;
  readonly info: Promise<unknown>;
  readonly statusChanged: Signal<KernelConnection, string>;
  readonly disposed: Signal<KernelConnection, void>;
  readonly iopubMessage: Signal<KernelConnection, KernelMessage>;
  requestCommInfo(content: { target_name: string }): Promise<{ content: { comms?: object } }>;
  createComm(target: string): Comm;
}

export interface SessionContext {
  /** Path of the notebook, or one in the folder of the console, from the folder that Jupyter serves. */
  readonly path: string;
  readonly session: { kernel: KernelConnection | null } | null;
  readonly ready: Promise<void>;
  readonly kernelChanged: Signal<SessionContext, unknown>;
}

export interface Widget {
  id: string;
  readonly node: HTMLElement;
  readonly isDisposed: boolean;
  readonly isVisible: boolean;
  readonly isAttached: boolean;
  readonly disposed: Signal<Widget, void>;
  readonly title: { label: string; caption: string; icon?: unknown; closable: boolean };
  readonly parent?: Widget | null;
  addClass(name: string): void;
  dispose(): void;
}

/** Areas one below the other, with a border that the user moves. */
export interface SplitPanel extends Widget {
  relativeSizes(): number[];
  setRelativeSizes(sizes: number[]): void;
}

export interface CellSource {
  cell_type: "code";
  source: string;
  metadata: { trusted: true };
}

export interface Notebook {
  activeCellIndex: number;
  readonly widgets: readonly { model: { type: string; executionCount?: number | null; sharedModel: { source: string } } }[];
  readonly model: { sharedModel: { insertCells(index: number, cells: CellSource[]): void } } | null;
  scrollToItem(index: number, align?: string): Promise<void>;
}

export interface NotebookPanel extends Widget {
  readonly sessionContext: SessionContext;
  readonly content: Notebook;
  readonly context: { path: string };
}

export interface ConsolePanel extends Widget {
  readonly sessionContext: SessionContext;
  readonly console: {
    readonly promptCell: { model: { sharedModel: { setSource(text: string): void } } } | null;
    inject(code: string): Promise<void>;
  };
}

export interface Tracker<W> {
  readonly currentWidget: W | null;
  readonly currentChanged: Signal<unknown, W | null>;
  has(widget: Widget): boolean;
}

export interface Shell {
  add(widget: Widget, area: string, options?: { rank?: number; mode?: string }): void;
  activateById(id: string): void;
  readonly currentWidget: Widget | null;
  readonly currentChanged?: Signal<unknown, unknown>;
}

export interface Application {
  readonly shell: Shell;
  readonly commands: {
    execute(id: string, given?: Record<string, unknown>): Promise<unknown>;
    addCommand(id: string, options: Record<string, unknown>): unknown;
    hasCommand(id: string): boolean;
  };
  readonly serviceManager: {
    readonly contents: {
      newUntitled(options: { path: string; type: string }): Promise<{ path: string }>;
      save(path: string, model: { type: string; format: string; content: object }): Promise<unknown>;
    };
    readonly kernelspecs: {
      readonly specs: {
        default: string;
        kernelspecs: Record<string, { name: string; display_name: string; language: string } | undefined>;
      } | null;
    };
  };
}

export interface Renderer extends Widget {
  renderModel(model: unknown): Promise<void>;
}

export interface RenderMime {
  createRenderer(type: string): Renderer;
  createModel(options: { data: Record<string, string>; trusted: boolean }): unknown;
}

/** Classes that the host shares. */
export interface Classes {
  Widget: new (options?: { node?: HTMLElement }) => Widget;
  MainAreaWidget: new (options: { content: Widget }) => Widget;
}
