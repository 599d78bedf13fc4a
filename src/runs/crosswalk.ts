/**
 * The crosswalk of a job's people: partner id to account id, which the interface says must be stored (section "Accounts"). The ledger knows people by
 * keyed hashes alone; the exports of the job, or files that are named, give the partner ids back.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { readJob, readMappings } from '../definitions/definition-files.ts'
import { gatewayNameOf } from '../definitions/jobs.ts'
import { WaybillError } from '../model/errors.ts'
import type { AccountKey } from '../model/record.ts'
import { withPassingArrival } from '../run/arrival.ts'
import { createRunEvents } from '../run/events.ts'
import { bringExports } from '../run/exports-of-run.ts'
import { findExports, noneFound } from '../run/find-exports.ts'
import { openReading } from '../run/rows.ts'
import { type Application, withKnownLedger } from './application.ts'
import { sourceSettings } from './connect-gateway.ts'

export interface Crosswalk {
  readonly job: string
  readonly gateway: string
  readonly file: string
  /** People who are in it. */
  readonly written: number
  /** People whom the ledger does not know, or whose account id the gateway never gave. */
  readonly unknown: number
}

/** People looked up at a time. */
const AT_ONCE = 500

/**
 * Writes `partnerAccountId,accountId` for each person of the exports, once, in the order in which they come. It holds no health data, and says who has an
 * account: mode 0600.
 * @param files undefined or empty: what the job finds
 * @param to must not be there yet
 * @throws WaybillError `usage-wrong` where it is; `ledger-not-found`, `exports-none`, and what reading an export throws
 */
export async function exportCrosswalk(
  application: Application,
  name: string,
  { to, files = [] }: { readonly to: string; readonly files?: readonly string[] },
): Promise<Crosswalk> {
  const { settings, now } = application
  const job = await readJob(settings, name)
  const mappings = await readMappings(settings, job)
  const gateway = gatewayNameOf(settings, job.definition)
  const identity = await application.identity(true)
  return withKnownLedger(application, (ledger) =>
    withPassingArrival(sourceSettings(settings), async (arrival) => {
      const found = await findExports(arrival, job, files, now())
      if (found.length === 0) throw noneFound(job)
      const file = await make(to)
      const counts = { written: 0, unknown: 0 }
      const seen = new Set<string>()
      const flush = async (people: Map<string, AccountKey>): Promise<void> => {
        const known = await ledger.accounts(gateway, [...people.keys()])
        let text = ''
        for (const [hashed, { reference }] of people) {
          const { accountId = null } = known.get(hashed) ?? {}
          if (accountId === null) counts.unknown++
          else {
            counts.written++
            text += csvLine([reference, accountId])
          }
        }
        await file.write(text)
      }
      try {
        await file.write(csvLine(['partnerAccountId', 'accountId']))
        for await (const { start, here } of bringExports(
          createRunEvents(),
          arrival,
          found,
          mappings,
          undefined,
        )) {
          if ('error' in here) throw here.error
          const { received, mapping } = here
          const reading = start.reading === 'rejects' ? 'rejects' : 'whole'
          const { opened, mapper } = await openReading(reading, received, mapping, received.limits, now())
          let people = new Map<string, AccountKey>()
          for await (const block of opened.rows())
            for (const row of block) {
              const outcome = mapper(row)
              if (outcome.outcome !== 'mapped' || outcome.account.type !== 'partnerAccountId') continue
              const hashed = identity.account(outcome.account)
              if (seen.has(hashed)) continue
              seen.add(hashed)
              people.set(hashed, outcome.account)
              if (people.size < AT_ONCE) continue
              await flush(people)
              people = new Map()
            }
          await flush(people)
        }
        await file.sync()
      } finally {
        await file.close()
      }
      return { job: job.definition.job, gateway, file: to, ...counts }
    }),
  )
}

/** Ids as they are: they are compared by programs. */
const csvLine = (cells: readonly string[]): string =>
  `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\n`

async function make(to: string): Promise<FileHandle> {
  try {
    return await open(to, 'wx', 0o600)
  } catch (cause) {
    const isThere = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST'
    throw new WaybillError('usage-wrong', isThere ? `${to} is there already` : `${to} cannot be written`, {
      place: { file: to },
      remedy: isThere ? 'Name another file, or move that one away.' : 'Check its folder and your rights.',
      cause,
    })
  }
}

/**
 * An account that the gateway has given, as the ledger has it.
 * @param gateway its address
 * @throws WaybillError `ledger-not-found`; `usage-wrong` where it has none
 */
export const knownAccount = (
  application: Application,
  gateway: string,
): Promise<{ readonly reference: string; readonly type: 'accountId' }> =>
  withKnownLedger(application, async (ledger) => {
    const [first] = await ledger.knownAccounts(gateway.replace(/\/+$/, ''), '', 1)
    if (first !== undefined) return { reference: first.accountId, type: 'accountId' }
    throw new WaybillError('usage-wrong', `the ledger knows no account of ${gateway}`, {
      remedy: 'Name one with --account, or run a job that registers people there.',
    })
  })
