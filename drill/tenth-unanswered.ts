/**
 * `node drill/tenth-unanswered.ts`: 100,000 records, every tenth batch stored and then never answered. The run must end by itself, with
 * nothing lost, doubled or in doubt.
 */
import { openLargeRun, RECORDS } from './large-run.ts'

const large = await openLargeRun([{ on: 'createBiometricsBulk', do: 'store-then-hang', when: { every: 10 } }])
try {
  const { state, records, requests, durationMs } = await large.run()
  const { records: stored, doubled } = await large.stored()
  const { accepted, inDoubt, rejected } = records.biometric
  process.stdout.write(
    `${state} in ${Math.round(durationMs / 1000)} s: ${accepted} of ${RECORDS} accepted, ${rejected} rejected, ${inDoubt} in doubt; ` +
      `${stored} stored, ${doubled} doubled; ${requests.sent} requests, ${requests.readBack} reads\n`,
  )
  if (state !== 'finished' || accepted !== RECORDS || stored !== RECORDS || doubled > 0) process.exitCode = 1
} finally {
  await large.close()
}
