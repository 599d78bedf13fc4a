/**
 * A body that goes out in one piece. got cuts a string or a buffer into pieces of 64 KiB, and drops the connection where the answer
 * comes between the last piece and the end of the request, so that a stored batch goes unanswered: what is iterable it sends as it comes.
 *
 * The bytes are out of sight of `structuredClone`, by which got keeps a copy of each body that is an object, in case of a redirect: it would
 * copy all the memory in which the bytes lie, for each request anew.
 */
export class WholeBody implements Iterable<Uint8Array> {
  readonly #bytes: Uint8Array

  /** @param bytes must not change before the request is over */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  *[Symbol.iterator](): Generator<Uint8Array> {
    yield this.#bytes
  }
}
