/**
 * `node drill/poisoned.ts [--status 400]`: 100,000 records, one of which the gateway does not take. Exactly that one must be rejected,
 * with at most 20 requests more than without it.
 */
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { openLargeRun, personAt, RECORDS } from './large-run.ts'

const { values } = parseArgs({ options: { status: { type: 'string', default: '400' } } })
const status = z.coerce.number().int().parse(values.status)
const POISONED = { 'account.reference': personAt(12_345), code: '8480-6' }

async function requestsOf(
  faults: readonly Readonly<Record<string, unknown>>[],
  rejections: number,
): Promise<number> {
  const large = await openLargeRun(faults)
  try {
    const { state, records, requests, durationMs } = await large.run()
    const { records: stored, doubled } = await large.stored()
    const { accepted, rejected } = records.biometric
    process.stdout.write(
      `${state} in ${Math.round(durationMs / 1000)} s: ${accepted} accepted, ${rejected} rejected; ${stored} stored, ${doubled} doubled; ` +
        `${requests.sent} requests, ${requests.readBack} reads\n`,
    )
    if (rejected !== rejections || accepted !== RECORDS - rejections || stored !== accepted || doubled > 0)
      process.exitCode = 1
    return requests.sent
  } finally {
    await large.close()
  }
}

const without = await requestsOf([], 0)
const withIt = await requestsOf([{ on: 'createBiometricsBulk', do: 'poison', record: POISONED, status }], 1)
process.stdout.write(`${withIt - without} requests more\n`)
if (withIt - without > 20) process.exitCode = 1
