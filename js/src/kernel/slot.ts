/** One place of a view that shows answers: one query is in flight, and only the newest one waits. */

import { QueryError, type Answer } from "./kernel.ts";

interface Waiting<Query> {
  query: Query;
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

export class Slot<Query> {
  #send: (query: Query) => Promise<Answer>;
  #restMs: number;
  #newest: Waiting<Query> | null = null;
  #inFlight = false;
  #resting: ReturnType<typeof setTimeout> | undefined;

  /** Queries that follow each other within `restMs` are not sent until none has come for that time. */
  constructor(send: (query: Query) => Promise<Answer>, restMs = 0) {
    this.#send = send;
    this.#restMs = restMs;
  }

  query(query: Query): Promise<Answer> {
    this.cancel(superseded());
    return new Promise((resolve, reject) => {
      this.#newest = { query, resolve, reject };
      const isBurst = this.#resting !== undefined;
      if (this.#restMs > 0) this.#rest();
      if (!isBurst) void this.#next();
    });
  }

  /** Reject the query that waits. */
  cancel(error: QueryError): void {
    this.#newest?.reject(error);
    this.#newest = null;
  }

  #rest(): void {
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => {
      this.#resting = undefined;
      void this.#next();
    }, this.#restMs);
  }

  async #next(): Promise<void> {
    const sent = this.#newest;
    if (!sent || this.#inFlight) return;
    this.#newest = null;
    this.#inFlight = true;
    try {
      const answer = await this.#send(sent.query);
      if (this.#newest) sent.reject(superseded());
      else sent.resolve(answer);
    } catch (error) {
      sent.reject(error as Error);
    } finally {
      this.#inFlight = false;
      if (this.#resting === undefined) void this.#next();
    }
  }
}

/** Return the error of a query whose place a newer one took. */
function superseded(): QueryError {
  return new QueryError({ code: "superseded", text: "a newer query took its place" });
}
