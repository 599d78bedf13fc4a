/** Opens an export: looks at it once, then gives its rows, from the start or from a checkpoint, as often as asked. */
import { stat } from 'node:fs/promises'
import { WaybillError } from '../model/errors.ts'
import type { Origin, Row } from '../model/row.ts'
import {
  assertVersion,
  type ContentLimits,
  DEFAULT_LIMITS,
  detectCompression,
  readContent,
  shareBefore,
  textStart,
  unreadable,
  versionOf,
} from './content.ts'
import { ByteWindow, readRows } from './framing.ts'
import { type ControlTotal, openCsv } from './open-csv.ts'
import { openHl7v2 } from './open-hl7v2.ts'
import { ndjsonFormat, openJson } from './open-json.ts'
import { openRecords } from './open-records.ts'
import type { ReadDefinition } from './read-definition.ts'

export interface OpenExport {
  /** CSV: the names in the header (or of `read.columns`), trimmed; a name may be empty, and such a column cannot be mapped. */
  readonly columns?: readonly string[]
  /** Whether reading from a later row spares reading what stands before it: a plain file in UTF-8. */
  readonly seekable: boolean
  /**
   * The rows in blocks of some hundred (a step a row would cost more than the row), read as they are asked for.
   * @param from origin of the row to begin with, as an earlier reading gave it; the rows are then the same as in that
   *   reading. Without it, the first.
   * @throws WaybillError `export-unreadable`; `export-changed` where the content ends before `from`
   */
  rows(from?: Origin): AsyncIterable<readonly Row[]>
  /**
   * The share of the file, from 0 to 1, that stands before an offset; of a compressed one about, by what was read of it last.
   */
  share(byteOffset: number): number
  /**
   * How many rows the trailer states and how many there are, counted in one pass that takes no row apart; undefined where
   * the mapping names no such count. To be asked before anything of the export is sent.
   * @param counted number of rows, where `rows` has given all of them already: then nothing is read
   */
  controlTotal(counted?: number): Promise<ControlTotal | undefined>
  /**
   * Compares the file with what it was when it was opened (`versionOf`).
   * @throws WaybillError `export-changed`, or `export-unreadable` where it is gone
   */
  assertUnchanged(): Promise<void>
}

/**
 * @param version which the file must be, as it was found when its SHA-256 was taken; undefined: whichever it is now
 * @throws WaybillError `export-changed`, `export-unreadable` (not found, damaged, a header that cannot be read or names a column twice, an
 *   encoding, delimiter or trailer that is not as the mapping says),
 *   `export-empty` (no bytes; for CSV, no header), `export-too-large`
 */
export async function openExport(
  path: string,
  read: ReadDefinition,
  limits: ContentLimits = DEFAULT_LIMITS,
  version?: string,
): Promise<OpenExport> {
  const { bytes } = await lookAt(path)
  const compression = await detectCompression(path, limits, version).catch((cause) => {
    throw cause instanceof WaybillError ? cause : unreadable(path, cause)
  })
  const common = {
    share: (byteOffset: number) => shareBefore(byteOffset, bytes, compression),
    assertUnchanged: async () => assertVersion(path, (await lookAt(path)).version, compression.version),
  }

  if (read.format === 'csv') return { ...(await openCsv(path, compression, read)), ...common }
  if (read.format === 'json')
    return {
      ...(await openJson(path, compression, read)),
      controlTotal: async () => undefined,
      ...common,
    }
  if (read.format === 'hl7v2') return { ...(await openHl7v2(path, compression, read)), ...common }
  if (read.format === 'records') return { ...(await openRecords(path, compression, read)), ...common }
  const byteOffset = await textStart(path, readContent(path, compression, 0))
  const rows = (from: Origin = { row: 1, line: 1, byteOffset }) =>
    readRows(
      new ByteWindow(readContent(path, compression, from.byteOffset), from.byteOffset),
      from,
      ndjsonFormat,
    )
  const seekable = compression.kind === 'plain'
  return { rows, seekable, controlTotal: async () => undefined, ...common }
}

/** @throws WaybillError `export-unreadable` */
export async function lookAt(path: string): Promise<{ readonly version: string; readonly bytes: number }> {
  const found = await stat(path, { bigint: true }).catch((cause) => {
    throw unreadable(path, cause)
  })
  return { version: versionOf(found), bytes: Number(found.size) }
}
