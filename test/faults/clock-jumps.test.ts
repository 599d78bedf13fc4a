/** A clock that is set while a run is on: whatever the run makes of it, nothing is lost and nothing sent twice. */
import { expect, test } from 'vitest'
import { openClinic } from '../cli/clinic.ts'
import { summaryOf } from '../cli/command-line.ts'
import { startReferenceStore } from '../cli/reference-store.ts'
import { answer, PASS, startFaultProxy } from './fault-proxy.ts'

const HOUR = 3_600_000
const PEOPLE = 20
const EXPORT = `id,day,pulse,a1c,weight,unit,remark\n${Array.from({ length: PEOPLE }, (_, n) => `p${n},2026-03-02,61,5.1,70.5,kg,\n`).join('')}`

test.for([
  ...[5, 40].flatMap((reads) => [
    { what: 'two hours ahead', reads, jump: 2 * HOUR },
    { what: 'two hours back', reads, jump: -2 * HOUR },
  ]),
  { what: 'fifty years back', reads: 20, jump: -50 * 365.25 * 24 * HOUR },
])('$what, after it was read $reads times', async ({ reads, jump }) => {
  const store = await startReferenceStore({ open: true })
  // A batch is told to come again: waits are what a clock is asked for most.
  const proxy = await startFaultProxy(store.url, ({ method, earlier }) =>
    method === 'POST' && earlier === 2 ? answer(503, { 'retry-after': '0' }) : PASS,
  )
  const clinic = await openClinic({
    store,
    environment: { ...store.environment, WAYBILL_GATEWAY_URL: proxy.url },
    job: `exports: { from: ../inbox, match: "*.csv", mapping: clinic }
accounts: { register: never }
submit: { concurrency: 2, batch: { records: 10 }, patience: 5m, readLag: 100ms }
`,
  })
  await clinic.deliver('a.csv', EXPORT)
  let left = reads
  const first = await clinic.workplace.waybillWith(
    (context) => ({ ...context, now: () => context.now() + (left-- > 0 ? 0 : jump) }),
    ...['run', 'clinic', '--json'],
  )
  expect(left).toBeLessThan(0)
  const summary = summaryOf(first)
  expect([0, 3]).toContain(first.code)
  expect(summary.balanced).toBe(true)
  expect(summary.durationMs).toBeGreaterThanOrEqual(0)
  const next = await clinic.run()
  expect(next).toMatchObject({ code: 0 })
  expect(summaryOf(next)).toMatchObject({ balanced: true, rows: { read: PEOPLE } })
  const stored = await clinic.stored()
  expect(stored).toHaveLength(3 * PEOPLE)
  expect(new Set(stored).size).toBe(3 * PEOPLE)
})
