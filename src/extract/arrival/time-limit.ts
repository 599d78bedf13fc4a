/** Limits on how long an answer is waited for: a server may keep a connection alive and answer nothing that it is asked. */

/** What was asked was not answered in time. Another try, over another connection, may be. */
export class NotAnswered extends Error {
  override readonly name = 'NotAnswered'

  /** @param what `listing in/acme` */
  constructor(what: string, ms: number) {
    super(`${what} was not answered within ${ms / 1000} s`)
  }
}

/** @throws NotAnswered; what becomes of the answer then is of no matter any more */
export async function answered<Answer>(what: string, ms: number, answer: Promise<Answer>): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NotAnswered(what, ms)), ms)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Each chunk within the limit, however long is taken over the one before. @throws NotAnswered */
export async function* eachAnswered<Chunk>(
  what: (at: number) => string,
  ms: number,
  chunks: AsyncIterable<Chunk>,
): AsyncGenerator<Chunk> {
  const iterator = chunks[Symbol.asyncIterator]()
  let isWaiting = false
  try {
    for (let at = 0; ; at += 1) {
      isWaiting = true
      const { done, value } = await answered(what(at), ms, iterator.next())
      isWaiting = false
      if (done === true) return
      yield value
    }
  } finally {
    const ending = iterator.return?.()
    // Who has not answered does not take leave either.
    if (isWaiting) ending?.catch(() => undefined)
    else await ending
  }
}
