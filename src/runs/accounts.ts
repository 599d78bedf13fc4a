/**
 * Accounts of the people in a file: erased at the gateway (interface, "Accounts": DELETE /account) and in the ledger, forgotten in the
 * ledger only, or confirmed as one person. Also exports the crosswalk of a job's people (interface, "Accounts"): the ledger holds hashes,
 * hence the partner ids come from the exports.
 */

import { type FileHandle, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { readJob, readMappings } from '../definitions/definition-files.ts'
import { chooseGateway, gatewayNameOf } from '../definitions/jobs.ts'
import { GatewayError, saysNotFound } from '../gateway/gateway-error.ts'
import type { Acting, Ledger } from '../ledger/ledger.ts'
import { createDispatcher } from '../load/dispatcher.ts'
import { WaybillError } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import type { AccountKey } from '../model/record.ts'
import { withPassingArrival } from '../run/arrival.ts'
import { createRunEvents } from '../run/events.ts'
import { bringExports } from '../run/exports-of-run.ts'
import { findExports, noneFound } from '../run/find-exports.ts'
import { namingCredential } from '../run/refused-credential.ts'
import { openReading } from '../run/rows.ts'
import { plainSending } from '../run/senders.ts'
import { csvCells, revived } from '../system/csv-text.ts'
import { newOwn, openOwn, wasTaken } from '../system/own-files.ts'
import { compileBirthDate } from '../transform/dates.ts'
import { type Application, withKnownLedger, withLedgerIfAny } from './application.ts'
import { sourceSettings } from './connect-gateway.ts'
import type { Person as Actor } from './resolve.ts'
import { identityToLook } from './which-installation.ts'

interface Erasure {
  readonly gateway: string
  readonly dryRun: boolean
  /** People in the file, without duplicates. */
  readonly people: number
  readonly known: number
  readonly erased: number
  readonly notThere: number
  readonly refused: number
  /** NDJSON, a line per person; undefined if nothing was sent. */
  readonly receipts: string | undefined
  /** True if the ledger's files no longer hold the account ids; undefined if nothing was sent, or without a ledger. */
  readonly scrubbed?: boolean | undefined
}

interface PeopleFile {
  /** CSV with a column `partnerAccountId`, or `accountId`, or both. */
  readonly file: string
  /** Job that names the gateway; undefined: gateway of the settings. */
  readonly job?: string | undefined
  readonly by: Actor
}

interface ErasureRequest extends PeopleFile {
  readonly dryRun: boolean
  /** Called before the first request. */
  readonly confirm: (people: number, gateway: string) => Promise<boolean>
}

type Outcome = 'erased' | 'notThere' | 'refused'

interface Person {
  readonly account: AccountKey
  readonly line: number
  /** Column `dateOfBirth`; empty if the file has none. */
  readonly born: string
}

const AT_ONCE = 8

/**
 * Erases people. Safe to repeat: people already erased are reported as not found.
 * @returns undefined if not confirmed
 * @throws `usage-wrong`: unreadable file, or no id column; `gateway-not-set`; `interrupted`; as `createSending`
 */
export async function eraseAccounts(
  application: Application,
  { file, job, by, dryRun, confirm }: ErasureRequest,
): Promise<Erasure | undefined> {
  const { settings, now, randomHex } = application
  const { gateway, people } = await readPeople(application, { file, job, by })
  return withLedgerIfAny(application, async (ledger) => {
    const identity = await identityToLook(application, ledger)
    const hashes = people.map(({ account }) => identity.account(account))
    const crosswalk = await ledger?.people.accounts(gateway, hashes)
    const counts = { erased: 0, notThere: 0, refused: 0 }
    const scope = { gateway, dryRun, people: people.length, known: crosswalk?.size ?? 0 }
    if (dryRun) return { ...scope, ...counts, receipts: undefined }
    if (!(await confirm(people.length, gateway))) return undefined
    const acting = { ...by, at: now(), action: 'accounts-erase' as const }
    const day = new Date(now()).toISOString().replaceAll(/[-:]|\.\d+/g, '')
    const receipts = join(settings.home, 'erasures', `${day}-${randomHex(3)}.ndjson`)
    const kept = await openOwn(settings.home, receipts)
    const connection = await application.connectGateway(gateway)
    const note = async (
      { line, account }: Person,
      became: Outcome,
      status: number | null = null,
    ): Promise<void> => {
      const outcome = became === 'notThere' ? 'not-there' : became
      const person = identity.account(account)
      await kept.appendFile(
        `${JSON.stringify({ line, person, outcome, status, at: new Date(now()).toISOString() })}\n`,
      )
      counts[became]++
      if (became !== 'refused' && ledger !== undefined)
        await forget(ledger, identity, { gateway, account, acting })
    }
    try {
      const outside = { ...application, dispatcher: createDispatcher(application) }
      const sending = plainSending(outside, connection.gateway, AT_ONCE, ({ waitMs, what }) =>
        application.logger.warn(`the gateway refused or failed; the request is retried (${what})`, {
          waitMs,
        }),
      )
      // Shared iterator: each worker takes the next person.
      const queue = people.values()
      const work = async (): Promise<void> => {
        for (const person of queue) {
          application.interrupt.throwIfAborted()
          try {
            const { accounts } = connection.gateway
            await sending.idempotent('delete an account', () => accounts.delete(person.account))
            await note(person, 'erased')
          } catch (error) {
            if (!(error instanceof GatewayError)) throw error
            await note(person, saysNotFound(error) ? 'notThere' : 'refused', error.status)
          }
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, work))
      await kept.sync()
    } catch (error) {
      if (!application.interrupt.aborted) throw await namingCredential(error, connection.gateway)
      throw new WaybillError('interrupted', 'the erasure was interrupted', {
        remedy: 'Run the same command again: people already erased are reported as not found.',
        cause: error,
      })
    } finally {
      await kept.close()
      await connection.close()
    }
    return { ...scope, ...counts, receipts, scrubbed: await ledger?.people.scrub() }
  })
}

interface Forgetting {
  readonly gateway: string
  readonly account: AccountKey
  readonly acting: Acting & { readonly action: 'accounts-erase' | 'accounts-forget' }
}

/** Forgets a person by reference and by account id. @returns true if the ledger had the account */
async function forget(
  ledger: Ledger,
  identity: Identity,
  { gateway, account, acting }: Forgetting,
): Promise<boolean> {
  const hashed = identity.account(account)
  const known = (await ledger.people.accounts(gateway, [hashed])).get(hashed)
  const id = account.type === 'accountId' ? account.reference : (known?.accountId ?? null)
  const byId = id === null ? [] : [identity.account({ reference: id, type: 'accountId' })]
  await ledger.people.forget(gateway, [hashed, ...byId], id, acting)
  return known !== undefined
}

/**
 * Forgets stale accounts: a later export registers the people again, and earlier deliveries count as not delivered. Sends nothing.
 * @returns `people` in the file, without duplicates; `forgotten`: people with an account in the ledger
 * @throws as `eraseAccounts`, and `ledger-not-found`
 */
export async function forgetAccounts(application: Application, request: PeopleFile) {
  const { gateway, people } = await readPeople(application, request)
  return withKnownLedger(application, async (ledger) => {
    const identity = await identityToLook(application, ledger)
    const acting = { ...request.by, at: application.now(), action: 'accounts-forget' as const }
    let forgotten = 0
    for (const { account } of people)
      if (await forget(ledger, identity, { gateway, account, acting })) forgotten++
    return { gateway, people: people.length, forgotten }
  })
}

/**
 * Confirms that each reference in a file means one person.
 * @param request `file`: the column `dateOfBirth` (`yyyy-MM-dd`) gives the birth date; if empty, the next export decides
 * @returns `people` in the file, each once; `confirmed`: references that had stood for several people
 * @throws as `forgetAccounts`, and `usage-wrong` for an invalid date
 */
export async function confirmAccounts(application: Application, request: PeopleFile) {
  const { file } = request
  const { gateway, people } = await readPeople(application, request)
  const birthDate = compileBirthDate({ format: ['yyyy-MM-dd'] })
  const bornOn = ({ born, line }: Person): number | undefined => {
    const day = birthDate(born)
    if (born === '' || day !== undefined) return day
    throw new WaybillError('usage-wrong', `${file} has no date in the column dateOfBirth on line ${line}`, {
      place: { file, line },
      remedy: 'Write it as yyyy-MM-dd, from 1900 on, or leave it empty.',
    })
  }
  return withKnownLedger(application, async (ledger) => {
    const identity = await identityToLook(application, ledger)
    const births = people.map((person): [string, number | null] => {
      const hashed = identity.account(person.account)
      const day = bornOn(person)
      return [hashed, day === undefined ? null : identity.born(hashed, day)]
    })
    const confirmed = await ledger.people.confirm(gateway, new Map(births), {
      ...request.by,
      at: application.now(),
    })
    return { gateway, people: people.length, confirmed }
  })
}

async function readPeople(
  { settings }: Application,
  { file, job }: PeopleFile,
): Promise<{ readonly gateway: string; readonly people: readonly Person[] }> {
  const gateway =
    job === undefined ? settings.gatewayUrl : chooseGateway(settings, await readJob(settings, job))
  if (gateway === undefined)
    throw new WaybillError(
      'gateway-not-set',
      'no gateway is set: name a job with --job, or set WAYBILL_GATEWAY_URL',
    )
  try {
    return { gateway, people: peopleOf(file, await readFile(file, 'utf8')) }
  } catch (cause) {
    throw cause instanceof WaybillError ? cause : wrongFile(file, 'cannot be read', cause)
  }
}

const wrongFile = (file: string, message: string, cause?: unknown): WaybillError =>
  new WaybillError('usage-wrong', `${file} ${message}`, {
    place: { file },
    remedy: 'Name a CSV with a column partnerAccountId or accountId, as `waybill accounts export` writes it.',
    cause,
  })

const COLUMNS = ['partnerAccountId', 'accountId'] as const

/** People without duplicates, named by the first non-empty id column. */
function peopleOf(file: string, text: string): Person[] {
  let rows: { readonly record: Record<string, string>; readonly info: { readonly lines: number } }[]
  try {
    rows = parse(text, { columns: true, bom: true, info: true, trim: true, skip_empty_lines: true })
  } catch (cause) {
    throw wrongFile(file, 'is not a CSV', cause)
  }
  const [first] = rows
  if (first === undefined) throw wrongFile(file, 'names nobody')
  if (COLUMNS.every((name) => first.record[name] === undefined))
    throw wrongFile(file, 'has no column partnerAccountId or accountId')
  const people = new Map<string, Person>()
  for (const { record, info } of rows) {
    const type = COLUMNS.find((name) => (record[name] ?? '') !== '')
    if (type === undefined) throw wrongFile(file, `names nobody on line ${info.lines}`)
    const account = { reference: revived(record[type] ?? ''), type }
    const key = `${type} ${account.reference}`
    if (!people.has(key)) people.set(key, { account, line: info.lines, born: record['dateOfBirth'] ?? '' })
  }
  return [...people.values()]
}

interface Crosswalk {
  readonly job: string
  readonly gateway: string
  readonly file: string
  readonly written: number
  readonly unknown: number
}

const PEOPLE_AT_ONCE = 500

/**
 * Writes `partnerAccountId,accountId` for each person of the exports, once, in their order. The file reveals who has an account: mode 0600.
 * @param files undefined or empty: the exports that the job finds
 * @param to must not exist
 * @throws `usage-wrong` if `to` exists; `ledger-not-found`, `exports-none`, and errors of reading an export
 */
export async function exportCrosswalk(
  application: Application,
  name: string,
  { to, by, files = [] }: { readonly to: string; readonly by: Actor; readonly files?: readonly string[] },
): Promise<Crosswalk> {
  const { settings, now } = application
  const job = await readJob(settings, name)
  const mappings = await readMappings(settings, job)
  const gateway = gatewayNameOf(settings, job.definition)
  return withKnownLedger(application, (ledger) =>
    withPassingArrival(sourceSettings(application), async (arrival) => {
      const identity = await identityToLook(application, ledger)
      const { found, ...others } = await findExports(arrival, job, files, now)
      if (found.length === 0) throw noneFound(job, others)
      const file = await make(to)
      // Before the first line: a command that is killed has exported, too.
      const acting = { ...by, at: now(), job: job.definition.job, run: null }
      await ledger.audit.note({ ...acting, action: 'accounts-export', subject: to })
      const counts = { written: 0, unknown: 0 }
      const seen = new Set<string>()
      const people = new Map<string, string>()
      const flush = async (): Promise<void> => {
        const known = await ledger.people.accounts(gateway, [...people.keys()])
        const lines = [...people].flatMap(([hashed, reference]) => {
          const { accountId = null } = known.get(hashed) ?? {}
          return accountId === null ? [] : [csvLine([reference, accountId])]
        })
        counts.written += lines.length
        counts.unknown += people.size - lines.length
        await file.write(lines.join(''))
        people.clear()
      }
      try {
        await file.write(csvLine(['partnerAccountId', 'accountId']))
        const exports = bringExports(createRunEvents(), arrival, found, mappings, undefined)
        for await (const { start, here } of exports) {
          if ('error' in here) throw here.error
          const { received, mapping } = here
          const reading = start.reading === 'rejects' ? 'rejects' : 'whole'
          const { opened, mapper } = await openReading(reading, received, mapping, received.limits, now())
          for await (const block of opened.rows())
            for (const row of block) {
              const outcome = mapper(row)
              if (outcome.outcome !== 'mapped' || outcome.account.type !== 'partnerAccountId') continue
              const hashed = identity.account(outcome.account)
              if (seen.has(hashed)) continue
              seen.add(hashed)
              people.set(hashed, outcome.account.reference)
              if (people.size >= PEOPLE_AT_ONCE) await flush()
            }
        }
        await flush()
        await file.sync()
      } finally {
        await file.close()
      }
      return { job: job.definition.job, gateway, file: to, ...counts }
    }),
  )
}

const csvLine = (cells: readonly string[]): string => `${csvCells(cells, true)}\n`

async function make(to: string): Promise<FileHandle> {
  try {
    return await newOwn(to)
  } catch (cause) {
    const isThere = wasTaken(cause)
    throw new WaybillError('usage-wrong', isThere ? `${to} is there already` : `${to} cannot be written`, {
      place: { file: to },
      remedy: isThere ? 'Name another file, or move that one away.' : 'Check its folder and your rights.',
      cause,
    })
  }
}

/**
 * Returns an account of the gateway from the ledger.
 * @param gateway address
 * @throws `ledger-not-found`; `usage-wrong` if the ledger has no account of the gateway
 */
export const knownAccount = (
  application: Application,
  gateway: string,
): Promise<{ readonly reference: string; readonly type: 'accountId' }> =>
  withKnownLedger(application, async (ledger) => {
    const [first] = await ledger.people.knownAccounts(gateway.replace(/\/+$/, ''), '', 1)
    const reference = first?.accountId ?? undefined
    if (reference !== undefined) return { reference, type: 'accountId' }
    throw new WaybillError('usage-wrong', `the ledger knows no account of ${gateway}`, {
      remedy: 'Name one with --account, or run a job that registers people there.',
    })
  })
