import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createWorkplace, PROJECT } from '../cli/command-line.ts'
import { page } from './pages.ts'

/** Ids and seconds are each run's own; blanks at the end of a line are not seen. */
const alike = (printed: string): string =>
  printed
    .replace(/\d{8}T\d{6}Z-[0-9a-f]{6}/g, 'RUN')
    .replace(/after [\d.]+ s at work/g, 'after SECONDS at work')
    .replace(/ +$/gm, '')

it('README: the job of npm start prints what it says, the second time too', async () => {
  const workplace = await createWorkplace({ WAYBILL_JOBS: join(PROJECT, 'jobs') })
  const start = async (): Promise<string> => {
    const { code, out } = await workplace.waybill('run', 'nightly-screenings')
    expect(code).toBe(1)
    return out
  }
  const readme = page('README.md')
  const [, sample = ''] = /```text\n(Run .*?)```/s.exec(readme) ?? []
  expect(sample).not.toBe('')
  expect(alike(await start())).toContain(alike(sample))
  const [, requests = '', unchanged = ''] =
    /again: `(Requests \d+ sent)`, ([\d,]+) records unchanged/.exec(readme) ?? []
  const again = await start()
  expect(again).toContain(requests)
  const kept = again.matchAll(/^ (?:biometrics|conditions|care teams) +(?:[\d,]+ +){3}([\d,]+)/gm)
  const sum = [...kept].reduce((total, [, count = '']) => total + Number(count.replaceAll(',', '')), 0)
  expect(sum.toLocaleString('en-US')).toBe(unchanged)
})
