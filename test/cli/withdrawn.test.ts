/** Results that a laboratory has taken back after they were delivered: a person is told once, with the id under which the gateway has them. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Clinic, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { copyLabTables, LAB_JOB, labMapping, labMessage as message } from './lab.ts'
import { showOf } from './left-behind.ts'
import { readReceipts, readRejects } from './run-outputs.ts'

async function openLab(keep?: string): Promise<Clinic> {
  const clinic = await openClinic({ mapping: await labMapping(keep), job: LAB_JOB })
  await copyLabTables(clinic.workplace.folder)
  return clinic
}

/** A file that comes alone. */
const night = async (clinic: Clinic, name: string, ...messages: readonly string[]) => {
  const file = await clinic.deliver(name, messages.join(''))
  const ended = await clinic.run('--file', file)
  return { code: ended.code, summary: summaryOf(ended) }
}

it('what the gateway has and the laboratory withdraws is rejected once, under its transaction id', async () => {
  const clinic = await openLab()
  const { waybill } = clinic.workplace
  const people = [0, 1, 2, 3, 4]
  const first = await night(clinic, 'a.hl7', ...people.map((one) => message(one, `9${one}`, 'F')))
  expect(first.code).toBe(0)
  const receipts = await readReceipts(first.summary.files.receipts ?? '')
  const sentAs = (row: number): string =>
    receipts.map(({ transactionId }) => transactionId).find((id) => Number(id.split('-')[1]) === row) ?? ''

  // W with its value, D without, X of somebody else's; two that were never delivered, and a new one.
  const messages = [
    ...[message(1, '91', 'W'), message(2, '', 'D'), message(3, '""', 'X')],
    ...[message(7, '97', 'W'), message(8, '', 'X'), message(9, '99', 'F')],
  ]
  const lies = await clinic.deliver('b.hl7', messages.join(''))
  const tried = async () => (await waybill('run', 'clinic', '--file', lies, '--dry-run', '--json')).out
  const reasonsOf = (out: string) => JSON.parse(out).reasons
  expect(reasonsOf(await tried())).toMatchObject([{ code: 'withdrawn', rule: 'glucose-1', count: 3 }])
  const second = await night(clinic, 'b.hl7', ...messages)
  expect(second.code).toBe(1)
  const { run, rows, records } = second.summary
  expect(rows).toMatchObject({ read: 6, mapped: 4, skipped: 2, rejected: 0 })
  expect(records.biometric).toMatchObject({ made: 4, accepted: 1, rejected: 3, unchanged: 0 })
  const { reasons } = await showOf(clinic, run)
  expect(reasons.map(({ code, rule, count }) => `${code} ${rule} ${count}`)).toEqual([
    'withdrawn glucose-1 3',
  ])
  const rejects = await readRejects(second.summary.exports[0]?.rejects ?? '')
  expect(rejects.map(({ _code, _reason }) => `${_code} ${/\(([^ ]+)\)$/.exec(_reason ?? '')?.[1]}`)).toEqual(
    [2, 3, 4].map((row) => `withdrawn ${sentAs(row)}`),
  )
  const shown = await waybill('show', run)
  expect(shown.out).toContain('Left out status W 1, status X 1')
  expect(shown.out).toContain(`waybill trace ${sentAs(2)}`)
  expect((await waybill('trace', sentAs(2))).code).toBe(0)

  expect(reasonsOf(await tried())).toEqual([])

  // The same withdrawal each night, and once more in the same file, is nothing new.
  const again = await night(clinic, 'c.hl7', message(1, '91', 'W'), message(2, '', 'D'))
  expect([again.code, again.summary.records.biometric?.rejected]).toEqual([0, 0])
  expect((await clinic.run('--file', join(clinic.workplace.folder, 'inbox/b.hl7'))).code).toBe(0)

  // To take the rows up settles nothing.
  const rerun = await waybill('rerun', run, '--json')
  expect([rerun.code, summaryOf(rerun).records.biometric?.rejected]).toEqual([1, 3])
  const { run: last } = summaryOf(rerun)
  expect((await waybill('runs', '--failed')).out).toContain(last)
  expect((await waybill('acknowledge', last)).code).toBe(0)
  expect((await waybill('runs', '--failed', '--json')).out).not.toContain(last)
  expect(await clinic.stored()).toHaveLength(6)
})

it('a result that is said again, or anew, and withdrawn once more is told once more', async () => {
  const clinic = await openLab()
  /** All files lie there still, and are read again each night. */
  const night = async (clinic: Clinic, name: string, ...messages: readonly string[]) => {
    await clinic.deliver(name, messages.join(''))
    return clinic.run()
  }
  expect((await night(clinic, 'a.hl7', message(1, '91', 'F'))).code).toBe(0)
  expect((await night(clinic, 'b.hl7', message(1, '91', 'W'))).code).toBe(1)
  expect((await night(clinic, 'c.hl7', message(1, '91', 'F'))).code).toBe(0)
  // A file that lies there still, older than that, takes nothing back.
  expect((await clinic.run('--file', join(clinic.workplace.folder, 'inbox/b.hl7'))).code).toBe(0)
  expect((await night(clinic, 'd.hl7', message(1, '91', 'D'))).code).toBe(1)
  expect((await night(clinic, 'e.hl7', message(1, '95', 'C'))).code).toBe(0)
  expect((await night(clinic, 'f.hl7', message(1, '95', 'W'))).code).toBe(1)
})

it('within one file the last word stands: what a withdrawal follows is not sent, and what follows one is', async () => {
  const clinic = await openLab()
  const { code, summary } = await night(
    clinic,
    'a.hl7',
    ...[message(1, '91', 'F'), message(1, '91', 'W'), message(2, '92', 'W'), message(2, '93', 'C')],
  )
  expect(code).toBe(0)
  expect(summary.records.biometric).toMatchObject({ made: 2, accepted: 1, unchanged: 1 })
  expect((await clinic.store.records('biometric')).map(({ value }) => Number(value))).toEqual([93])
  // The same file once more: nothing is new.
  expect((await night(clinic, 'a.hl7', message(2, '93', 'C'), message(2, '93', 'W'))).code).toBe(1)
})

it.each([
  ['a correction before its original', [message(1, '95', 'C'), message(1, '91', 'F')], 95],
  ['a preliminary result behind the final one', [message(1, '95', 'F'), message(1, '91', 'P')], 95],
  ['two final ones, by their rows', [message(1, '91', 'F'), message(1, '95', 'F')], 95],
  [
    'two final ones, of which the later was sent first in the file',
    [message(1, '95', 'F', undefined, '20260204120000'), message(1, '91', 'F')],
    95,
  ],
  [
    'a correction sent behind a withdrawal that stands below it',
    [message(1, '95', 'F', undefined, '20260204120000'), message(1, '91', 'W')],
    95,
  ],
  [
    'a correction behind a withdrawal',
    [message(1, '91', 'F'), message(1, '91', 'W'), message(1, '95', 'F')],
    95,
  ],
])(
  'the last word of a chunk goes by state, then by time of issue, then by row: %s',
  async (_, messages, value) => {
    const clinic = await openLab('keep: [P, F, C]')
    expect((await night(clinic, 'a.hl7', ...messages)).code).toBe(0)
    expect((await clinic.store.records('biometric')).map((one) => Number(one['value']))).toEqual([value])
  },
)
