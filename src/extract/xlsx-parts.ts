/** Parts of a workbook that are read before its sheet: which sheets there are, number formats, texts that cells share. */
import { WaybillError } from '../model/errors.ts'
import { type Epoch, type NumberForm, numberForm, PLAIN, type SharedText, unescaped } from './xlsx-cells.ts'
import type { WorkbookPackage } from './xlsx-package.ts'
import { type Attributes, readXml } from './xlsx-xml.ts'

/** A worksheet as the workbook lists it. */
export interface SheetEntry {
  readonly name: string
  /** Its part in the package. */
  readonly part: string
  readonly isHidden: boolean
}

export interface Workbook {
  readonly sheets: readonly SheetEntry[]
  readonly epoch: Epoch
  readonly parts: { readonly styles: string | undefined; readonly strings: string | undefined }
}

const isTrue = (text: string | undefined): boolean => text === '1' || text === 'true'

/** @throws Error with the reason: no workbook, one in binary form, a part that is missing */
export async function readWorkbook(opened: WorkbookPackage): Promise<Workbook> {
  const root = [...(await opened.relationships('')).values()].find(({ type }) => type === 'officeDocument')
  if (root === undefined) throw new Error('it is a zip archive, and no workbook')
  const part = root.target
  if (/\.bin$/i.test(part)) throw new Error('it is a binary workbook (.xlsb)')
  const related = await opened.relationships(part)
  const found: { name: string; id: string; isHidden: boolean }[] = []
  let [isWorkbook, epoch]: [boolean, Epoch] = [false, { from: 1900, leap: true }]
  await readXml(opened.read(part), {
    open(name, attributes, depth, relatedOf) {
      if (depth === 1) isWorkbook = name === 'workbook'
      if (name === 'workbookPr')
        epoch = {
          from: isTrue(attributes['date1904']) ? 1904 : 1900,
          leap: isTrue(attributes['dateCompatibility'] ?? '1'),
        }
      if (name === 'sheet' && depth === 3) {
        const { name: sheet = '', state = 'visible' } = attributes
        found.push({ name: sheet, id: relatedOf(attributes) ?? '', isHidden: state !== 'visible' })
      }
    },
    text() {},
    close() {},
  })
  if (!isWorkbook) throw new Error('it is an office document, and no workbook')
  const sheets = found.flatMap(({ name, id, isHidden }): SheetEntry[] => {
    const sheet = related.get(id)
    if (sheet === undefined) throw new Error(`the workbook names a sheet that it does not hold`)
    // Charts and dialogs are sheets, too.
    return sheet.type === 'worksheet' ? [{ name, part: sheet.target, isHidden }] : []
  })
  const partOf = (type: string): string | undefined =>
    [...related.values()].find((one) => one.type === type)?.target
  return { sheets, epoch, parts: { styles: partOf('styles'), strings: partOf('sharedStrings') } }
}

const MOST_STYLES = 100_000

/** What the number format of each cell style says, by the style's index (18.8.10, 18.8.45). */
export async function readStyles(
  opened: WorkbookPackage,
  part: string | undefined,
): Promise<readonly NumberForm[]> {
  if (part === undefined) return [PLAIN]
  const codes = new Map<number, string>()
  const above: number[] = []
  const ids: number[] = []
  let within = ''
  await readXml(opened.read(part), {
    open(name, { numFmtId = '', formatCode = '', xfId = '' }, depth) {
      if (depth === 2) within = name
      if (depth !== 3) return
      if (codes.size + ids.length + above.length > MOST_STYLES)
        throw new Error('it has more than 100000 styles')
      if (within === 'numFmts' && name === 'numFmt') codes.set(Number(numFmtId), formatCode)
      else if (within === 'cellStyleXfs' && name === 'xf') above.push(Number(numFmtId))
      else if (within === 'cellXfs' && name === 'xf')
        ids.push(numFmtId === '' ? (above[Number(xfId)] ?? 0) : Number(numFmtId))
    },
    text() {},
    close() {},
  })
  const forms = new Map([...new Set(ids)].map((id) => [id, numberForm(id, codes.get(id))]))
  return ids.map((id) => forms.get(id) ?? PLAIN)
}

/** Bytes of shared strings that are held. */
const MOST_STRING_BYTES = 128 * 1024 * 1024

/**
 * The table of shared strings (18.4.9), in one stretch of memory: an array of texts would cost several times as much.
 * @throws WaybillError `export-too-large`
 */
export async function readStrings(
  path: string,
  opened: WorkbookPackage,
  part: string | undefined,
): Promise<SharedText> {
  if (part === undefined) return () => undefined
  let bytes: Buffer = Buffer.allocUnsafe(64 * 1024)
  let ends = new Uint32Array(1024)
  let count = 0
  let length = 0
  const add = (text: string): void => {
    const most = length + text.length * 3
    if (most > bytes.length) {
      if (length + Buffer.byteLength(text) > MOST_STRING_BYTES)
        throw new WaybillError('export-too-large', 'The texts of the workbook are more than 128 MiB.', {
          place: { file: path },
          remedy: 'Ask the vendor for several workbooks, or for CSV.',
        })
      const grown = Buffer.allocUnsafe(Math.max(bytes.length * 2, most))
      bytes.copy(grown, 0, 0, length)
      bytes = grown
    }
    if (count === ends.length) {
      const grown = new Uint32Array(ends.length * 2)
      grown.set(ends)
      ends = grown
    }
    length += bytes.write(text, length)
    ends[count++] = length
  }
  const rich = richText()
  await readXml(opened.read(part), {
    open(name, attributes, depth) {
      if (depth === 1) rich.around(attributes)
      else if (depth === 2 && name === 'si') rich.begin(attributes)
      else rich.open(name, attributes)
    },
    text: rich.text,
    close(name, depth) {
      if (depth === 2 && name === 'si') add(rich.end())
      else if (depth > 2) rich.close(name)
    },
  })
  return (index) =>
    index < count ? bytes.toString('utf8', index === 0 ? 0 : ends[index - 1], ends[index]) : undefined
}

/** Collects the text of `si` or `is`: of `t`, and of `t` in each run; what is said of pronunciation (`rPh`) is none. */
export function richText() {
  let text = ''
  let inText = false
  let phonetic = 0
  let runs = 0
  let keptAround = false
  let kept = false
  const spaceOf = (attributes: Attributes, before: boolean): boolean => {
    const space = attributes['xml:space']
    return space === undefined ? before : space === 'preserve'
  }
  return {
    /** The root of the part. */
    around(attributes: Attributes): void {
      keptAround = spaceOf(attributes, false)
    },
    begin(attributes: Attributes): void {
      text = ''
      runs = 0
      phonetic = 0
      inText = false
      kept = spaceOf(attributes, keptAround)
    },
    open(name: string, attributes: Attributes): void {
      if (name === 'rPh') phonetic++
      else if (name === 't' && phonetic === 0) {
        inText = true
        runs++
        kept = spaceOf(attributes, kept)
      }
    },
    text(piece: string): void {
      if (inText) text += piece
    },
    close(name: string): void {
      if (name === 'rPh') phonetic--
      else if (name === 't') inText = false
    },
    /** White space around it is no part of a text that does not say so (`xml:space`). */
    end: (): string => unescaped(kept || runs > 1 ? text : text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '')),
  }
}
