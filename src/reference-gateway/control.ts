import type { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { AccountReferenceType } from '../gateway/contract/account.ts'
import type { TokenBook } from './credentials.ts'
import { checked } from './refusal.ts'
import {
  countRows,
  findRecords,
  listOccurrences,
  listRecords,
  listRequests,
  listTests,
  type StoredRecord,
  type Table,
} from './store.ts'

const TABLES = {
  biometric: 'biometrics',
  condition: 'conditions',
  careTeam: 'care_teams',
} as const satisfies Record<string, Table>
type Kind = keyof typeof TABLES
const KINDS = Object.keys(TABLES) as readonly Kind[]

const OfProfile = z.object({ kind: z.enum(['biometric', 'condition', 'careTeam']) })
const RecordsQuery = z.object({
  kind: z.enum([...OfProfile.shape.kind.options, 'medicalRecords', 'assessment']),
})
const OccurrencesQuery = OfProfile.extend({ min: z.coerce.number().int().min(1).default(1) })
const RecordQuery = z.object({ transactionId: z.string().min(1) })
const Binding = z.object({
  token: z.string().regex(/^\S+$/, 'Expected a bearer token, without spaces'),
  account: z.object({ reference: z.string().min(1), type: AccountReferenceType }),
})

/**
 * What the gateway holds, for tests and trials; not of the interface, and served without credentials:
 * - `GET /_reference/counts`: the number of accounts and of records per kind; `authorization`: documents that were uploaded;
 * - `GET /_reference/records?kind=`: NDJSON, each record as it was sent, in order, with `_account` and `_storedAt`; of requests for medical records
 *   with `_authorization` (its SHA-256, or null) and `_storedAt`; of tests what was chosen, with `_account` and `_storedAt`;
 * - `GET /_reference/record?transactionId=`: a JSON array of the records that bear the transaction id or the persistent
 *   record id, each with `_kind` too;
 * - `GET /_reference/occurrences?kind=&min=`: NDJSON, `id` and `times` for each transaction id (of care teams: persistent
 *   record id) that is stored at least `min` times (1): with `min=2` what was stored twice;
 * - `POST /_reference/tokens` with `token` and `account` (`reference`, `type`): from now on the token passes, and stands for
 *   that user in the paged test. 204. The account need not be registered yet.
 */
export function serveControl(app: FastifyInstance, store: DatabaseSync, tokens: TokenBook): void {
  app.post('/_reference/tokens', async (request, reply) => {
    const result = checked(Binding, request.body, 'body')
    tokens.bind(result.token, result.account)
    return reply.code(204).send()
  })

  app.get('/_reference/counts', async () => ({
    account: countRows(store, 'accounts'),
    ...Object.fromEntries(KINDS.map((kind) => [kind, countRows(store, TABLES[kind])])),
    medicalRecords: countRows(store, 'medical_records_requests'),
    authorization: countRows(store, 'medical_records_requests', 'authorization IS NOT NULL'),
    assessment: countRows(store, 'assessments'),
  }))

  app.get('/_reference/records', async (request, reply) => {
    const { kind } = checked(RecordsQuery, request.query, 'query')
    const send = (text: Iterable<string>) => reply.type('application/x-ndjson').send(Readable.from(text))
    if (kind === 'medicalRecords') return send(lines(listRequests(store), JSON.stringify))
    if (kind === 'assessment') return send(lines(listTests(store), JSON.stringify))
    return send(lines(listRecords(store, TABLES[kind]), (record) => annotated(record, {})))
  })

  app.get('/_reference/occurrences', async (request, reply) => {
    const result = checked(OccurrencesQuery, request.query, 'query')
    const { kind, min } = result
    return reply
      .type('application/x-ndjson')
      .send(Readable.from(lines(listOccurrences(store, TABLES[kind], min), JSON.stringify)))
  })

  app.get('/_reference/record', async (request, reply) => {
    const result = checked(RecordQuery, request.query, 'query')
    const found = KINDS.flatMap((kind) =>
      findRecords(store, TABLES[kind], result.transactionId).map((record) =>
        annotated(record, { _kind: kind }),
      ),
    )
    return reply.type('application/json; charset=utf-8').send(`[${found.join(',')}]`)
  })
}

/** Lines gathered into pieces of about 64 KiB. */
function* lines<Item>(items: Iterable<Item>, textOf: (item: Item) => string): Generator<string> {
  let piece = ''
  for (const item of items) {
    piece += `${textOf(item)}\n`
    if (piece.length < 65_536) continue
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}

/** The record's text with fields of ours at its end. A record is never empty: the contract requires fields. */
function annotated({ body, account, storedMs }: StoredRecord, more: Record<string, string>): string {
  return `${body.slice(0, -1)},${JSON.stringify({ ...more, _account: account, _storedAt: storedMs }).slice(1)}`
}
