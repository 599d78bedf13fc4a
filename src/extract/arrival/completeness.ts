/** Which of the files that a source lists are exports, and which of those are complete. */
import { compilePattern, inOrder } from '../discover.ts'
import type { Delivery } from './export-source.ts'
import type { Announced } from './manifest.ts'

/** When an export counts as delivered, and what lies beside it. Names hold `{name}` for that of the export. */
export interface ArrivalRules {
  readonly match: string
  readonly stableForMs: number
  readonly marker?: string | undefined
  /** A pattern like `match`. */
  readonly manifest?: string | undefined
  readonly checksum?: string | undefined
}

/** An export that is complete, with the files that belong to it alone. */
export interface CompleteExport {
  readonly delivery: Delivery
  readonly checksum?: Delivery | undefined
  readonly marker?: Delivery | undefined
  readonly announced?: Announced | undefined
}

/** What an export still waits for: that it changes no more, its marker, its checksum file, a manifest that names it. */
export type Lack = 'rest' | 'marker' | 'checksum' | 'manifest'

/** An export that is there and not complete. */
export interface WaitingExport {
  readonly delivery: Delivery
  readonly lacks: readonly Lack[]
}

/** The manifests of a listing, oldest date first. */
export function manifestsOf(rules: ArrivalRules, listing: readonly Delivery[]): readonly Delivery[] {
  return rules.manifest === undefined ? [] : inOrder(compilePattern(rules.manifest), listing)
}

/**
 * Exports in order: oldest date in the name first, then by name (in code-unit order). An export is complete when it has not
 * changed for long enough, its marker and its checksum file are there, and a manifest names it, as far as the rules ask for
 * these. Markers, checksum files and manifests are no exports, also where the pattern fits their names.
 * @param announced what manifests say, by name
 */
export function sortExports(
  rules: ArrivalRules,
  listing: readonly Delivery[],
  announced: ReadonlyMap<string, Announced>,
  now: number,
): { readonly complete: CompleteExport[]; readonly waiting: WaitingExport[] } {
  const byName = new Map(listing.map((delivery) => [delivery.name, delivery]))
  const companion = (pattern: string | undefined, { name }: Delivery): Delivery | undefined =>
    pattern === undefined ? undefined : byName.get(pattern.replaceAll('{name}', name))
  const besides = new Set<Delivery | undefined>([
    ...manifestsOf(rules, listing),
    ...listing.flatMap((one) => [companion(rules.marker, one), companion(rules.checksum, one)]),
  ])
  const complete: CompleteExport[] = []
  const waiting: WaitingExport[] = []
  for (const delivery of inOrder(compilePattern(rules.match), listing)) {
    if (besides.has(delivery)) continue
    const marker = companion(rules.marker, delivery)
    const checksum = companion(rules.checksum, delivery)
    const said = announced.get(delivery.name)
    const lacks: Lack[] = []
    if (now - delivery.modifiedAt < rules.stableForMs) lacks.push('rest')
    if (rules.marker !== undefined && marker === undefined) lacks.push('marker')
    if (rules.checksum !== undefined && checksum === undefined) lacks.push('checksum')
    if (rules.manifest !== undefined && said === undefined) lacks.push('manifest')
    if (lacks.length === 0) complete.push({ delivery, marker, checksum, announced: said })
    else waiting.push({ delivery, lacks })
  }
  return { complete, waiting }
}

/** Those alone that are complete. */
export const completeExports = (...given: Parameters<typeof sortExports>): CompleteExport[] =>
  sortExports(...given).complete
