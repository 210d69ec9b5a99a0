// The Node modules that the tests use, so that no type package is needed.
declare module "node:test" {
  export function test(name: string, body: () => void | Promise<void>): void;
  export const mock: {
    timers: { enable(options: { apis: string[] }): void; tick(milliseconds: number): void };
    method<T extends object>(
      object: T,
      name: keyof T,
    ): { mock: { mockImplementation(body: () => unknown): void; restore(): void } };
  };
}
declare module "node:assert/strict" {
  interface Assert {
    equal(actual: unknown, expected: unknown, message?: string): void;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
    ok(value: unknown, message?: string): asserts value;
    match(value: string, expected: RegExp): void;
    doesNotMatch(value: string, expected: RegExp): void;
    throws(body: () => unknown, expected?: RegExp): void;
    rejects(promise: Promise<unknown>, expected?: RegExp): Promise<void>;
  }
  const assert: Assert;
  export default assert;
}
declare module "node:fs" {
  export function readFileSync(path: URL): Uint8Array;
  export function writeFileSync(path: URL, text: string): void;
}
declare module "node:module" {
  interface Loaded {
    format: string;
    source: string;
    shortCircuit?: boolean;
  }
  type Next = (url: string, context: unknown) => Loaded;
  export function registerHooks(hooks: {
    load(url: string, context: unknown, next: Next): Loaded;
  }): void;
}
declare module "jsdom" {
  export class JSDOM {
    constructor(html: string, options?: { pretendToBeVisual?: boolean });
    window: Window & typeof globalThis;
  }
}
declare const process: { env: Record<string, string | undefined> };
interface ImportMeta {
  url: string;
}
