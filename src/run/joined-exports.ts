/**
 * Second exports joined by a mapping: found beside each export, read once, and kept as far as the mapping reads them. The kept text is part of the
 * mapping of a run: the snapshot of the mapping in the ledger names it by SHA-256, and a private copy lies in the spool until the run has ended well.
 * The ledger itself holds none of this text, which may be about people.
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

/** Mapping with its joined texts to keep, by SHA-256. */
interface JoinedMapping {
  readonly mapping: LoadedMapping
  readonly texts: ReadonlyMap<string, string>
}

const KeptText = z.object({
  fields: z.array(z.string()),
  rows: z.array(z.tuple([z.string()], z.string().nullable())),
})

/**
 * Reads the joined files beside an export; returns a mapping without joins unchanged.
 * @param exportName for errors
 * @throws WaybillError `export-join-missing`, `export-join-unusable`, `columns-missing`, or a problem of the joined file
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

/** Joins, and keeps the texts for a resumption. */
export async function joinAndKeep(
  arrival: Pick<Arrival, 'keep'>,
  mapping: LoadedMapping,
  { name, beside }: Pick<ReceivedExport, 'name' | 'beside'>,
): Promise<LoadedMapping> {
  const joined = await joinExports(mapping, name, beside)
  for (const [sha256, text] of joined.texts) await arrival.keep(sha256, text)
  return joined.mapping
}

/** Mapping by which an export was read, from the ledger. @throws WaybillError `mapping-not-found` */
export async function keptMapping(
  ledger: Pick<Ledger, 'exports'>,
  { name, mapping_digest }: Pick<ExportRecord, 'name' | 'mapping_digest'>,
): Promise<string> {
  const content = await ledger.exports.mapping(mapping_digest)
  if (content !== undefined) return content
  throw new WaybillError('mapping-not-found', `the ledger has lost the mapping of ${name}`)
}

/**
 * Mapping of an earlier process, with its joined texts.
 * @param content bundle from the ledger
 * @param copyOf gives the kept text of a SHA-256, undefined if gone
 * @param beside files beside the export now; used if unchanged
 * @throws WaybillError `export-changed` if the original joined text is gone
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
    `The joined export of ${exportName} is gone, or differs from the file at the start of the run.`,
    {
      remedy: `Put the joined file (${patterns}) back: only this file can settle the records in flight.`,
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
        throw refuse(row, 'an earlier row has the same key and other values in the fields of the mapping')
      if (before !== undefined) continue
      rows.set(key, cells)
      characters += cells.reduce((sum, cell) => sum + (cell?.length ?? 0), key.length)
      if (rows.size > LARGEST_JOIN.rows || characters > LARGEST_JOIN.characters)
        throw refuse(row, 'the fields of the mapping take more than 200,000 rows or 64 MiB')
    }
  }
  return rows
}

function parseKept(text: string): KeptRows {
  const { fields, rows } = KeptText.parse(JSON.parse(text))
  return { fields, rows: new Map(rows.map(([key, ...cells]) => [key, cells])) }
}
