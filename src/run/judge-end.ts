/** Holds back an export that may be cut: by evidence in the text, or by a missing last line end where the previous export had one. */
import { detectCompression } from '../extract/content.ts'
import { type ExportEnd, readEnd } from '../extract/export-end.ts'
import { lookAt } from '../extract/open-export.ts'
import type { ReadDefinition } from '../extract/read-definition.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import type { DriftFinding } from '../watch/drift-watch.ts'
import type { ReceivedExport } from './arrival.ts'

interface EndMemory {
  readonly ledger: Pick<Ledger, 'exports'>
  readonly job: string
}

const FIRST: DriftFinding = {
  measure: 'end',
  level: 'warn',
  message: 'the last line has no line end; without an earlier export to compare, the file may be cut',
}

interface JudgedEnd {
  /** Undefined where the format has no lines. */
  readonly isEnded: boolean | undefined
  readonly finding?: DriftFinding
}

const cutOff = (address: string, why: string): WaybillError =>
  new WaybillError('export-cut', `The export may be cut: ${why}. Nothing of it was sent.`, {
    place: { file: address },
  })

/**
 * @param memory undefined without a ledger
 * @param isVouched true if size, row count or checksum was announced, or if a person declared the export whole
 * @throws WaybillError `export-cut`
 */
export async function judgeEnd(
  { address, file, limits, version }: ReceivedExport,
  { name, read }: { name: string; read: ReadDefinition },
  sha256: string,
  memory: EndMemory | undefined,
  isVouched: boolean,
): Promise<JudgedEnd> {
  const { bytes } = await lookAt(file)
  const end: ExportEnd | undefined = await readEnd(
    file,
    await detectCompression(file, limits, version),
    bytes,
    read,
  )
  if (end === undefined) return { isEnded: undefined }
  const { isEnded, cut } = end
  if (isVouched || (isEnded && cut === undefined)) return { isEnded }
  const before = await memory?.ledger.exports.lastEnd({ job: memory.job, mapping: name }, sha256)
  if (before === 'read') return { isEnded }
  if (cut !== undefined) throw cutOff(address, cut)
  if (before === 'ended') throw cutOff(address, 'the last line has no line end; the previous export had one')
  return { isEnded, ...(before === undefined ? { finding: FIRST } : {}) }
}
