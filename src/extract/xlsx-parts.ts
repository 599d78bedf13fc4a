/** Parts of a workbook that are read before a sheet: the list of sheets, number formats, shared strings. */
import { exportError } from './content.ts'
import { type Epoch, type NumberForm, numberForm, PLAIN, type SharedText, unescaped } from './xlsx-cells.ts'
import type { WorkbookPackage } from './xlsx-package.ts'
import { readXml } from './xlsx-xml.ts'

/** A worksheet in the list of the workbook. */
export interface SheetEntry {
  readonly name: string
  /** Name of the part. */
  readonly part: string
  readonly isHidden: boolean
}

interface Workbook {
  readonly sheets: readonly SheetEntry[]
  readonly epoch: Epoch
  readonly styles: string | undefined
  readonly strings: string | undefined
}

const isTrue = (text: string | undefined): boolean => text === '1' || text === 'true'

/** Reads the workbook. @throws Error with the reason: no workbook, a workbook in binary form, a missing part */
export async function readWorkbook(opened: WorkbookPackage): Promise<Workbook> {
  const main = [...(await opened.relationships('')).values()].find(({ type }) => type === 'officeDocument')
  if (main === undefined)
    throw new Error(
      opened.isOpenDocument
        ? 'it is an OpenDocument file (.ods); .xlsx and .xlsm are read'
        : 'it is a zip archive, and no workbook',
    )
  if (/\.bin$/i.test(main.target))
    throw new Error('it is a binary workbook (.xlsb); .xlsx and .xlsm are read')
  const related = await opened.relationships(main.target)
  const sheets: SheetEntry[] = []
  let epoch: Epoch = { from: 1900, leap: true }
  await readXml(opened.read(main.target), {
    open(name, attributes, depth) {
      if (depth === 1 && name !== 'workbook') throw new Error('it is an office document, not a workbook')
      if (name === 'workbookPr') {
        const { date1904, dateCompatibility = '1' } = attributes
        epoch = { from: isTrue(date1904) ? 1904 : 1900, leap: isTrue(dateCompatibility) }
      }
      if (name !== 'sheet' || depth !== 3) return
      const [, id = ''] = Object.entries(attributes).find(([key]) => key.endsWith(':id')) ?? []
      const sheet = related.get(id)
      if (sheet === undefined) throw new Error('the workbook names a missing sheet')
      const { name: called = '', state = 'visible' } = attributes
      // Charts and dialogs are sheets, too.
      if (sheet.type === 'worksheet')
        sheets.push({ name: called, part: sheet.target, isHidden: state !== 'visible' })
    },
  })
  const partOf = (kind: string): string | undefined =>
    [...related.values()].find(({ type }) => type === kind)?.target
  return { sheets, epoch, styles: partOf('styles'), strings: partOf('sharedStrings') }
}

const MOST_STYLES = 100_000

/** Number forms by the index of a cell style (18.8.10). */
export async function readStyles(
  opened: WorkbookPackage,
  part: string | undefined,
): Promise<readonly NumberForm[]> {
  const codes = new Map<number, string>()
  const ids: number[] = []
  let within = ''
  if (part === undefined) return []
  await readXml(opened.read(part), {
    open(name, { numFmtId = '0', formatCode = '' }, depth) {
      if (depth === 2) within = name
      else if (within === 'numFmts' && name === 'numFmt') codes.set(Number(numFmtId), formatCode)
      else if (within === 'cellXfs' && name === 'xf') ids.push(Number(numFmtId))
      if (codes.size + ids.length > MOST_STYLES) throw new Error('it has more than 100000 styles')
    },
  })
  const forms = new Map([...new Set(ids)].map((id) => [id, numberForm(id, codes.get(id))]))
  return ids.map((id) => forms.get(id) ?? PLAIN)
}

/** Most bytes of shared strings. */
const MOST_STRING_BYTES = 128 * 1024 * 1024

/**
 * The table of shared strings (18.4.9), in one buffer: an array of texts would take several times the memory.
 * @throws WaybillError `export-too-large`
 */
export async function readStrings(
  path: string,
  opened: Pick<WorkbookPackage, 'read'>,
  part: string | undefined,
): Promise<SharedText> {
  if (part === undefined) return () => undefined
  let bytes = new Uint8Array(64 * 1024)
  let ends = new Uint32Array(1024)
  let [count, length] = [0, 0]
  const encoder = new TextEncoder()
  const add = (text: string): void => {
    const most = length + text.length * 3
    if (most > MOST_STRING_BYTES)
      throw exportError(path, 'The texts of the workbook are more than 128 MiB.', {
        code: 'export-too-large',
        remedy: 'Ask the vendor for several workbooks, or for CSV.',
      })
    if (most > bytes.length) bytes = grown(bytes, new Uint8Array(Math.max(bytes.length * 2, most)))
    if (count === ends.length) ends = grown(ends, new Uint32Array(ends.length * 2))
    length += encoder.encodeInto(text, bytes.subarray(length)).written
    ends[count++] = length
  }
  const item = createText()
  await readXml(opened.read(part), {
    open: item.open,
    text: item.text,
    close(name, depth) {
      if (depth === 2 && name === 'si') add(item.taken())
      else item.close(name)
    },
  })
  const held = Buffer.from(bytes.buffer)
  return (index) =>
    index < count ? held.toString('utf8', index === 0 ? 0 : ends[index - 1], ends[index]) : undefined
}

function grown<Numbers extends Uint8Array | Uint32Array>(numbers: Numbers, larger: Numbers): Numbers {
  larger.set(numbers)
  return larger
}

/** Collects the text of `si` or `is`: `t`, and `t` in each run. Phonetic text (`rPh`) is ignored. */
export function createText() {
  let text = ''
  let inText = false
  let phonetic = 0
  return {
    open(name: string): void {
      if (name === 'rPh') phonetic++
      inText = name === 't' && phonetic === 0
    },
    text(piece: string): void {
      if (inText) text += piece
    },
    close(name: string): void {
      if (name === 'rPh') phonetic--
      inText = false
    },
    taken(): string {
      const whole = unescaped(text)
      text = ''
      return whole
    },
  }
}
