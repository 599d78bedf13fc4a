/**
 * Buffers for the bodies of requests, used again and again: half a megabyte of fresh memory for each batch would come faster than it
 * is collected.
 */

/** Buffers are made in multiples of this, so that one serves many batches. */
const STEP_BYTES = 256 * 1024

export interface BodyBuffers {
  /** A buffer of at least so many bytes. */
  take(bytes: number): Buffer
  /** Gives a buffer back; only once nothing can be reading it any more. */
  giveBack(buffer: Buffer): void
}

export function createBodyBuffers(): BodyBuffers {
  const free: Buffer[] = []
  return {
    take(bytes) {
      const at = free.findIndex((buffer) => buffer.length >= bytes)
      const [found] = at < 0 ? [] : free.splice(at, 1)
      return found ?? Buffer.allocUnsafeSlow(Math.ceil(bytes / STEP_BYTES) * STEP_BYTES)
    },
    giveBack: (buffer) => {
      free.push(buffer)
    },
  }
}
