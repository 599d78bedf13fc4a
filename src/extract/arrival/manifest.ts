/** Reads manifests: CSV or JSON that names the files of a delivery, with control totals. */
import { parse } from 'csv-parse/sync'
import { z } from 'zod'
import { WaybillError } from '../../model/errors.ts'

/** What was said of an export before it was read. */
export interface Announced {
  readonly bytes?: number | undefined
  readonly sha256?: string | undefined
  readonly rows?: number | undefined
}

const total = z
  .union([z.int().min(0), z.string().regex(/^\d{1,15}$/), z.literal('')])
  .nullish()
  .transform((value) => (value === '' || value === null || value === undefined ? undefined : Number(value)))

const Entry = z
  .looseObject({
    name: z.string().min(1),
    bytes: total,
    rows: total,
    sha256: z
      .union([z.string().regex(/^[0-9a-f]{64}$/i), z.literal('')])
      .nullish()
      .transform((digest) => digest?.toLowerCase() || undefined),
  })
  .transform(({ name, bytes, rows, sha256 }) => ({ name, bytes, rows, sha256 }))

/** Spellings of the four columns, in lower case without what is neither letter nor digit. */
const SPELLINGS = {
  name: ['name', 'file', 'filename'],
  bytes: ['bytes', 'size', 'filesize', 'sizebytes'],
  rows: ['rows', 'rowcount', 'records', 'recordcount', 'count'],
  sha256: ['sha256', 'sha256sum', 'checksum', 'digest'],
} as const

/**
 * A list of objects (JSON: the document, or its member `files`); folders in front of a name do not count.
 * @returns what is said of each file, by its name
 * @throws WaybillError `export-unreadable`
 */
export function readManifest(text: string, address: string): Map<string, Announced> {
  const found = new Map<string, Announced>()
  for (const [at, one] of entriesOf(text, address).entries()) {
    const entry = Entry.safeParse(canonical(one))
    if (!entry.success) {
      const [issue] = entry.error.issues
      throw unreadableManifest(address, `entry ${at + 1}: ${issue?.path.join('.')} ${issue?.message}`)
    }
    const { name, ...announced } = entry.data
    found.set(name.split(/[/\\]/).at(-1) ?? name, announced)
  }
  return found
}

function entriesOf(text: string, address: string): readonly unknown[] {
  try {
    if (!/^\ufeff?\s*[[{]/.test(text))
      return parse(text, { bom: true, columns: true, trim: true, skip_empty_lines: true })
    const Document = z.union([z.array(z.unknown()), z.looseObject({ files: z.array(z.unknown()) })])
    const document = Document.parse(JSON.parse(text.replace(/^\ufeff/, '')))
    return Array.isArray(document) ? document : document.files
  } catch {
    // What the parsers say quotes the content.
    throw unreadableManifest(address, 'it is neither CSV with a header nor a JSON list of files')
  }
}

function canonical(entry: unknown): Record<string, unknown> {
  const given = z.record(z.string(), z.unknown()).safeParse(entry)
  const fields = Object.entries(given.data ?? {}).map(
    ([key, value]) => [key.toLowerCase().replace(/[^a-z0-9]/g, ''), value] as const,
  )
  return Object.fromEntries(
    Object.entries(SPELLINGS).map(([key, spellings]) => [
      key,
      fields.find(([given]) => spellings.some((spelling) => spelling === given))?.[1],
    ]),
  )
}

function unreadableManifest(address: string, problem: string): WaybillError {
  return new WaybillError('export-unreadable', `The manifest cannot be read: ${problem}.`, {
    place: { file: address },
    remedy: 'A manifest has the columns name, and any of bytes, sha256, rows. Ask the vendor for it again.',
  })
}
