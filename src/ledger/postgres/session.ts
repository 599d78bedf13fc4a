/**
 * Connection of a transaction. A statement without a result travels with the next statement with a result, at the latest with the commit: most
 * transactions of a run are a single message to the server, and a single answer.
 */
import pg from 'pg'

type Values = readonly unknown[]

/** Refuses a transaction after a failed assertion: looks into the ledger, and throws. */
type Refusal = () => Promise<never>

/** SQLSTATE of a text in place of a number (postgresql.org/docs/current/errcodes-appendix.html). */
const NO_NUMBER = '22P02'
/** Omits the quotes around the text: their form depends on the language of the server's messages. */
const REFUSED = /refused (\d+)/

export interface Session {
  /** Executes the statement with the next statement that has a result. */
  later(text: string, values?: Values): void
  /**
   * Asserts, as `later`, a row with a text as the result of a statement: otherwise the server executes no later statement.
   * @param refuse called after the rollback
   */
  assert(text: string, values: Values, refuse: Refusal): void
  query(text: string, values: Values): Promise<pg.QueryResult>
  /** Executes a statement for each list of values, in one message. */
  queryEach(text: string, rows: readonly Values[]): Promise<readonly pg.QueryResult[]>
  /** Forgets unsent statements, and rolls back. @returns the refusal of a failed assertion. @throws if the connection is lost */
  rollback(error: unknown): Promise<Refusal | undefined>
}

/**
 * Begins a transaction, with the first message.
 * @param begin statements
 * @param asLedgerError converts an error of the server to an error of the ledger, with the cause
 */
export function beginSession(
  client: pg.ClientBase,
  begin: string,
  asLedgerError: (error: unknown) => unknown,
): Session {
  const waiting = [begin]
  const refusals: Refusal[] = []
  const send = (text: string, values: Values): Promise<pg.QueryResult> =>
    client.query(text, [...values]).catch((error: unknown) => {
      throw asLedgerError(error)
    })
  /** @returns a result for each of the own statements */
  const sendAll = async (own: readonly string[]): Promise<readonly pg.QueryResult[]> => {
    if (waiting.length + own.length === 0) return []
    const sent = await send([...waiting.splice(0), ...own].join(';\n'), [])
    // The result of a message with several statements is a list.
    return own.length === 0 ? [] : [sent].flat().slice(-own.length)
  }
  const refusalOf = (error: unknown): Refusal | undefined => {
    const cause = error instanceof Error ? error.cause : undefined
    if (!(cause instanceof pg.DatabaseError) || cause.code !== NO_NUMBER) return undefined
    const number = REFUSED.exec(cause.message)?.[1]
    return number === undefined ? undefined : refusals[Number(number)]
  }
  const later: Session['later'] = (text, values = []) => void waiting.push(filled(text, values))
  return {
    later,
    assert(text, values, refuse) {
      const number = refusals.push(refuse) - 1
      later(
        `with found (a) as (${text}) select cast(coalesce((select a from found), 'refused ${number}') as bigint)`,
        values,
      )
    },
    async query(text, values) {
      // A list is sent unchanged, behind the pending statements.
      const isOneOfSeveral = values.every(hasLiteral)
      const results = await sendAll(isOneOfSeveral ? [filled(text, values)] : [])
      return results[0] ?? send(text, values)
    },
    queryEach: (text, rows) => sendAll(rows.map((values) => filled(text, values))),
    async rollback(error) {
      waiting.length = 0
      await client.query('rollback')
      return refusalOf(error)
    },
  }
}

/** Text of a statement with the values in place of `?` or `$1`, `$2` …. Texts of the ledger have neither in quotes. */
function filled(text: string, values: Values): string {
  if (values.length === 0) return text
  let count = 0
  return text.replaceAll(/\?|\$(\d+)/g, (_, number: string | undefined) =>
    literal(values[number === undefined ? count++ : Number(number) - 1]),
  )
}

const hasLiteral = (value: unknown): boolean =>
  value === null || value instanceof Uint8Array || ['string', 'number', 'boolean'].includes(typeof value)

function literal(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return pg.escapeLiteral(value)
  if (typeof value === 'number' && Number.isFinite(value)) return value < 0 ? `(${value})` : String(value)
  if (value instanceof Uint8Array) return `decode('${Buffer.from(value).toString('hex')}', 'hex')`
  if (typeof value === 'boolean') return String(value)
  throw new Error(`a statement has a value of the type ${typeof value}`)
}
