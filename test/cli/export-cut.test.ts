/** Exports that may be cut are held back and told, and taken when they are whole or a person says that they are. */
import { createHash } from 'node:crypto'
import { expect, it, test } from 'vitest'
import { type Clinic, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'

const row = (person: number, weight: string): string => `p${person},2026-03-02,,,${weight},kg,\n`
const table = (...rows: readonly string[]): string => `id,day,pulse,a1c,weight,unit,remark\n${rows.join('')}`
const WHOLE = table(row(1, '70.5'), row(2, '80.5'))
const CUT = table(row(1, '70.5'), row(3, '81.5')).slice(0, -7)

const night = async (clinic: Clinic, name: string, content: string, ...options: string[]) => {
  const file = await clinic.deliver(name, content)
  return clinic.run('--file', file, ...options)
}
const errorsOf = (ended: Awaited<ReturnType<typeof night>>): (string | undefined)[] =>
  summaryOf(ended).exports.map(({ error }) => error)

it('a file without a last line end is held where the one before had one, and taken when it is whole', async () => {
  const clinic = await openClinic()
  expect((await night(clinic, 'a.csv', WHOLE)).code).toBe(0)
  const held = await night(clinic, 'b.csv', CUT)
  expect([held.code, errorsOf(held)]).toEqual([2, ['export-cut']])
  expect(await clinic.stored()).toHaveLength(2)
  const { run } = summaryOf(held)
  const shown = await clinic.workplace.waybill('show', run)
  expect(shown.out).toContain('--accept-end')
  // The same bytes once more change nothing; the whole file is taken.
  expect(errorsOf(await night(clinic, 'b.csv', CUT))).toEqual(['export-cut'])
  const whole = await night(clinic, 'b.csv', table(row(1, '70.5'), row(3, '81.5')))
  expect([whole.code, errorsOf(whole)]).toEqual([0, [undefined]])
  expect(await clinic.stored()).toContain('p3 body-weight 81.5')
})

it('--accept-end takes it once; the same file on later nights is known, and another one is held', async () => {
  const clinic = await openClinic()
  const open = table(row(1, '70.5'), row(3, '81.5')).slice(0, -1)
  expect((await night(clinic, 'a.csv', WHOLE)).code).toBe(0)
  expect(errorsOf(await night(clinic, 'b.csv', open))).toEqual(['export-cut'])
  expect((await night(clinic, 'b.csv', open, '--accept-end')).code).toBe(0)
  expect((await night(clinic, 'c.csv', table(row(4, '60.5')))).code).toBe(0)
  expect((await night(clinic, 'b.csv', open)).code).toBe(0)
  expect(errorsOf(await night(clinic, 'd.csv', table(row(5, '61.5')).slice(0, -1)))).toEqual(['export-cut'])
})

it('a backfill holds it, too, says what to type, and takes it with --accept-end', async () => {
  const clinic = await openClinic({
    job: 'exports: { from: ../inbox, match: "clinic_{date:yyyyMMdd}.csv" }\nmapping: clinic\naccounts: { register: never }\n',
  })
  await clinic.deliver('clinic_20260301.csv', WHOLE)
  await clinic.deliver('clinic_20260302.csv', table(row(1, '70.5'), row(3, '81.5')).slice(0, -1))
  const { waybill } = clinic.workplace
  const typed = ['backfill', 'clinic', '--from', '2026-03-01', '--to', '2026-03-02']
  const held = await waybill(...typed, '--json')
  expect([held.code, errorsOf(held)]).toEqual([1, [undefined, 'export-cut']])
  const { run } = summaryOf(held)
  expect((await waybill('show', run)).out).toContain(`waybill ${typed.join(' ')} --accept-end`)
  const taken = await waybill(...typed, '--accept-end', '--json')
  expect([taken.code, JSON.parse(taken.out)]).toMatchObject([0, { backfill: { acceptEnd: true } }])
  expect(await clinic.stored()).toContain('p3 body-weight 81.5')
})

it('a first export without a last line end is told, and sent', async () => {
  const clinic = await openClinic()
  const open = WHOLE.slice(0, -1)
  const first = await night(clinic, 'a.csv', open)
  expect(first.code).toBe(0)
  const { run } = summaryOf(first)
  expect((await clinic.workplace.waybill('show', run)).out).toContain('the last line has no line end')
  // A vendor who never writes it.
  expect((await night(clinic, 'b.csv', open.replace('p2', 'p4'))).code).toBe(0)
})

it('what was announced is compared with that, whatever it ends with', async () => {
  const clinic = await openClinic({
    job: 'exports: { from: ../inbox, match: "*.csv", verify: { checksum: "{name}.sha256" } }\nmapping: clinic\naccounts: { register: never }\n',
  })
  for (const [name, content] of [
    ['a.csv', WHOLE],
    ['b.csv', WHOLE.slice(0, -1).replace('p2', 'p5')],
  ] as const) {
    await clinic.deliver(name, content)
    await clinic.deliver(`${name}.sha256`, createHash('sha256').update(content).digest('hex'))
  }
  expect((await clinic.run()).code).toBe(0)
  expect(await clinic.stored()).toHaveLength(3)
})

const HL7 = `mapping: clinic
read:
  format: hl7v2
  each: { group: "$.PATIENT_RESULT[*]", order: "group.ORDER_OBSERVATION[*]", seen: "order.OBSERVATION[*]" }
row:
  key: ["$.PATIENT_RESULT[0].PATIENT.PID['3'][0]['1']"]
  account: { reference: "$.PATIENT_RESULT[0].PATIENT.PID['3'][0]['1']", type: partnerAccountId }
  observedAt: { from: "order.OBR['7'][0]['1']", format: HL7, zone: UTC }
  source: { name: Lab, type: laboratory }
  ignore: [OBX-3]
biometrics:
  - catalog: heart-rate
    value: "seen.OBX['5'][0]['1']"
    unit: "seen.OBX['6'][0]['1']"
`
const MESSAGE = [
  'MSH|^~\\&|LAB|FAC|EHR|FAC|20260204101500||ORU^R01^ORU_R01|M1|P|2.5.1',
  'PID|1||p1^^^FAC^MR',
  'OBR|1|O1|F1|24323-8^Panel^LN|||20260204091000',
  'OBX|1|NM|8867-4^Pulse^LN||62|/min|||||F',
].join('\r')
const BATCH = (end: string): string => `FHS|^~\\&\rBHS|^~\\&\r${MESSAGE}\r${end}`

test.each([
  ['a message within a result', `${MESSAGE}\rOBX|2|NM|8867-4^Pulse^LN||6`, 'export-cut'],
  ['a message within its name', `${MESSAGE}\rOB`, 'export-cut'],
  ['a message within its order', MESSAGE.slice(0, MESSAGE.indexOf('|24323')), 'export-cut'],
  ['a whole result without the last segment end', MESSAGE, undefined],
  ['a batch that is not closed', BATCH(''), 'export-cut'],
  ['a file whose batch is closed, and it is not', BATCH('BTS|1\r'), 'export-cut'],
  ['a file of a batch, both closed', BATCH('BTS|1\rFTS|1\r'), undefined],
])('HL7 v2: %s', async (_, content, error) => {
  const clinic = await openClinic({
    mapping: HL7,
    job: 'exports: { from: ../inbox, match: "*.hl7" }\nmapping: clinic\naccounts: { register: never }\n',
  })
  const file = await clinic.deliver('a.hl7', content)
  const ended = await clinic.run('--file', file)
  expect([ended.code, errorsOf(ended)]).toEqual([error === undefined ? 0 : 2, [error]])
  expect(errorsOf(await clinic.run('--file', file, '--accept-end'))).toEqual([undefined])
})
