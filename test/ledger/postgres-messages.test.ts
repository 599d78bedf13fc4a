import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openPostgresLedger } from '../../src/ledger/postgres/open-ledger.ts'
import { beginSession } from '../../src/ledger/postgres/session.ts'
import { createAccountIdCipher } from '../../src/ledger/sealed-ids.ts'
import { asAdmin, emptySchema } from '../postgres/server.ts'
import { beginExport, beginRun, openChunk } from './begun-run.ts'

/** Length of the type and of the length of a message (postgresql.org/docs/current/protocol-message-formats.html). */
const [TYPE_BYTES, LENGTH_BYTES] = [1, 4]

/** A way to the server that counts the messages which the server answers: Query (Q) and Sync (S). */
async function counted(url: string) {
  const { port } = new URL(url)
  let messages = 0
  const server = createServer((client) => {
    const upstream = connect(Number(port), '127.0.0.1')
    let pending = Buffer.alloc(0)
    // The first message has no type.
    let typeBytes = 0
    client.on('data', (piece) => {
      pending = Buffer.concat([pending, piece])
      for (;;) {
        if (pending.length < typeBytes + LENGTH_BYTES) break
        const whole = typeBytes + pending.readUInt32BE(typeBytes)
        if (pending.length < whole) break
        if (typeBytes > 0 && 'QS'.includes(String.fromCharCode(pending[0] ?? 0))) messages++
        pending = pending.subarray(whole)
        typeBytes = TYPE_BYTES
      }
    })
    client.pipe(upstream).pipe(client)
    for (const one of [client, upstream])
      one.on('error', () => [client, upstream].map((end) => end.destroy()))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  if (typeof address !== 'object' || address === null) return expect.fail('no port')
  const { port: own } = address
  return { url: url.replace(`:${port}/`, `:${own}/`), messages: () => messages }
}

async function runOn(url: string) {
  const ledger = await openPostgresLedger({ url }, { ids: createAccountIdCipher(() => 'key'), place: 'here' })
  onTestFinished(() => ledger.close())
  const run = await beginRun(ledger, 'run-1')
  const exportRow = await beginExport(run)
  await openChunk(run, exportRow, 1)
  return { ledger, run, exportRow }
}

const person = (number: number) => ({
  ...{ reference: number.toString(16).padStart(32, '0'), accountId: `id-${number}`, sentBefore: null },
})

const intentOf = (exportRow: number, batchId: string) => ({
  ...{
    exportRow,
    batchId,
    chunk: 1,
    kind: 'biometric',
    records: 1,
    holds: Buffer.from([0, 39, 92, 255]),
    at: 1,
  },
})

test('what a run writes in one turn of people and batches is one message to the server, whatever the number', async () => {
  const way = await counted(await emptySchema())
  const { ledger, run, exportRow } = await runOn(way.url)
  const count = async (work: () => Promise<unknown>): Promise<number> => {
    const before = way.messages()
    await work()
    return way.messages() - before
  }
  let rows: readonly number[] = []
  const planning = await count(async () => {
    rows = await run.planBatches(Array.from({ length: 40 }, (_, at) => intentOf(exportRow, `batch-${at}`)))
  })
  // The second message carries what needs the rows of the first.
  expect(planning).toBe(2)
  expect(rows).toHaveLength(40)
  const people = Array.from({ length: 30 }, (_, number) => person(number))
  const sending = await count(() => {
    run.tallies.accounts.registered += people.length
    return Promise.all([
      ...people.map((one) => run.saveAccounts('gateway', [one], 7)),
      ...rows.map((row) => run.sendBatch(row, 8, false)),
      run.assertHeld(),
    ])
  })
  expect(sending).toBe(1)
  const references = people.map(({ reference }) => reference)
  expect(await ledger.people.accounts('gateway', references)).toHaveProperty('size', people.length)
  expect((await ledger.chunks.batches({ exportRow, chunk: 1 })).map(({ state }) => state)).toEqual(
    rows.map(() => 'sending'),
  )
})

test('a refused assertion of one write undoes all that travelled with it', async () => {
  const url = await emptySchema()
  const { ledger, run, exportRow } = await runOn(url)
  const [row = 0] = await run.planBatches([intentOf(exportRow, 'batch')])
  const together = await Promise.allSettled([
    run.saveAccounts('gateway', [person(1)], 0),
    run.settleBatch({
      ...{ id: row, exportRow, chunk: 1, answer: '200', status: 200, attempts: 1, accepted: 'all' },
      ...{ exceptions: [], held: [], at: 1 },
    }),
  ])
  expect(together).toMatchObject([
    { status: 'rejected', reason: { code: 'state-illegal' } },
    { status: 'rejected', reason: { code: 'state-illegal' } },
  ])
  expect(await ledger.people.accounts('gateway', [person(1).reference])).toEqual(new Map())
  // The connection can be used again.
  await run.saveAccounts('gateway', [person(2)], 0)
  await asAdmin(url, 'update lease set token = token + 1')
  await expect(run.saveAccounts('gateway', [person(3)], 0)).rejects.toMatchObject({ code: 'lease-lost' })
  expect([
    ...(
      await ledger.people.accounts(
        'gateway',
        [1, 2, 3].map((n) => person(n).reference),
      )
    ).keys(),
  ]).toEqual([person(2).reference])
})

test('texts and bytes arrive as they are, also quotes, backslashes, and the marks of parameters', async () => {
  const { ledger, run, exportRow } = await runOn(await emptySchema())
  const message = `a 'quoted' \\ "word", ? and $1; -- \n ü`
  const [row = 0] = await run.planBatches([intentOf(exportRow, 'batch')])
  await run.sendBatch(row, 1, false)
  await run.settleBatch({
    ...{
      id: row,
      exportRow,
      chunk: 1,
      answer: message,
      status: 200,
      attempts: 1,
      accepted: 'all',
      held: [],
      at: 1,
    },
    exceptions: [
      {
        ...{
          row: 1,
          line: -2,
          byteOffset: 2 ** 52,
          kind: null,
          rule: null,
          content: null,
          outcome: 'warning',
        },
        ...{ stage: 'map', code: 'code', field: '?', message, batchId: '$2' },
      },
    ],
  })
  const [batch] = await ledger.chunks.batches({ exportRow, chunk: 1 })
  expect(batch).toMatchObject({ answer: message, state: 'settled' })
  expect(batch?.holds).toEqual(Buffer.from([0, 39, 92, 255]))
  expect(await ledger.reasons.ofRun('run-1')).toMatchObject([{ message, field: '?' }])
})

test.each([
  ['English', 'invalid input syntax for type bigint: "refused 1"'],
  ['German', 'ungültige Eingabesyntax für Typ bigint: »refused 1«'],
  ['French', 'syntaxe en entrée invalide pour le type bigint : « refused 1 »'],
])('an assertion that failed is known by a server that speaks %s', async (_language, message) => {
  const failed = Object.assign(new pg.DatabaseError(message, message.length, 'error'), { code: '22P02' })
  const known: unknown = {
    query: async (text: string) => (text === 'rollback' ? [] : Promise.reject(failed)),
  }
  const asLedgerError = (cause: unknown): Error => new Error('the ledger', { cause })
  const session = beginSession(known as pg.ClientBase, 'begin', asLedgerError)
  const refuse = async (): Promise<never> => Promise.reject(new Error('not this one'))
  const refuseSecond = async (): Promise<never> => Promise.reject(new Error('the lease is lost'))
  session.assert('select 1', [], refuse)
  session.assert('select 2', [], refuseSecond)
  const error: unknown = await session.query('commit', []).catch((one: unknown) => one)
  expect(await session.rollback(error)).toBe(refuseSecond)
})
