/** The result of a run, in every form that shows it; without the parts that differ from one run of the same export to the next. */
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { readReceipts } from '../cli/run-outputs.ts'
import type { World } from './world.ts'

/** Promised to be the same however a run is cut, stopped and answered. */
export interface Ending {
  /** Of `show --json`, but for times, requests, places, and what is counted as it happens. */
  readonly summary: unknown
  readonly accounts: Shown['accounts']
  /** `show`, without the lines of these. */
  readonly shown: readonly string[]
  /** Sections of the report that hold counts and reasons. */
  readonly report: readonly string[]
  /** By name, byte for byte. */
  readonly rejects: Readonly<Record<string, string>>
  /** Transaction ids, sorted. */
  readonly receipts: readonly string[]
  /** The records at the gateway, sorted; a record that it has twice stands there twice. */
  readonly stored: readonly string[]
}

export const Shown = z.looseObject({
  run: z.string(),
  state: z.string(),
  exports: z.array(z.looseObject({ name: z.string(), rejects: z.string().optional() })),
  accounts: z.object({ registered: z.int(), known: z.int(), refused: z.int() }),
  primaryCare: z.object({ owed: z.int() }),
  files: z.object({ rejects: z.string().optional(), receipts: z.string().optional() }),
})
export type Shown = z.infer<typeof Shown>

export async function shownOf(world: World, run = 'latest'): Promise<Shown> {
  return Shown.parse(JSON.parse((await world.waybill(['show', run, '--json'])).out))
}

export async function endingOf(world: World, run = 'latest'): Promise<Ending> {
  const shown = await shownOf(world, run)
  const { out } = await world.waybill(['show', shown.run])
  const page = join(world.folder, `${shown.run}.html`)
  await world.waybill(['report', shown.run, '--out', page])
  const plain = (text: string): string =>
    text.replaceAll(shown.run, 'RUN').replaceAll(world.folder, '').replaceAll(world.gatewayUrl, 'GATEWAY')
  return {
    summary: JSON.parse(JSON.stringify(withoutTimes(shown)).replace(/"corrected":\d+/g, '"corrected":0')),
    accounts: shown.accounts,
    shown: plain(out)
      .replace(/; \d+ with a known key and other content/, '')
      .split('\n')
      .filter((line) => line !== '' && !/^(?:Run|Requests|Accounts|Unsent) /.test(line)),
    report: SECTIONS.map(sectionOf(await readFile(page, 'utf8'))).map(plain),
    rejects: Object.fromEntries(await rejectsOf(shown)),
    receipts: await receiptsOf(shown),
    stored: await storedAt(world),
  }
}

/** Runs of an export that is cut otherwise send other batches, and read other profiles. */
function withoutTimes({
  run: _run,
  files,
  exports,
  primaryCare,
  accounts: _accounts,
  ...shown
}: Shown): unknown {
  const {
    startedAt: _at,
    durationMs: _ms,
    untold: _untold,
    requests: _requests,
    gateway: _gateway,
    ...rest
  } = shown
  return {
    ...rest,
    owed: primaryCare.owed,
    exports: exports.map(({ file: _file, rejects, ...one }) => ({
      ...one,
      rejects: rejects === undefined ? undefined : basename(rejects),
    })),
    files: Object.keys(files),
  }
}

const SECTIONS = ['balance', 'kinds', 'reasons', 'findings', 'exports'] as const
const sectionOf =
  (page: string) =>
  (id: string): string =>
    (page.split(`<section id="${id}"`)[1]?.split('</section>')[0] ?? '').replace(
      /<dl class="facts">.*?<\/dl>/s,
      '',
    )

async function rejectsOf({ files }: Shown): Promise<[string, string][]> {
  if (files.rejects === undefined) return []
  const names = await readdir(files.rejects)
  return Promise.all(
    names.map(
      async (name): Promise<[string, string]> => [
        name,
        await readFile(join(files.rejects ?? '', name), 'utf8'),
      ],
    ),
  )
}

/** Of care-team entries how many: which of the rows that name an entry has brought it is up to their chunks. */
export async function receiptsOf({ files }: Shown): Promise<string[]> {
  if (files.receipts === undefined) return []
  const ids = (await readReceipts(files.receipts)).map(({ transactionId }) => transactionId)
  return ids.map((id) => id.replace(/-\d+-pcp-.*/, ' pcp')).sort()
}

async function storedAt({ store }: World): Promise<string[]> {
  const observed = [...(await store.records('biometric')), ...(await store.records('condition'))].map(
    ({ source, ...one }) =>
      [source.meta.persistentRecordId, one._account, one['value'] ?? one['status']].join(' '),
  )
  const people = new Set((await store.records('careTeam')).map(({ _account }) => _account))
  const entries = await Promise.all([...people].map((person) => careTeamsOf(store.url, person)))
  return [...observed, ...entries.flat()].sort()
}

const CareTeams = z.object({
  data: z.array(z.object({ npi: z.string(), name: z.string(), pcp: z.boolean() })),
})

async function careTeamsOf(url: string, person: string): Promise<string[]> {
  const query = `accountReference=${person}&accountReferenceType=partnerAccountId`
  const headers = { 'x-api-key': 'test-key', authorization: 'Bearer test-token' }
  const answered = await fetch(`${url}/health-profile/care-teams?${query}`, { headers })
  const { data } = CareTeams.parse(await answered.json())
  return data.map(({ npi, name, pcp }) => `${person} ${npi} ${name}${pcp ? ' primary' : ''}`)
}

/** After a process that goes on with it, or begins it, and reads the export once more. */
export async function endOfFirst(world: World, chunkRows: number): Promise<Ending> {
  await world.waybill(['run', 'drawn'], { chunkRows })
  return endingOf(world, await firstRunOf(world))
}

/** A run that was stopped before it had begun its export is finished without it: the next one reads it. */
async function firstRunOf(world: World): Promise<string> {
  const { out } = await world.waybill(['runs', '--json'])
  const { runs } = z
    .object({ runs: z.array(z.object({ run: z.string(), exports: z.array(z.unknown()) })) })
    .parse(JSON.parse(out))
  return runs.findLast(({ exports }) => exports.length > 0)?.run ?? ''
}
