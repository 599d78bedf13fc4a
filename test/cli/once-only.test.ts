/** Runs that are stopped in the middle, and then gone about in another way: each record is stored once all the same. */
import { expect, test } from 'vitest'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { ANN, BEN, GOOD, HEADER, JOB } from './clinic.ts'
import { summaryOf } from './command-line.ts'
import { type FaultyClinic, openFaultyClinic } from './left-behind.ts'

/** The next batch is stored and never answered, and nothing gets through after that: the command ends as interrupted. */
const cutOff = (clinic: FaultyClinic): void =>
  clinic.strike(({ method }) => (method === 'POST' ? { do: 'pass-then-reset' } : answer(503)))

const restore = (clinic: FaultyClinic): void => clinic.strike(() => PASS)

const CAT = 'cat,2026-03-02,63,5.3,72.5,kg,fine\n'

test('a run that was interrupted goes on with --limit: what it had under way is settled as a whole', async () => {
  const clinic = await openFaultyClinic({ job: JOB, patience: '1s' })
  await clinic.deliver('day.csv', `${HEADER}${ANN}${BEN}`)
  cutOff(clinic)
  expect((await clinic.run()).code).toBe(3)
  restore(clinic)
  await clinic.run('--limit', '1')
  await clinic.run()
  expect(await clinic.stored()).toEqual(GOOD)
}, 60_000)

test('stopWhen counts what was read before the run was interrupted', async () => {
  const job = `${JOB}stopWhen: { rejectedRows: 30%, after: 1 }\n`
  const clinic = await openFaultyClinic({ job, patience: '1s' })
  const nothing = Array.from({ length: 2_500 }, (_, at) => `p${at},2026-03-02,,,,,none\n`).join('')
  const bad = Array.from({ length: 50 }, (_, at) => `q${at},yesterday,61,5.1,70.5,kg,bad\n`).join('')
  await clinic.deliver('day.csv', `${HEADER}${CAT}${nothing}${ANN}${BEN}${bad}`)
  let batches = 0
  clinic.strike(({ method }) => {
    if (method === 'POST') batches++
    if (batches < 2) return PASS
    return method === 'POST' ? { do: 'pass-then-reset' } : answer(503)
  })
  expect((await clinic.run()).code).toBe(3)
  restore(clinic)
  const resumed = summaryOf(await clinic.run())
  expect(resumed.error).toBeUndefined()
  await clinic.run()
  expect(await clinic.store.allRecords()).toHaveLength(9)
}, 60_000)
