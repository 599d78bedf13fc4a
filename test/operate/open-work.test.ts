/** Fires and timetables in the list of needs: from when a schedule counts as silent, and how long a missed fire is listed. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { HEADER, JOB, openClinic } from '../cli/clinic.ts'

const MINUTE = 60_000
const DAY = 86_400_000
const DUE = Date.parse('2026-03-02T02:15:00Z')
const Needs = z.object({ needs: z.array(z.looseObject({ cause: z.string(), code: z.string().optional() })) })

/** A scheduled job that has run once, long before. */
async function openScheduled() {
  const schedule = 'schedule: { cron: "15 2 * * *", zone: UTC, missed: skip }\n'
  const clinic = await openClinic({ job: `${JOB}drift: { fit: off }\n${schedule}`, startsAt: DUE - 29 * DAY })
  await clinic.deliver('a.csv', `${HEADER}ann,2026-01-02,61,5.1,70.5,kg,fine\n`)
  expect((await clinic.run()).code).toBe(0)
  const { home, waybillAt } = clinic.workplace
  return {
    write(sql: string): void {
      const database = new DatabaseSync(join(home, 'ledger.sqlite'))
      database.exec(sql)
      database.close()
    },
    async causesAt(at: number): Promise<string[]> {
      const { out } = await waybillAt(new Date(at).toISOString(), 'needs', '--json')
      return Needs.parse(JSON.parse(out)).needs.map(({ cause, code }) => code ?? cause)
    },
    run: (at: number) => waybillAt(new Date(at).toISOString(), 'run', 'clinic'),
  }
}

test('a schedule is silent ten minutes after a time that it should have looked at', async () => {
  const { write, causesAt } = await openScheduled()
  write(`insert into timetable values (1, '15 2 * * *', 'UTC', ${DUE - DAY})`)
  expect(await causesAt(DUE + 9 * MINUTE)).toEqual([])
  expect(await causesAt(DUE + 11 * MINUTE)).toEqual(['schedule-silent'])
  write(`update timetable set seen_until = ${DUE}`)
  expect(await causesAt(DUE + 11 * MINUTE)).toEqual([])
})

test('a missed fire is listed for thirty days, unless a run has followed', async () => {
  const { write, causesAt, run } = await openScheduled()
  const missed = (due: number, reason: string): string =>
    `insert into fire (job_id, due, state, reason) values (1, ${due}, 'skipped', '${reason}')`
  write(missed(DUE, 'not-scheduled'))
  write(missed(DUE + 1, 'paused'))
  const backedUp = (codes: readonly string[]): string[] => codes.filter((code) => code !== 'backup-old')
  expect(await causesAt(DUE + MINUTE)).toEqual(['not-scheduled'])
  expect(backedUp(await causesAt(DUE + 30 * DAY - MINUTE))).toEqual(['not-scheduled'])
  expect(backedUp(await causesAt(DUE + 30 * DAY + MINUTE))).toEqual([])
  expect((await run(DUE + DAY)).code).toBe(0)
  expect(backedUp(await causesAt(DUE + DAY + MINUTE))).toEqual([])
})
