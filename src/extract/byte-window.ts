/** The stretch of an export's content that is in memory while rows are cut from it. */
export class ByteWindow {
  /** What is in memory. Positions within it hold until the next refill. */
  bytes: Buffer = Buffer.alloc(0)
  /** Offset in the content of `bytes[0]`. */
  offset: number
  /** Whether the content ends where `bytes` ends. */
  ended = false
  readonly #chunks: AsyncIterator<Buffer>

  constructor(content: AsyncIterable<Buffer>, offset: number) {
    this.#chunks = content[Symbol.asyncIterator]()
    this.offset = offset
  }

  /**
   * Forgets what stands before `keepFrom` and reads on. What is kept at least doubles, so that a record which needs
   * several refills is copied and looked through in time linear to its size.
   */
  async refill(keepFrom: number): Promise<void> {
    const kept = this.bytes.subarray(keepFrom)
    const parts = kept.length === 0 ? [] : [kept]
    let added = 0
    while (!this.ended && (added === 0 || added < kept.length)) {
      const next = await this.#chunks.next()
      if (next.done === true) this.ended = true
      else {
        parts.push(next.value)
        added += next.value.length
      }
    }
    this.offset += keepFrom
    this.bytes = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  }

  /** Ends the reading, also before the content's end. */
  async close(): Promise<void> {
    await this.#chunks.return?.()
  }
}
