/** One named run, or the runs that options choose: `rerun`, `reconcile` and `acknowledge` take them alike. */
import { expect, test } from 'vitest'
import { ANN, CLINIC, HEADER, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { writeMapping } from './left-behind.ts'

/** Rejected for its day until the mapping reads the form. */
const badDay = (name: string): string => `${name},03/02/2026,63,5.3,72.5,kg,fine\n`

/** Two runs, each with a rejected row that the mapping reads by now. */
async function openTwo() {
  const clinic = await openClinic()
  const { waybill } = clinic.workplace
  await clinic.deliver('a.csv', HEADER + ANN + badDay('cat'))
  const first = summaryOf(await clinic.run()).run
  const path = await clinic.deliver('b.csv', HEADER + badDay('dan'))
  const second = summaryOf(await clinic.run('--file', path)).run
  return { ...clinic, waybill, first, second }
}

const runsOf = (text: string): string[] => JSON.parse(text).runs.map(({ run }: { run: string }) => run)

test('a dry run of one named run, and of several, lists them and does nothing', async () => {
  const { waybill, first, second, ...clinic } = await openTwo()
  const { stored } = clinic
  await writeMapping(clinic, CLINIC.replace('format: yyyy-MM-dd', 'format: [yyyy-MM-dd, MM/dd/yyyy]'))
  const before = await stored()
  for (const command of ['rerun', 'reconcile', 'acknowledge']) {
    const one = await waybill(command, first, '--dry-run', '--json')
    expect([command, one.code, runsOf(one.out)]).toEqual([command, 0, [first]])
    const all = await waybill(command, '--job', 'clinic', '--dry-run', '--json')
    expect([command, all.code, runsOf(all.out)]).toEqual([command, 0, [first, second]])
    expect((await waybill(command, first, '--dry-run')).out).toContain(first)
  }
  expect(await stored()).toEqual(before)
  expect(JSON.parse((await waybill('runs', '--json')).out).runs).toHaveLength(2)
  expect(JSON.parse((await waybill('audit', '--json')).out).audit).toEqual([])

  expect((await waybill('rerun', '--job', 'clinic')).code).toBe(0)
  for (const command of ['rerun', 'reconcile', 'acknowledge'])
    expect([command, (await waybill(command, first, '--dry-run')).code]).toEqual([command, 2])
})

test.each([
  ['rerun', '--since', '7d'],
  ['rerun', '--reason', 'date-invalid'],
  ['reconcile', '--job', 'clinic'],
  ['acknowledge', '--export', 'a.csv'],
  ['acknowledge', '--since', '7d'],
])('%s RUN %s: the run is named or chosen, not both', async (command, option, value) => {
  const { waybill, first, stored } = await openTwo()
  const before = await stored()
  const both = await waybill(command, first, option, value)
  expect([both.code, both.err]).toEqual([2, expect.stringContaining(option)])
  expect(await stored()).toEqual(before)
  expect(JSON.parse((await waybill('needs', '--json')).out).needs).not.toEqual([])
})

test('a dry run of an acknowledgement lists the refused start of the job, and leaves it', async () => {
  const clinic = await openClinic()
  const { waybill } = clinic.workplace
  expect((await clinic.run()).code).toBe(2)
  const listed = await waybill('acknowledge', '--job', 'clinic', '--dry-run', '--json')
  expect([listed.code, JSON.parse(listed.out)]).toMatchObject([
    0,
    { dryRun: true, runs: [], start: { job: 'clinic', code: 'exports-none' } },
  ])
  expect((await waybill('acknowledge', '--job', 'clinic', '--dry-run')).out).toContain(
    'The refused start of clinic (exports-none)',
  )
  // A part of the job's runs is no refused start.
  for (const part of [
    ['--since', '7d'],
    ['--reason', 'exports-none'],
    ['--export', 'a.csv'],
  ])
    expect((await waybill('acknowledge', '--job', 'clinic', ...part, '--dry-run')).code).toBe(2)
  expect(JSON.parse((await waybill('needs', '--json')).out).needs).toHaveLength(1)
})

test('neither a run nor a choice, and a dry run of an undoing, are refused', async () => {
  const { waybill, first } = await openTwo()
  for (const command of ['rerun', 'reconcile', 'acknowledge'])
    expect([command, (await waybill(command, '--dry-run')).code]).toEqual([command, 2])
  expect((await waybill('acknowledge', first, '--undo', '--dry-run')).code).toBe(2)
  expect((await waybill('rerun', 'no-such-run', '--dry-run')).code).toBe(2)
})
