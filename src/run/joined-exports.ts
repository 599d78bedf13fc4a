/**
 * Second exports that a mapping joins: found beside each export, read once, and kept as far as the mapping reads them. What was kept is
 * part of what a run maps with: the mapping's snapshot in the ledger names it by its SHA-256, and a private copy lies in the spool until
 * the run has ended well. The ledger itself has none of it, as it may well be about people.
 */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { type JoinedExport, type LoadedMapping, loadMapping } from '../definitions/definition-files.ts'
import { openExport } from '../extract/open-export.ts'
import type { ExportRecord, Ledger } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import type { Row } from '../model/row.ts'
import type { Cell, KeptRows } from '../transform/compile-context.ts'
import { LARGEST_JOIN } from '../transform/joins.ts'
import type { Arrival, Beside, BesideExport, ReceivedExport } from './arrival.ts'

/** A mapping with what it joins, as it is to be kept: by SHA-256 of the text. */
export interface JoinedMapping {
  readonly mapping: LoadedMapping
  readonly texts: ReadonlyMap<string, string>
}

const KeptText = z.object({
  fields: z.array(z.string()),
  rows: z.array(z.tuple([z.string()], z.string().nullable())),
})

/**
 * Reads what the mapping joins of what lies beside an export; a mapping that joins none is given back as it is.
 * @param exportName for errors
 * @throws WaybillError `export-join-missing`, `export-join-unusable`, `columns-missing`, and what is wrong with the joined file
 */
export async function joinExports(
  mapping: LoadedMapping,
  exportName: string,
  beside: Beside,
): Promise<JoinedMapping> {
  const kept = new Map<string, KeptRows>()
  const texts = new Map<string, string>()
  const digests: Record<string, string> = {}
  for (const join of mapping.joins) {
    const found = await beside(join.export)
    if (found === undefined)
      throw new WaybillError('export-join-missing', `There is no ${join.export} beside ${exportName}.`, {
        place: { file: mapping.file, key: `joins.${join.name}.export` },
      })
    const rows = await readJoin(join, found)
    const text = JSON.stringify({
      fields: join.fields,
      rows: [...rows].map(([key, cells]) => [key, ...cells]),
    })
    const digest = hash('sha256', text, 'hex')
    kept.set(join.name, { fields: join.fields, rows })
    texts.set(digest, text)
    digests[join.name] = digest
  }
  return { mapping: kept.size === 0 ? mapping : mapping.withJoins(digests, kept), texts }
}

/** The same, and what was read is kept for whoever goes on. */
export async function joinAndKeep(
  arrival: Pick<Arrival, 'keep'>,
  mapping: LoadedMapping,
  { name, beside }: Pick<ReceivedExport, 'name' | 'beside'>,
): Promise<LoadedMapping> {
  const joined = await joinExports(mapping, name, beside)
  for (const [sha256, text] of joined.texts) await arrival.keep(sha256, text)
  return joined.mapping
}

/** The mapping that an export was read by, as the ledger has it. @throws WaybillError `mapping-not-found` */
export async function keptMapping(
  ledger: Pick<Ledger, 'mapping'>,
  { name, mapping_digest }: Pick<ExportRecord, 'name' | 'mapping_digest'>,
): Promise<string> {
  const content = await ledger.mapping(mapping_digest)
  if (content !== undefined) return content
  throw new WaybillError('mapping-not-found', `the ledger has lost the mapping of ${name}`)
}

/**
 * The mapping of an earlier process, with what it had joined.
 * @param content the bundle, as the ledger has it
 * @param copyOf gives the kept text of a SHA-256, undefined where it is gone
 * @param beside what lies beside the export now; taken where it is still the same
 * @throws WaybillError `export-changed` where what the run began with is gone
 */
export async function rejoin(
  content: string,
  exportName: string,
  copyOf: (sha256: string) => Promise<string | undefined>,
  beside: Beside,
): Promise<LoadedMapping> {
  const mapping = loadMapping(content)
  const digests = Object.entries(mapping.joined)
  const kept = new Map<string, KeptRows>()
  for (const [name, digest] of digests) {
    const text = await copyOf(digest)
    if (text !== undefined && hash('sha256', text, 'hex') === digest) kept.set(name, parseKept(text))
  }
  if (kept.size === digests.length)
    return digests.length === 0 ? mapping : mapping.withJoins(mapping.joined, kept)
  const anew = await joinExports(mapping, exportName, beside)
  if (anew.mapping.content === content) return anew.mapping
  const patterns = mapping.joins.map((join) => join.export).join(', ')
  throw new WaybillError(
    'export-changed',
    `What ${exportName} was joined with is gone, or is not as the run began with.`,
    {
      remedy: `Put the file back that it was joined with (${patterns}): what was in flight can only be settled with it.`,
    },
  )
}

async function readJoin(join: JoinedExport, found: BesideExport): Promise<Map<string, readonly Cell[]>> {
  const opened = await openExport(found.file, join.read, found.limits, found.version)
  const readRow = join.bind(opened.columns, found.name)
  const rows = new Map<string, readonly Cell[]>()
  let characters = 0
  const refuse = (row: Row, problem: string): WaybillError =>
    new WaybillError('export-join-unusable', `${found.name} cannot be joined: ${problem}`, {
      place: { file: found.address, line: row.line },
    })
  for await (const block of opened.rows()) {
    for (const row of block) {
      if (row.kind === 'unreadable') throw refuse(row, row.message)
      const read = readRow(row)
      if (read === undefined) continue
      const { key, cells } = read
      const before = rows.get(key)
      if (before?.some((cell, at) => cell !== cells[at]))
        throw refuse(row, 'an earlier row has the same key and differs in what the mapping reads')
      if (before !== undefined) continue
      rows.set(key, cells)
      characters += cells.reduce((sum, cell) => sum + (cell?.length ?? 0), key.length)
      if (rows.size > LARGEST_JOIN.rows || characters > LARGEST_JOIN.characters)
        throw refuse(row, 'what the mapping reads of it is more than 200,000 rows or 64 MiB')
    }
  }
  return rows
}

function parseKept(text: string): KeptRows {
  const { fields, rows } = KeptText.parse(JSON.parse(text))
  return { fields, rows: new Map(rows.map(([key, ...cells]) => [key, cells])) }
}
