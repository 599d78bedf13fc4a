import { expect, test } from 'vitest'
import { createMetrics, serveMetrics } from '../../src/telemetry/metrics.ts'
import { createCounting, createProgress } from '../../src/telemetry/progress.ts'

/** Back to the start of the line, and all of it gone (ECMA-48, EL 2). */
const CLEAR = '\r\x1b[2K'

const STATE = { rows: 1, records: 2, share: 0.5 }

test.each([false, () => 80] as const)('what has ended is shown no more: %s', (columns) => {
  let text = ''
  let ms = 0
  const progress = createProgress({
    ...{ columns, now: () => ms },
    write: (more) => {
      text += more
    },
  })
  progress.start('a.csv', { ...STATE, rows: 0, records: 0 })
  progress.end(STATE)
  const ended = text
  ms += 60_000
  progress.advance(STATE)
  progress.end(STATE)
  expect(text).toBe(ended)
  progress.start('b.csv', STATE)
  progress.stop()
  const stopped = text
  ms += 60_000
  progress.advance(STATE)
  progress.end(STATE)
  expect(text).toBe(stopped)
})

test('a count takes its line away once', () => {
  let text = ''
  const counting = createCounting({
    ...{ columns: () => 80, now: () => 0 },
    write: (more) => {
      text += more
    },
  })
  counting.end()
  expect(text).toBe('')
  counting.at('1 of 2')
  counting.end()
  counting.end()
  expect(text).toBe(`${CLEAR}1 of 2${CLEAR}`)
})

test('a wait is told once a minute, without a terminal', () => {
  const lines: string[] = []
  let ms = 0
  const progress = createProgress({ columns: false, now: () => ms, write: (line) => lines.push(line) })
  for (const at of [0, 59_999, 60_000, 119_999, 120_000]) {
    ms = at
    progress.wait('waiting')
  }
  expect(lines).toEqual(['waiting\n', 'waiting\n'])
  progress.wait(undefined)
  ms += 60_000
  progress.wait('waiting')
  expect(lines).toHaveLength(2)
})

test('what is continued says after how much', () => {
  const lines: string[] = []
  const progress = createProgress({ columns: false, now: () => 0, write: (line) => lines.push(line) })
  progress.start('a.csv', { rows: 0, records: 0, share: 0 })
  progress.start('b.csv', { rows: 1, records: 2_000, share: 0.5 })
  expect(lines).toEqual(['b.csv: continues after 1 row, 2,000 records\n'])
})

test('the address that another program holds is refused with the setting', async () => {
  const metrics = createMetrics('1')
  const serving = {
    ...{ host: '127.0.0.1', port: 0, metrics, version: '1', isEnding: () => false },
    hindrance: async () => undefined,
  }
  const { url, close } = await serveMetrics(serving)
  try {
    await expect(serveMetrics({ ...serving, port: Number(new URL(url).port) })).rejects.toMatchObject({
      ...{ code: 'settings-invalid', place: { key: 'WAYBILL_METRICS' } },
      message: expect.stringContaining('EADDRINUSE'),
    })
  } finally {
    await close()
  }
})

test('runs are counted by their length, from a second to a night; requests from 10 ms to two minutes', async () => {
  const metrics = createMetrics('1')
  metrics.runEnded({ job: 'j', state: 'finished', durationMs: 60_000 })
  metrics.requestAnswered({ operation: 'POST x', class: 'accepted', durationMs: 250 } as never)
  const text = await metrics.text()
  const buckets = (name: string): [string, string][] =>
    [...text.matchAll(new RegExp(`^waybill_${name}\\w*_bucket\\{le="([^"]+)".*\\} (\\d+)$`, 'gm'))].map(
      ([, le = '', count = '']) => [le, count],
    )
  const bounds = [1, 5, 15, 60, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800]
  expect(buckets('run')).toEqual([...bounds.map((le) => [String(le), le < 60 ? '0' : '1']), ['+Inf', '1']])
  const requests = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]
  expect(buckets('gateway')).toEqual([
    ...requests.map((le) => [String(le), le < 0.25 ? '0' : '1']),
    ['+Inf', '1'],
  ])
})
