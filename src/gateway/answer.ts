import type { z } from 'zod'

/** The answer does not say what the interface promises. Thrown while reading; the transport gives it its class. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer'
}

/** Strips a byte order mark, which JSON.parse refuses and RFC 8259 section 8.1 lets a reader ignore. */
const UTF8 = new TextDecoder()

/** A complete answer. */
export interface Answer {
  readonly status: number
  /** Names the request in logs; it is not sent. */
  readonly requestId: string
  /** The body as JSON; undefined where it is none. */
  json(): unknown
  /** The body as the schema describes it. @throws UnreadableAnswer */
  read<Schema extends z.ZodType>(schema: Schema): z.output<Schema>
}

export function createAnswer(status: number, requestId: string, body: Uint8Array): Answer {
  const json = (): unknown => {
    try {
      return JSON.parse(UTF8.decode(body))
    } catch {
      // The parser's error quotes the text, which may be health data: it is dropped.
      return undefined
    }
  }
  return {
    status,
    requestId,
    json,
    read: (schema) => {
      const value = json()
      if (value === undefined) throw new UnreadableAnswer('the body is not JSON')
      const parsed = schema.safeParse(value)
      if (parsed.success) return parsed.data
      const issue = parsed.error.issues[0]
      throw new UnreadableAnswer(`the body is not as documented at ${pathOf(issue?.path)} (${issue?.code})`)
    },
  }
}

/** Positions and the contract's own keys: `data.17.transactionId`. */
function pathOf(path: readonly PropertyKey[] = []): string {
  return path.length === 0 ? 'its top' : path.map(String).join('.')
}
