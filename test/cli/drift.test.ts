/** Exports that differ from earlier deliveries, through the real command line: warned about, stopped, accepted. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { CHUNK_SIZE } from '../../src/run/chunks.ts'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { CLINIC, type Clinic, openClinic } from './clinic.ts'
import { type Ended, summaryOf } from './command-line.ts'

const Drift = z.object({
  drift: z.array(
    z.object({ export: z.string(), measure: z.string(), level: z.string(), message: z.string() }),
  ),
})
/** `export level measure: message`, of a summary on standard output. */
const driftOf = ({ out }: Ended): string[] =>
  Drift.parse(JSON.parse(out)).drift.map((one) => `${one.export} ${one.level} ${one.measure}: ${one.message}`)

interface Shape {
  readonly rows?: number
  readonly header?: string
  /** Weight and unit of a row. */
  readonly weight?: (row: number) => string
  readonly pulse?: (row: number) => string
}

/** A delivery of people of its own: nothing in it was delivered before. */
function delivery(name: string, shape: Shape = {}): string {
  const {
    rows = 50,
    header = 'id,day,pulse,a1c,weight,unit,remark',
    weight = (row) => `${60.5 + (row % 20)},kg`,
    pulse = (row) => String(61 + (row % 9)),
  } = shape
  const lines = Array.from(
    { length: rows },
    (_, row) => `${name}-${row},2026-03-02,${pulse(row)},5.${row % 9},${weight(row)},fine`,
  )
  return [header, ...lines, ''].join('\n')
}

const job = (drift: string): string =>
  `exports: { from: ../inbox, match: "*.csv", mapping: clinic }\naccounts: { register: never }\n${drift}`

/** A clinic behind a proxy that counts requests, with three deliveries that are all alike. */
async function openWatched(drift: string): Promise<Clinic & { requests(): number }> {
  let requests = 0
  const faultOf = () => {
    requests++
    return PASS
  }
  const clinic = await openClinic({ job: job(drift), faultOf })
  for (const name of ['a1', 'a2', 'a3']) await clinic.deliver(`${name}.csv`, delivery(name))
  const first = await clinic.run()
  expect([first.code, driftOf(first)]).toEqual([0, []])
  return { ...clinic, requests: () => requests }
}

const RENAMED = 'id,day,pulse,a1c,weight,unit,comment'
const pounds = (row: number): string =>
  row % 2 === 0 ? `${135 + (row % 40)},[lb_av]` : `${60.5 + (row % 20)},kg`

test('by default drift is warned about, by the run and by show, and the export is sent', async () => {
  const clinic = await openWatched('')
  await clinic.deliver('b1.csv', delivery('b1', { rows: 20, header: RENAMED, weight: pounds }))
  const expected = [
    'b1.csv warn columns: "remark" was probably renamed "comment" (same position)',
    'b1.csv warn rows: 20, usually 50',
    'b1.csv warn mix: body-weight in [lb_av] 50.0 %, usually 0.0 %',
    'b1.csv warn mix: body-weight in kg 50.0 %, usually 100.0 %',
  ]

  const dry = await clinic.run('--dry-run')
  expect([dry.code, driftOf(dry)]).toEqual([0, expected])
  const inWords = await clinic.workplace.waybill('run', 'clinic', '--dry-run')
  expect(inWords.out).toMatch(/^ warn +b1\.csv +rows +20, usually 50$/m)
  const ended = await clinic.run()
  expect([ended.code, driftOf(ended)]).toEqual([0, expected])
  expect(summaryOf(ended).records.biometric.accepted).toBe(3 * 20)
  const { out } = await clinic.workplace.waybill('show')
  expect(out).toMatch(/warn +b1.csv +columns +"remark" was probably renamed "comment"/)

  // What was delivered is what later ones are compared with, and the same file is not compared again.
  const again = await clinic.run()
  expect([again.code, driftOf(again)]).toEqual([0, []])
})

test('where the job says so nothing of it is sent, the others are, until it is accepted', async () => {
  const clinic = await openWatched('drift: { columns: stop, rows: { stop: 55% }, mix: { stop: 30% } }\n')
  await clinic.deliver('b1.csv', delivery('b1', { header: RENAMED }))
  await clinic.deliver('b2.csv', delivery('b2', { weight: pounds }))
  await clinic.deliver('b3.csv', delivery('b3', { rows: 20 }))
  const before = clinic.requests()
  const dry = await clinic.run('--dry-run')
  expect(dry.code).toBe(1)
  const stopped = await clinic.run()
  expect(stopped.code).toBe(1)
  const errors = summaryOf(stopped).exports.flatMap(({ name, error }) =>
    error === undefined ? [] : [[name, error]],
  )
  expect(errors).toEqual([
    ['b1.csv', 'export-drifted'],
    ['b2.csv', 'export-drifted'],
    ['b3.csv', 'export-drifted'],
  ])
  expect(clinic.requests()).toBe(before)
  expect(stopped.err).toContain(
    'b3.csv differs from earlier deliveries by more than the job allows: rows: 20, usually 50',
  )
  expect(stopped.err).not.toContain('b1-0')
  expect(driftOf(stopped)).toEqual([
    'b1.csv stop columns: "remark" was probably renamed "comment" (same position)',
    'b2.csv stop mix: body-weight in [lb_av] 50.0 %, usually 0.0 %',
    'b2.csv stop mix: body-weight in kg 50.0 %, usually 100.0 %',
    'b3.csv stop rows: 20, usually 50',
  ])
  expect(driftOf(dry)).toEqual(driftOf(stopped))

  await clinic.deliver('c.csv', delivery('c'))
  const other = await clinic.run()
  expect(summaryOf(other).records.biometric.accepted).toBe(3 * 50)

  const accepted = await clinic.run('--accept-drift')
  expect(accepted.code).toBe(0)
  expect(summaryOf(accepted).records.biometric.accepted).toBe(3 * (50 + 50 + 20))
  expect(driftOf(accepted)).toEqual(driftOf(stopped).map((one) => one.replace(' stop ', ' accepted ')))

  // What is like an accepted one goes through; what is unlike all of them does not.
  await clinic.deliver('d1.csv', delivery('d1', { header: RENAMED, weight: pounds, rows: 22 }))
  await clinic.deliver('d2.csv', delivery('d2', { rows: 5 }))
  const last = await clinic.run()
  expect(summaryOf(last).exports.filter(({ error }) => error !== undefined)).toMatchObject([
    { name: 'd2.csv' },
  ])
  expect(summaryOf(last).records.biometric.accepted).toBe(3 * 22)
})

test('empty values and a code that is gone', async () => {
  const clinic = await openWatched('drift: { empty: { stop: 50% }, mix: { warn: 10% } }\n')
  await clinic.deliver('b1.csv', delivery('b1', { pulse: (row) => (row < 35 ? '' : String(61 + (row % 9))) }))
  // What the mapping reads has an error of its own.
  await clinic.deliver('b2.csv', delivery('b2', { header: RENAMED.replace('pulse', 'heart') }))
  const ended = await clinic.run()
  expect(summaryOf(ended).exports.slice(3)).toMatchObject([
    { name: 'b1.csv', error: 'export-drifted' },
    { name: 'b2.csv', error: 'columns-missing' },
  ])
  expect(driftOf(ended)).toEqual([
    'b1.csv stop empty: empty "pulse" 70.0 %, usually 0.0 %',
    'b1.csv warn mix: rows with heart-rate 30.0 %, usually 100.0 %',
  ])
  expect(summaryOf(ended).requests.sent).toBe(0)
})

test('a part is not taken for the whole', async () => {
  const clinic = await openWatched('drift: { rows: { stop: 20% } }\n')
  await clinic.deliver('b1.csv', delivery('b1'))
  const part = await clinic.run('--limit', '15')
  expect([part.code, driftOf(part)]).toEqual([0, []])
  const whole = await clinic.run()
  expect([whole.code, driftOf(whole)]).toEqual([0, []])
})

test.each([{ drift: 'drift: { rows: { stop: 90% }, mix: { stop: 20% } }\n' }, { drift: '' }])(
  'what was interrupted is compared once a resumed run has finished it, and counts: "$drift"',
  async ({ drift }) => {
    let down = false
    const clinic = await openClinic({ job: job(drift), faultOf: () => (down ? answer(403) : PASS) })
    for (const name of ['a1', 'a2', 'a3']) await clinic.deliver(`${name}.csv`, delivery(name))
    await clinic.run()
    await clinic.deliver('b1.csv', delivery('b1', { rows: 15 }))
    down = true
    expect((await clinic.run()).code).toBe(3)
    down = false
    const resumed = await clinic.run()
    expect(resumed.code).toBe(0)
    expect(driftOf(resumed)).toEqual(['b1.csv warn rows: 15, usually 50'])
    expect(await clinic.store.records('biometric')).toHaveLength(3 * 165)
    const ledger = new DatabaseSync(join(clinic.workplace.home, 'ledger.sqlite'), { readOnly: true })
    expect(ledger.prepare('select count(*) as profiles from profile').get()).toEqual({ profiles: 4 })
    ledger.close()
  },
)

test('rows that were settled before a run was interrupted count as those that come after it', async () => {
  let left = Number.POSITIVE_INFINITY
  const clinic = await openClinic({
    job: job('submit: { concurrency: 1 }\n'),
    faultOf: ({ method }) => (method === 'POST' && left-- <= 0 ? answer(403) : PASS),
  })
  for (const name of ['a1', 'a2', 'a3']) await clinic.deliver(`${name}.csv`, delivery(name, { rows: 40 }))
  await clinic.run()
  const rows = CHUNK_SIZE.rows + 500
  await clinic.deliver(
    'b1.csv',
    delivery('b1', { rows, pulse: (row) => (row < rows / 2 ? '' : String(55 + (row % 13))) }),
  )
  // The first chunk gets through, and one request more.
  left = Math.ceil((CHUNK_SIZE.rows * 2.4) / 500) + 1
  const stopped = await clinic.run()
  expect(stopped.code).toBe(3)
  expect(summaryOf(stopped).rows.read).toBeGreaterThanOrEqual(CHUNK_SIZE.rows)
  left = Number.POSITIVE_INFINITY
  const resumed = await clinic.run()
  expect(driftOf(resumed)).toEqual([
    'b1.csv warn rows: 3,000, usually 40',
    'b1.csv warn empty: empty "pulse" 50.0 %, usually 0.0 %',
    'b1.csv warn mix: rows with heart-rate 50.0 %, usually 100.0 %',
  ])
})

test.each(['', 'drift: { mix: { stop: 50% } }\n'])(
  'a trailer that states another number of rows stops its export before anything is sent; %j',
  async (drift) => {
    const clinic = await openWatched(drift)
    const read = '{ format: csv, trailer: { match: "^TRL", count: { cell: 2 } } }'
    const mapping = CLINIC.replace('{ format: csv }', read)
    await writeFile(join(clinic.workplace.folder, 'mappings/clinic.yaml'), mapping)
    const [whole, other] = await Promise.all([
      clinic.deliver('t1.csv', `${delivery('t1')}TRL,50\n`),
      clinic.deliver('t2.csv', `${delivery('t2')}TRL,51\n`),
    ])
    const before = clinic.requests()
    const stopped = await clinic.run('--file', other)
    expect(stopped.code).toBe(2)
    expect(summaryOf(stopped).exports).toMatchObject([{ name: 't2.csv', error: 'export-not-as-announced' }])
    expect(stopped.err).toContain('its number of rows, by its trailer, should be 51, but is 50')
    expect(clinic.requests()).toBe(before)
    const sent = summaryOf(await clinic.run('--file', whole))
    expect(sent.records.biometric.accepted).toBe(3 * 50)
  },
)
