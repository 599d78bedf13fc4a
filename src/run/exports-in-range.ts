/** Exports of a range of days not finished by their run, oldest first. */
import type { JobSource } from '../definitions/export-definition.ts'
import { nameThere } from '../extract/sources/source.ts'
import type { AsideContents } from '../ledger/audit.ts'
import type { BackfillRange, RunRecord } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import type { DriftMemory } from '../watch/drift-watch.ts'
import type { Arrival } from './arrival.ts'
import { archivesOf, type Dated, inRange, isMemberOf, openBeside } from './backfill-range.ts'
import type { RangePosition } from './events.ts'
import { type ExportStep, type RunWriter, resumeExports, startExports } from './exports-of-run.ts'
import { acceptingEnds, dayIn, type FoundExport } from './find-exports.ts'
import type { PlannedExports, World } from './plan.ts'

interface Looking {
  readonly range: BackfillRange
  /** Sources of the exports. */
  readonly sources: readonly JobSource[]
  readonly arrival: Arrival
  readonly now: () => number
}

/** Content of the sources of a job. */
export interface RangeLook {
  readonly found: readonly Dated<FoundExport>[]
  /** Names of all files at each source. */
  readonly names: readonly (readonly string[])[]
}

/**
 * Lists the exports of the range.
 * @throws WaybillError `usage-wrong` if a name fits two sources of different mappings in one folder; as `findExports`
 */
export async function lookInRange({ range, sources, arrival, now }: Looking): Promise<RangeLook> {
  const found: { found: FoundExport; name: string; match: string }[] = []
  const seen = new Map<string, string>()
  const names: (readonly string[])[] = []
  for (const source of sources) {
    const { mapping, match } = source
    const look = await arrival.look(source, now())
    names.push(look.names)
    for (const delivery of [...look.complete, ...look.refused]) {
      const { name } = delivery.delivery
      const address = placeOf(delivery)
      const before = seen.get(address)
      seen.set(address, mapping)
      if (range.in !== undefined && before !== undefined) {
        if (before === mapping) continue
        throw new WaybillError(
          'usage-wrong',
          `${name} matches two patterns of the job, with the mappings ${before} and ${mapping}`,
          { remedy: 'Put the exports of each mapping into a separate folder.' },
        )
      }
      found.push({ found: { ...delivery, mapping, day: dayIn(source)(delivery) }, name, match })
    }
  }
  return { found: inRange(found, range), names }
}

/** Exports of the range that the run has not finished. Exports already begun are not found again. */
export async function* exportsInRange(
  run: RunWriter,
  { ledger, arrival, now, onDelivery }: Pick<World, 'ledger' | 'arrival' | 'now' | 'onDelivery'>,
  { range, sources, mappings }: Extract<PlannedExports, { from: 'range' }>,
  unfinished: RunRecord | undefined,
  memory: DriftMemory,
  aside: AsideContents,
): AsyncGenerator<ExportStep> {
  const look = await lookInRange({ range, sources, arrival, now })
  const all = acceptingEnds(
    look.found.map(({ found }) => found),
    range.acceptEnd,
  )
  const positions = positionsOf(all)
  const addresses = all.map(({ source, delivery }) => source.address(delivery.name))
  if (unfinished !== undefined) {
    const paths = new Map((await ledger.exports.ofRun(run.id)).map(({ id, path }) => [id, path]))
    const places = new Map(addresses.map((address, at) => [address, positions[at]]))
    for await (const step of resumeExports(arrival, sources, ledger, unfinished, memory)) {
      onDelivery?.()
      const path = paths.get(step.record.id) ?? ''
      const at = [...archivesOf(path), path].find((address) => places.has(address))
      yield { ...step, position: places.get(at ?? '') }
    }
  }
  // An archive left in the middle goes first: exports that appear in the range meanwhile must not make it look finished.
  const begun = await ledger.exports.ofRun(run.id)
  const last = begun.at(-1)
  const inOrder = [...addresses.entries()].sort(
    ([, a], [, b]) => Number(isMemberOf(b, last?.path)) - Number(isMemberOf(a, last?.path)),
  )
  const begunBy = Map.groupBy(begun, ({ mapping }) => mapping)
  const isOpenFor = new Map(
    [...mappings].map(([key, { name }]) => [
      key,
      openBeside((begunBy.get(name) ?? []).map(({ path }) => path)),
    ]),
  )
  let position: RangePosition | undefined
  const open = async function* (): AsyncGenerator<FoundExport> {
    const taken = new Set<string>()
    for (const [at, address] of inOrder) {
      const found = all[at]
      if (found === undefined) continue
      // Each mapping of the job reads a delivery once.
      const key = `${found.mapping} ${placeOf(found)}`
      if (taken.has(key) || isOpenFor.get(found.mapping)?.(address) === false) continue
      taken.add(key)
      onDelivery?.()
      position = positions[at]
      yield found
      await arrival.forget(found)
    }
  }
  for await (const step of startExports(run, arrival, open(), mappings, memory, aside, begun))
    yield { ...step, position }
}

/** Address of the file itself: a file left aside and a newer file have the same name. */
const placeOf = ({ source, delivery }: Pick<FoundExport, 'source' | 'delivery'>): string =>
  source.address(nameThere(delivery))

function positionsOf(all: readonly FoundExport[]): RangePosition[] {
  const bytesOfAll = all.reduce((sum, { delivery }) => sum + delivery.bytes, 0)
  let bytesBefore = 0
  return all.map(({ delivery: { bytes } }, at) => {
    const position = { number: at + 1, of: all.length, bytes, bytesBefore, bytesOfAll }
    bytesBefore += bytes
    return position
  })
}
