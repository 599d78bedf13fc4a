/** The list of runs that need somebody: what empties it, and that it never ends in silence. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ANN, BEN, HEADER, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { DAYS, inDoubt, openHistory } from './history.ts'
import { type Nights, openNights, runIds, steadily } from './nights.ts'

const GOLDEN = join(import.meta.dirname, 'golden')
const wrong = (id: string, unit = 'parsec'): string => `${id},2026-03-02,61,5.1,70.5,${unit},fine\n`

const failed = async ({ workplace }: Pick<Nights, 'workplace'>): Promise<string[]> =>
  runIds(await workplace.waybill('runs', '--failed', '--json'))

/** A run of a file of its own, of which a record is rejected. */
async function red(nights: Nights, name: string, rows = wrong(name)): Promise<string> {
  const ended = await nights.run('--file', await nights.deliver(`${name}.csv`, HEADER + ANN + rows))
  expect(ended.code).toBe(1)
  return summaryOf(ended).run
}

test('what is left for good is acknowledged: who, when and why is kept, and it can be undone', async () => {
  const nights = await openNights()
  await nights.deliver('day.csv', HEADER + ANN + wrong('cid'))
  const { run } = summaryOf(await nights.run())
  expect(await failed(nights)).toEqual([run])
  const said = await nights.look('acknowledge', run, '--note', 'the vendor cannot say which unit it was')
  expect([said.code, said.out]).toEqual([0, `Acknowledged: ${run}\nNo run needs attention.\n`])
  expect(await failed(nights)).toEqual([])
  const shown = await nights.look('show', run)
  await expect(steadily(shown.out, nights)).toMatchFileSnapshot(join(GOLDEN, 'show-acknowledged.txt'))
  expect((await nights.look('acknowledge', run)).err).toContain('error nothing-left')

  // The file lies there still, and is read again each night.
  const again = summaryOf(await nights.run())
  expect(again.records.biometric.rejected).toBe(1)
  expect(await failed(nights)).toEqual([])
  await nights.deliver('other.csv', HEADER + wrong('dan'))
  const third = summaryOf(await nights.run())
  expect(await failed(nights)).toEqual([third.run])
  expect((await nights.look('acknowledge', 'latest', '--json')).out).toContain(
    `"runs":["${third.run}"],"left":0`,
  )

  const undone = await nights.look('acknowledge', run, '--undo')
  expect(undone.out).toContain(`No longer acknowledged: ${run}`)
  // The newest reading stands for those before it, and was acknowledged itself.
  expect(await failed(nights)).toEqual([])
  await nights.look('acknowledge', third.run, '--undo')
  expect(await failed(nights)).toEqual([third.run])
})

test('a reason is acknowledged in all runs so far, and not in those that come', async () => {
  const nights = await openNights()
  const runs = [await red(nights, 'a'), await red(nights, 'b')]
  const mixed = await red(nights, 'c', wrong('c') + wrong('d').replace('2026-03-02', '2.3.2026'))
  const said = await nights.look('acknowledge', '--reason', 'unit-unknown', '--by', 'ann')
  expect(said.out).toBe(
    'Acknowledged: for unit-unknown in 3 runs\n1 run needs attention: waybill runs --failed\n',
  )
  expect(await failed(nights)).toEqual([mixed])
  const shown = (await nights.look('show', mixed)).out
  expect(shown).toMatch(/by ann: acknowledge unit-unknown/)
  expect(shown.slice(shown.indexOf('Next'))).not.toContain('unit-unknown')
  const later = await red(nights, 'e')
  expect(await failed(nights)).toEqual([later, mixed])
  await nights.look('acknowledge', '--reason', 'unit-unknown', '--undo')
  expect(await failed(nights)).toEqual([later, mixed, ...runs.toReversed()])
  expect((await nights.look('acknowledge')).err).toContain(
    'name a run, a job with --job, or a reason with --reason',
  )
})

test('exports that cannot be read, and a run that its threshold ended, are acknowledged, too', async () => {
  const nights = await openNights({ job: 'stopWhen: { rejectedRows: 10%, after: 1 }\n' })
  const unread = await nights.run('--file', await nights.deliver('a.csv', ''))
  expect(unread.code).toBe(2)
  const stopped = await nights.run('--file', await nights.deliver('b.csv', `${HEADER}ann,never,1,,,,\n`))
  expect(stopped.code).toBe(4)
  expect(await failed(nights)).toHaveLength(2)
  await nights.look('acknowledge', '--reason', 'export-empty')
  await nights.look('acknowledge', '--reason', 'threshold-passed')
  expect(await failed(nights)).toEqual([])
})

test('what is in doubt is decided on, not acknowledged', async () => {
  const scene = await openHistory()
  const run = await inDoubt(scene, DAYS[0] ?? '', 'reset')
  const { waybill } = scene.workplace
  expect((await waybill('acknowledge', run)).out).toContain('3 records are in doubt and need a decision')
  expect(await failed(scene)).toEqual([run])
  await waybill('resolve', run, '--accept')
  expect(await failed(scene)).toEqual([])
})

test('an unfinished run is finished or given up, not acknowledged', async () => {
  const scene = await openHistory()
  scene.strike(() => ({ do: 'answer', status: 403 }))
  await scene.deliver('clinic_20260101.csv', HEADER + ANN)
  expect((await scene.run()).code).toBe(3)
  const [run = ''] = await failed(scene)
  expect((await scene.workplace.waybill('acknowledge', run)).err).toContain('error run-unfinished')
  expect((await scene.workplace.waybill('acknowledge', '--reason', 'gateway-refused-credentials')).code).toBe(
    2,
  )
})

test('a run of a corrected rejects file takes its lines over: the origin leaves the list', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day.csv', HEADER + ANN + wrong('cid') + wrong('dan') + BEN)
  const before = summaryOf(await clinic.run())
  const correct = async (from: string | undefined, to: string, change: (text: string) => string) => {
    const path = join(clinic.workplace.folder, to)
    await writeFile(path, change(await readFile(from ?? '', 'utf8')))
    return summaryOf(await clinic.run('--file', path))
  }
  const half = await correct(before.exports[0]?.rejects, 'half.csv', (text) => text.replace('parsec', 'kg'))
  expect(half.records.biometric).toMatchObject({ accepted: 1, rejected: 1 })
  expect(await failed(clinic)).toEqual([half.run])
  const rest = await correct(half.exports[0]?.rejects, 'rest.csv', (text) => text.replace('parsec', 'kg'))
  expect(rest.records.biometric).toMatchObject({ accepted: 1, rejected: 0 })
  expect(await failed(clinic)).toEqual([])
})

test('the list has pages and says how many there are; runs go by short names', async () => {
  const nights = await openNights()
  const runs: string[] = []
  for (const name of ['a', 'b', 'c', 'd', 'e']) runs.unshift(await red(nights, name))
  const page = async (...args: string[]) => nights.look('runs', '--failed', '--limit', '2', ...args)
  const first = await page()
  expect(first.out).toContain('2 of 5 runs, page 1 of 3; the next: --page 2\n')
  expect(runIds(await page('--page', '2', '--json'))).toEqual(runs.slice(2, 4))
  const last = await page('--page', '3')
  expect(last.out).toContain('1 of 5 runs, page 3 of 3\n')
  expect((await page('--page', '4')).out).toBe('0 of 5 runs, page 4 of 3\n')
  await expect(steadily(first.out, nights)).toMatchFileSnapshot(join(GOLDEN, 'runs-failed-pages.txt'))

  const [latest = '', before = ''] = runs
  const shown = async (name: string) => JSON.parse((await nights.look('show', name, '--json')).out)
  expect(await shown('latest')).toMatchObject({ run: latest })
  expect(await shown(before.slice(-6))).toMatchObject({ run: before })
  expect(await shown(before.slice(0, -1))).toMatchObject({ run: before })
  expect((await shown(before.slice(0, 6))).error.message).toMatch(/^several runs match/)
  expect((await shown('zzzz')).error.code).toBe('run-not-found')

  const ids = async (...args: string[]) => runIds(await nights.look('runs', '--json', ...args))
  expect(await ids('--since', '1d')).toEqual(runs)
  expect(await ids('--since', '2999-01-01')).toEqual([])
  expect(await ids('--state', 'finished', '--job', 'clinic')).toEqual(runs)
  expect(await ids('--state', 'interrupted')).toEqual([])
  expect((await nights.look('runs', '--since', 'soon')).code).toBe(2)
})
