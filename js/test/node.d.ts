// The Node modules that the tests use, so that no type package is needed.
declare module "node:test" {
  export function test(name: string, body: () => void | Promise<void>): void;
  export const mock: {
    timers: { enable(options: { apis: string[] }): void; tick(milliseconds: number): void };
  };
}
declare module "node:assert/strict" {
  interface Assert {
    equal(actual: unknown, expected: unknown, message?: string): void;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
    ok(value: unknown, message?: string): asserts value;
    throws(body: () => unknown, expected?: RegExp): void;
    rejects(promise: Promise<unknown>, expected?: RegExp): Promise<void>;
  }
  const assert: Assert;
  export default assert;
}
declare module "node:fs" {
  export function readFileSync(path: URL): Uint8Array;
}
interface ImportMeta {
  url: string;
}
