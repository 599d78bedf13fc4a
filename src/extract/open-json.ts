/** Opens an export of `format: json`: finds out encoding and where its rows stand, then gives them. */
import type { Origin, Row } from '../model/row.ts'
import { ByteWindow } from './byte-window.ts'
import { behind, type Compression, countDecoded, readContent, textStart } from './content.ts'
import { findEncoding, HEAD_BYTES } from './encoding.ts'
import { readRows } from './framing.ts'
import type { JsonSource } from './json-cursor.ts'
import type { JsonDefinition } from './json-definition.ts'
import { jsonDocumentFormat } from './json-document.ts'
import { findRecords, readRecords } from './json-records.ts'
import { transcode } from './transcode.ts'

export interface OpenJson {
  readonly seekable: boolean
  rows(from?: Origin): AsyncIterable<readonly Row[]>
}

/** @throws WaybillError `export-empty`, `export-unreadable` */
export async function openJson(
  path: string,
  compression: Compression,
  read: JsonDefinition,
): Promise<OpenJson> {
  const source = await openSource(path, compression)
  if (read.records === undefined) {
    const { start } = source
    const first: Origin = { row: 1, line: 1, byteOffset: start }
    // There is one row, so reading always begins with it: the column of a fault counts from the line's start.
    return {
      seekable: false,
      rows: () => readRows(new ByteWindow(source.content(start), start), first, jsonDocumentFormat),
    }
  }
  const found = await findRecords(source, read.records, read.context)
  return { seekable: source.seekable, rows: (from = found.first) => readRecords(found, from) }
}

/** RFC 8259, 8.1 wants UTF-8; UTF-16 is what some systems write, and is known by its mark or its NULs. */
async function openSource(
  path: string,
  compression: Compression,
): Promise<JsonSource & { readonly seekable: boolean }> {
  const raw = (from: number) => readContent(path, compression, from)
  const window = new ByteWindow(raw(0), 0)
  while (!window.ended && window.bytes.length < HEAD_BYTES) await window.refill(0)
  await window.close()
  const encoding = findEncoding(path, window.bytes, 'auto')
  const content =
    encoding === 'utf-8'
      ? raw
      : (from: number) => behind(path, countDecoded(compression, transcode(raw(0), encoding)), from)
  const seekable = compression.kind === 'plain' && encoding === 'utf-8'
  return { path, start: await textStart(path, content(0)), content, seekable }
}
