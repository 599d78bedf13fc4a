/** Lists beside the runs: each number stands in its own column, and each list says where it ends. */
import { expect, test } from 'vitest'
import { openClinic } from './clinic.ts'

test('exports, runs and mappings are listed with what is of them', async () => {
  const clinic = await openClinic({
    mapping: `mapping: clinic
read: { format: csv }
row: { key: [id], account: { reference: id }, observedAt: { from: day, format: yyyy-MM-dd, zone: UTC }, source: { name: N, type: t }, skipWhen: { pulse: none } }
biometrics: { heart-rate: pulse }
`,
    job: 'exports: { from: ../inbox, match: "*.csv" }\nmapping: clinic\n',
  })
  const { waybill } = clinic.workplace
  const row = (id: string, day: string, pulse: string): string => `${id},${day},${pulse}\n`
  const rows = [
    ...[1, 2, 3].map((at) => row(`P-${at}`, '2026-03-02', `6${at}`)),
    row('P-4', '2026-03-02', 'none'),
    ...[5, 6].map((at) => row(`P-${at}`, 'yesterday', '61')),
  ]
  await clinic.deliver('day.csv', `id,day,pulse\n${rows.join('')}`)
  await clinic.run()

  const exports = (await waybill('exports', 'clinic')).out.split('\n')
  const columns = (exports[0] ?? '').trim().split(/\s{2,}/)
  const cells = (exports[1] ?? '').trim().split(/\s{2,}/)
  expect(Object.fromEntries(columns.map((name, at) => [name, cells[at]]))).toMatchObject({
    ...{ export: 'day.csv', rows: '6', skipped: '1', rejected: '2' },
  })
  expect((await waybill('runs', '--since', '2099-01-01')).out).toBe('There are no matching runs.\n')
  expect((await waybill('runs', '--failed', '--job', 'clinic', '--since', '2099-01-01')).out).toBe(
    'There are no matching runs of clinic.\n',
  )
  const shown = (await waybill('mapping', 'show', 'clinic')).out.split('\n')
  expect(shown.filter((line) => /^>/.test(line))).toEqual([expect.stringMatching(/^> \d+ {2}day\.csv, run /)])

  // Jobs that one person pauses at one instant are two lines.
  await clinic.workplace.job('other', 'exports: { from: ../inbox, match: "*.txt" }\nmapping: clinic\n')
  const at = Date.now()
  for (const job of ['clinic', 'other'])
    await clinic.workplace.waybillWith(
      (context) => ({ ...context, now: () => at }),
      ...['pause', job, '--by', 'ann', '--note', 'moving'],
    )
  const acted = (await waybill('audit')).out.split('\n').map((line) => line.trim().split(/\s{2,}/))
  expect(acted.slice(1, 3).map((cells) => cells.slice(1))).toEqual([
    ['ann', 'pause', 'clinic', 'moving'],
    ['ann', 'pause', 'other', 'moving'],
  ])
})
