/**
 * `node drill/killed-at-half.ts`: 100,000 records, the process killed when half of them are stored, and the job run again. At most the
 * batches that were in flight may be asked about; nothing that was settled may be sent again.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { openLargeRun, RECORDS, summaryOf } from './large-run.ts'

/** As in the job: batches under way at once, and people in each. */
const IN_FLIGHT = 4
const PEOPLE_A_BATCH = 100

const large = await openLargeRun([])
try {
  const first = large.start()
  while ((await large.count()) < RECORDS / 2) await delay(20)
  first.kill()
  await first.ended
  const before = await large.count()
  const { state, records, requests, durationMs } = summaryOf(await large.start().ended)
  const { records: stored, doubled } = await large.stored()
  const { accepted } = records.biometric
  process.stdout.write(
    `killed with ${before} stored; then ${state} in ${Math.round(durationMs / 1000)} s at work: ${accepted} accepted, ${stored} stored, ` +
      `${doubled} doubled; ${requests.sent} requests in all, ${requests.readBack} reads\n`,
  )
  const asked = requests.readBack <= IN_FLIGHT * PEOPLE_A_BATCH * 2
  if (state !== 'finished' || accepted !== RECORDS || stored !== RECORDS || doubled > 0 || !asked)
    process.exitCode = 1
} finally {
  await large.close()
}
