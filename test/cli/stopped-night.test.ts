/** A night that `stopWhen` ended before anything was sent: what it says of itself. */
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CLINIC, HEADER } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { delivery, noticesText, openNights, steadily } from './nights.ts'
import { readRejects } from './run-outputs.ts'

const GOLDEN = join(import.meta.dirname, 'golden')

const dated = (id: string, day: string): string => `${id},${day},61,5.1,70.5,kg,fine\n`
const MIXED =
  HEADER +
  Array.from({ length: 150 }, (_, at) => dated(`p${at}`, '02.03.2026')).join('') +
  dated('ann', '') +
  dated('ben', '2026-03-02')

test('it counts its reasons, keeps a sample of the rows, and says why and with which exit code it ended', async () => {
  const nights = await openNights({ job: 'stopWhen: { rejectedRows: 20%, after: 2 }\n' })
  await nights.deliver('day.csv', MIXED)
  const ended = await nights.run()
  expect(ended.code).toBe(4)
  expect(await nights.stored()).toEqual([])
  const shown = JSON.parse((await nights.look('show', '--json')).out)
  expect(shown).toMatchObject({ state: 'failed', exit: 4, rows: { read: 0 } })
  expect(shown.reasons).toMatchObject([
    { outcome: 'held-back', code: 'date-invalid', count: 150, exportName: 'day.csv' },
    { outcome: 'held-back', code: 'date-missing', count: 1 },
  ])
  const path: string = shown.exports[0].rejects
  expect(((await stat(path)).mode & 0o777).toString(8)).toBe('600')
  const lines = await readRejects(path)
  expect(lines).toHaveLength(100)
  expect(lines[0]).toMatchObject({ _export: 'day.csv', _row: '1', _line: '2', _code: 'date-invalid' })

  const listed = await nights.look('runs')
  const text = `${(await nights.look('show')).out}\n${listed.out}\n${noticesText(nights)}\n`
  await expect(steadily(text, nights)).toMatchFileSnapshot(join(GOLDEN, 'night-stopped.txt'))
  await nights.look('report', '--out', 'report.html')
  const report = await readFile(join(nights.workplace.folder, 'report.html'), 'utf8')
  const head = report.slice(report.indexOf('<header>'), report.indexOf('</header>'))
  expect(head).toContain('<dt>exit code</dt><dd>4</dd>')
  expect(head).toContain('151 of 152 rows were rejected')
  expect(report).not.toMatch(/<tbody>\s*<\/tbody>/)
  expect(report).not.toContain('02.03.2026')

  // The sample can be corrected and run, as any rejects file.
  const corrected = join(nights.workplace.folder, 'corrected.csv')
  await writeFile(corrected, (await readFile(path, 'utf8')).replaceAll('02.03.2026', '2026-03-02'))
  expect(summaryOf(await nights.run('--file', corrected)).records.biometric.accepted).toBe(300)
})

test('what chunks before have settled stays in the rejects file, and in the balance', async () => {
  const nights = await openNights({
    job: 'stopWhen: { rejectedRows: 30%, after: 2600 }\nsubmit: { readLag: 100ms }\n',
  })
  // A chunk of 2,500 rows.
  const good = delivery('a', 2_495)
  const bad = Array.from({ length: 2_000 }, (_, at) => dated(`p${at}`, '02.03.2026')).join('')
  const first = Array.from({ length: 5 }, (_, at) => dated(`q${at}`, '02.03.2026')).join('')
  await nights.deliver('day.csv', good.replace(HEADER, HEADER + first) + bad)
  const ended = await nights.run()
  expect(ended.code).toBe(4)
  const summary = summaryOf(ended)
  const settled = summary.rows.rejected
  expect(settled).toBe(5)
  expect(await readRejects(summary.exports[0]?.rejects ?? '')).toHaveLength(settled + 100)
})

test('one that stopped for skipped rows says what the mapping left out', async () => {
  const mapping = CLINIC.replace('row:\n', 'row:\n  skipWhen: { remark: no-show }\n')
  const nights = await openNights({ mapping, job: 'stopWhen: { skippedRows: 50%, after: 2 }\n' })
  await nights.deliver('day.csv', delivery('a', 20, '61,5.1,70.5,kg,no-show'))
  expect((await nights.run()).code).toBe(4)
  expect(JSON.parse((await nights.look('show', '--json')).out).reasons).toMatchObject([
    { outcome: 'held-back', code: 'skipWhen', count: 20, message: 'the mapping skips the row' },
  ])
})
