/** The link of a page's panel to one kernel: its comm, its lists, requests and their answers. */

import { QueryError } from "../../kernel/kernel.ts";
import { VERSION } from "../../kernel/widget.ts";
import { ownBuffer } from "../../trace/wire.ts";
import type { Comm, CommMessage, KernelConnection, KernelMessage } from "./lab.ts";

/** Name of the kernel's comm target. */
const TARGET = "blsnb";
/** A page that is shown says so this often; the kernel stops looking after ten minutes. */
const RENEW_MS = 60_000;
/** Two pages may have a link to one kernel. */
const PAGE = Math.random().toString(36).slice(2);
let lastId = 0;
const ENDED = "The kernel ended before it answered.";
const CLOSED = "A notebook was closed or left its kernel before an answer was shown.";

/** `none`: no kernel. `asking`: not known yet. `absent`: the kernel has not loaded blsnb. */
export type LinkState = "none" | "asking" | "absent" | "linked";
export type Row = Record<string, unknown>;

export interface Reply {
  done?: string;
  cells?: string[];
  run?: boolean;
  place?: { model: string; cell: string; file: string };
  page?: { title: string; html: [offset: number, size: number] };
  graph?: Drawing;
  buffer: ArrayBuffer;
}

/** The graph of the models as SVG, with the upper left corners of the boxes. */
export interface Drawing {
  svg: [offset: number, size: number];
  size: [width: number, height: number];
  box: [width: number, height: number];
  places: [model: string, x: number, y: number][];
  findings: [model: string, place: string, text: string, isFault: boolean][];
  /** Number of models that are not drawn, and of findings that are not listed. */
  others: number;
  unlisted: number;
}

export type About = Record<string, string | number>;

/** A request whose answer is not shown yet. */
interface Pending {
  kernel: KernelConnection;
  comm: Comm;
  /** Its answer is also awaited while another kernel is in front. */
  isAction: boolean;
  resolve(reply: Reply): void;
  reject(error: Error): void;
  /** Gives the answer, which came while another kernel was in front. */
  answer?: () => void;
}

export class Link {
  state: LinkState = "none";
  /** Names of the actions that the kernel knows. */
  actions = new Set<string>();
  /** Rows by key, by list. */
  readonly lists = new Map<string, Map<string, Row>>();
  #kernel: KernelConnection | null = null;
  #comm: Comm | null = null;
  #watched: string[] = [];
  #pending = new Map<string, Pending>();
  #changed: (list: string) => void;
  #renewal: ReturnType<typeof setInterval> | undefined;

  /** `changed` is called with the name of a list, or "" after the state has changed. */
  constructor(changed: (list: string) => void) {
    this.#changed = changed;
  }

  get kernel(): KernelConnection | null {
    return this.#kernel;
  }

  /** Follow another kernel. */
  attach(kernel: KernelConnection | null): void {
    if (kernel === this.#kernel) return;
    this.#kernel?.iopubMessage.disconnect(this.#onMessage);
    const comm = this.#comm;
    this.#reject((each) => each.kernel === this.#kernel && !each.isAction, gone("Another kernel is in front."));
    this.#kernel = kernel;
    // They stay connected: the kernel may end before it has answered.
    kernel?.statusChanged.connect(this.#onStatus);
    kernel?.disposed.connect(this.#onDisposed);
    kernel?.iopubMessage.connect(this.#onMessage);
    this.#drop(kernel ? "asking" : "none");
    this.#close(comm);
    for (const [id, { answer }] of this.#pending) if (answer) this.#answer(id, answer);
    void this.#ask();
  }

  /** Receive the rows of these lists from now on. */
  watch(lists: string[]): void {
    this.#watched = lists;
    for (const name of [...this.lists.keys()]) if (!lists.includes(name)) this.lists.delete(name);
    this.#sayWatched();
  }

  /** Ask the kernel for an action; `about` names a model or runs. It is answered while the kernel is in front. */
  async act(name: string, about: About): Promise<Reply> {
    return this.#request(name, about, true);
  }

  /** Ask for what is drawn of the kernel in front; rejected when another one comes to the front. */
  async query(name: string, about: About): Promise<Reply> {
    return this.#request(name, about, false);
  }

  #request(name: string, about: About, isAction: boolean): Promise<Reply> {
    const [kernel, comm] = [this.#kernel, this.#comm];
    const id = `${PAGE}-${++lastId}`;
    const slot = `${PAGE}/${name}/${Object.values(about).join("/")}`;
    if (!kernel || !comm) throw gone("This kernel has not loaded blsnb.");
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { kernel, comm, isAction, resolve, reject });
      comm.send({ v: VERSION, type: "action", id, slot, name, ...about });
    });
  }

  /** Answer a request now, or when its kernel is in front again. */
  #answer(id: string, answer: () => void): void {
    const pending = this.#pending.get(id)!;
    pending.answer = answer;
    if (pending.kernel !== this.#kernel && !pending.kernel.isDisposed) return;
    this.#pending.delete(id);
    answer();
  }

  /** Look for blsnb; a kernel without it is not disturbed. */
  async #ask(): Promise<void> {
    const kernel = this.#kernel;
    if (!kernel || kernel.isDisposed) return;
    try {
      await kernel.info;
      const { content } = await kernel.requestCommInfo({ target_name: TARGET });
      if (kernel !== this.#kernel || this.#comm) return;
      if (Object.keys(content.comms ?? {}).length) this.#open(kernel);
      else this.#become("absent");
    } catch {
      // The kernel was restarted or is gone: its next status says more.
    }
  }

  #open(kernel: KernelConnection): void {
    const comm = kernel.createComm(TARGET);
    this.#comm = comm;
    comm.onMsg = (message) => {
      if (message.content.data.type === "answer") this.#settle(message);
      else if (comm === this.#comm) this.#receive(message);
    };
    comm.onClose = () => {
      if (comm === this.#comm) this.#drop("absent");
      this.#reject((each) => each.comm === comm, gone(ENDED));
    };
    comm.open({ v: VERSION, type: "hello" });
  }

  #receive({ content: { data } }: CommMessage): void {
    if (data.type === "welcome") this.#welcome(data);
    else if (typeof data.seq === "number") this.#update(data);
  }

  #welcome(data: Row): void {
    this.actions = new Set(data.actions as string[]);
    this.#become("linked");
    this.#sayWatched();
    this.#renewal = setInterval(() => this.#sayWatched(true), RENEW_MS);
  }

  #settle({ content: { data }, buffers }: CommMessage): void {
    const id = data.id as string;
    const pending = this.#pending.get(id);
    if (!pending) return;
    const first = buffers?.[0];
    const buffer = first === undefined ? new ArrayBuffer(0) : ownBuffer(first);
    const error = data.error as { code: string; text: string } | undefined;
    this.#answer(id, () => (error ? pending.reject(new QueryError(error)) : pending.resolve({ ...data, buffer })));
    if (pending.comm !== this.#comm) this.#close(pending.comm);
  }

  #update(data: Row): void {
    const name = data.type as string;
    if (!this.#watched.includes(name)) return;
    const rows = data.whole ? new Map<string, Row>() : this.lists.get(name);
    if (!rows) return;
    this.lists.set(name, rows);
    for (const key of data.removed as string[]) rows.delete(key);
    for (const row of data.rows as Row[]) rows.set((row.key ?? row.run ?? row.name ?? row.number) as string, row);
    this.#changed(name);
  }

  /** A renewal keeps the kernel polling, and requests no rows. */
  #sayWatched(again = false): void {
    if (this.state !== "linked") return;
    this.#comm?.send({ v: VERSION, type: "watch", what: this.#watched, again });
  }

  #onStatus = (kernel: KernelConnection, status: string): void => {
    if (!status.includes("restarting") && status !== "dead" && status !== "terminating") return;
    if (kernel === this.#kernel) this.#drop("asking");
    this.#reject((each) => each.kernel === kernel && !each.answer, gone(ENDED));
  };

  #onDisposed = (kernel: KernelConnection): void => this.#reject((each) => each.kernel === kernel, gone(CLOSED));

  /** After each execution the kernel may have loaded blsnb. */
  #onMessage = (_: unknown, message: KernelMessage): void => {
    if (this.#comm || message.header.msg_type !== "status") return;
    if (message.content.execution_state !== "idle") return;
    if (["execute_request", "kernel_info_request"].includes(message.parent_header.msg_type ?? ""))
      void this.#ask();
  };

  /** Close the comm of a kernel that was left, or watch nothing until its last answer. */
  #close(comm: Comm | null): void {
    if (!comm || comm.isDisposed) return;
    const isAwaited = [...this.#pending.values()].some((each) => each.comm === comm && !each.answer);
    if (isAwaited) comm.send({ v: VERSION, type: "watch", what: [] });
    else comm.close();
  }

  #reject(isLost: (pending: Pending) => boolean, error: QueryError): void {
    for (const [id, pending] of this.#pending) if (isLost(pending)) this.#answer(id, () => pending.reject(error));
  }

  #drop(state: LinkState): void {
    this.#comm = null;
    clearInterval(this.#renewal);
    this.lists.clear();
    this.#become(state);
  }

  #become(state: LinkState): void {
    this.state = state;
    this.#changed("");
  }
}

function gone(text: string): QueryError {
  return new QueryError({ code: "gone", text });
}
