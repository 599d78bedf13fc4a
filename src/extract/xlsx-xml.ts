/**
 * Parts of a workbook as XML, read as a stream (saxes). Elements are known by namespace, whatever their prefix; those of the strict form
 * (ISO/IEC 29500-1) count as those of the transitional one. No document type is read, so that no entity is expanded. Alternate content
 * (ISO/IEC 29500-3) is read by its fallback, as no extension is known here.
 */
import { SaxesParser } from 'saxes'

export type Attributes = Readonly<Record<string, string>>

/** Id of the relationship in attributes; undefined where they name none. */
type RelatedOf = (attributes: Attributes) => string | undefined

/** What is told of a part, in the order of the document. */
export interface XmlHandler {
  /**
   * @param name local name, of an element of SpreadsheetML or of package relationships; of all others `{namespace}name`
   * @param depth 1 of the root
   * @param relatedOf the relationship that an element names
   */
  open(name: string, attributes: Attributes, depth: number, relatedOf: RelatedOf): void
  text(text: string): void
  close(name: string, depth: number): void
}

const OWN_NAMESPACES: ReadonlySet<string> = new Set([
  'http://schemas.openxmlformats.org/spreadsheetml/2006/main',
  'http://purl.oclc.org/ooxml/spreadsheetml/main',
  'http://schemas.openxmlformats.org/package/2006/relationships',
])
const OFFICE_RELATIONSHIPS: ReadonlySet<string> = new Set([
  'http://schemas.openxmlformats.org/officeDocument/2006/relationships',
  'http://purl.oclc.org/ooxml/officeDocument/relationships',
])
const COMPATIBILITY = '{http://schemas.openxmlformats.org/markup-compatibility/2006}'

/** A tag or a text of more characters is held by nobody. */
const MOST_CHARACTERS = 16 * 1024 * 1024

/** Prefixes as an element declares them, and what they hide. */
interface Declared {
  readonly depth: number
  readonly prefixes: ReadonlyMap<string, string>
}

export interface XmlFeed {
  /** @throws Error with the reason: not well-formed, a document type, too long a tag or text */
  write(text: string): void
  close(): void
  /** Characters behind which the latest tag ended: of a document the same, however it is cut. */
  readonly position: number
}

export function createXmlFeed(handler: XmlHandler): XmlFeed {
  const parser = new SaxesParser<{ xmlns: false; position: false }>({ xmlns: false, position: false })
  const scopes: Declared[] = [{ depth: 0, prefixes: new Map([['', '']]) }]
  const names = new Map<string, string>()
  let depth = 0
  /** Depth from which on nothing is told. */
  let silent = Number.POSITIVE_INFINITY
  let quiet = 0

  const prefixes = (): ReadonlyMap<string, string> => scopes.at(-1)?.prefixes ?? new Map()
  const namespaceOf = (prefix: string): string => {
    const uri = prefixes().get(prefix)
    if (uri === undefined && prefix !== 'xml') throw new Error(`the prefix ${prefix} is declared nowhere`)
    return uri ?? ''
  }
  const nameOf = (written: string): string => {
    const known = names.get(written)
    if (known !== undefined) return known
    const colon = written.indexOf(':')
    const uri = namespaceOf(colon < 0 ? '' : written.slice(0, colon))
    const local = written.slice(colon + 1)
    const name = OWN_NAMESPACES.has(uri) ? local : `{${uri}}${local}`
    names.set(written, name)
    return name
  }
  const declare = (attributes: Attributes): void => {
    let inner: Map<string, string> | undefined
    for (const key in attributes) {
      if (!key.startsWith('xmlns') || (key.length > 5 && key[5] !== ':')) continue
      inner ??= new Map(prefixes())
      inner.set(key.slice(6), attributes[key] ?? '')
    }
    if (inner === undefined) return
    scopes.push({ depth: depth + 1, prefixes: inner })
    names.clear()
  }
  const tell = (text: string): void => {
    quiet = 0
    if (depth < silent) handler.text(text)
  }
  const isTransparent = (name: string): boolean =>
    name === `${COMPATIBILITY}AlternateContent` || name === `${COMPATIBILITY}Fallback`
  /** Elements around, without those that stand for alternates. */
  let told = 0
  const relatedOf = (attributes: Attributes): string | undefined => {
    for (const [prefix, uri] of prefixes())
      if (OFFICE_RELATIONSHIPS.has(uri) && prefix !== '') return attributes[`${prefix}:id`]
    return undefined
  }
  const opened = (written: string, attributes: Attributes): void => {
    quiet = 0
    declare(attributes)
    depth++
    if (depth >= silent) return
    const name = nameOf(written)
    if (name === `${COMPATIBILITY}Choice`) silent = depth
    else if (!isTransparent(name)) handler.open(name, attributes, ++told, relatedOf)
  }
  const closed = (written: string): void => {
    quiet = 0
    if (depth < silent) {
      const name = nameOf(written)
      if (!isTransparent(name)) handler.close(name, told--)
    } else if (depth === silent) silent = Number.POSITIVE_INFINITY
    if (scopes.at(-1)?.depth === depth) {
      scopes.pop()
      names.clear()
    }
    depth--
  }
  parser.on('opentag', ({ name, attributes }) => opened(name, attributes))
  parser.on('closetag', ({ name }) => closed(name))
  parser.on('text', tell)
  parser.on('cdata', tell)
  parser.on('doctype', () => {
    throw new Error('a part has a document type, which workbooks do not have')
  })
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && !/^(?:utf-?8|utf-?16(?:le|be)?|us-ascii)$/i.test(encoding))
      throw new Error(`a part is in the encoding ${encoding}, where workbooks are in UTF-8`)
  })
  parser.on('error', (error) => {
    // What follows may be of the document.
    const [reason] = error.message.replace(/^[\d:]+ */, '').split(/[:"'&<]/, 1)
    throw new Error(`a part is not well-formed XML: ${reason}`)
  })
  return {
    write(text) {
      quiet += text.length
      parser.write(text)
      if (quiet > MOST_CHARACTERS) throw new Error('a tag or a text in a part is longer than 16 MiB')
    },
    close: () => void parser.close(),
    get position() {
      return parser.position
    },
  }
}

/** UTF-8, or UTF-16 where the first bytes say so. @throws Error where it is neither */
function xmlDecoder(first: Buffer) {
  const [one, two] = first
  const label =
    (one === 0xff && two === 0xfe) || (one === 0x3c && two === 0)
      ? 'utf-16le'
      : (one === 0xfe && two === 0xff) || (one === 0 && two === 0x3c)
        ? 'utf-16be'
        : 'utf-8'
  return new TextDecoder(label, { fatal: true })
}

/** Reads a part to its end. */
export async function readXml(content: AsyncIterable<Buffer>, handler: XmlHandler): Promise<void> {
  for await (const _ of feedXml(content, createXmlFeed(handler)));
}

/** Reads a part; between its pieces whoever asks may take what has come of them. */
export async function* feedXml(content: AsyncIterable<Buffer>, feed: XmlFeed): AsyncGenerator<undefined> {
  let decoder: ReturnType<typeof xmlDecoder> | undefined
  for await (const chunk of content) {
    decoder ??= xmlDecoder(chunk)
    feed.write(decoder.decode(chunk, { stream: true }))
    yield undefined
  }
  feed.write(decoder?.decode() ?? '')
  feed.close()
  yield undefined
}
