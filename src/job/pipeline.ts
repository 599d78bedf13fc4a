/**
 * Several chunks under way at once, settled in order. A chunk that has a row key or a person in common with one still under way waits
 * for it: the same row must not be judged twice, a newer record must not hide an older one whose answer is still open, and a
 * person must not be registered twice.
 */
import type { Entry } from '../model/entry.ts'
import type { Chunk } from './chunks.ts'

/** Chunks under way at once: while one waits for its last answers, the next is mapped and sent. */
const CHUNKS_AT_ONCE = 2

export interface Pipeline {
  /** Starts the chunk as soon as there is room. @throws what an earlier chunk failed with */
  add(chunk: Chunk): Promise<void>
  /** Waits until all are settled. @throws what the first one failed with */
  drain(): Promise<void>
}

interface UnderWay {
  readonly chunk: Chunk
  readonly claims: ReadonlySet<string>
  readonly settled: Promise<void>
}

/**
 * @param load sends the chunk; resolves when every record has an outcome
 * @param settle records the outcomes; called in the order of the chunks, one at a time
 * @param begin resolves when the chunk may be begun; what it throws is thrown by `add`, and what is under way goes on
 */
export function createPipeline<Loaded>(
  load: (chunk: Chunk) => Promise<Loaded>,
  settle: (chunk: Chunk, loaded: Loaded) => Promise<void>,
  begin: (chunk: Chunk) => Promise<void> = async () => {},
): Pipeline {
  const underWay = new Set<UnderWay>()
  let failure: { error: unknown } | undefined
  let lastSettled: Promise<void> = Promise.resolve()

  const throwFailure = (): void => {
    if (failure !== undefined) throw failure.error
  }
  return {
    async add(chunk) {
      const claims = claimsOf(chunk.entries)
      while (underWay.size >= CHUNKS_AT_ONCE) await Promise.race([...underWay].map((one) => one.settled))
      for (const one of underWay) if (!one.claims.isDisjointFrom(claims)) await one.settled
      throwFailure()
      await begin(chunk)
      throwFailure()
      const loading = load(chunk)
      const before = lastSettled
      const settled = (async () => {
        try {
          const loaded = await loading
          await before
          if (failure === undefined) await settle(chunk, loaded)
        } catch (error) {
          failure ??= { error }
        }
      })()
      lastSettled = settled
      const entry: UnderWay = { chunk, claims, settled }
      underWay.add(entry)
      void settled.then(() => underWay.delete(entry))
    },
    async drain() {
      while (underWay.size > 0) await Promise.all([...underWay].map((one) => one.settled))
      throwFailure()
    },
  }
}

function claimsOf(entries: readonly Entry[]): Set<string> {
  const claims = new Set<string>()
  for (const { rowKey, record } of entries) {
    claims.add(rowKey)
    claims.add(record.account.reference)
  }
  return claims
}
