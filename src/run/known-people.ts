/** The people whom the ledger knows at a gateway, as an export of their account ids: a run goes through it as through any other, and is resumed so. */
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type LoadedMapping, loadMapping } from '../definitions/definition-files.ts'
import { makeFolder } from '../own-files.ts'
import type { Arrival } from './arrival.ts'
import type { RunDependencies } from './dependencies.ts'
import type { FoundExport } from './find-exports.ts'
import { ANY_RULES } from './found-delivery.ts'

const NAME = 'known-people'

/**
 * The mapping of a list of ids that Waybill has written itself, by the name of both: ids need nothing of any catalog.
 * @param member of each line that holds the id
 */
export function mappingOfIds(name: string, member: string): ReadonlyMap<string, LoadedMapping> {
  const mapping = `mapping: ${name}
read: { format: ndjson }
row: { key: [$.${member}], account: { reference: $.${member}, type: accountId } }
`
  const nothing = { biometrics: '{}', conditions: '{}', unitSpellings: 'spelling,unit\n', tables: {} }
  return new Map([[name, loadMapping(JSON.stringify({ file: name, mapping, ...nothing }))]])
}

/** Of account ids. */
export const knownPeopleMapping = (): ReadonlyMap<string, LoadedMapping> => mappingOfIds(NAME, 'accountId')

/** People at a time. */
const PAGE = 1_000

/** Writes them into the home, where they stay until the run is over. @param run of which they are to be */
export async function knownPeople(
  { ledger, gatewayName, home }: Pick<RunDependencies, 'ledger' | 'gatewayName' | 'home'>,
  arrival: Arrival,
  run: string,
): Promise<readonly FoundExport[]> {
  const file = join(home, 'collections', run, `${NAME}.ndjson`)
  makeFolder(dirname(file))
  const stream = createWriteStream(file, { mode: 0o600 })
  let after = ''
  for (;;) {
    const page = await ledger.knownAccounts(gatewayName, after, PAGE)
    for (const { accountId } of page) stream.write(`${JSON.stringify({ accountId })}\n`)
    if (stream.writableNeedDrain) await once(stream, 'drain')
    const last = page.at(-1)
    if (last === undefined) break
    after = last.reference
  }
  stream.end()
  await once(stream, 'close')
  return [{ ...arrival.named(file, ANY_RULES), mapping: NAME }]
}

/** What a run that is over has no need of. */
export const forgetKnownPeople = (home: string, run: string): Promise<void> =>
  rm(join(home, 'collections', run), { recursive: true, force: true })
