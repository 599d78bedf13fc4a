/**
 * Exports of a run: complete exports found by the patterns of the job, or files named by the operator. Also finds exports unusually small against
 * earlier exports of their source, by file size, before reading.
 */
import { basename, resolve } from 'node:path'
import type { Job } from '../definitions/definition-files.ts'
import { expectationKey, type JobSource } from '../definitions/export-definition.ts'
import { waitingLines } from '../extract/arrival/verify-delivery.ts'
import { compilePattern, matchExportName } from '../extract/sources/source.ts'
import type { DeliveryRecord, ExpectationKey, Ledger } from '../ledger/ledger.ts'
import { type Finding as Problem, WaybillError } from '../model/errors.ts'
import { counted } from '../system/shown-text.ts'
import { median } from '../watch/export-profile.ts'
import type { Arrival, SeenSince } from './arrival.ts'
import { ANY_RULES, type FoundDelivery } from './found-delivery.ts'
import { type RejectsOrigin, rejectsOrigin } from './rejects.ts'

/** Delivery with the mapping of its exports. */
export interface FoundExport extends FoundDelivery {
  readonly mapping: string
  /** Original export of the rows in a rejects file. */
  readonly rejects?: RejectsOrigin
  /** Set if the job gives a size below which an export is unusually small. */
  readonly sized?: ExpectedSize
  /** Days since 1970 in the name; undefined without a date. */
  readonly day?: number | undefined
}

/** Lets a run wait, once, until files are unchanged for `stableFor`. */
export interface Patience {
  readonly ledger: Pick<Ledger, 'expectations'>
  readonly wait: (ms: number) => Promise<void>
}

/** Marks deliveries as whole, if a person declared this. */
export const acceptingEnds = (found: readonly FoundExport[], acceptEnd = false): readonly FoundExport[] =>
  acceptEnd ? found.map((one) => ({ ...one, acceptEnd })) : found

export interface Finding {
  readonly found: readonly FoundExport[]
  /** Incomplete exports, each with the reason. */
  readonly waiting: readonly string[]
  /** Files that no pattern of the job takes, a line for each place. */
  readonly misnamed: readonly Problem[]
}

/**
 * Finds exports in the order of the sources of the job, oldest first within each.
 * @throws WaybillError `export-unreadable` (a missing folder), `source-unreachable`, `source-untrusted`, `usage-wrong` (a named file that fits no
 *   source); as `wait` does
 */
export async function findExports(
  arrival: Arrival,
  job: Job,
  files: readonly string[],
  now: () => number,
  patience?: Patience,
): Promise<Finding> {
  if (files.length > 0) {
    const named = files.map(async (file) => {
      const rejects = await rejectsOrigin(resolve(file))
      const source = sourceOf(job, rejects === undefined ? file : deliveredName(rejects.name))
      const found = arrival.named(resolve(file), rejects === undefined ? source : ANY_RULES)
      return {
        ...found,
        mapping: source.mapping,
        day: dayIn(source)(found),
        ...(rejects === undefined ? {} : { rejects }),
      }
    })
    return { found: await Promise.all(named), waiting: [], misnamed: [] }
  }
  const since = patience && (await seenSince(patience, job, now))
  const lookAll = async (): Promise<Finding & { restMs: number }> => {
    const found: FoundExport[] = []
    const waiting: string[] = []
    const misnamed = new Map<string, Problem>()
    const isTaken = (name: string): boolean =>
      job.sources.some(({ match }) => matchExportName(compilePattern(match), name) !== undefined)
    let restMs = 0
    for (const source of job.sources) {
      const { mapping, stableForMs } = source
      const look = await arrival.look(source, now(), since)
      const dayOf = dayIn(source)
      found.push(
        ...look.complete.map((one) => ({ ...one, mapping, day: dayOf(one), ...sizedBy(job, source) })),
      )
      found.push(...look.refused.map((one) => ({ ...one, mapping })))
      waiting.push(...waitingLines(look.waiting, source))
      const others = look.names.filter((name) => !isTaken(name)).sort()
      if (others.length > 0)
        misnamed.set(source.from, {
          place: { file: source.from },
          message: `${counted(others.length, 'file')} of another name: ${others.slice(-NAMED_AT_MOST).join(', ')}`,
        })
      if (look.waiting.some(({ lacks }) => lacks.join() === 'rest')) restMs = Math.max(restMs, stableForMs)
    }
    return { found, waiting, misnamed: [...misnamed.values()], restMs }
  }
  const first = await lookAll()
  if (patience === undefined || first.restMs === 0) return first
  await patience.wait(first.restMs)
  return lookAll()
}

/** Reads the day from the name of a delivery, by the pattern of its source. */
export function dayIn({ match }: Pick<JobSource, 'match'>): (found: FoundDelivery) => number | undefined {
  const pattern = compilePattern(match)
  return ({ delivery }) => {
    const date = matchExportName(pattern, basename(delivery.name))?.date
    return date === undefined ? undefined : Date.parse(date) / DAY_MS
  }
}

const DAY_MS = 86_400_000

/** Remembers, by the clock of this machine, when each version of a file was first seen. A version taken by a run is stable. */
async function seenSince({ ledger }: Patience, job: Job, now: () => number): Promise<SeenSince> {
  const seen = new Map<string, number>()
  for (const mapping of new Set(job.sources.map((source) => source.mapping)))
    for (const one of await ledger.expectations.taken(job.definition.job, mapping, TAKEN_AT_MOST))
      seen.set(`${one.address} ${one.bytes} ${one.modified_at}`, Number.NEGATIVE_INFINITY)
  return (address, { bytes, modifiedAt, version }) => {
    const key = `${address} ${version}`
    const at = seen.get(`${address} ${bytes} ${modifiedAt}`) ?? seen.get(key) ?? now()
    seen.set(key, at)
    return at
  }
}

function sizedBy({ definition }: Job, source: JobSource): Pick<FoundExport, 'sized'> {
  const { expect } = source
  if (expect?.size === undefined) return {}
  return { sized: { share: expect.size, key: expectationKey(definition.job, source, expect) } }
}

export function noneFound(
  { definition: { job }, sources }: Job,
  { waiting, misnamed }: Omit<Finding, 'found'>,
): WaybillError {
  const places = sources.map(({ from, match }) => `${from}/${match}`).join(', ')
  if (waiting.length === 0)
    return new WaybillError('exports-none', `the job ${job} found no exports (${places})`, {
      findings: misnamed,
    })
  const message = `the job ${job} found no complete exports (${places}). Waiting: ${waiting.join('; ')}`
  const remedy = 'The next run takes complete ones. If one stays incomplete, ask the vendor.'
  return new WaybillError('exports-none', message, { remedy })
}

/** Most files of other names in a line: the last ones, often the newest. */
const NAMED_AT_MOST = 3

/** Archive of `archive.zip!member.csv`. */
const deliveredName = (name: string): string => name.replace(/!.*$/, '')

/** Source whose pattern fits the name; a single source fits any name. */
function sourceOf(job: Job, file: string): JobSource {
  const [only] = job.sources
  if (only !== undefined && job.sources.length === 1) return only
  const fitting = job.sources.find(
    ({ match }) => matchExportName(compilePattern(match), basename(file)) !== undefined,
  )
  if (fitting !== undefined) return fitting
  const patterns = job.sources.map(({ match }) => match).join(', ')
  throw new WaybillError(
    'usage-wrong',
    `${file} matches no pattern of the job (${patterns}), so its mapping is unknown`,
    {
      remedy: 'Rename the file to match a pattern, or make a job of one source for it.',
    },
  )
}

/** Earlier exports that give the usual size, at most and at least; with fewer, no export is small. */
const USUAL_OF = 8
const USUAL_FROM = 3

/** Files of runs examined; an older file still there is known by its time. */
export const TAKEN_AT_MOST = 1_000

/** Version of a file, as listed by the source. */
export interface SizedFile {
  readonly name: string
  readonly bytes: number
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number
}

export interface SmallExport extends SizedFile {
  /** Median size of earlier exports. */
  readonly usual: number
}

/** Rule of a job for the size of exports from a source. */
interface ExpectedSize {
  /** Share of the usual size, from 0 to 1: a smaller export is unusually small. */
  readonly share: number
  readonly key: ExpectationKey
}

/** Small export at the beginning of a run. */
export interface SmallDelivery extends SmallExport {
  /** Place and pattern. */
  readonly source: string
  readonly mapping: string
}

/** Identity of a file: a version of a name. */
export const fileKey = ({ name, bytes, modifiedAt }: SizedFile): string => `${name} ${bytes} ${modifiedAt}`

export const oldestFirst = <File extends SizedFile>(files: readonly File[]): File[] =>
  [...files].sort((a, b) => a.modifiedAt - b.modifiedAt || (a.name < b.name ? -1 : 1))

/** Files smaller than usual. @param share of the usual size, from 0 to 1 @param earlier exports that give the usual size */
export function smallOnes(
  share: number,
  files: readonly SizedFile[],
  earlier: readonly SizedFile[],
): SmallExport[] {
  if (earlier.length < USUAL_FROM) return []
  const usual = median(
    oldestFirst(earlier)
      .slice(-USUAL_OF)
      .map(({ bytes }) => bytes),
  )
  return files.flatMap(({ name, bytes, modifiedAt }) =>
    bytes < share * usual ? [{ name, bytes, modifiedAt, usual }] : [],
  )
}

/** File begun by runs. */
interface TakenFile extends SizedFile {
  /** Start of the first of these runs. */
  readonly takenAt: number
}

/** Files that runs of a job have taken from a source. @param address gives the address of a file in the ledger */
export async function takenFrom(
  ledger: Pick<Ledger, 'expectations'>,
  { job, mapping }: { job: string; mapping: string },
  address: (name: string) => string,
): Promise<TakenFile[]> {
  const taken = await ledger.expectations.taken(job, mapping, TAKEN_AT_MOST)
  return taken.filter((one) => one.address === address(one.name)).map(takenFile)
}

const takenFile = ({ name, bytes, modified_at, taken_at }: DeliveryRecord): TakenFile => ({
  name,
  bytes,
  modifiedAt: modified_at,
  takenAt: taken_at,
})

interface FoundSized {
  readonly delivery: SizedFile
  /** Gives the address of a file in the ledger. */
  readonly source: { address(name: string): string }
  readonly sized?: ExpectedSize | undefined
}

/**
 * Judges the size of an export before a run begins it. Undefined if not unusually small, or if a run has begun the file before. Exports taken earlier
 * by the same run do not count towards the usual size.
 * @param begunAt start of the run
 * @returns `isTold`: already reported, when exports were due
 */
export async function smallOfRun(
  ledger: Pick<Ledger, 'expectations'>,
  { delivery, source, sized }: FoundSized,
  begunAt: number,
): Promise<{ small: SmallDelivery; isReported: boolean } | undefined> {
  if (sized === undefined) return undefined
  const taken = await takenFrom(ledger, sized.key, source.address)
  const own = fileKey(delivery)
  if (taken.some((file) => fileKey(file) === own)) return undefined
  const earlier = taken.filter(({ takenAt }) => takenAt < begunAt)
  const [small] = smallOnes(sized.share, [delivery], earlier)
  if (small === undefined) return undefined
  const judged = await ledger.expectations.judged(sized.key)
  const isReported = judged.some(({ known }) => knownKeys(known)?.has(own) === true)
  return { small: { ...small, source: sized.key.source, mapping: sized.key.mapping }, isReported }
}

/** Keys of the files found by a judgement; undefined if nobody could look. @param known from the ledger */
export function knownKeys(known: string | null): ReadonlySet<string> | undefined {
  const keys: unknown = known === null ? undefined : JSON.parse(known)
  return Array.isArray(keys) ? new Set(keys.map(String)) : undefined
}
