/** Opens an export: looks at it once, then gives its rows, from the start or from a checkpoint, as often as asked. */
import { stat } from 'node:fs/promises'
import { WaybillError } from '../model/errors.ts'
import type { Origin } from '../model/row.ts'
import {
  assertVersion,
  type Compression,
  type ContentLimits,
  DEFAULT_LIMITS,
  detectCompression,
  readContent,
  shareBefore,
  textStart,
  unreadable,
  versionOf,
} from './content.ts'
import { ByteWindow, type OpenFormat, readRows } from './framing.ts'
import { openCsv } from './open-csv.ts'
import { openHl7v2 } from './open-hl7v2.ts'
import { ndjsonFormat, openJson } from './open-json.ts'
import { openRecords } from './open-records.ts'
import type { ReadDefinition } from './read-definition.ts'

export interface OpenExport extends OpenFormat {
  /**
   * The share of the file, from 0 to 1, that stands before an offset; of a compressed one about, by what was read of it last.
   */
  share(byteOffset: number): number
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
  return {
    controlTotal: async () => undefined,
    ...(await openFormat(path, compression, read)),
    share: (byteOffset) => shareBefore(byteOffset, bytes, compression),
    assertUnchanged: async () => assertVersion(path, (await lookAt(path)).version, compression.version),
  }
}

async function openFormat(
  path: string,
  compression: Compression,
  read: ReadDefinition,
): Promise<Partial<OpenFormat> & Pick<OpenFormat, 'seekable' | 'rows'>> {
  if (read.format === 'csv') return openCsv(path, compression, read)
  if (read.format === 'json') return openJson(path, compression, read)
  if (read.format === 'hl7v2') return openHl7v2(path, compression, read)
  if (read.format === 'records') return openRecords(path, compression, read)
  const byteOffset = await textStart(path, readContent(path, compression, 0))
  const rows = (from: Origin = { row: 1, line: 1, byteOffset }) => {
    const content = readContent(path, compression, from.byteOffset)
    return readRows(new ByteWindow(content, from.byteOffset), from, ndjsonFormat)
  }
  return { rows, seekable: compression.kind === 'plain' }
}

/** @throws WaybillError `export-unreadable` */
export async function lookAt(path: string): Promise<{ readonly version: string; readonly bytes: number }> {
  const found = await stat(path, { bigint: true }).catch((cause) => {
    throw unreadable(path, cause)
  })
  return { version: versionOf(found), bytes: Number(found.size) }
}
